"""The fake provider: OpenAI's wire under /v1/chat/completions and /v1/embeddings, Anthropic's under
/v1/messages. Every request and every answer is recorded."""

import json
import time

import answers
import claude
from answers import Answer
from exchange import Exchange
from server import Handler, Server


class ProviderHandler(Handler):
    def answer(self, exchange: Exchange, body: bytes) -> None:
        answer = self.route(exchange)
        time.sleep(answer.delay)
        if answer.events is None:
            payload = json.dumps(answer.body, ensure_ascii=False).encode()
            headers = {"content-type": "application/json", "content-length": str(len(payload)), **answer.headers}
            self.begin(exchange, answer.status, headers)
            self.write(exchange, payload, chunked=False)
            return
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **answer.headers}
        self.begin(exchange, answer.status, headers)
        for event in answer.events:
            self.write(exchange, event.encode(), chunked=True)
            time.sleep(answer.pause)
        if answer.cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def route(self, exchange: Exchange) -> Answer:
        path = exchange.path.partition("?")[0]
        if path == "/v1/chat/completions":
            return answers.chat(exchange.request)
        if path == "/v1/embeddings":
            return answers.embeddings(exchange.request)
        if path == "/v1/messages":
            return claude.messages(exchange.request)
        return answers.failure(404, f"no such path: {path}", "invalid_request_error", "unknown_url")


class Provider(Server):
    def __init__(self) -> None:
        super().__init__(ProviderHandler)
