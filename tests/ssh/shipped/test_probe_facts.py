"""Facts of a machine that the probe reads from the output of real tools and of broken ones."""
# ruff: noqa: E501 - outputs as the tools gave them
# pyright: standard
# The shipped programs have no types.

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.probe.reading import Reading
from ssh.shipped_program import shipped_program
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.waiting import wait_until

MIB = 1024 * 1024
Tool = Callable[[str, str], None]

TWO_GPUS = """\
0, GPU-5ba3f7c1-8f3a-9d6c-1111-000000000000, NVIDIA H100 80GB HBM3, 91, 70123, 81559, 64, 612.33, 700.00, Disabled
1, GPU-6ba3f7c1-8f3a-9d6c-1111-000000000001, NVIDIA H100 80GB HBM3, 0, 4, 81559, 31, 69.90, 700.00, Disabled
"""
APPS = """\
GPU-5ba3f7c1-8f3a-9d6c-1111-000000000000, 4242, 70100
GPU-5ba3f7c1-8f3a-9d6c-1111-000000000000, 4243, [N/A]
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


@pytest.fixture
def tool(tools: Path) -> Tool:
    """Put a shell script in the place of a tool."""

    def write(name: str, script: str) -> None:
        path = tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def nvidia(gpus: str, apps: str = "", listed: str = "", status: int = 0) -> str:
    """A nvidia-smi that says this."""
    return (
        f'case "$1" in --query-gpu=*) cat <<"E"\n{gpus}E\nexit {status};;\n'
        f'--query-compute-apps=*) cat <<"E"\n{apps}E\n;;\n-L) cat <<"E"\n{listed}E\n;; esac'
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("12.5MiB", 13107200), ("1kB", 1000), ("3GiB", 3 * 2**30), ("0B", 0), ("--", None)],
)
def test_dockers_sizes_are_bytes(text: str, size: int | None) -> None:
    assert size_in_bytes(text) == size


def facts_of(probe: DirectProbe, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait for facts that are as wanted."""

    def newest() -> dict[str, Any] | None:
        frames = probe.of("facts")
        facts = json.loads(frames[-1].body) if frames else None
        return facts if facts is not None and wanted(facts) else None

    found: dict[str, Any] = probe.until(newest)
    return found


def test_all_facts_come_together(tools: Path, tool: Tool, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    listed = [
        {"id": "0123456789abcdef", "name": "sandbox-1", "image": "img:1", "status": "Up 2 hours",
         "created": "2026-11-30 07:41:33 +0100 CET", "project": "inspect-task-iabc123"},
        {"id": "1123456789abcdef", "name": "old", "status": "Exited (0) 2 days ago", "project": ""},
        {"id": "2123456789abcdef", "name": "sandbox-2", "status": "Exited (137) 2 hours ago",
         "project": "inspect-task-iabc124", "created": "?"},
    ]  # fmt: skip
    rows.write_text("".join(json.dumps(each) + "\n" for each in listed))
    tool("nvidia-smi", nvidia(TWO_GPUS, APPS))
    tool(
        "docker",
        'case "$1" in version) echo 27.1.1;; '
        f"ps) cat {rows};; "
        'stats) echo \'{"ID":"0123456789ab","MemUsage":"12.5MiB / 1GiB"}\';; esac',
    )
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env) as probe:
        facts = facts_of(
            probe,
            lambda facts: facts["gpu_state"] == facts["docker"]["state"] == facts["inspect"]["state"] == "ok"
            and facts["disks"],
        )  # fmt: skip
        assert (facts["gpu_tool"], len(facts["gpus"])) == ("nvidia-smi", 2)
        assert facts["docker"]["version"] == "27.1.1"
        assert facts["docker"]["containers"] == [
            {"id": "0123456789ab", "name": "sandbox-1", "image": "img:1", "status": "Up 2 hours",
             "memory": 13107200, "is_running": True, "created": 1796020893.0,
             "project": "inspect-task-iabc123", "holder": None},
            {"id": "2123456789ab", "name": "sandbox-2", "image": "",
             "status": "Exited (137) 2 hours ago", "memory": None, "is_running": False,
             "created": None, "project": "inspect-task-iabc124", "holder": None},
        ]  # fmt: skip
        assert facts["docker"]["total"] == 2
        assert facts["memory"]["total"] > facts["memory"]["available"] > 0
        assert len(facts["load"]) == 3
        assert facts["disks"][0]["what"] == "home"
        number = probe.ask("facts")
        frame = probe.first("facts", id=number)
        assert json.loads(frame.body)["cpus"] == facts["cpus"]


