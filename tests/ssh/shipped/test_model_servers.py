"""Model servers that the probe finds: real processes with the command lines of vLLM and others."""
# pyright: standard
# The shipped programs have no types.

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.probe.model_servers import (
    MAX_BYTES,
    answer_of,
    read_model_servers,
    value_of,
    whole_sum,
)
from tests.support.waiting import wait_until

SERVER = """
import http.server, os, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = 200, b"{}"
        if self.path == "/health":
            status = int(os.environ.get("STATUS", "200"))
        if self.path == "/metrics":
            body = os.environ.get("METRICS", "").encode()
        if self.path == "/big":
            body = b"x" * (4 << 20)
        if self.path == "/moved":
            status = 302
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/health")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
print(server.server_port, flush=True)
server.serve_forever()
"""
METRICS = 'vllm:num_requests_running{model="m"} 3.0\nvllm:num_requests_waiting{model="m"} 7.0\n'


@contextmanager
def answers(tmp_path: Path, **env: str) -> Iterator[int]:
    """Run an HTTP server; yields its port."""
    script = tmp_path / "answers.py"
    script.write_text(SERVER)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=env) as child:
        assert child.stdout is not None
        try:
            yield int(child.stdout.readline())
        finally:
            child.kill()


@contextmanager
def named_as(tmp_path: Path, name: str, *argv: str, **env: str) -> Iterator[int]:
    """Run a process with such a command line; yields its pid."""
    script = tmp_path / name
    script.write_text("import time; print(1, flush=True); time.sleep(300)")
    command = [sys.executable, str(script), *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield child.pid
        finally:
            child.kill()


def row_of(pid: int) -> dict[str, Any]:
    return next((each for each in read_model_servers() if each["pid"] == pid), {})


def test_vllm_is_found_and_asked_for_its_health_and_queue(tmp_path: Path) -> None:
    with (
        answers(tmp_path, METRICS=METRICS) as port,
        named_as(tmp_path, "vllm", "serve", "acme/big", "--port", str(port)) as pid,
    ):
        row = row_of(pid)
        assert abs(row.pop("started_at") - time.time()) < 60
        assert row == {
            "pid": pid, "kind": "vllm", "port": port, "health": "ok", "waiting": 7,
            "model": "acme/big",
        }  # fmt: skip
    wait_until(lambda: not row_of(pid), "it has ended")


def test_a_server_that_is_not_well_says_so(tmp_path: Path) -> None:
    with (
        answers(tmp_path, STATUS="503") as port,
        named_as(tmp_path, "vllm", "serve", f"--port={port}", "--model=m") as pid,
    ):
        assert (row_of(pid)["health"], row_of(pid)["model"]) == ("status 503", "m")
    with named_as(tmp_path, "vllm", "serve", "m", f"--port={port}") as pid:
        assert row_of(pid)["health"] == "refused"


def test_ollama_has_its_port_in_its_environment(tmp_path: Path) -> None:
    with (
        answers(tmp_path) as port,
        named_as(tmp_path, "ollama", "serve", OLLAMA_HOST=f"127.0.0.1:{port}") as pid,
    ):
        row = row_of(pid)
        assert (row["kind"], row["port"], row["health"]) == ("ollama", port, "ok")
        assert (row["model"], row["waiting"]) == ("", None)


def test_other_programs_are_not_asked(tmp_path: Path) -> None:
    with named_as(tmp_path, "vllm", "bench", "serve") as pid:
        assert row_of(pid) == {}
    with named_as(tmp_path, "notollama", "serve") as pid:
        assert row_of(pid) == {}


def test_an_answer_is_bounded_and_no_redirect_is_followed(tmp_path: Path) -> None:
    with answers(tmp_path) as port:
        assert len(answer_of(port, "/big")[1]) == MAX_BYTES
        assert answer_of(port, "/moved")[0] == "status 302"


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        (["vllm", "serve", "m", "--port", "9"], "9"),
        (["vllm", "serve", "m", "--port=9"], "9"),
        (["vllm", "serve", "m", "--port"], ""),
        (["vllm", "serve", "m", "--port", "--x"], ""),
        ([], ""),
    ],
)
def test_the_value_of_an_option(argv: list[str], value: str) -> None:
    assert value_of(argv, ("--port",)) == value


@pytest.mark.parametrize(
    ("numbers", "total"),
    [([b"1.0", b"2"], 3), ([b"nan"], None), ([b"inf"], None), ([b"x"], None), ([b"-4"], 0)],
)
def test_numbers_of_a_server_are_made_harmless(numbers: list[bytes], total: int | None) -> None:
    assert whole_sum(numbers) == total
