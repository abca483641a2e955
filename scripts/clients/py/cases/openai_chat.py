"""openai: whole chat completions, and which members of a request and of an answer arrive."""

import answers
from harness import World, case, expect, expect_in
from openai import AsyncOpenAI, OpenAI

HELLO = [{"role": "user", "content": "Say hello."}]


def client(world: World, **options) -> OpenAI:
    return OpenAI(**{"base_url": world.url, "api_key": world.key, "max_retries": 0, **options})


def ask(world: World, model: str = "openai/gpt-4o", messages=None, **members):
    return client(world).chat.completions.create(model=model, messages=messages or HELLO, **members)


@case("openai", "chat")
def answers_whole(world: World) -> None:
    """answers"""
    reply = ask(world)
    expect("text", reply.choices[0].message.content, answers.HELLO)
    expect("finish reason", reply.choices[0].finish_reason, "stop")
    expect("tokens", (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens), (11, 9, 20))
    expect("model", reply.model, "openai/gpt-4o")
    expect("service tier", reply.service_tier, "default")
    expect("fingerprint", reply.system_fingerprint, "fp_44709d6fcb")


@case("openai", "chat")
async def answers_async(world: World) -> None:
    """answers the async client"""
    async with AsyncOpenAI(base_url=world.url, api_key=world.key, max_retries=0) as openai:
        reply = await openai.chat.completions.create(model="openai/gpt-4o", messages=HELLO)
    expect("text", reply.choices[0].message.content, answers.HELLO)


@case("openai", "chat")
def takes_bare_name(world: World) -> None:
    """knows a vendor's own name of a model"""
    expect("text", ask(world, "gpt-4o").choices[0].message.content, answers.HELLO)


@case("openai", "chat")
def answers_several_choices(world: World) -> None:
    """answers n choices"""
    expect("indexes", [one.index for one in ask(world, n=3).choices], [0, 1, 2])


@case("openai", "chat")
def brings_logprobs(world: World) -> None:
    """brings logprobs"""
    reply = ask(world, logprobs=True, top_logprobs=2)
    token = reply.choices[0].logprobs.content[0]
    expect("token", (token.token, token.logprob, token.bytes, len(token.top_logprobs)), ("Gr", -0.25, [71, 114], 2))


@case("openai", "chat")
def brings_zeros_of_usage(world: World) -> None:
    """brings usage details that are zero, so that r.usage.prompt_tokens_details.cached_tokens works"""
    usage = ask(world).usage
    expect("cached tokens", usage.prompt_tokens_details.cached_tokens, 0)
    expect("reasoning tokens", usage.completion_tokens_details.reasoning_tokens, 0)


@case("openai", "chat")
def brings_details_of_usage(world: World) -> None:
    """brings cached tokens, predictions and audio of usage"""
    prediction = {"type": "content", "content": "Hello."}
    usage = ask(world, prompt_cache_key="k", prediction=prediction).usage
    expect("cached tokens", usage.prompt_tokens_details.cached_tokens, 8)
    expect("accepted", usage.completion_tokens_details.accepted_prediction_tokens, 3)


@case("openai", "chat")
def tells_the_cost(world: World) -> None:
    """tells the cost in usage.cost"""
    usage = ask(world).usage.model_dump()
    expect("cost", usage.get("cost"), usage["estimated_cost_usd"])
    expect("cost in USD", round(usage["cost"] * 1e6), 11 * 2 + 9 * 8)


