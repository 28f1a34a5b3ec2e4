"""Real git repositories, and a server that gives them to who knows a password."""

import base64
import http.server
import os
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


@dataclass(frozen=True)
class Repository:
    """A repository in a folder."""

    folder: Path

    def git(self, *words: str) -> str:
        """Run git there; return what it prints."""
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *_AUTHOR, "-C", str(self.folder), *words],
            check=True, capture_output=True, text=True, env=env,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str], says: str = "x") -> str:
        """Write files and commit them; return the commit."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", says)
        return self.git("rev-parse", "HEAD")


def repository(folder: Path, files: Mapping[str, str]) -> Repository:
    """Make a repository with one commit on its branch `main`."""
    folder.mkdir(parents=True)
    made = Repository(folder)
    made.git("init", "-q", "-b", "main")
    made.commit(files)
    return made


@dataclass
class GitServer:
    """Git's own `http-backend` behind HTTP on a loopback port.

    Attributes:
        root: The folder of repositories; `ROOT/x` is `URL/x`.
        password: What opens them; None: they are open.
        asked: The paths that were asked for, with the password that came along.
        moved: What is asked for at one place is sent on to another.
        on_request: Called before each answer; it may hold it up.
    """

    root: Path
    password: str | None = None
    port: int = 0
    asked: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    moved: dict[str, str] = field(default_factory=dict[str, str])
    on_request: Callable[[], object] = lambda: None

    def url(self, name: str) -> str:
        """The address of one."""
        return f"http://127.0.0.1:{self.port}/{name}"


class _Handler(http.server.BaseHTTPRequestHandler):
    git_server: GitServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args

    def _answer(self) -> None:
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        password = base64.b64decode(given).decode().partition(":")[2] if given else None
        self.git_server.asked.append((self.path, password))
        self.git_server.on_request()
        for old, new in self.git_server.moved.items():
            if self.path.startswith(old):
                self.send_response(301)
                self.send_header("Location", new + self.path.removeprefix(old))
                self.end_headers()
                return
        if self.git_server.password is not None and password != self.git_server.password:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._backend()

    def _backend(self) -> None:
        path, _, query = self.path.partition("?")
        body = self._body()
        env = {
            **os.environ, "GIT_PROJECT_ROOT": str(self.git_server.root), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "x",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }  # fmt: skip
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=env, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that were cut."""


@contextmanager
def serving(root: Path, password: str | None = None) -> Generator[GitServer]:
    """Serve the repositories of a folder."""
    found = GitServer(root, password)
    handler = type("Handler", (_Handler,), {"git_server": found})
    server = _Server(("127.0.0.1", 0), handler)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
