"""Starts the gateway on the embedded database, in a directory of its own, and stops it by its pid."""

import json
import os
import secrets
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
START_LIMIT_SECONDS = 180

PRICING = {"prompt": 2, "completion": 8}
FAILING = ["400", "401", "404", "429", "500", "overflow", "policy"]


def model(identifier: str, upstream: str, **more: Any) -> dict[str, Any]:
    return {"id": identifier, "upstream": upstream, "pricing": PRICING, **more}


def vectors(identifier: str, upstream: str) -> dict[str, Any]:
    return model(identifier, upstream, embeddings=True)


def failing(name: str, client: str) -> str:
    """The id of a failing model. Each client has its own, with a provider of its own, so that a circuit that
    opens for one client shuts no other one out."""
    return f"fail-{name}/{client}"


def settings(provider_url: str, clients: list[str]) -> dict[str, Any]:
    """The settings file: the fake provider under several slugs."""

    def provider(slug: str, models: list[dict[str, Any]], dialect: str = "openai") -> dict[str, Any]:
        url = f"{provider_url}/v1"
        return {"slug": slug, "dialect": dialect, "base_url": url, "api_key": f"sk-of-{slug}", "models": models}

    return {
        "providers": [
            provider(
                "openai",
                [
                    model("openai/gpt-4o", "gpt-4o"),
                    model("openai/gpt-5", "gpt-5"),
                    model("openai/o3-mini", "o3-mini"),
                    model("openai/gpt-audio", "gpt-audio"),
                    vectors("openai/text-embedding-3-small", "text-embedding-3-small"),
                    vectors("openai/text-embedding-ada-002", "text-embedding-ada-002"),
                ],
            ),
            provider(
                "acme",
                [
                    model("acme/chat", "chat-2026"),
                    model("acme/refuses", "refuses"),
                    model("acme/slow", "slow"),
                    model("acme/endless", "endless"),
                    model("acme/tiny", "tiny", context_length=60),
                ],
            ),
            provider("broken", [model("acme/cut", "cut")]),
            provider("deepseek", [model("deepseek/deepseek-reasoner", "deepseek-reasoner")]),
            provider("perplexity", [model("perplexity/sonar", "sonar")]),
            provider("anthropic", [model("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5")], "anthropic"),
            *(
                provider(f"fail-{name}-{client}", [model(failing(name, client), f"fail-{name}")])
                for name in FAILING
                for client in clients
            ),
        ]
    }


class Gateway:
    """A running gateway. `stop` ends it."""

    def __init__(self, directory: Path, provider_url: str, clients: list[str]) -> None:
        config = directory / "tollgate.yaml"
        config.write_text(json.dumps(settings(provider_url, clients), indent=2))
        self.admin_key = f"tga-{secrets.token_hex(24)}"
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "NODE_COMPILE_CACHE") if name in os.environ}
        own = {
            "TOLLGATE_PORT": "0",
            "TOLLGATE_CONFIG": str(config),
            "TOLLGATE_DATA_DIR": str(directory / "data"),
            "TOLLGATE_ADMIN_KEY": self.admin_key,
            "TOLLGATE_LOG_FORMAT": "json",
            "TOLLGATE_SHUTDOWN_GRACE_MS": "0",
        }
        self.log = directory / "gateway.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(ROOT / "scripts/start")], cwd=directory, env={**kept, **own}, stdout=log, stderr=log
            )
        self.port = self._ready()

    def _ready(self) -> int:
        """The port, once it serves. It stops with the log where the gateway ends before."""
        limit = time.monotonic() + START_LIMIT_SECONDS
        while time.monotonic() < limit and self.process.poll() is None:
            for line in self.log.read_text().splitlines():
                if '"message":"ready"' in line:
                    return int(json.loads(line)["annotations"]["url"].rpartition(":")[2])
            time.sleep(0.2)
        self.stop()
        raise SystemExit(f"The gateway did not start. Its log:\n{self.log.read_text()}")

    def key(self, **members: Any) -> str:
        """The secret of a new API key."""
        body = json.dumps({"name": "clients", "tier": "enterprise", **members}).encode()
        headers = {"content-type": "application/json", "x-admin-key": self.admin_key}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/keys", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["key"]

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
