"""openai-agents in its default mode, on the Responses API."""

import answers
import openai
from agents import (
    Agent,
    ModelSettings,
    OpenAIProvider,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from harness import World, case, expect, raised
from openai.types.shared import Reasoning
from pydantic import BaseModel

set_tracing_disabled(True)

MODELS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"]
BOTH = "The weather in both places?"


class Person(BaseModel):
    name: str
    born: int


@function_tool
def get_weather(place: str) -> str:
    """Tells the weather of a place."""
    return "sunny"


def agent(model: str, **options) -> Agent:
    return Agent(name="Clerk", instructions="Be brief.", model=model, **options)


def running(world: World) -> dict:
    provider = OpenAIProvider(base_url=world.url, api_key=world.key)
    return {"run_config": RunConfig(model_provider=provider, tracing_disabled=True)}


@case("agentsresponses", "chat", wire=False)
async def runs(world: World) -> None:
    """answers, with usage"""
    for model in MODELS:
        result = await Runner.run(agent(model), "Say hello.", **running(world))
        expect("text", result.final_output, answers.HELLO)
        usage = result.context_wrapper.usage
        expect("tokens", (usage.requests, usage.input_tokens, usage.output_tokens), (1, 11, 9))


@case("agentsresponses", "streams", wire=False)
async def streams(world: World) -> None:
    """streams, with usage"""
    for model in MODELS:
        result = Runner.run_streamed(agent(model), "Say hello.", **running(world))
        text = ""
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                text += event.data.delta
        expect("text", text, answers.HELLO)
        expect("tokens", result.context_wrapper.usage.total_tokens, 20)


@case("agentsresponses", "tools", wire=False)
async def calls_tools(world: World) -> None:
    """runs parallel tools to the end, whole and streamed"""
    for model in MODELS:
        whole = await Runner.run(agent(model, tools=[get_weather]), BOTH, **running(world))
        expect("whole", whole.final_output, answers.AFTER_TOOLS)
        streamed = Runner.run_streamed(agent(model, tools=[get_weather]), BOTH, **running(world))
        names = [event.name async for event in streamed.stream_events() if event.type == "run_item_stream_event"]
        expect("streamed", streamed.final_output, answers.AFTER_TOOLS)
        expect("calls", names.count("tool_called"), 2)


@case("agentsresponses", "tools", wire=False)
async def hands_off(world: World) -> None:
    """hands a conversation to another agent"""
    for model in MODELS:
        result = await Runner.run(agent(model, handoffs=[agent(model)]), "Say hello.", **running(world))
        expect("text", result.final_output, answers.AFTER_TOOLS)


@case("agentsresponses", "structured output", wire=False)
async def structures(world: World) -> None:
    """answers in a pydantic model"""
    for model in MODELS:
        result = await Runner.run(agent(model, output_type=Person), "Who?", **running(world))
        expect("parsed", result.final_output, Person(name="Ada Lovelace", born=1815))


@case("agentsresponses", "reasoning", wire=False)
async def thinks(world: World) -> None:
    """brings reasoning as an item, and keeps it in a session and through tools"""
    for model in ["deepseek/deepseek-reasoner", MODELS[1]]:
        settings = ModelSettings(reasoning=Reasoning(effort="medium", summary="auto"))
        clerk = agent(model, model_settings=settings, tools=[get_weather])
        session = SQLiteSession(model)
        result = await Runner.run(clerk, BOTH, session=session, **running(world))
        items = [item.raw_item for item in result.new_items if item.type == "reasoning_item"]
        expect("thoughts", items[0].summary[0].text, answers.THOUGHT)
        expect("text", result.final_output, answers.AFTER_TOOLS)
        idle = clerk.clone(tools=[])
        again = await Runner.run(idle, "Say hello.", session=session, **running(world))
        expect("text", again.final_output, answers.HELLO)


@case("agentsresponses", "errors", wire=False)
def raises(world: World) -> None:
    """raises the classes of openai"""
    for name, kind in [("400", openai.BadRequestError), ("429", openai.RateLimitError)]:
        raised(kind, lambda: Runner.run(agent(world.failing(name)), "Say hello.", **running(world)))
