"""openai: errors as the classes that users catch, with words that say what happened."""

import time

import openai as library
from cases.openai_chat import HELLO, ask, client
from harness import World, case, expect, expect_in, raised


def failing(world: World, kind: type, model: str, **members):
    return raised(kind, lambda: ask(world, model, **members))


@case("openai", "errors")
def refuses_a_key(world: World) -> None:
    """refuses an unknown key with AuthenticationError"""
    stranger = client(world, api_key="tg-0123456789abcdef-nobody")
    error = raised(library.AuthenticationError, lambda: stranger.models.list())
    expect("code", error.code, "invalid_api_key")


@case("openai", "errors")
def misses_a_model(world: World) -> None:
    """refuses an unknown model with NotFoundError, and names a likely one"""
    error = failing(world, library.NotFoundError, "openai/gpt-4oo")
    expect("fault", (error.code, error.param), ("model_not_found", "model"))
    expect_in("message", "openai/gpt-4o", error.message)


@case("openai", "errors")
def misses_a_route(world: World) -> None:
    """says which endpoint is not there"""
    error = raised(library.NotFoundError, lambda: client(world).moderations.create(input="x"))
    expect_in("message", "/v1/moderations", error.message)


@case("openai", "errors")
def refuses_a_value(world: World) -> None:
    """refuses a wrong value with UnprocessableEntityError, and names the member"""
    error = failing(world, library.UnprocessableEntityError, "openai/gpt-4o", temperature=9)
    expect("param", error.param, "temperature")
    expect_in("message", "temperature", error.message)


@case("openai", "errors")
def passes_on_bad_request(world: World) -> None:
    """passes a provider's 400 on as BadRequestError with its words"""
    for streamed in (False, True):
        error = failing(world, library.BadRequestError, world.failing("400"), stream=streamed)
        expect_in("message", "Unknown voice: 'bark'.", error.message)
        expect("type", error.type, "invalid_request_error")


@case("openai", "errors")
def tells_of_an_overflow(world: World) -> None:
    """tells of a provider's context overflow in the provider's words"""
    error = failing(world, library.BadRequestError, world.failing("overflow"))
    expect("code", error.code, "context_length_exceeded")
    expect_in("message", "maximum context length is 8192 tokens", error.message)


@case("openai", "errors")
def finds_an_overflow(world: World) -> None:
    """tells of an overflow that it finds itself in the usual words"""
    error = failing(world, library.BadRequestError, "acme/tiny", messages=[{"role": "user", "content": "word " * 200}])
    expect("code", error.code, "context_length_exceeded")
    expect_in("message", "maximum context length is 60 tokens", error.message)


@case("openai", "errors")
def backs_off(world: World) -> None:
    """passes a provider's 429 on as RateLimitError with Retry-After"""
    error = failing(world, library.RateLimitError, world.failing("429"))
    expect("retry-after", error.response.headers.get("retry-after"), "7")
    expect_in("message", "fail-429-openai", error.message)


@case("openai", "errors")
def names_the_cause(world: World) -> None:
    """names the provider that failed in the message of an InternalServerError"""
    error = failing(world, library.InternalServerError, world.failing("500"))
    expect_in("message", "fail-500-openai", error.message)


@case("openai", "errors")
def does_not_retry_refused_credentials(world: World) -> None:
    """lets the SDK not retry where a provider refuses the operator's key"""
    begun = time.monotonic()
    patient = client(world, max_retries=2)
    call = lambda: patient.chat.completions.create(model=world.failing("401"), messages=HELLO)  # noqa: E731
    error = raised(library.InternalServerError, call)
    expect_in("message", "fail-401-openai", error.message)
    expect("requests", len(world.sent), 1)
    expect("within 5 s", time.monotonic() - begun < 5, True)


@case("openai", "errors")
def tells_of_an_unknown_upstream_model(world: World) -> None:
    """tells of a model that the provider does not know with NotFoundError"""
    failing(world, library.NotFoundError, world.failing("404"))


@case("openai", "errors")
def stops_at_a_budget(world: World) -> None:
    """stops at a budget with 402, and lets the SDK not retry"""
    poor = client(world, api_key=world.gateway.key(monthly_budget_usd=0.00001), max_retries=3)
    call = lambda: poor.chat.completions.create(model="openai/gpt-4o", messages=HELLO)  # noqa: E731
    error = raised(library.APIStatusError, call)
    expect("status", (error.status_code, error.code), (402, "monthly_budget_exceeded"))
    expect("requests", len(world.sent), 1)


@case("openai", "errors")
def refuses_by_whitelist(world: World) -> None:
    """refuses a model that the key may not use with PermissionDeniedError"""
    bound = client(world, api_key=world.gateway.key(allowed_models=["acme/chat"]))
    call = lambda: bound.chat.completions.create(model="openai/gpt-4o", messages=HELLO)  # noqa: E731
    expect("code", raised(library.PermissionDeniedError, call).code, "model_not_allowed")


@case("openai", "errors")
def waits_for_a_limit(world: World) -> None:
    """limits a key with RateLimitError, and the SDK's retry waits and succeeds"""
    key = world.gateway.key(tier="free")
    hasty = client(world, api_key=key)
    call = lambda: hasty.chat.completions.create(model="openai/gpt-4o", messages=HELLO)  # noqa: E731

    def exhaust() -> None:
        for _ in range(40):
            call()

    error = raised(library.RateLimitError, exhaust)
    expect("retry-after is there", int(error.response.headers["retry-after"]) > 0, True)
    patient = client(world, api_key=key, max_retries=2)
    reply = patient.chat.completions.create(model="openai/gpt-4o", messages=HELLO)
    expect("finish reason", reply.choices[0].finish_reason, "stop")


@case("openai", "errors", wire=False)
def keeps_the_clients_time(world: World) -> None:
    """ends at the client's own time limit with APITimeoutError"""
    hurried = client(world, timeout=1)
    raised(library.APITimeoutError, lambda: hurried.chat.completions.create(model="acme/slow", messages=HELLO))
