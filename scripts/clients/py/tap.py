"""A recording tap: a client speaks to it, it speaks to the gateway, and it keeps both sides' bytes."""

import http.client

from exchange import Exchange
from server import Handler, Server

# Headers of one connection, and those that http.server writes itself.
OWN = {"connection", "keep-alive", "transfer-encoding", "host", "accept-encoding", "content-length", "date", "server"}


class TapHandler(Handler):
    def answer(self, exchange: Exchange, body: bytes) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in OWN}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        try:
            connection.request(self.command, self.path, body=body or None, headers=headers)
            reply = connection.getresponse()
            kept = {name: value for name, value in reply.getheaders() if name.lower() not in OWN}
            self.begin(exchange, reply.status, {**kept, "transfer-encoding": "chunked"})
            while piece := reply.read1(65536):
                self.write(exchange, piece, chunked=True)
            self.wfile.write(b"0\r\n\r\n")
        finally:
            connection.close()


class Tap(Server):
    """`port`: the gateway's."""

    def __init__(self, port: int) -> None:
        super().__init__(TapHandler)
        self.port = port
