"""openai-agents on chat completions."""

import answers
import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from harness import World, case, expect, raised
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)


class Person(BaseModel):
    name: str
    born: int


@function_tool
def get_weather(place: str) -> str:
    """Tells the weather of a place."""
    return "sunny"


def agent(world: World, model: str = "openai/gpt-4o", **options) -> Agent:
    client = AsyncOpenAI(base_url=world.url, api_key=world.key, max_retries=0)
    chat = OpenAIChatCompletionsModel(model=model, openai_client=client)
    return Agent(name="Clerk", instructions="Be brief.", model=chat, **options)


@case("agents", "chat")
async def runs(world: World) -> None:
    """answers, with usage"""
    result = await Runner.run(agent(world), "Say hello.")
    expect("text", result.final_output, answers.HELLO)
    usage = result.context_wrapper.usage
    expect("tokens", (usage.requests, usage.input_tokens, usage.output_tokens), (1, 11, 9))


@case("agents", "chat")
async def runs_with_settings(world: World) -> None:
    """sends its settings on"""
    settings = ModelSettings(temperature=0.5, top_p=0.9, max_tokens=100, metadata={"team": "blue"}, store=False)
    await Runner.run(agent(world, model_settings=settings), "Say hello.")
    expect("temperature", world.asked.get("temperature"), 0.5)


@case("agents", "chat", wire=False)
async def answers_with_claude(world: World) -> None:
    """answers with a Claude model"""
    result = await Runner.run(agent(world, "anthropic/claude-sonnet-4-5"), "Say hello.")
    expect("text", result.final_output, answers.HELLO)


@case("agents", "streams")
async def streams(world: World) -> None:
    """streams, with usage"""
    result = Runner.run_streamed(agent(world), "Say hello.")
    text = ""
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
    expect("text", text, answers.HELLO)
    expect("tokens", result.context_wrapper.usage.total_tokens, 20)


@case("agents", "tools")
async def calls_tools(world: World) -> None:
    """runs parallel tools to the end"""
    result = await Runner.run(agent(world, tools=[get_weather]), "The weather in both places?")
    expect("text", result.final_output, answers.AFTER_TOOLS)
    expect("requests", len(world.sent), 2)


@case("agents", "tools")
async def streams_tools(world: World) -> None:
    """streams a run of parallel tools"""
    result = Runner.run_streamed(agent(world, tools=[get_weather]), "The weather in both places?")
    names = [event.name async for event in result.stream_events() if event.type == "run_item_stream_event"]
    expect("text", result.final_output, answers.AFTER_TOOLS)
    expect("calls", names.count("tool_called"), 2)


@case("agents", "tools")
async def hands_off(world: World) -> None:
    """hands a conversation to another agent"""
    other = agent(world)
    result = await Runner.run(agent(world, handoffs=[other]), "Say hello.")
    expect("text", result.final_output, answers.AFTER_TOOLS)


@case("agents", "structured output")
async def structures(world: World) -> None:
    """answers in a pydantic model"""
    result = await Runner.run(agent(world, output_type=Person), "Who?")
    expect("parsed", result.final_output, Person(name="Ada Lovelace", born=1815))


def thoughts(result) -> list[str]:
    items = [item.raw_item for item in result.new_items if item.type == "reasoning_item"]
    return [item.summary[0].text for item in items]


@case("agents", "reasoning")
async def thinks(world: World) -> None:
    """brings reasoning as an item, whole and streamed"""
    whole = await Runner.run(agent(world, "deepseek/deepseek-reasoner"), "Say hello.")
    expect("whole", thoughts(whole), [answers.THOUGHT])
    streamed = Runner.run_streamed(agent(world, "deepseek/deepseek-reasoner"), "Say hello.")
    async for _ in streamed.stream_events():
        pass
    expect("streamed", thoughts(streamed), [answers.THOUGHT])


@case("agents", "errors")
def raises(world: World) -> None:
    """raises the classes of openai"""
    raised(openai.BadRequestError, lambda: Runner.run(agent(world, world.failing("400")), "Say hello."))
    raised(openai.RateLimitError, lambda: Runner.run(agent(world, world.failing("429")), "Say hello."))
