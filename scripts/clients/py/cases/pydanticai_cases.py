"""pydantic-ai with its OpenAI model."""

import answers
from harness import World, case, expect, expect_in, raised
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider


class Person(BaseModel):
    name: str
    born: int


ADA = Person(name="Ada Lovelace", born=1815)


def agent(world: World, model: str = "openai/gpt-4o", profile=None, **options) -> Agent:
    provider = OpenAIProvider(base_url=world.url, api_key=world.key)
    chat = OpenAIChatModel(model, provider=provider, profile=profile)
    return Agent(chat, instructions="Be brief.", **options)


@case("pydanticai", "chat")
async def runs(world: World) -> None:
    """answers, with usage"""
    result = await agent(world).run("Say hello.")
    expect("text", result.output, answers.HELLO)
    usage = result.usage() if callable(result.usage) else result.usage
    expect("tokens", (usage.input_tokens, usage.output_tokens), (11, 9))


@case("pydanticai", "chat")
async def sends_developer(world: World) -> None:
    """answers where its profile writes the role developer"""
    profile = OpenAIModelProfile(openai_system_prompt_role="developer")
    result = await agent(world, "openai/o3-mini", profile).run("Say hello.")
    expect("text", result.output, answers.HELLO)
    expect("role sent", world.sent[0].request["messages"][0]["role"], "developer")


@case("pydanticai", "chat", wire=False)
async def answers_with_claude(world: World) -> None:
    """answers with a Claude model"""
    expect("text", (await agent(world, "anthropic/claude-sonnet-4-5").run("Say hello.")).output, answers.HELLO)


@case("pydanticai", "chat")
async def goes_on(world: World) -> None:
    """continues a conversation"""
    first = await agent(world).run("Say hello.")
    again = await agent(world).run("Again.", message_history=first.all_messages())
    expect("text", again.output, answers.HELLO)


@case("pydanticai", "streams")
async def streams(world: World) -> None:
    """streams, with usage"""
    async with agent(world).run_stream("Say hello.") as result:
        parts = [part async for part in result.stream_text(delta=True)]
        usage = result.usage() if callable(result.usage) else result.usage
    expect("text", "".join(parts), answers.HELLO)
    expect("tokens", (usage.input_tokens, usage.output_tokens), (11, 9))


def armed(world: World, model: str = "openai/gpt-4o", **options) -> Agent:
    made = agent(world, model, **options)

    @made.tool_plain
    def get_weather(place: str) -> str:
        """Tells the weather of a place."""
        return "sunny"

    return made


@case("pydanticai", "tools")
async def calls_tools(world: World) -> None:
    """runs parallel tools to the end"""
    result = await armed(world).run("The weather in both places?")
    expect("text", result.output, answers.AFTER_TOOLS)
    expect("requests", len(world.sent), 2)


@case("pydanticai", "tools")
async def streams_tools(world: World) -> None:
    """streams a run of tools"""
    async with armed(world).run_stream("The weather in both places?") as result:
        expect("text", await result.get_output(), answers.AFTER_TOOLS)


@case("pydanticai", "structured output")
async def structures(world: World) -> None:
    """answers in a pydantic model: by a tool, by the API's schema, by a prompt"""
    for form in (ToolOutput(Person), NativeOutput(Person), PromptedOutput(Person)):
        prompt = "Who? write JSON" if isinstance(form, PromptedOutput) else "Who?"
        result = await agent(world, output_type=form).run(prompt)
        expect(type(form).__name__, result.output, ADA)


@case("pydanticai", "structured output")
async def structures_after_tools(world: World) -> None:
    """answers in a pydantic model after a tool"""
    expect("parsed", (await armed(world, output_type=Person).run("Who?")).output, ADA)


def thoughts(result) -> list[str]:
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ThinkingPart)]


@case("pydanticai", "reasoning")
async def thinks(world: World) -> None:
    """brings reasoning, whole and streamed"""
    model = "deepseek/deepseek-reasoner"
    expect("whole", thoughts(await agent(world, model).run("Say hello.")), [answers.THOUGHT])
    async with agent(world, model).run_stream("Say hello.") as result:
        await result.get_output()
    expect("streamed", thoughts(result), [answers.THOUGHT])


@case("pydanticai", "reasoning")
async def loops_with_thoughts(world: World) -> None:
    """continues a reasoning model's tool loop"""
    result = await armed(world, "deepseek/deepseek-reasoner").run("The weather in both places?")
    expect("text", result.output, answers.AFTER_TOOLS)


@case("pydanticai", "errors")
def raises(world: World) -> None:
    """raises ModelHTTPError with the status and the words"""
    for model, status, words in ((world.failing("400"), 400, "Unknown voice"), ("acme/none", 404, "acme/none")):
        error = raised(ModelHTTPError, lambda model=model: agent(world, model).run("Say hello."))
        expect("status", error.status_code, status)
        expect_in("words", words, str(error))