@case("openai", "chat")
def passes_every_member(world: World) -> None:
    """passes every member of the SDK, and vendors' own, to the provider"""
    ask(
        world,
        temperature=0.7,
        top_p=0.9,
        stop=["END", "STOP"],
        presence_penalty=0.5,
        frequency_penalty=-0.5,
        logit_bias={"50256": -100},
        user="somebody",
        store=False,
        service_tier="flex",
        verbosity="low",
        reasoning_effort="low",
        max_completion_tokens=500,
        parallel_tool_calls=False,
        tools=[{"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "object"}}}],
        tool_choice="none",
        web_search_options={"search_context_size": "low"},
        safety_identifier="s-1",
        prompt_cache_key="k-1",
        prompt_cache_retention="24h",
        extra_body={"top_k": 40, "min_p": 0.05, "chat_template_kwargs": {"thinking": False}, "guided_json": {"a": [1]}},
    )


@case("openai", "chat")
def passes_metadata(world: World) -> None:
    """passes metadata whole, with a member named mock"""
    ask(world, metadata={"mock": "x", "team": "blue"}, store=True)
    expect("metadata", world.asked.get("metadata"), {"mock": "x", "team": "blue"})


@case("openai", "chat")
def passes_long_numbers(world: World) -> None:
    """passes integers above 2^53 with all their digits"""
    ask(world, seed=2**62 + 1, extra_body={"session": 1152921504606846977})
    expect("seed", world.asked.get("seed"), 2**62 + 1)
    expect("session", world.asked.get("session"), 1152921504606846977)


@case("openai", "chat")
def passes_parts(world: World) -> None:
    """passes pictures, sound and files of a message"""
    pixel = "data:image/png;base64,iVBORw0KGgo="
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": pixel, "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
    ]
    ask(world, messages=[{"role": "user", "content": parts}])


@case("openai", "chat")
def takes_developer(world: World) -> None:
    """takes the role developer"""
    for model in ("openai/gpt-4o", "openai/o3-mini", "openai/gpt-5"):
        ask(world, model, [{"role": "developer", "content": "Be brief."}, *HELLO])
    roles = [turn["role"] for turn in world.asked["messages"]]
    expect_in("role", roles[0], ("developer", "system"))


@case("openai", "chat", wire=False)
def takes_developer_at_claude(world: World) -> None:
    """takes the role developer for a Claude model"""
    ask(world, "anthropic/claude-sonnet-4-5", [{"role": "developer", "content": "Be brief."}, *HELLO])
    expect_in("system", "Be brief.", str(world.asked.get("system")))


@case("openai", "chat", wire=False)
def answers_with_claude(world: World) -> None:
    """answers with a Claude model, by its dated name too"""
    for model in ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"):
        reply = ask(world, model, stop=["END"], user="u-1")
        expect("text", reply.choices[0].message.content, answers.HELLO)
    expect("stop", world.asked["stop_sequences"], ["END"])
    expect("user", world.asked["metadata"], {"user_id": "u-1"})


@case("openai", "chat")
def continues_after_refusal(world: World) -> None:
    """brings a refusal, and takes it back in the next request"""
    message = ask(world, "acme/refuses").choices[0].message
    expect("refusal", (message.content, message.refusal), (None, answers.REFUSAL))
    ask(world, messages=[*HELLO, message.model_dump(), {"role": "user", "content": "Why?"}])
    expect("refusal sent back", world.asked["messages"][1].get("refusal"), answers.REFUSAL)


@case("openai", "chat")
def continues_after_sound(world: World) -> None:
    """brings sound, and takes its id back in the next request"""
    voice = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}
    reply = ask(world, "openai/gpt-audio", **voice)
    sound = reply.choices[0].message.audio
    expect("sound", (sound.id, sound.data, sound.transcript), ("audio_6718", "UklGRg==", answers.HELLO))
    turn = {"role": "assistant", "audio": {"id": sound.id}}
    ask(world, "openai/gpt-audio", [*HELLO, turn, {"role": "user", "content": "Again."}], **voice)


@case("openai", "chat")
def continues_after_empty_turn(world: World) -> None:
    """takes an assistant's turn without content"""
    for turn in ({"role": "assistant", "content": None}, {"role": "assistant"}):
        reply = ask(world, messages=[*HELLO, turn, {"role": "user", "content": "And?"}])
        expect("text", reply.choices[0].message.content, answers.HELLO)


@case("openai", "chat")
def brings_sources(world: World) -> None:
    """brings citations, search results and annotations"""
    reply = ask(world, "perplexity/sonar")
    more = reply.model_extra or {}
    expect("citations", more.get("citations"), answers.CITATIONS)
    expect("search results", len(more.get("search_results") or []), 1)
    expect("annotations", reply.choices[0].message.annotations[0].url_citation.url, answers.CITATIONS[0])


@case("openai", "chat")
def brings_headers(world: World) -> None:
    """brings headers to with_raw_response"""
    raw = client(world).chat.completions.with_raw_response.create(model="openai/gpt-4o", messages=HELLO)
    for name in ("x-request-id", "x-generation-id", "x-ratelimit-remaining-requests", "x-tollgate-provider"):
        expect(f"{name} is there", bool(raw.headers.get(name)), True)
    expect("text", raw.parse().choices[0].message.content, answers.HELLO)
    expect("_request_id", raw.parse()._request_id, raw.headers["x-request-id"])


@case("openai", "chat")
def keeps_one_limit(world: World) -> None:
    """takes max_tokens and max_completion_tokens as one limit"""
    for name in ("max_tokens", "max_completion_tokens"):
        ask(world, "openai/o3-mini", **{name: 77})
        limits = {key: world.asked[key] for key in ("max_tokens", "max_completion_tokens") if key in world.asked}
        expect("limit", list(limits.values()), [77])


@case("openai", "chat")
def answers_streaming_response(world: World) -> None:
    """answers with_streaming_response, which reads the body late"""
    openai = client(world).chat.completions.with_streaming_response
    with openai.create(model="openai/gpt-4o", messages=HELLO) as response:
        expect("text", response.parse().choices[0].message.content, answers.HELLO)


@case("openai", "chat")
def answers_from_cache(world: World) -> None:
    """gives the same answer from the cache, whole and streamed"""
    first = ask(world, seed=7)
    again = ask(world, seed=7)
    stream = list(ask(world, seed=7, stream=True))
    expect("calls", len(world.received), 1)
    expect("text", again.choices[0].message.content, first.choices[0].message.content)
    text = "".join(one.choices[0].delta.content or "" for one in stream if one.choices)
    expect("streamed text", text, answers.HELLO)
    expect("cache hit", again.model_extra.get("cache_hit"), True)


@case("openai", "chat")
def samples_anew(world: World) -> None:
    """asks the provider again for an equal request with a temperature"""
    for _ in range(2):
        ask(world, temperature=1.0)
    expect("calls", len(world.received), 2)


@case("openai", "chat")
def replays_by_idempotency_key(world: World) -> None:
    """replays an answer by Idempotency-Key"""
    twice = [ask(world, extra_headers={"Idempotency-Key": "clients-1"}) for _ in range(2)]
    expect("ids", twice[0].id, twice[1].id)
    expect("calls", len(world.received), 1)
