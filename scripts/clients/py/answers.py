"""What the fake provider answers in OpenAI's wire. The request decides: its tools, its response
format, its modalities; and a few model names decide for failures and for what some vendors add."""

import json
from dataclasses import dataclass, field
from typing import Any, Iterator

import vectors
from samples import NUMBER, TEXT, sample

HELLO = "Grüezi, my friend 👋🏽."
AFTER_TOOLS = "Both are sunny."
REFUSAL = "I cannot help with that."
THOUGHT = "Let me think. Done."
CITATIONS = ["https://example.com/a", "https://example.com/b"]
PERSON = {"name": TEXT, "born": NUMBER}

OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. "
    "Please reduce the length of the messages."
)
POLICY = "Your request was rejected as a result of our safety system."
MISSING_THOUGHT = "The `reasoning_content` in the thinking mode must be passed back to the API."


@dataclass
class Answer:
    """`delay`: seconds before the status, `pause`: seconds after each event, `cut`: no proper end."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    events: Iterator[str] | list[str] | None = None
    delay: float = 0.0
    pause: float = 0.0
    cut: bool = False


def failure(status: int, message: str, kind: str, code: str | None, **headers: str) -> Answer:
    error = {"message": message, "type": kind, "param": None, "code": code}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body={"error": error}, headers=names)


FAILURES = {
    "fail-400": lambda: failure(400, "Unknown voice: 'bark'.", "invalid_request_error", "unknown_voice"),
    "fail-overflow": lambda: failure(400, OVERFLOW, "invalid_request_error", "context_length_exceeded"),
    "fail-policy": lambda: failure(400, POLICY, "invalid_request_error", "content_policy_violation"),
    "fail-401": lambda: failure(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "fail-404": lambda: failure(404, "The model does not exist.", "invalid_request_error", "model_not_found"),
    "fail-429": lambda: failure(
        429, "Rate limit reached.", "requests", "rate_limit_exceeded", retry_after="7"
    ),
    "fail-500": lambda: failure(500, "The server had an error.", "server_error", None),
}


def chat(request: dict[str, Any]) -> Answer:
    model = request["model"]
    if model in FAILURES:
        return FAILURES[model]()
    if model == "deepseek-reasoner" and any(lacks_thought(turn) for turn in request["messages"]):
        return failure(400, MISSING_THOUGHT, "invalid_request_error", "invalid_request_error")
    whole = completion(request)
    delay = 3.0 if model == "slow" else 0.0
    if not request.get("stream"):
        return Answer(body=whole, delay=delay)
    events = list(chunks(whole, request))
    if model == "cut":
        return Answer(events=events[:3], cut=True)
    if model == "endless":
        return Answer(events=[*events[:2], *(events[2:3] * 600)], pause=0.1)
    return Answer(events=events, delay=delay)


def lacks_thought(turn: dict[str, Any]) -> bool:
    return turn["role"] == "assistant" and bool(turn.get("tool_calls")) and not turn.get("reasoning_content")


def completion(request: dict[str, Any]) -> dict[str, Any]:
    model = request["model"]
    extra: dict[str, Any] = {}
    if model == "sonar":
        extra = {"citations": CITATIONS, "search_results": [{"title": "A", "url": CITATIONS[0], "date": None}]}
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1_741_569_952,
        "model": model,
        "choices": [choice(request, index) for index in range(request.get("n") or 1)],
        "usage": usage(request),
        "service_tier": request.get("service_tier") or "default",
        "system_fingerprint": "fp_44709d6fcb",
        **extra,
    }


def usage(request: dict[str, Any]) -> dict[str, Any]:
    thinks = request["model"] == "deepseek-reasoner"
    predicted = 3 if request.get("prediction") else 0
    spoken = 4 if "audio" in (request.get("modalities") or []) else 0
    counted = {
        "prompt_tokens": 11,
        "completion_tokens": 9,
        "total_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 8 if request.get("prompt_cache_key") else 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 5 if thinks else 0,
            "audio_tokens": spoken,
            "accepted_prediction_tokens": predicted,
            "rejected_prediction_tokens": 0,
        },
    }
    return {**counted, "prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": 11} if thinks else counted


def choice(request: dict[str, Any], index: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, **content(request)}
    if request["model"] == "deepseek-reasoner":
        message["reasoning_content"] = THOUGHT
    if message.get("tool_calls"):
        reason = "tool_calls"
    else:
        reason = "function_call" if message.get("function_call") else "stop"
    return {"index": index, "message": message, "logprobs": logprobs(request, message), "finish_reason": reason}


def content(request: dict[str, Any]) -> dict[str, Any]:
    """The members of the message beside its role."""
    if request["model"] == "refuses":
        return {"refusal": REFUSAL}
    calls = tool_calls(request)
    if calls:
        return {"tool_calls": calls}
    answered = request["messages"][-1]["role"] in ("tool", "function")
    if request.get("functions") and not answered:
        arguments = json.dumps(sample(request["functions"][0]["parameters"]))
        return {"function_call": {"name": request["functions"][0]["name"], "arguments": arguments}}
    if "audio" in (request.get("modalities") or []):
        sound = {"id": "audio_6718", "expires_at": 1_741_573_552, "data": "UklGRg==", "transcript": HELLO}
        return {"audio": sound}
    form = request.get("response_format") or {}
    if form.get("type") == "json_schema":
        return {"content": json.dumps(sample(form["json_schema"]["schema"]))}
    if form.get("type") == "json_object":
        return {"content": json.dumps(PERSON)}
    if "write JSON" in str(request["messages"]):
        return {"content": json.dumps(PERSON)}
    if request["model"] == "sonar":
        place = {"start_index": 0, "end_index": 5, "title": "A", "url": CITATIONS[0]}
        return {"content": HELLO, "annotations": [{"type": "url_citation", "url_citation": place}]}
    return {"content": AFTER_TOOLS if answered else HELLO}


def tool_calls(request: dict[str, Any]) -> list[dict[str, Any]]:
    """One call of the forced or the first tool; two where the prompt says "both". None after a result,
    except for the tool through which pydantic-ai asks for the final answer."""
    tools = request.get("tools") or []
    wanted = request.get("tool_choice")
    if not tools or wanted == "none":
        return []
    last = request["messages"][-1]
    if isinstance(wanted, dict):
        forced = (wanted.get("function") or wanted.get("custom") or {}).get("name")
        tools = [tool for tool in tools if tool[tool["type"]]["name"] == forced]
    elif last["role"] == "tool":
        tools = [tool for tool in tools if tool[tool["type"]]["name"].startswith("final_result")]
    if not tools or (isinstance(wanted, dict) and last["role"] == "tool"):
        return []
    count = 2 if last["role"] == "user" and "both" in json.dumps(last) else 1
    return [tool_call(tools[0], f"call_{number}_x9Kq") for number in range(count)]


def tool_call(tool: dict[str, Any], identifier: str) -> dict[str, Any]:
    if tool["type"] == "custom":
        return {"id": identifier, "type": "custom", "custom": {"name": tool["custom"]["name"], "input": "2 + 2"}}
    function = tool["function"]
    arguments = json.dumps(sample(function.get("parameters") or {"type": "object"}), ensure_ascii=False)
    return {"id": identifier, "type": "function", "function": {"name": function["name"], "arguments": arguments}}


def logprobs(request: dict[str, Any], message: dict[str, Any]) -> dict[str, Any] | None:
    if not request.get("logprobs"):
        return None
    token = {"token": "Gr", "logprob": -0.25, "bytes": [71, 114]}
    best = [token] * (request.get("top_logprobs") or 0)
    return {"content": [{**token, "top_logprobs": best}] if message["content"] else None, "refusal": None}


def chunks(whole: dict[str, Any], request: dict[str, Any]) -> Iterator[str]:
    """The same completion as a stream, as OpenAI cuts it."""
    head = {name: value for name, value in whole.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    asked = bool((request.get("stream_options") or {}).get("include_usage"))
    rest = {"usage": None} if asked else {}
    for one in whole["choices"]:
        for delta, marks in deltas(one):
            part = {"index": one["index"], "delta": delta, "logprobs": marks, "finish_reason": None}
            yield event({**head, "choices": [part], **rest})
        last = {"index": one["index"], "delta": {}, "logprobs": None, "finish_reason": one["finish_reason"]}
        yield event({**head, "choices": [last], **rest})
    if asked:
        yield event({**head, "choices": [], "usage": whole["usage"]})
    yield "data: [DONE]\n\n"


def deltas(one: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The deltas of a choice, each with its logprobs."""
    message = dict(one["message"])
    marks = one["logprobs"]
    texts = {name: message.pop(name, None) for name in ("reasoning_content", "content", "refusal")}
    calls = message.pop("tool_calls", [])
    call = message.pop("function_call", None)
    yield {"role": message.pop("role"), "content": "" if texts["content"] else None, "refusal": None}, None
    for name, text in texts.items():
        for start in range(0, len(text or ""), 6):
            yield {name: text[start : start + 6]}, (marks if name == "content" and start == 0 else None)
    for index, one_call in enumerate(calls):
        kind = one_call["type"]
        long = "arguments" if kind == "function" else "input"
        yield {"tool_calls": [{"index": index, **one_call, kind: {**one_call[kind], long: ""}}]}, None
        text = one_call[kind][long]
        for start in range(0, len(text), 7):
            yield {"tool_calls": [{"index": index, kind: {long: text[start : start + 7]}}]}, None
    if call:
        yield {"function_call": {"name": call["name"], "arguments": ""}}, None
        yield {"function_call": {"arguments": call["arguments"]}}, None
    if message:
        yield message, None


def event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def embeddings(request: dict[str, Any]) -> Answer:
    if request["model"] in FAILURES:
        return FAILURES[request["model"]]()
    return Answer(body=vectors.embeddings(request))
