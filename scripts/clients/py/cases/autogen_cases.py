"""autogen: its OpenAI client and an assistant on it."""

import json

import answers
import openai
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.models import ModelFamily, SystemMessage, UserMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from harness import World, case, expect, raised
from pydantic import BaseModel

TURNS = [SystemMessage(content="Be brief."), UserMessage(content="Say hello.", source="user")]


class Person(BaseModel):
    name: str
    born: int


def get_weather(place: str) -> str:
    """Tells the weather of a place."""
    return "sunny"


def client(world: World, model: str = "openai/gpt-4o", family: str = ModelFamily.UNKNOWN) -> OpenAIChatCompletionClient:
    info = {
        "vision": False,
        "function_calling": True,
        "json_output": True,
        "structured_output": True,
        "family": family,
        "multiple_system_messages": True,
    }
    return OpenAIChatCompletionClient(
        model=model, base_url=world.url, api_key=world.key, model_info=info, max_retries=0
    )


@case("autogen", "chat")
async def creates(world: World) -> None:
    """answers, with usage"""
    result = await client(world).create(TURNS)
    expect("text", result.content, answers.HELLO)
    expect("finish reason", result.finish_reason, "stop")
    expect("tokens", (result.usage.prompt_tokens, result.usage.completion_tokens), (11, 9))


@case("autogen", "chat", wire=False)
async def answers_with_claude(world: World) -> None:
    """answers with a Claude model"""
    expect("text", (await client(world, "anthropic/claude-sonnet-4-5").create(TURNS)).content, answers.HELLO)


@case("autogen", "streams")
async def streams(world: World) -> None:
    """streams, with usage as asked"""
    options = {"stream_options": {"include_usage": True}}
    parts = [part async for part in client(world).create_stream(TURNS, extra_create_args=options)]
    expect("text", "".join(part for part in parts if isinstance(part, str)), answers.HELLO)
    expect("tokens", (parts[-1].usage.prompt_tokens, parts[-1].usage.completion_tokens), (11, 9))


@case("autogen", "streams")
async def streams_by_default(world: World) -> None:
    """streams with no option set"""
    parts = [part async for part in client(world).create_stream(TURNS)]
    expect("text", parts[-1].content, answers.HELLO)


@case("autogen", "tools")
async def calls_tools(world: World) -> None:
    """calls tools in parallel, whole and streamed"""
    tools = [FunctionTool(get_weather, description="Tells the weather.")]
    turns = [UserMessage(content="The weather in both places?", source="user")]
    whole = await client(world).create(turns, tools=tools)
    parts = [part async for part in client(world).create_stream(turns, tools=tools)]
    for name, result in (("whole", whole), ("streamed", parts[-1])):
        arguments = [json.loads(call.arguments) for call in result.content]
        expect(name, arguments, [{"place": "Ada Lovelace"}] * 2)


@case("autogen", "tools")
async def runs_an_assistant(world: World) -> None:
    """runs an assistant with a tool to its end"""
    assistant = AssistantAgent("clerk", client(world), tools=[get_weather], reflect_on_tool_use=True)
    result = await assistant.run(task="The weather in both places?", cancellation_token=CancellationToken())
    expect("text", result.messages[-1].content, answers.AFTER_TOOLS)


@case("autogen", "structured output")
async def structures(world: World) -> None:
    """answers in a pydantic model"""
    result = await client(world).create(TURNS, json_output=Person)
    parsed = Person.model_validate_json(result.content)
    expect("parsed", parsed, Person(name="Ada Lovelace", born=1815))


@case("autogen", "reasoning")
async def thinks(world: World) -> None:
    """brings reasoning as a thought, whole and streamed"""
    model = client(world, "deepseek/deepseek-reasoner", ModelFamily.R1)
    expect("whole", (await model.create(TURNS)).thought, answers.THOUGHT)
    parts = [part async for part in model.create_stream(TURNS)]
    expect("streamed", (parts[-1].thought or "").strip(), answers.THOUGHT)


@case("autogen", "errors")
def raises(world: World) -> None:
    """raises the classes of openai"""
    raised(openai.BadRequestError, lambda: client(world, world.failing("400")).create(TURNS))
    raised(openai.RateLimitError, lambda: client(world, world.failing("429")).create(TURNS))
