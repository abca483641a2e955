"""langchain-openai, with its defaults where there are any."""

import answers
import openai
import vectors
from harness import World, case, expect, expect_in, raised
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel


class Person(BaseModel):
    """A person."""

    name: str
    born: int


ADA = Person(name="Ada Lovelace", born=1815)
TURNS = [SystemMessage("Be brief."), HumanMessage("Say hello.")]


@tool
def get_weather(place: str) -> str:
    """Tells the weather of a place."""
    return "sunny"


def chat(world: World, model: str = "openai/gpt-4o", **options) -> ChatOpenAI:
    return ChatOpenAI(model=model, base_url=world.url, api_key=world.key, max_retries=0, **options)


@case("langchain", "chat")
def invokes(world: World) -> None:
    """answers, with usage and metadata"""
    reply = chat(world).invoke(TURNS)
    expect("text", reply.content, answers.HELLO)
    usage = reply.usage_metadata
    expect("tokens", (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]), (11, 9, 20))
    expect("details", usage["input_token_details"].get("cache_read"), 0)
    told = {name: reply.response_metadata.get(name) for name in ("service_tier", "system_fingerprint", "finish_reason")}
    should = {"service_tier": "default", "system_fingerprint": "fp_44709d6fcb", "finish_reason": "stop"}
    expect("metadata", told, should)


@case("langchain", "chat")
async def invokes_async(world: World) -> None:
    """answers an async call"""
    expect("text", (await chat(world).ainvoke(TURNS)).content, answers.HELLO)


@case("langchain", "chat")
def batches(world: World) -> None:
    """answers a batch"""
    replies = chat(world).batch(["one", "two", "three"])
    expect("texts", [reply.content for reply in replies], [answers.HELLO] * 3)


@case("langchain", "chat")
def sends_developer(world: World) -> None:
    """answers o3-mini and gpt-5, for which it writes the role developer"""
    for model in ("o3-mini", "gpt-5"):
        expect("text", chat(world, model).invoke(TURNS).content, answers.HELLO)
    expect("role sent", world.sent[0].request["messages"][0]["role"], "developer")


@case("langchain", "chat")
def sends_pictures(world: World) -> None:
    """sends pictures"""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    chat(world).invoke([HumanMessage([{"type": "text", "text": "What is this?"}, picture])])


@case("langchain", "chat", wire=False)
def answers_with_claude(world: World) -> None:
    """answers with a Claude model"""
    expect("text", chat(world, "anthropic/claude-sonnet-4-5").invoke(TURNS).content, answers.HELLO)


@case("langchain", "streams")
def streams(world: World) -> None:
    """streams, with usage and metadata at the end"""
    whole = None
    for chunk in chat(world, stream_usage=True).stream(TURNS):
        whole = chunk if whole is None else whole + chunk
    expect("text", whole.content, answers.HELLO)
    expect("tokens", whole.usage_metadata["total_tokens"], 20)
    told = {name: whole.response_metadata.get(name) for name in ("service_tier", "system_fingerprint")}
    expect("metadata", told, {"service_tier": "default", "system_fingerprint": "fp_44709d6fcb"})


@case("langchain", "streams")
async def streams_async(world: World) -> None:
    """streams to an async loop"""
    parts = [chunk.content async for chunk in chat(world).astream(TURNS)]
    expect("text", "".join(parts), answers.HELLO)


@case("langchain", "tools")
def calls_tools(world: World) -> None:
    """calls tools in parallel and takes their results"""
    armed = chat(world).bind_tools([get_weather])
    turns = [HumanMessage("The weather in both places?")]
    first = armed.invoke(turns)
    expect("calls", [call["args"] for call in first.tool_calls], [{"place": "Ada Lovelace"}] * 2)
    results = [ToolMessage("sunny", tool_call_id=call["id"]) for call in first.tool_calls]
    expect("text", armed.invoke([*turns, first, *results]).content, answers.AFTER_TOOLS)


@case("langchain", "tools")
def streams_tools(world: World) -> None:
    """streams parallel calls"""
    whole = None
    for chunk in chat(world).bind_tools([get_weather]).stream("The weather in both places?"):
        whole = chunk if whole is None else whole + chunk
    expect("calls", [call["args"] for call in whole.tool_calls], [{"place": "Ada Lovelace"}] * 2)


@case("langchain", "structured output")
def structures_by_default(world: World) -> None:
    """answers in a pydantic model, by the default method"""
    expect("parsed", chat(world).with_structured_output(Person).invoke("Who?"), ADA)


@case("langchain", "structured output")
def structures_by_tool(world: World) -> None:
    """answers in a pydantic model, by a tool"""
    model = chat(world).with_structured_output(Person, method="function_calling")
    expect("parsed", model.invoke("Who?"), ADA)


@case("langchain", "structured output")
def structures_by_json(world: World) -> None:
    """answers in a pydantic model, by a JSON object"""
    model = chat(world).with_structured_output(Person, method="json_mode")
    expect("parsed", model.invoke("Who? Write JSON."), ADA)


def embedder(world: World, **options) -> OpenAIEmbeddings:
    defaults = {"model": "text-embedding-ada-002", "base_url": world.url, "api_key": world.key, "max_retries": 0}
    return OpenAIEmbeddings(**{**defaults, **options})


@case("langchain", "embeddings")
def embeds_by_default(world: World) -> None:
    """embeds documents with no option set: as token ids"""
    made = embedder(world).embed_documents(["alpha", "beta gamma"])
    expect("vectors", made, [vectors.vector(0), vectors.vector(1)])
    expect("input sent", world.sent[0].request["input"], [[7288], [19674, 22350]])


@case("langchain", "embeddings")
def embeds_a_query(world: World) -> None:
    """embeds a query with no option set"""
    expect("vector", embedder(world).embed_query("alpha"), vectors.vector(0))


@case("langchain", "embeddings")
def embeds_texts(world: World) -> None:
    """embeds documents as texts"""
    texts = embedder(world, model="openai/text-embedding-3-small", check_embedding_ctx_length=False)
    expect("vectors", texts.embed_documents(["alpha", "beta"]), [vectors.vector(0), vectors.vector(1)])


@case("langchain", "embeddings")
async def embeds_async(world: World) -> None:
    """embeds documents for an async call"""
    expect("vectors", await embedder(world).aembed_documents(["alpha"]), [vectors.vector(0)])


@case("langchain", "errors")
def backs_off(world: World) -> None:
    """raises RateLimitError for a provider's 429"""
    raised(openai.RateLimitError, lambda: chat(world, world.failing("429")).invoke(TURNS))


@case("langchain", "errors")
def tells_of_an_overflow(world: World) -> None:
    """raises ContextOverflowError for a context overflow"""
    from langchain_core.exceptions import ContextOverflowError

    raised(ContextOverflowError, lambda: chat(world, world.failing("overflow")).invoke(TURNS))
    raised(ContextOverflowError, lambda: chat(world, "acme/tiny").invoke("word " * 200))


@case("langchain", "errors")
def passes_on_words(world: World) -> None:
    """raises BadRequestError with the provider's words"""
    error = raised(openai.BadRequestError, lambda: chat(world, world.failing("400")).invoke(TURNS))
    expect_in("message", "Unknown voice: 'bark'.", str(error))
