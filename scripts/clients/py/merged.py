"""A streamed completion as one whole one, so that both forms are compared alike."""

from typing import Any


def merged(events: list[Any]) -> dict[str, Any]:
    """Joins the chunks of a stream. Members beside `choices` keep their last value that is not null."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in (event for event in events if isinstance(event, dict)):
        for name, value in chunk.items():
            if name != "choices" and (value is not None or name not in whole):
                whole[name] = value
        for part in chunk.get("choices") or []:
            known = choices.setdefault(part["index"], {"index": part["index"], "message": {}})
            join(known["message"], part.get("delta") or {})
            for name, value in part.items():
                if name == "logprobs" and value:
                    join(known.setdefault("logprobs", {}), value)
                elif name not in ("index", "delta") and value is not None:
                    known[name] = value
    return {**whole, "choices": [choices[index] for index in sorted(choices)]}


KEPT = {"id", "type", "role", "name", "index", "format"}


def join(known: dict[str, Any], delta: dict[str, Any]) -> None:
    """Adds a delta in place: texts grow, numbered items join by their index, other lists grow."""
    for name, value in delta.items():
        before = known.get(name)
        if value is None or before is None:
            known.setdefault(name, [] if isinstance(value, list) else None)
            if isinstance(value, list):
                join_items(known[name], value)
            elif value is not None:
                known[name] = dict(value) if isinstance(value, dict) else value
        elif isinstance(value, str) and isinstance(before, str) and name not in KEPT:
            known[name] = before + value
        elif isinstance(value, list):
            join_items(before, value)
        elif isinstance(value, dict):
            join(before, value)
        else:
            known[name] = value


def join_items(items: list[Any], added: list[Any]) -> None:
    for item in added:
        index = item.get("index") if isinstance(item, dict) else None
        same = next((one for one in items if index is not None and one.get("index") == index), None)
        if same is None:
            items.append({})
            if isinstance(item, dict):
                join(items[-1], item)
            else:
                items[-1] = item
        else:
            join(same, item)
