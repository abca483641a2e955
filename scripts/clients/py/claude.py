"""What the fake provider answers in Anthropic's wire: text, tool calls, thinking, whole and streamed."""

import json
from typing import Any, Iterator

from answers import AFTER_TOOLS, HELLO, THOUGHT, Answer
from samples import sample

SIGNATURE = "EqQBCgIYAhIkZjJiNWQ2"
USAGE = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9}


def messages(request: dict[str, Any]) -> Answer:
    blocks = content(request)
    reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    head = {"id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant", "model": request["model"]}
    if request.get("stream"):
        return Answer(events=list(events(head, blocks, reason)))
    return Answer(body={**head, "content": blocks, "stop_reason": reason, "stop_sequence": None, "usage": USAGE})


def content(request: dict[str, Any]) -> list[dict[str, Any]]:
    thinks = (request.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    first = [{"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}] if thinks else []
    tools = request.get("tools") or []
    last = request["messages"][-1]["content"]
    answered = isinstance(last, list) and any(block["type"] == "tool_result" for block in last)
    wanted = (request.get("tool_choice") or {}).get("type", "auto")
    form = (request.get("output_config") or {}).get("format") or request.get("output_format") or {}
    if tools and wanted != "none" and not answered:
        count = 2 if "both" in json.dumps(last) else 1
        return [*first, *(tool_use(tools[0], f"toolu_{number}_x9Kq") for number in range(count))]
    if form.get("type") == "json_schema":
        return [*first, {"type": "text", "text": json.dumps(sample(form["schema"]))}]
    return [*first, {"type": "text", "text": AFTER_TOOLS if answered else HELLO}]


def tool_use(tool: dict[str, Any], identifier: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": tool["name"], "input": sample(tool["input_schema"])}


def events(head: dict[str, Any], blocks: list[dict[str, Any]], reason: str) -> Iterator[str]:
    begun = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**USAGE, "output_tokens": 1}}
    yield event("message_start", message=begun)
    for index, block in enumerate(blocks):
        empty, pieces = split(block)
        yield event("content_block_start", index=index, content_block=empty)
        for delta in pieces:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=USAGE)
    yield event("message_stop")


def split(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it begins, and its deltas."""
    if block["type"] == "text":
        text = block["text"]
        pieces = [{"type": "text_delta", "text": text[at : at + 6]} for at in range(0, len(text), 6)]
        return {"type": "text", "text": ""}, pieces
    if block["type"] == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        pieces = [{"type": "thinking_delta", "thinking": block["thinking"]}, signed]
        return {"type": "thinking", "thinking": "", "signature": ""}, pieces
    text = json.dumps(block["input"], ensure_ascii=False)
    pieces = [{"type": "input_json_delta", "partial_json": text[at : at + 7]} for at in range(0, len(text), 7)]
    return {**block, "input": {}}, pieces


def event(kind: str, **members: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members}, ensure_ascii=False)}\n\n"
