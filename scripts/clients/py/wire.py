"""Compares both sides of the gateway, member by member: what a client sent with what the provider
received, and what the provider answered with what came back. `ADDED` and the functions `sent_form` and
`answered_form` say which differences are the gateway's work."""

import json
from typing import Any, Iterator

from exchange import Exchange
from merged import merged

# Members that the gateway adds to an answer.
ADDED = {
    "provider",
    "generation_id",
    "cache_hit",
    "usage.estimated_cost_usd",
    "usage.cost",
    "usage.cost_details",
    "usage.cached_tokens",
    "usage.cache_discount_usd",
    "usage.cache_hit",
    "usage.completion_tokens",
    "usage.completion_tokens_details",
    "usage.completion_tokens_details.reasoning_tokens",
    "usage.prompt_tokens_details",
    "usage.prompt_tokens_details.cached_tokens",
    "usage.prompt_tokens_details.cache_write_tokens",
}
# The gateway's own values.
OWN = {"id", "model", "created", "object"}
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")


def compare(client: list[Exchange], provider: list[Exchange]) -> Iterator[str]:
    """A line for each difference. `client`: as the tap recorded it; `provider`: as the provider did."""
    left = [exchange for exchange in provider if exchange.path.startswith(("/v1/chat", "/v1/embeddings"))]
    for outer in client:
        if outer.status != 200 or outer.broken or not outer.path.startswith(("/v1/chat", "/v1/embeddings")):
            continue
        if outer.streamed:
            yield from stream_rules(outer)
        inner = None if is_repeated(outer) else partner(outer, left)
        if inner is None:
            continue
        left.remove(inner)
        yield from (f"the request's {line}" for line in sent_differences(outer, inner))
        yield from (f"the answer's {line}" for line in answered_differences(outer, inner))


def is_repeated(outer: Exchange) -> bool:
    """An answer for which no provider was called."""
    headers = outer.answer_headers
    return headers.get("x-tollgate-cache") == "hit" or headers.get("idempotent-replayed") == "true"


def partner(outer: Exchange, left: list[Exchange]) -> Exchange | None:
    """The provider's exchange that belongs to the client's: an equal one, or else the first."""
    answered = [inner for inner in left if inner.status == 200]
    equal = (inner for inner in answered if not any(sent_differences(outer, inner)))
    return next(equal, answered[0] if answered else None)


def sent_differences(outer: Exchange, inner: Exchange) -> Iterator[str]:
    return differences(sent_form(outer.request), sent_form(inner.request), "sent", "the provider received")


def answered_differences(outer: Exchange, inner: Exchange) -> Iterator[str]:
    told, got = answered_form(inner), answered_form(outer)
    return differences(told, got, "the provider answered", "the client got", ADDED)


def sent_form(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what the gateway decides: the model's name, routing, the stream's form, the name
    of the output limit, the encoding of vectors, and the role of instructions."""
    form = {name: value for name, value in request.items() if value is not None}
    for name in ("model", "provider", "models", "stream", "stream_options", "encoding_format"):
        form.pop(name, None)
    limits = [form.pop(name, None) for name in ("max_tokens", "max_completion_tokens")]
    if any(limits):
        form["output limit"] = min(limit for limit in limits if limit)
    if "messages" in form:
        form["messages"] = [sent_turn(turn) for turn in form["messages"]]
    return form


def sent_turn(turn: dict[str, Any]) -> dict[str, Any]:
    """A message: `developer` is `system` for most vendors, and each vendor has its own name for thoughts."""
    turn = {**turn, "role": "system" if turn["role"] == "developer" else turn["role"]}
    turn = one_thought(turn)
    # A message without content and an empty one are the same.
    return {name: value for name, value in turn.items() if value not in (None, "")}


def one_thought(message: dict[str, Any]) -> dict[str, Any]:
    """The thoughts under one name: `reasoning` and `reasoning_content` hold the same text."""
    texts = [message.get(name) for name in THOUGHTS[:2]]
    rest = {name: value for name, value in message.items() if name not in THOUGHTS}
    text = next((text for text in texts if text), None)
    return rest if text is None else {**rest, "reasoning": text}


def answered_form(exchange: Exchange) -> dict[str, Any]:
    whole = merged(exchange.events()) if exchange.streamed else exchange.json()
    if "data" in whole:
        return {**whole, "model": None, "data": None, "vectors": len(whole["data"])}
    form = {name: value for name, value in whole.items() if name not in OWN}
    form["choices"] = [{**one, "message": answered_message(one["message"])} for one in whole["choices"]]
    return form


def answered_message(message: dict[str, Any]) -> dict[str, Any]:
    """Calls of a stream are numbered."""
    calls = [
        {name: value for name, value in call.items() if name != "index"} for call in message.get("tool_calls") or []
    ]
    return one_thought({**message, "tool_calls": calls or None, "content": message.get("content") or None})


def differences(
    wanted: Any, got: Any, wanted_side: str, got_side: str, added: set[str] = frozenset(), path: str = ""
) -> Iterator[str]:
    """An absent member and null are equal. `added`: paths that may be there on the other side alone."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for name in [*wanted, *(name for name in got if name not in wanted)]:
            inner = f"{path}.{name}" if path else name
            if name in wanted or inner not in added:
                yield from differences(wanted.get(name), got.get(name), wanted_side, got_side, added, inner)
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for index, (one, other) in enumerate(zip(wanted, got)):
            yield from differences(one, other, wanted_side, got_side, added, f"{path}[{index}]")
    elif wanted != got:
        yield f"{path}: {wanted_side} {shown(wanted)}, {got_side} {shown(got)}"


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return "nothing" if value is None else text if len(text) <= 200 else f"{text[:200]} …"


def stream_rules(outer: Exchange) -> Iterator[str]:
    """The form of a stream in which nothing failed: one chunk without choices only where it was asked for."""
    events = outer.events()
    if not events or events[-1] != "[DONE]":
        yield "stream does not end with [DONE]"
        return
    chunks = events[:-1]
    asked = bool((outer.request.get("stream_options") or {}).get("include_usage"))
    without = [index for index, chunk in enumerate(chunks) if not chunk.get("choices")]
    if asked and without != [len(chunks) - 1]:
        yield f"stream has chunks without choices at {without}, and {len(chunks) - 1} should be the only one"
    if not asked and without:
        yield f"stream has chunks without choices at {without}, and usage was not asked for"
    usages = [index for index, chunk in enumerate(chunks) if chunk.get("usage")]
    if usages != [len(chunks) - 1]:
        yield f"stream has usage at {usages}, and only the last of {len(chunks)} chunks should have it"
