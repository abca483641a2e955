"""llama-index: its OpenAI model and embeddings, and the one for compatible servers."""

import answers
import openai
import vectors
from harness import World, case, expect, raised
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.program import LLMTextCompletionProgram  # noqa: F401 (loads the programs)
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

TURNS = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Say hello.")]


class Person(BaseModel):
    """A person."""

    name: str
    born: int


def get_weather(place: str) -> str:
    """Tells the weather of a place."""
    return "sunny"


def chat(world: World, model: str = "gpt-4o", **options) -> OpenAI:
    return OpenAI(model=model, api_base=world.url, api_key=world.key, max_retries=0, **options)


def like(world: World, model: str = "acme/chat") -> OpenAILike:
    options = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 8000, "max_retries": 0}
    return OpenAILike(model=model, api_base=world.url, api_key=world.key, **options)


@case("llamaindex", "chat")
def chats(world: World) -> None:
    """answers"""
    reply = chat(world).chat(TURNS)
    expect("text", reply.message.content, answers.HELLO)
    expect("tokens", reply.raw.usage.total_tokens, 20)


@case("llamaindex", "chat")
def chats_like(world: World) -> None:
    """answers the model for compatible servers, as chat and as completion"""
    expect("chat", like(world).chat(TURNS).message.content, answers.HELLO)
    expect("completion", like(world).complete("Say hello.").text, answers.HELLO)


@case("llamaindex", "chat")
async def chats_async(world: World) -> None:
    """answers an async call"""
    expect("text", (await chat(world).achat(TURNS)).message.content, answers.HELLO)


@case("llamaindex", "chat")
def sends_developer(world: World) -> None:
    """answers o3-mini, for which it writes the role developer"""
    expect("text", chat(world, "o3-mini").chat(TURNS).message.content, answers.HELLO)
    expect("role sent", world.sent[0].request["messages"][0]["role"], "developer")


@case("llamaindex", "chat", wire=False)
def answers_with_claude(world: World) -> None:
    """answers with a Claude model"""
    expect("text", like(world, "anthropic/claude-sonnet-4-5").chat(TURNS).message.content, answers.HELLO)


@case("llamaindex", "streams")
def streams(world: World) -> None:
    """streams"""
    expect("text", "".join(part.delta or "" for part in chat(world).stream_chat(TURNS)), answers.HELLO)


@case("llamaindex", "streams")
async def streams_async(world: World) -> None:
    """streams to an async loop"""
    parts = [part.delta or "" async for part in await like(world).astream_chat(TURNS)]
    expect("text", "".join(parts), answers.HELLO)


@case("llamaindex", "tools")
def calls_tools(world: World) -> None:
    """calls a tool and takes its result"""
    weather = FunctionTool.from_defaults(get_weather)
    model = like(world)
    reply = model.chat_with_tools([weather], user_msg="The weather in both places?", allow_parallel_tool_calls=True)
    calls = model.get_tool_calls_from_response(reply)
    expect("calls", [call.tool_kwargs for call in calls], [{"place": "Ada Lovelace"}] * 2)


@case("llamaindex", "tools")
async def runs_an_agent(world: World) -> None:
    """runs an agent with a tool to its end"""
    agent = FunctionAgent(tools=[get_weather], llm=like(world), system_prompt="Be brief.")
    reply = await agent.run("The weather in both places?")
    expect("text", str(reply), answers.AFTER_TOOLS)


@case("llamaindex", "structured output")
def structures(world: World) -> None:
    """answers in a pydantic model"""
    from llama_index.core.prompts import PromptTemplate

    parsed = chat(world).structured_predict(Person, PromptTemplate("Who?"))
    expect("parsed", parsed, Person(name="Ada Lovelace", born=1815))


@case("llamaindex", "embeddings")
def embeds(world: World) -> None:
    """embeds texts and a query"""
    model = OpenAIEmbedding(model="text-embedding-3-small", api_base=world.url, api_key=world.key, max_retries=0)
    expect("texts", model.get_text_embedding_batch(["alpha", "beta"]), [vectors.vector(0), vectors.vector(1)])
    expect("query", model.get_query_embedding("alpha"), vectors.vector(0))


@case("llamaindex", "errors")
def raises(world: World) -> None:
    """raises the classes of openai"""
    raised(openai.BadRequestError, lambda: like(world, world.failing("400")).chat(TURNS))
    raised(openai.NotFoundError, lambda: like(world, "acme/none").chat(TURNS))
    raised(openai.RateLimitError, lambda: like(world, world.failing("429")).chat(TURNS))