def test_a_tool_that_is_not_there_is_a_fact(tools: Path, tool: Tool, tmp_path: Path) -> None:
    tool("docker", "echo 'permission denied while trying to connect' >&2; exit 1")
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env) as probe:
        facts = facts_of(probe, lambda facts: facts["docker"]["state"] != "unknown")
        assert facts["docker"]["state"] == "failed"
        assert "permission denied" in facts["docker"]["error"]
        facts = facts_of(probe, lambda facts: facts["gpu_state"] != "unknown")
        assert (facts["gpu_state"], facts["gpus"]) == ("absent", [])


def test_a_warning_beside_good_rows_is_a_fact(tools: Path, tool: Tool, tmp_path: Path) -> None:
    end = "echo 'WARNING: infoROM is corrupted'; exit 14;;"
    script = nvidia(TWO_GPUS, APPS).replace("exit 0;;", end).replace("\n;;\n", f"\n{end}\n")
    tool("nvidia-smi", script)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env) as probe:
        facts = facts_of(probe, lambda facts: facts["gpu_state"] != "unknown")
        assert (facts["gpu_state"], len(facts["gpus"])) == ("ok", 2)
        assert [each["pid"] for each in facts["gpus"][0]["pids"]] == [4242, 4243]
        assert facts["gpu_error"].startswith("nvidia-smi warns (exit 14, the infoROM is corrupted)")


def test_a_tool_that_hangs_from_the_first_reading_on_is_reported_before_the_next_facts(
    tools: Path, tool: Tool, tmp_path: Path
) -> None:
    tool("docker", "sleep 300")
    source = tmp_path / "quick.py"
    text = shipped_program("probe").decode()
    source.write_text(text.replace("STUCK_AFTER_S = 8.0", "STUCK_AFTER_S = 0.5"))
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env, facts_every=600, program=source) as probe:
        facts = facts_of(probe, lambda facts: facts["docker"]["state"] == "stuck")
        assert facts["docker"]["error"].startswith("no answer for")


def _first_answer(probe: DirectProbe) -> dict[str, Any] | None:
    """Return the first facts with an answer of the GPU tool."""
    all_facts = (json.loads(frame.body) for frame in probe.of("facts"))
    return next((facts for facts in all_facts if facts["gpu_state"] == "ok"), None)


def test_a_tool_that_hangs_is_stuck_since_then_and_holds_up_nothing(
    tools: Path, tool: Tool, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    script = f'echo x >> {count}; [ "$(wc -l < {count})" -gt 1 ] && sleep 300; '
    tool("nvidia-smi", script + nvidia(TWO_GPUS))
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    source = tmp_path / "quick.py"
    text = shipped_program("probe").decode()
    assert "STUCK_AFTER_S = 8.0" in text
    source.write_text(text.replace("STUCK_AFTER_S = 8.0", "STUCK_AFTER_S = 0.5"))
    with direct_probe(tmp_path, env=env, facts_every=1, program=source) as probe:
        before = time.time()
        answered = probe.until(lambda: _first_answer(probe))  # until then it is slow, not hung
        facts = facts_of(
            probe, lambda facts: facts["at"] > answered["at"] and facts["gpu_state"] == "stuck"
        )
        assert before - 2 < facts["gpu_since"] < time.time()
        assert facts["cpus"]
        since = facts["gpu_since"]
        later = facts_of(probe, lambda facts: facts["at"] > since + 3)
        assert later["gpu_since"] == since
        assert count.read_text().count("x") <= 3


def test_a_reading_that_breaks_in_any_way_is_read_again() -> None:
    rounds: list[int] = []

    def read() -> str:
        rounds.append(1)
        if len(rounds) == 1:
            raise OverflowError("what nobody thought of")
        if len(rounds) > 2:
            threading.Event().wait()  # its thread has done its work here
        return "fine"

    reading = Reading("any", 0.01, read, lambda: None, lambda: True)
    reading.start()
    wait_until(lambda: len(rounds) >= 3, "it is read a third time", every=0.01)
    assert reading.value == "fine"
