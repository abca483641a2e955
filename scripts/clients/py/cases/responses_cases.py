"""openai: the Responses API, with a model of chat completions and with a Claude model."""

import answers
import openai
from harness import World, case, expect, expect_in, raised
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from samples import NUMBER, TEXT

MODELS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"]
BOTH = [{"role": "user", "content": "The weather in both places?"}]
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather of a place.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


class Person(BaseModel):
    name: str
    born: int


def client(world: World, **options) -> OpenAI:
    return OpenAI(base_url=world.url, **{"api_key": world.key, "max_retries": 0, **options})


def ask(world: World, model: str, said="Say hello.", **more):
    return client(world).responses.create(model=model, input=said, **more)


def calls(response) -> list:
    return [item for item in response.output if item.type == "function_call"]


@case("responses", "chat", wire=False)
def answers_whole(world: World) -> None:
    """answers, with usage"""
    for model in MODELS:
        response = ask(world, model, instructions="Be brief.", temperature=0.5, max_output_tokens=100)
        expect("text", (response.output_text, response.status), (answers.HELLO, "completed"))
        expect("tokens", (response.usage.input_tokens, response.usage.output_tokens), (11, 9))


@case("responses", "streams", wire=False)
def streams(world: World) -> None:
    """streams; the helper assembles the response"""
    for model in MODELS:
        with client(world).responses.stream(model=model, input="Say hello.") as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            response = stream.get_final_response()
        expect("text", (text, response.output_text), (answers.HELLO, answers.HELLO))
        expect("tokens", response.usage.total_tokens, 20)


@case("responses", "streams", wire=False)
async def streams_events(world: World) -> None:
    """streams its events to an asynchronous client, numbered"""
    for model in MODELS:
        stream = await AsyncOpenAI(base_url=world.url, api_key=world.key).responses.create(
            model=model, input="Say hello.", stream=True
        )
        events = [event async for event in stream]
        expect("numbers", [event.sequence_number for event in events], list(range(len(events))))
        expect("first and last", (events[0].type, events[-1].type), ("response.created", "response.completed"))


@case("responses", "tools", wire=False)
def loops(world: World) -> None:
    """keeps parallel calls and takes their results, whole and streamed"""
    for model in MODELS:
        whole = ask(world, model, BOTH, tools=[WEATHER])
        with client(world).responses.stream(model=model, input=BOTH, tools=[WEATHER]) as stream:
            streamed = stream.get_final_response()
        for response in (whole, streamed):
            expect("names", [call.name for call in calls(response)], ["get_weather"] * 2)
            results = [
                {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
                for call in calls(response)
            ]
            after = ask(world, model, [*BOTH, *response.output, *results], tools=[WEATHER])
            expect("text", after.output_text, answers.AFTER_TOOLS)


@case("responses", "structured output", wire=False)
def parses(world: World) -> None:
    """parses an answer into a pydantic model, whole and streamed"""
    for model in MODELS:
        whole = client(world).responses.parse(model=model, input="Who?", text_format=Person)
        with client(world).responses.stream(model=model, input="Who?", text_format=Person) as stream:
            streamed = stream.get_final_response()
        for response in (whole, streamed):
            expect("parsed", response.output_parsed, Person(name=TEXT, born=NUMBER))


@case("responses", "reasoning", wire=False)
def thinks(world: World) -> None:
    """brings reasoning as an item, and sends it back with a tool's result"""
    for model in ["deepseek/deepseek-reasoner", MODELS[1]]:
        options = {
            "reasoning": {"effort": "medium", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "store": False,
            "tools": [WEATHER],
        }
        response = ask(world, model, BOTH, **options)
        first = response.output[0]
        expect("thoughts", (first.type, first.summary[0].text), ("reasoning", answers.THOUGHT))
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"} for call in calls(response)
        ]
        after = ask(world, model, [*BOTH, *response.output, *results], **options)
        expect("text", after.output_text, answers.AFTER_TOOLS)
        expect_in("sent back", answers.THOUGHT, str(world.asked))


@case("responses", "errors", wire=False)
def raises(world: World) -> None:
    """raises the library's classes"""
    raised(openai.AuthenticationError, lambda: client(world, api_key="tg-wrong").responses.create(model=MODELS[0]))
    raised(openai.NotFoundError, lambda: ask(world, "no/such"))
    raised(openai.BadRequestError, lambda: ask(world, MODELS[0], background=True))
    raised(openai.RateLimitError, lambda: ask(world, world.failing("429")))
    raised(openai.InternalServerError, lambda: ask(world, world.failing("500")))
    full = raised(openai.BadRequestError, lambda: ask(world, world.failing("overflow")))
    expect("code", full.code, "context_length_exceeded")
    poor = client(world, api_key=world.gateway.key(monthly_budget_usd=0.000001))
    spent = raised(openai.RateLimitError, lambda: poor.responses.create(model=MODELS[0], input="Say hello."))
    expect("code", spent.code, "insufficient_quota")
