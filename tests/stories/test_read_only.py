"""Read-only machines: each way out of evalroom is tried, and the wire is watched.

`core.read_only` says what each may do. The tests fail when a command, a key, an action, a guide, a
frame or a job is missing there.
"""

import ast
import importlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cli.parser.command_line import COMMANDS as COMMAND_TABLE
from core.act.refusals import fleet_refusal
from core.config.model import MachineConfig
from core.errors import RequestFailed, UsageWrong
from core.frames import Frame
from core.guide.guide import GuideKind
from core.ids import MachineName, ModelKey, SampleKey, Target
from core.launch.engines.tmux_sessions import TMUX_COMMAND, attach_command
from core.launch.run.attach_command import terminal_command
from core.model.action import OFFERS, Offer
from core.model.job import Job
from core.ports import MachineConnection
from core.read_only import (
    ACTIONS,
    COMMANDS,
    FRAMES,
    GUIDES,
    JOBS,
    KEYS,
    Behaviour,
)
from ssh.factory import connection_for
from tests.support.evals import short_folder
from tests.support.fleets import fleet_after, link, named, process_seen, task_key
from tests.support.tmux import in_tmux
from tests.support.tree import ROOT
from tests.support.waiting import wait_until
from tests.support.wire import READING_FRAMES, READING_JOBS
from tui.keys.table import KEYS as KEY_TABLE

HERE = MachineName("here")
RUN = "20261129-210255-vdmc2a9g"


# The table is whole


def test_the_table_names_every_command() -> None:
    parts = {name.partition(" ")[0] for name in COMMANDS} - {""}
    assert parts == {name for name, _, _ in COMMAND_TABLE}


def test_the_table_names_every_key() -> None:
    assert set(KEYS) == {key.name for key in KEY_TABLE}


def test_the_table_names_every_action_and_every_guide() -> None:
    assert set(ACTIONS) == {offer.name for offer in OFFERS}
    assert set(GUIDES) == {str(kind) for kind in GuideKind}


def test_the_table_names_every_frame_that_the_code_makes() -> None:
    made: set[str] = set()
    for path in [*(ROOT / "core").rglob("*.py"), *(ROOT / "ssh").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Frame":
                kind = node.args[0]
                if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
                    made.add(kind.value)
    assert len(made) > 5
    assert made <= set(FRAMES)


def test_the_table_names_every_job_of_the_shipped_programs() -> None:
    verbs = {("survey", "survey"), ("survey", "child"), ("fetch", "uv_part")}
    for program in ("launcher", "fetch"):
        found = importlib.import_module(f"ssh.shipped.{program}.main").VERBS
        verbs |= {(program, verb) for verb in found}
    assert set(JOBS) == verbs


# Nothing that could change something leaves, whoever asks


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: f"{offer.scope}-{offer.name}")
def test_every_action_is_refused(offer: Offer) -> None:
    read_only = named()
    object.__setattr__(read_only, "read_only", True)
    fleet = fleet_after(read_only, link(), process_seen())
    task = task_key()
    targets: dict[str, Target] = {
        "sample": SampleKey(task, "1", 1),
        "task": task,
        "model": ModelKey(task.process, "m"),
        "process": task.process,
    }
    refusal = fleet_refusal(offer, targets[offer.scope], fleet)
    assert refusal is not None
    assert "h100-1 is read-only" in refusal.sentence
    assert fleet_refusal(offer, targets[offer.scope], fleet_after(named(), link())) != refusal


def _connection(folder: Path) -> MachineConnection:
    config = MachineConfig(name=HERE, link="command", read_only=True)
    return connection_for(config, known_hosts=folder / "k", read_only=False, ask=None)


@pytest.mark.parametrize("kind", [*FRAMES, "unheard-of"])
async def test_the_link_refuses_frames_that_could_change_something(
    kind: str, tmp_path: Path
) -> None:
    connection = _connection(tmp_path)
    with pytest.raises(RequestFailed) as failed:
        await connection.request(Frame(kind, {}), deadline=1.0)
    assert ("read-only" in failed.value.message) is (kind not in READING_FRAMES)
    assert not connection.send(Frame(kind, {}))


@pytest.mark.parametrize("job", [*JOBS, ("launcher", "unheard-of")], ids="-".join)
async def test_the_link_refuses_jobs_that_could_change_something(
    job: tuple[str, str], tmp_path: Path
) -> None:
    program, verb = job
    asked = Job(program=program, verb=verb)  # type: ignore[arg-type]
    with pytest.raises(RequestFailed) as failed:
        await _connection(tmp_path).work(asked, deadline=1.0)
    assert ("read-only" in failed.value.message) is (job not in READING_JOBS)


# Displays


REMOTE = MachineConfig(name=HERE, host="h", read_only=True)


def test_a_display_of_a_read_only_machine_takes_no_input() -> None:
    assert (COMMANDS["attach"], KEYS["attach"]) == (Behaviour.VIEWS, Behaviour.VIEWS)
    local = MachineConfig(name=HERE, link="command", read_only=True)
    words = terminal_command(local, attach_command("smoke"))
    assert words == (*TMUX_COMMAND, "attach-session", "-r", "-t", "=smoke")
    assert " '-r' '-t' '=smoke'" in terminal_command(REMOTE, attach_command("smoke"))[-1].replace(
        "'\\''", "'"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "acp", "--task-id=t"),
        ("tmux", "attach-session", "-t", "=smoke"),
        (*TMUX_COMMAND, "attach-session", "-t", "=smoke", ";", "kill-server"),
        (*TMUX_COMMAND, "new-session", "-t", "=smoke"),
        ("sh",),
        (),
    ],
)
def test_every_other_program_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageWrong, match="here is read-only"):
        terminal_command(REMOTE, words)


def test_keys_in_a_watched_display_do_not_reach_the_eval() -> None:
    with short_folder() as folder:
        env = {"PATH": "/usr/bin:/bin", "TMUX_TMPDIR": str(folder), "LANG": "C.UTF-8"}
        got = folder / "got"
        reads = f'while read -r line; do echo "$line" >>{got}; done'
        program = f"trap 'echo INT >>{got}' INT; echo DISPLAY; {reads}"
        new = ["new-session", "-d", "-s", "smoke", program]
        subprocess.run([*TMUX_COMMAND, "-f", "/dev/null", *new], env=env, check=True)
        local = MachineConfig(name=HERE, link="command", read_only=True)
        words = terminal_command(local, attach_command("smoke"))
        try:
            with in_tmux(folder, list(words), columns=100, lines=20, env=env) as tmux:
                tmux.until("DISPLAY")
                tmux.keys("C-c", "x", "Enter", "C-b", "x", "y", "C-b", "c", "C-d")
                tmux.keys("C-b", "d")
                tmux.until_gone()
            assert not got.exists()
            free = terminal_command(replace(local, read_only=False), attach_command("smoke"))
            with in_tmux(folder, list(free), columns=100, lines=20, env=env) as tmux:
                tmux.until("DISPLAY")
                tmux.keys("x", "Enter")
                wait_until(got.exists, "the program gets keys from a display that may type")
                tmux.keys("C-b", "d")
                tmux.until_gone()
        finally:
            subprocess.run([*TMUX_COMMAND, "kill-server"], env=env, check=False)
