"""One request over HTTP and its answer, as the fake provider and the tap record it."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Exchange:
    """`finished` is true once the answer is over, `broken` if the other side left before its end."""

    path: str
    headers: dict[str, str]
    request: Any = None
    status: int = 0
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""
    finished: bool = False
    broken: bool = False

    @property
    def streamed(self) -> bool:
        return "text/event-stream" in self.answer_headers.get("content-type", "")

    def events(self) -> list[Any]:
        """The data of the stream's events. `[DONE]` stays a text."""
        lines = self.answer.decode("utf-8", "replace").splitlines()
        data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        return [parse(text) for text in data]

    def json(self) -> Any:
        return parse(self.answer.decode("utf-8", "replace"))

    def brief(self) -> str:
        """The exchange in two lines, for a failing case. Credentials are in no body."""
        asked = json.dumps(self.request, ensure_ascii=False)
        answered = self.answer.decode("utf-8", "replace").replace("\n\n", " | ")
        return f"sent to {self.path}: {short(asked)}\nanswered {self.status}: {short(answered)}"


def parse(text: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def short(text: str, limit: int = 500) -> str:
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"
