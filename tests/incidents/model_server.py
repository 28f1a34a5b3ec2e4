"""A model server that answers with a status: 200, or a refusal such as 429 and 503."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer:
    """Serves from a thread until it is closed.

    Attributes:
        status: What it answers now.
        each: It answers so to each second, third ... request alone, and 200 to the others.
    """

    def __init__(self) -> None:
        self.status = 200
        self.each = 1
        self._asked = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                self.send_response(server.next_status())
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def next_status(self) -> int:
        """Return what the next request gets."""
        self._asked += 1
        return 200 if self._asked % self.each else self.status

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1/generate"

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
