"""litellm, which speaks to the gateway as to an OpenAI-compatible server."""

import json

import answers
import litellm
import vectors
from harness import World, case, expect, expect_in, raised
from pydantic import BaseModel

litellm.suppress_debug_info = True

HELLO = [{"role": "user", "content": "Say hello."}]
PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}


class Person(BaseModel):
    name: str
    born: int


def options(world: World, model: str = "openai/openai/gpt-4o", messages=None, **members) -> dict:
    """`openai/` before the gateway's model name is litellm's word for the protocol."""
    server = {"api_base": world.url, "api_key": world.key, "num_retries": 0, "max_retries": 0}
    return {"model": model, "messages": messages or HELLO, **server, **members}


def complete(world: World, model: str = "openai/openai/gpt-4o", messages=None, **members):
    return litellm.completion(**options(world, model, messages, **members))


@case("litellm", "chat")
def completes(world: World) -> None:
    """answers, with usage"""
    reply = complete(world)
    expect("text", reply.choices[0].message.content, answers.HELLO)
    expect("finish reason", reply.choices[0].finish_reason, "stop")
    expect("tokens", (reply.usage.prompt_tokens, reply.usage.completion_tokens), (11, 9))
    expect("fingerprint", reply.system_fingerprint, "fp_44709d6fcb")


@case("litellm", "chat")
async def completes_async(world: World) -> None:
    """answers an async call"""
    reply = await litellm.acompletion(**options(world))
    expect("text", reply.choices[0].message.content, answers.HELLO)


@case("litellm", "chat")
def completes_as_proxy(world: World) -> None:
    """answers where it takes the gateway for a LiteLLM proxy"""
    reply = complete(world, "litellm_proxy/openai/gpt-4o")
    expect("text", reply.choices[0].message.content, answers.HELLO)


@case("litellm", "chat")
def sends_instructions(world: World) -> None:
    """sends developer messages of gpt-5"""
    reply = complete(world, "openai/gpt-5", [{"role": "developer", "content": "Be brief."}, *HELLO])
    expect("text", reply.choices[0].message.content, answers.HELLO)


@case("litellm", "chat", wire=False)
def answers_with_claude(world: World) -> None:
    """answers with a Claude model"""
    reply = complete(world, "openai/anthropic/claude-sonnet-4-5")
    expect("text", reply.choices[0].message.content, answers.HELLO)


@case("litellm", "streams")
def streams(world: World) -> None:
    """streams"""
    text = "".join(chunk.choices[0].delta.content or "" for chunk in complete(world, stream=True))
    expect("text", text, answers.HELLO)


@case("litellm", "streams")
async def streams_async(world: World) -> None:
    """streams to an async loop, with usage as asked"""
    stream = await litellm.acompletion(**options(world, stream=True, stream_options={"include_usage": True}))
    chunks = [chunk async for chunk in stream]
    expect("text", "".join(one.choices[0].delta.content or "" for one in chunks if one.choices), answers.HELLO)
    expect("tokens", chunks[-1].usage.total_tokens, 20)


@case("litellm", "tools")
def calls_tools(world: World) -> None:
    """calls tools in parallel and takes their results"""
    turns = [{"role": "user", "content": "The weather in both places?"}]
    message = complete(world, messages=turns, tools=[WEATHER]).choices[0].message
    arguments = [json.loads(call.function.arguments) for call in message.tool_calls]
    expect("arguments", arguments, [{"place": "Ada Lovelace"}] * 2)
    results = [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls]
    last = complete(world, messages=[*turns, message, *results], tools=[WEATHER])
    expect("text", last.choices[0].message.content, answers.AFTER_TOOLS)


@case("litellm", "tools")
def streams_tools(world: World) -> None:
    """streams parallel calls"""
    turns = [{"role": "user", "content": "The weather in both places?"}]
    chunks = list(complete(world, messages=turns, tools=[WEATHER], stream=True))
    whole = litellm.stream_chunk_builder(chunks)
    arguments = [json.loads(call.function.arguments) for call in whole.choices[0].message.tool_calls]
    expect("arguments", arguments, [{"place": "Ada Lovelace"}] * 2)


@case("litellm", "structured output")
def structures(world: World) -> None:
    """answers in a pydantic model"""
    reply = complete(world, response_format=Person)
    parsed = Person.model_validate_json(reply.choices[0].message.content)
    expect("parsed", parsed, Person(name="Ada Lovelace", born=1815))


@case("litellm", "reasoning")
def thinks(world: World) -> None:
    """brings reasoning, whole and streamed"""
    model = "openai/deepseek/deepseek-reasoner"
    expect("whole", complete(world, model).choices[0].message.reasoning_content, answers.THOUGHT)
    deltas = [chunk.choices[0].delta for chunk in complete(world, model, stream=True)]
    expect("streamed", "".join(getattr(one, "reasoning_content", None) or "" for one in deltas), answers.THOUGHT)


@case("litellm", "reasoning")
def loops_with_thoughts(world: World) -> None:
    """continues a reasoning model's tool loop"""
    model = "openai/deepseek/deepseek-reasoner"
    message = complete(world, model, tools=[WEATHER]).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}
    last = complete(world, model, [*HELLO, message.model_dump(exclude_none=True), result], tools=[WEATHER])
    expect("text", last.choices[0].message.content, answers.AFTER_TOOLS)


@case("litellm", "embeddings")
def embeds(world: World) -> None:
    """embeds texts"""
    reply = litellm.embedding(
        model="openai/openai/text-embedding-3-small", input=["alpha", "beta"], api_base=world.url, api_key=world.key
    )
    expect("vectors", [one["embedding"] for one in reply.data], [vectors.vector(0), vectors.vector(1)])


@case("litellm", "errors")
def maps_errors(world: World) -> None:
    """raises its own classes for a wrong key, an unknown model, a bad request and a limit"""
    raised(litellm.AuthenticationError, lambda: complete(world, api_key="tg-0123456789abcdef-nobody"))
    raised(litellm.NotFoundError, lambda: complete(world, "openai/acme/none"))
    raised(litellm.BadRequestError, lambda: complete(world, "openai/" + world.failing("400")))
    raised(litellm.RateLimitError, lambda: complete(world, "openai/" + world.failing("429")))


@case("litellm", "errors")
def knows_an_overflow(world: World) -> None:
    """raises ContextWindowExceededError for the provider's overflow and for the gateway's"""
    error = raised(litellm.ContextWindowExceededError, lambda: complete(world, "openai/" + world.failing("overflow")))
    expect_in("message", "8192", str(error))
    long = [{"role": "user", "content": "word " * 200}]
    raised(litellm.ContextWindowExceededError, lambda: complete(world, "openai/acme/tiny", long))


@case("litellm", "errors")
def knows_a_policy(world: World) -> None:
    """raises ContentPolicyViolationError"""
    raised(litellm.ContentPolicyViolationError, lambda: complete(world, "openai/" + world.failing("policy")))


@case("litellm", "errors", wire=False)
def falls_back_for_context(world: World) -> None:
    """falls back to another model by context_window_fallbacks"""
    shared = {"api_base": world.url, "api_key": world.key}
    named = [("small", "openai/" + world.failing("overflow")), ("large", "openai/openai/gpt-4o")]
    models = [{"model_name": name, "litellm_params": {"model": model, **shared}} for name, model in named]
    router = litellm.Router(model_list=models, context_window_fallbacks=[{"small": ["large"]}], num_retries=0)
    reply = router.completion(model="small", messages=HELLO)
    expect("text", reply.choices[0].message.content, answers.HELLO)
