"""An HTTP/1.1 server on a free port of the loopback interface, in threads of this process."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from exchange import Exchange, parse


class Handler(BaseHTTPRequestHandler):
    """Reads a request into an `Exchange`. `answer` is the subclass's."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, exchange: Exchange, body: bytes) -> None:
        raise NotImplementedError

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        exchange = Exchange(self.path, headers, parse(body.decode("utf-8", "replace")) if body else None)
        self.server.exchanges.append(exchange)
        try:
            self.answer(exchange, body)
        except OSError:
            exchange.broken = True
            self.close_connection = True
        finally:
            exchange.finished = True

    do_GET = do_POST = do_DELETE = do_PATCH = handle_any

    def write(self, exchange: Exchange, piece: bytes, chunked: bool) -> None:
        """Sends a piece of the body and records it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        self.wfile.flush()
        exchange.answer += piece

    def begin(self, exchange: Exchange, status: int, headers: dict[str, str]) -> None:
        exchange.status = status
        exchange.answer_headers = {name.lower(): value for name, value in headers.items()}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The cases report; the server is silent."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.exchanges: list[Exchange] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """A client that leaves is an expected end."""
