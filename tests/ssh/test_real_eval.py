"""The probe on one real eval, from its start to its log's header."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from tests.support.reached import connection_of
from tests.support.receiving import Receiver, receiving
from tests.support.waiting import WAIT_S

TASK = Path(__file__).parents[1] / "support" / "tiny_task.py"


@pytest.fixture
def real_eval(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`inspect eval` of a tiny task that goes on until there is a file `gate`."""
    shutil.copy(TASK, tmp_path / "tiny_task.py")
    process = subprocess.Popen(
        [sys.executable, "-m", "inspect_ai", "eval", "tiny_task.py", "-T",
         f"gate={tmp_path / 'gate'}", "--display", "none", "--log-dir", "logs"],
        cwd=tmp_path,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def row_of(received: Receiver, pid: int) -> dict[str, Any] | None:
    return next((row for row in received.processes() if row["pid"] == pid), None)


def tasks(received: Receiver) -> list[list[dict[str, Any]]]:
    return [json.loads(frame.body) for frame in received.frames("answer")]


async def test_a_real_eval_is_watched_to_its_end_and_its_log_read(
    real_eval: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    machine = MachineConfig(
        name=MachineName("this"),
        link="command",
        python=sys.executable,
        data_dir=str(tmp_path / "data"),
    )
    connection = connection_of(machine, tmp_path / "known_hosts", read_only=True)
    pid = real_eval.pid
    async with receiving(connection) as received:
        await received.until(lambda: bool((row_of(received, pid) or {}).get("socket_path")))
        row = row_of(received, pid)
        assert row is not None
        assert row["python"] == sys.executable
        assert connection.send(
            Frame(
                "watch",
                {"pid": pid, "start": row["start"], "name": "tasks", "path": "/tasks",
                 "every": 0.5, "as_of": None},
            )
        )  # fmt: skip
        await received.until(lambda: any(tasks(received)))
        task = tasks(received)[-1][0]
        assert task["samples"]["total"] == 2
        path = f"/evals/{task['eval_id']}/samples?all=true"
        reply = await connection.request(
            Frame("get", {"pid": pid, "start": row["start"], "path": path}), deadline=WAIT_S
        )
        assert reply.status == 200
        assert len(json.loads(reply.body)["samples"]) == 2
        (tmp_path / "gate").touch()
        await received.until(lambda: not (row_of(received, pid) or {"alive": True})["alive"])
        missing = str(tmp_path / "no.eval")
        asked = {"what": "headers", "logs": [task["log_location"], missing], "bytes": 10_000}
        read = await connection.request(
            Frame("logs", {"asked": asked, "pid": pid, "pythons": []}), deadline=WAIT_S
        )
        assert read.error is None
        found, not_found = json.loads(read.body)["answers"]
        assert found["header"]["status"] == "success"
        assert not_found == {"log": missing, "error": "the file does not exist"}
