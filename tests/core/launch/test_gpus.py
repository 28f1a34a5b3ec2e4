"""Which GPUs of a machine are free."""

import asyncio
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from core.launch.engines.tmux_sessions import TMUX_COMMAND
from core.launch.preflight.gpu_reservations import (
    Reservation,
    available_gpus,
    lock_name,
    unavailable_reason,
)
from core.launch.run import launcher_client
from core.model.machine import Gpu, GpuProcess
from ssh.shipped.common import gpu_use
from tests.support.evals import short_folder
from tests.support.fetching import LocalWorker
from tests.support.specs import LOCAL, plan, spec
from tests.support.waiting import wait_until

A = Gpu(index=0, uuid="GPU-aa")
B = Gpu(index=1, uuid="GPU-bb", pids=(GpuProcess(pid=41), GpuProcess(pid=42)))
C = Gpu(index=2, uuid="GPU-cc", lost=True)
D = Gpu(index=3, uuid="GPU-dd", mig="enabled")
E = Gpu(index=4, uuid="0xabc")


def test_a_gpu_that_is_reserved_used_lost_or_sliced_is_not_free() -> None:
    gpus = (A, B, C, D, E)
    assert available_gpus(gpus, ()) == (A, E)
    assert available_gpus(gpus, [Reservation(name="GPU-aa.lock")]) == (E,)
    assert available_gpus(
        gpus, [Reservation(name="index-4.lock"), Reservation(name="GPU-gone.lock")]
    ) == (A,)
    assert available_gpus(gpus, (), held={lock_name(A)}) == (E,)


GIVEN_OUT = cast("Any", gpu_use)  # the shipped programs have no types
GIB = 1024**3
USES = [
    (70 * GIB, 80 * GIB, 0.0, False),
    (5 * GIB, 80 * GIB, 0.0, False),
    (3 * GIB, 80 * GIB, 0.0, True),
    (GIB + 1, 12 * GIB, 0.0, False),
    (GIB - 1, 12 * GIB, 0.0, True),
    (0, 80 * GIB, 20.0, False),
    (0, 80 * GIB, 19.0, True),
    (None, None, None, True),
]


def test_a_gpu_that_is_much_used_by_nobody_that_can_be_seen_is_not_free() -> None:
    for used, total, busy, is_free in USES:
        gpu = replace(A, memory_used=used, memory_total=total, utilisation=busy)
        assert bool(available_gpus([gpu], ())) is is_free, gpu
        # The program that gives GPUs out has the same rule.
        assert (GIVEN_OUT.unseen_use(used, total, busy) is None) is is_free, gpu
        assert (unavailable_reason(gpu, ()) is None) is is_free, gpu
    blocked = replace(A, blocked="is hidden\x1b by the login")
    assert available_gpus([blocked], ()) == ()
    assert unavailable_reason(blocked, ()) == "is hidden␛ by the login"


def test_the_holder_of_a_gpu_is_reported() -> None:
    held = [Reservation(name="GPU-aa.lock", run="20260101-000000-abcdefgh", operator="a\x1b[1mb")]
    assert unavailable_reason(A, held) == "is reserved by run 20260101-000000-abcdefgh of a␛[1mb"
    assert unavailable_reason(E, [Reservation(name="index-4.lock")]) == "is reserved"
    assert unavailable_reason(B, held) == "is used by pid 41, 42"
    assert unavailable_reason(C, held) == "is lost"
    assert "MIG" in (unavailable_reason(D, held) or "")
    assert unavailable_reason(E, held) is None


def test_a_run_with_gpus_is_started_by_what_holds_them() -> None:
    machine = replace(LOCAL, gpu_locks="~/it's $(x)", python="echo")
    one = plan(spec("gpus = 2"), machine=machine)
    assert "gpu_holder.py" in one.files
    assert "gpu_holder.py" not in plan(spec()).files
    line = one.script[one.script.index("'echo' -I") : one.script.index(" >launch.json.part 2>")]
    printed = subprocess.run(
        ["sh", "-c", line], env={"HOME": "/home/ada", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert printed.startswith(
        f"-I gpu_holder.py 2 /home/ada/it's $(x) keep {one.run} echo -I -c import json"
    )
    assert "export EVALROOM_RUN" not in one.script
    assert one.variables["EVALROOM_RUN"] == one.run


@pytest.mark.parametrize("bound", ["1", ""])
async def test_a_session_of_tmux_has_the_logins_bound_of_gpus(bound: str) -> None:
    with short_folder() as folder:
        # Stands for the eval, in the place of the interpreter that becomes it.
        python = folder / "python"
        given = '"${CUDA_VISIBLE_DEVICES-unset}:${HIP_VISIBLE_DEVICES-unset}"'
        python.write_text(
            f"#!/bin/sh\necho {given} >{folder}/part; mv {folder}/part {folder}/end\n"
        )
        python.chmod(0o755)
        env = {"TMUX_TMPDIR": str(folder), "TMUX": None, "CUDA_VISIBLE_DEVICES": bound}
        worker = LocalWorker(folder, {**env, "HIP_VISIBLE_DEVICES": None})
        asked = plan(spec("engine = 'tmux'"), machine=replace(LOCAL, python=str(python)))
        try:
            await launcher_client.create_folder(worker, asked, b"{}")
            await launcher_client.start_run(worker, asked, {})
            await asyncio.to_thread(wait_until, (folder / "end").exists, "the eval ends")
            assert (folder / "end").read_text() == f"{bound}:unset\n"
        finally:
            end_server(folder)


def end_server(folder: Path) -> None:
    """End evalroom's tmux server in that folder."""
    env = {**os.environ, "TMUX_TMPDIR": str(folder)}
    subprocess.run([*TMUX_COMMAND, "kill-server"], env=env, capture_output=True, check=False)
