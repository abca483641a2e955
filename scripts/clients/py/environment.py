"""The environment that keeps the libraries on this machine: no telemetry, no downloads, no proxies."""

import importlib.util
import os
from pathlib import Path

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1",
}
# A vendor's settings of the machine must not steer a client.
FOREIGN = ("OPENAI_", "ANTHROPIC_", "LANGCHAIN_", "LITELLM_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def prepare() -> None:
    """Call it before a client is imported."""
    for name in [name for name in os.environ if name.upper().startswith(FOREIGN)]:
        del os.environ[name]
    os.environ.update(QUIET)
    # litellm brings the vocabulary with which langchain counts, and tiktoken would download it.
    found = importlib.util.find_spec("litellm")
    if found is not None and found.origin is not None:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(found.origin).parent / "litellm_core_utils" / "tokenizers")
