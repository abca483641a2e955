"""Embeddings of the fake provider. The numbers are exact in 32 bits, so base64 returns the same ones."""

import base64
import struct
from typing import Any

SIZE = 6


def inputs(value: Any) -> list[Any]:
    """A text and a flat list of token ids are one input each."""
    if isinstance(value, str) or (value and isinstance(value[0], int)):
        return [value]
    return list(value)


def vector(index: int, size: int = SIZE) -> list[float]:
    return [0.5, -0.25, float(index), 1.125, -2.0, 0.0625, *[0.0] * size][:size]


def packed(numbers: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def embeddings(request: dict[str, Any]) -> dict[str, Any]:
    texts = inputs(request["input"])
    made = [vector(index, request.get("dimensions") or SIZE) for index in range(len(texts))]
    as_text = request.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": packed(numbers) if as_text else numbers}
        for index, numbers in enumerate(made)
    ]
    count = 4 * len(texts)
    return {
        "object": "list",
        "data": data,
        "model": request["model"],
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }
