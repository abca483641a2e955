"""The results of a full run, from which docs/reference/clients.md has its rows for Python."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("results.json")

# The name after --only, and the packages whose versions the table shows.
CLIENTS = {
    "openai": ["openai"],
    "langchain": ["langchain-openai"],
    "litellm": ["litellm"],
    "llamaindex": ["llama-index-llms-openai", "llama-index-embeddings-openai", "llama-index-llms-openai-like"],
    "agents": ["openai-agents"],
    "pydanticai": ["pydantic-ai-slim"],
    "autogen": ["autogen-ext"],
    "anthropic": ["anthropic"],
    "responses": ["openai"],
    "agentsresponses": ["openai-agents"],
}
# A client that a generator makes is checked too. It has no row among the libraries.
GENERATED = "generated"
# The others speak chat completions.
APIS = {"anthropic": "Messages", "responses": "Responses", "agentsresponses": "Responses"}


def write(outcome: list[tuple[Any, bool]]) -> None:
    """Writes passed and failed cases by client and feature."""
    rows = []
    for client, packages in CLIENTS.items():
        features: dict[str, dict[str, int]] = {}
        for one, passed in outcome:
            if one.client == client:
                count = features.setdefault(one.feature, {"passed": 0, "failed": 0})
                count["passed" if passed else "failed"] += 1
        versions = {name: version(name) for name in packages}
        api = {"api": APIS[client]} if client in APIS else {}
        rows.append({"client": client, **api, "packages": versions, "features": features})
    FILE.write_text(json.dumps(rows, indent=2) + "\n")
