"""openai: streamed chat completions."""

import time

import answers
import openai as library
from cases.openai_chat import HELLO, ask, client
from harness import World, case, expect, raised
from openai import AsyncOpenAI


@case("openai", "streams")
def survives_the_common_loop(world: World) -> None:
    """streams to a loop that reads choices[0] of every chunk"""
    text = ""
    for chunk in ask(world, stream=True):
        text += chunk.choices[0].delta.content or ""
    expect("text", text, answers.HELLO)


@case("openai", "streams")
def sends_no_usage_unasked(world: World) -> None:
    """streams no chunk without choices where include_usage is false"""
    chunks = list(ask(world, stream=True, stream_options={"include_usage": False}))
    expect("chunks without choices", [one for one in chunks if not one.choices], [])


@case("openai", "streams")
def puts_usage_on_the_last_chunk(world: World) -> None:
    """puts usage on the last chunk with a choice where it was not asked for"""
    last = list(ask(world, stream=True))[-1]
    expect("finish reason", last.choices[0].finish_reason, "stop")
    expect("tokens", (last.usage.prompt_tokens, last.usage.completion_tokens), (11, 9))


@case("openai", "streams")
def sends_usage_as_asked(world: World) -> None:
    """streams usage in a chunk of its own where include_usage is true"""
    chunks = list(ask(world, stream=True, stream_options={"include_usage": True}))
    expect("last choices", chunks[-1].choices, [])
    expect("tokens", (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens), (11, 9))
    expect("cached tokens", chunks[-1].usage.prompt_tokens_details.cached_tokens, 0)
    expect("other usages", [one.usage for one in chunks[:-1] if one.usage], [])


@case("openai", "streams")
async def streams_async(world: World) -> None:
    """streams to the async client"""
    async with AsyncOpenAI(base_url=world.url, api_key=world.key, max_retries=0) as openai:
        stream = await openai.chat.completions.create(model="openai/gpt-4o", messages=HELLO, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    expect("text", text, answers.HELLO)


@case("openai", "streams")
def assembles(world: World) -> None:
    """streams to the helper that assembles a completion"""
    with client(world).chat.completions.stream(model="openai/gpt-4o", messages=HELLO) as stream:
        kinds = {one.type for one in stream}
        whole = stream.get_final_completion()
    expect("text", whole.choices[0].message.content, answers.HELLO)
    expect("events", {"chunk", "content.delta", "content.done"} <= kinds, True)
    expect("tokens", whole.usage.total_tokens, 20)


@case("openai", "streams")
def streams_several_choices(world: World) -> None:
    """streams n choices"""
    texts = {0: "", 1: ""}
    for chunk in ask(world, stream=True, n=2):
        for one in chunk.choices:
            texts[one.index] += one.delta.content or ""
    expect("texts", texts, {0: answers.HELLO, 1: answers.HELLO})


@case("openai", "streams")
def streams_heads(world: World) -> None:
    """streams the same id, fingerprint and tier in every chunk, and one role"""
    chunks = list(ask(world, stream=True))
    expect("ids", len({one.id for one in chunks}), 1)
    heads = {(one.object, one.model, one.created) for one in chunks}
    expect("heads", len(heads), 1)
    expect("fingerprints", {one.system_fingerprint for one in chunks if one.choices}, {"fp_44709d6fcb"})
    expect("tiers", {one.service_tier for one in chunks if one.choices}, {"default"})
    roles = [one.choices[0].delta.role for one in chunks if one.choices]
    expect("roles", [role for role in roles if role], ["assistant"])


@case("openai", "streams")
def streams_refusal(world: World) -> None:
    """streams a refusal"""
    text = "".join(chunk.choices[0].delta.refusal or "" for chunk in ask(world, "acme/refuses", stream=True))
    expect("refusal", text, answers.REFUSAL)


@case("openai", "streams")
def streams_logprobs(world: World) -> None:
    """streams logprobs"""
    chunks = ask(world, stream=True, logprobs=True, top_logprobs=1)
    marks = [one.choices[0].logprobs for one in chunks if one.choices and one.choices[0].logprobs]
    expect("tokens", [token.token for mark in marks for token in mark.content or []], ["Gr"])


@case("openai", "streams")
def streams_sources(world: World) -> None:
    """streams citations"""
    extras = [chunk.model_extra or {} for chunk in ask(world, "perplexity/sonar", stream=True)]
    expect("citations", next((one["citations"] for one in extras if one.get("citations")), None), answers.CITATIONS)


@case("openai", "streams", wire=False)
def streams_claude(world: World) -> None:
    """streams a Claude model"""
    chunks = ask(world, "anthropic/claude-sonnet-4-5", stream=True)
    expect("text", "".join(chunk.choices[0].delta.content or "" for chunk in chunks), answers.HELLO)


@case("openai", "streams", wire=False)
def leaves_early(world: World) -> None:
    """ends the provider's call when the client leaves a stream"""
    stream = ask(world, "acme/endless", stream=True)
    next(iter(stream))
    stream.close()
    limit = time.monotonic() + 20
    while time.monotonic() < limit and not world.received[0].finished:
        time.sleep(0.05)
    expect("the provider's connection was closed", world.received[0].broken, True)


@case("openai", "errors", wire=False)
def tells_of_a_cut(world: World) -> None:
    """tells of a stream that the provider cut, after its text"""
    text = ""

    def read() -> None:
        nonlocal text
        for chunk in ask(world, "acme/cut", stream=True):
            text += chunk.choices[0].delta.content or "" if chunk.choices else ""

    error = raised(library.APIError, read)
    expect("text before it", answers.HELLO.startswith(text) and text != "", True)
    expect("message is there", bool(error.message), True)
