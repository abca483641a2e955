"""anthropic: the Messages API, with a Claude model and with one of another vendor."""

import anthropic
import answers
import claude
from anthropic import Anthropic, AsyncAnthropic, beta_tool
from harness import World, case, expect, expect_in, raised
from pydantic import BaseModel
from samples import NUMBER, TEXT

MODELS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"]
HELLO = [{"role": "user", "content": "Say hello."}]
BOTH = [{"role": "user", "content": "The weather in both places?"}]
WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather of a place.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


class Person(BaseModel):
    name: str
    born: int


def client(world: World, **options) -> Anthropic:
    return Anthropic(base_url=world.origin, **{"api_key": world.key, "max_retries": 0, **options})


def ask(world: World, model: str, **more):
    return client(world).messages.create(**{"model": model, "max_tokens": 2000, "messages": HELLO, **more})


@case("anthropic", "chat", wire=False)
def answers_whole(world: World) -> None:
    """answers, with usage, a request id and the asked name"""
    for model in MODELS:
        message = ask(world, model, system="Be brief.")
        expect("text", [block.text for block in message.content], [answers.HELLO])
        expect("model", (message.model, message.stop_reason), (model, "end_turn"))
        expect("tokens", (message.usage.input_tokens, message.usage.output_tokens), (11, 9))
        expect_in("request id", "req_", message._request_id or "")


@case("anthropic", "chat", wire=False)
def counts(world: World) -> None:
    """counts tokens without a paid call"""
    for model in MODELS:
        counted = client(world).messages.count_tokens(model=model, messages=HELLO, tools=[WEATHER])
        expect("a count", 5 < counted.input_tokens < 700, True)
    expect("calls of the provider", len(world.received), 0)


@case("anthropic", "streams", wire=False)
def streams(world: World) -> None:
    """streams; the helper assembles the message"""
    for model in MODELS:
        with client(world).messages.stream(model=model, max_tokens=200, messages=HELLO) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        expect("text", (text, message.content[0].text), (answers.HELLO, answers.HELLO))
        expect("tokens", (message.usage.input_tokens, message.usage.output_tokens), (11, 9))


@case("anthropic", "streams", wire=False)
async def streams_events(world: World) -> None:
    """streams its events to an asynchronous client"""
    for model in MODELS:
        stream = await AsyncAnthropic(base_url=world.origin, api_key=world.key).messages.create(
            model=model, max_tokens=200, messages=HELLO, stream=True
        )
        kinds = [event.type async for event in stream]
        expect("first and last", (kinds[0], kinds[-2:]), ("message_start", ["message_delta", "message_stop"]))


@case("anthropic", "tools", wire=False)
def loops(world: World) -> None:
    """keeps parallel calls and takes their results, whole and streamed"""
    for model in MODELS:
        whole = ask(world, model, messages=BOTH, tools=[WEATHER])
        with client(world).messages.stream(model=model, max_tokens=200, messages=BOTH, tools=[WEATHER]) as stream:
            streamed = stream.get_final_message()
        for message in (whole, streamed):
            expect("stop reason", message.stop_reason, "tool_use")
            expect("inputs", [block.input for block in message.content], [{"place": TEXT}] * 2)
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "sunny"} for block in message.content
            ]
            turns = [*BOTH, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
            after = ask(world, model, messages=turns, tools=[WEATHER])
            expect("text", after.content[0].text, answers.AFTER_TOOLS)


@case("anthropic", "tools", wire=False)
def runs_tools(world: World) -> None:
    """works with the tool runner"""
    for model in MODELS:
        places: list[str] = []

        @beta_tool
        def get_weather(place: str) -> str:
            """Tells the weather of a place."""
            places.append(place)
            return "sunny"

        runner = client(world).beta.messages.tool_runner(
            model=model, max_tokens=200, messages=BOTH, tools=[get_weather]
        )
        expect("text", runner.until_done().content[0].text, answers.AFTER_TOOLS)
        expect("places", places, [TEXT] * 2)


@case("anthropic", "structured output", wire=False)
def parses(world: World) -> None:
    """parses an answer into a pydantic model"""
    for model in MODELS:
        message = client(world).messages.parse(model=model, max_tokens=200, messages=HELLO, output_format=Person)
        expect("parsed", message.parsed_output, Person(name=TEXT, born=NUMBER))


@case("anthropic", "reasoning", wire=False)
def thinks(world: World) -> None:
    """brings signed thoughts, whole and streamed, and sends them back to their provider alone"""
    model = MODELS[1]
    thinking = {"type": "enabled", "budget_tokens": 1024}
    whole = ask(world, model, thinking=thinking, messages=BOTH, tools=[WEATHER])
    with client(world).messages.stream(
        model=model, max_tokens=2000, messages=BOTH, tools=[WEATHER], thinking=thinking
    ) as stream:
        streamed = stream.get_final_message()
    for message in (whole, streamed):
        expect("thoughts", (message.content[0].type, message.content[0].thinking), ("thinking", answers.THOUGHT))
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "sunny"} for block in message.content[1:]
        ]
        turns = [*BOTH, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
        ask(world, model, messages=turns, tools=[WEATHER], thinking=thinking)
        sent = world.asked["messages"][1]["content"][0]
        expect("sent back", (sent["thinking"], sent["signature"]), (answers.THOUGHT, claude.SIGNATURE))
        after = ask(world, MODELS[0], messages=turns, tools=[WEATHER])
        expect("text", after.content[0].text, answers.AFTER_TOOLS)
        expect("signature at another provider", claude.SIGNATURE in str(world.asked), False)


@case("anthropic", "models", wire=False)
def lists(world: World) -> None:
    """lists models"""
    names = {model.id for model in client(world).models.list(limit=1000)}
    expect("models", names.issuperset(MODELS), True)


@case("anthropic", "errors", wire=False)
def raises(world: World) -> None:
    """raises the library's classes"""
    raised(
        anthropic.AuthenticationError,
        lambda: client(world, api_key="tg-wrong").messages.create(model=MODELS[0], max_tokens=9, messages=HELLO),
    )
    raised(anthropic.NotFoundError, lambda: ask(world, "no/such"))
    raised(anthropic.BadRequestError, lambda: ask(world, MODELS[0], max_tokens=-1))
    raised(anthropic.NotFoundError, lambda: client(world).messages.batches.list())
    raised(anthropic.RateLimitError, lambda: ask(world, world.failing("429")))
    raised(anthropic.InternalServerError, lambda: ask(world, world.failing("500")))
    full = raised(anthropic.BadRequestError, lambda: ask(world, world.failing("overflow")))
    expect_in("words", "prompt is too long", str(full))
    poor = client(world, api_key=world.gateway.key(monthly_budget_usd=0.000001))
    spent = raised(
        anthropic.APIStatusError, lambda: poor.messages.create(model=MODELS[0], max_tokens=9, messages=HELLO)
    )
    expect("status", spent.status_code, 402)
