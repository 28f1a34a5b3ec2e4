"""A hostile eval: a process of our own account that looks like Inspect, behind a real probe.

It listens at a control socket in Inspect's folder and answers every request as it likes: with any
task rows, any names, and any place as the location of a log (another eval's log, a fifo, a device,
a file of the system, a symbolic link, a URL). It can't answer for another process's socket.
"""

import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.fake_eval import FakeEval, Serve, fake_eval, http


def ended_task(name: str, log: str, **more: Any) -> dict[str, Any]:
    """Return the row of a task that says it has ended, with this log."""
    return {
        "task_id": f"id-{name}",
        "eval_id": f"eval-{name}",
        "task": name,
        "model": "m",
        "status": "completed",
        "log_location": log,
        "samples": {"total": 2, "completed": 2},
        **more,
    }


def serving(tasks: list[dict[str, Any]]) -> Serve:
    """Answer the task list with these rows, and anything else with an empty list of samples."""

    def serve(connection: socket.socket, line: str) -> bool:
        is_list = line.split()[1].partition("?")[0] == "/tasks"
        body: Any = tasks if is_list else {"as_of": 1.0, "counts": {}, "samples": []}
        connection.sendall(http(json.dumps(body).encode()))
        return True

    return serve


@contextmanager
def eval_with(data_dir: Path, *tasks: dict[str, Any]) -> Generator[FakeEval]:
    """Run an eval for the block that has these tasks."""
    with fake_eval(data_dir, serving(list(tasks))) as running:
        yield running


def odd_places(folder: Path) -> dict[str, str]:
    """Make what a location of a log may name, and return those places by a word for each."""

    os.mkfifo(folder / "fifo.eval")
    (folder / "link.eval").symlink_to("/etc/passwd")
    (folder / "zero.eval").symlink_to("/dev/zero")
    (folder / "folder.eval").mkdir()
    return {
        "fifo": str(folder / "fifo.eval"),
        "link": str(folder / "link.eval"),
        "device": "/dev/zero",
        "link to a device": str(folder / "zero.eval"),
        "folder": str(folder / "folder.eval"),
        "file of the system": "/etc/passwd",
        "URL": "http://127.0.0.1:9/x.eval",
        "chained URL": "simplecache::s3://bucket/x.eval",
        "relative": "x.eval",
        "in proc": "/proc/self/environ",
    }
