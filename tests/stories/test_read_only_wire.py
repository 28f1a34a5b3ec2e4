"""A read-only machine: every command and every key on a real eval, with the wire watched."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.parser.command import GlobalOptions
from cli.wiring.config import config_of
from cli.wiring.desk import desk_of
from cli.wiring.history import history_of
from cli.wiring.room import room_services
from core.events import RunChanged
from core.ids import MachineName, SampleKey
from core.launch.engines.tmux_sessions import attach_command
from core.model.run import Run, RunState
from core.read_only import (
    COMMANDS,
    KEYS,
    Behaviour,
)
from storage.paths import paths
from tests.support.commands import Home, Ran, machine
from tests.support.evals import Eval, running_evals, short_folder
from tests.support.rooms import app_on, screen_text, shows
from tests.support.specs import SMOKE
from tests.support.waiting import WAIT_S, wait_until
from tests.support.wire import READING_FRAMES, READING_JOBS, Wire
from tui.keys.table import KEYS as KEY_TABLE
from tui.keys.table import KEYS_BY_NAME
from tui.navigation import GUIDES as GUIDES_PLACE
from tui.navigation import JOURNAL, RUNS, Place

HERE = MachineName("here")
RUN = "20261129-210255-vdmc2a9g"
GROUP = pytest.mark.xdist_group("read_only")


@pytest.fixture(scope="module")
def one() -> Iterator[Eval]:
    with running_evals() as evals:
        yield evals.start(
            "turns", args={"samples": 200, "turns": 300, "sleep": 0.5},
            options=("--max-samples=2", "--acp-server=true"),
        ).wait_ready()  # fmt: skip


@pytest.fixture
def wire(tmp_path: Path) -> Wire:
    return Wire(tmp_path)


@pytest.fixture
def home(wire: Wire, one: Eval) -> Iterator[Home]:
    with short_folder() as folder:
        made = Home(folder)
        made.configure(machine("here", one.data_dir, wire.command))
        (folder / "s.toml").write_text(SMOKE.replace('"any"', '"here"'))
        yield made


def _lines(target: str) -> dict[str, list[str]]:
    """A try of each command that can reach a machine."""
    sample = [target, "1"]
    return {
        "status": ["status"],
        "samples": ["samples", target],
        "sample": ["sample", *sample, "--content"],
        "watch": ["watch"],
        "triage": ["triage"],
        "why": ["why", f"{target}#1/1"],
        "machines": ["machines"],
        "machines check": ["machines", "check", "here"],
        "machines prepare": ["machines", "prepare", "here", "s.toml", "--yes"],
        "doctor": ["doctor"],
        "findings": ["findings"],
        "findings ack": ["findings", "ack", "F1"],
        "findings mute": ["findings", "mute", "F1"],
        "notify": ["notify", "test"],
        "journal": ["journal"],
        "act": ["act", "pause", target, "--yes"],
        "config-set": ["config-set", target, "--max-samples", "1", "--yes"],
        "undo": ["undo", "--yes"],
        "guide": ["guide", "interrupt", "here:", "--yes", "--confirm", "here"],
        "guide list": ["guide", "list"],
        "launch": ["launch", "s.toml", "--yes"],
        "runs": ["runs"],
        "run": ["run", "nope"],
        "output": ["output", "nope"],
        "attach": ["attach", "nope"],
        "sessions": ["sessions"],
        "sessions end": ["sessions", "end", "nope", "--yes", "--confirm", "nope"],
        "templates": ["templates"],
        "secrets": ["secrets", "list"],
        "probe": ["probe"],
        "config": ["config", "show"],
    }


ELSEWHERE = {"", "replay", "demo"}
"""The room's keys have a test below; a replay has no machine, a demo has its own."""


def _ran(home: Home, _: Wire, words: list[str]) -> Ran:
    """Run a command to its end."""
    return home.run("--read-only", *words)


def _watched(home: Home, wire: Wire, words: list[str]) -> Ran:
    """Run a command that has no end of its own until a machine was asked."""
    child = home.start("--read-only", *words, err=subprocess.PIPE)
    wait_until(
        lambda: any(each["kind"] == "start" for each in wire.frames()),
        "the machine is asked",
        seen=child.poll,
    )
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=WAIT_S)
    return Ran(status=child.returncode, out=out.decode(), err=err.decode())


@GROUP
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_a_command_sends_only_what_the_table_allows(
    name: str, home: Home, wire: Wire, one: Eval
) -> None:
    target = f"here:{one.task('turns')['task_id']}"
    words = _lines(target)[name]
    before = one.task("turns")
    ran = (_watched if name == "watch" else _ran)(home, wire, words)
    told = ran.out + ran.err
    assert all(each["kind"] in READING_FRAMES for each in wire.frames()), told
    assert all(each["verb"] in READING_VERBS for each in wire.jobs()), told
    match COMMANDS[name]:
        case Behaviour.REFUSED:
            assert ran.status != 0, told
        case Behaviour.HERE:
            assert not wire.frames(), told
        case Behaviour.READS:
            assert any(each["kind"] == "start" for each in wire.frames()), told
            assert all(e["read_only"] for e in wire.frames() if e["kind"] == "start")
        case Behaviour.VIEWS:
            pass
    after = one.task("turns")
    assert (after["paused"], after["status"]) == (before["paused"], before["status"])
    assert one.popen.poll() is None


@GROUP
def test_a_guide_of_another_room_sends_nothing_either(home: Home, wire: Wire, one: Eval) -> None:
    home.run("guide", "interrupt", f"here:{one.pid}")  # it waits for a confirmation
    listed = home.run("guide", "list", "--json").json["guides"]
    assert listed
    for sent in wire.folder.glob("sent.*"):
        sent.unlink()
    ran = home.run("--read-only", "guide", "resume", listed[0]["id"], "--yes", "--confirm", "here")
    assert ran.status != 0, ran
    assert any(each["kind"] == "start" for each in wire.frames()), ran
    assert all(each["kind"] in READING_FRAMES for each in wire.frames()), ran
    assert not one.task("turns")["paused"]
    assert one.popen.poll() is None


READING_VERBS = {verb for _, verb in READING_JOBS}


@GROUP
async def test_keys_send_only_what_the_table_allows(
    home: Home, wire: Wire, one: Eval, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("TMUX", raising=False)
    config = config_of(GlobalOptions(read_only=True))
    places = paths()
    async with history_of(config, places) as history:
        with desk_of(config, event_store=history.event_store) as desk:
            app = app_on(desk, services=room_services(desk, config, history, places))
            async with app.run_test(size=(160, 46)) as pilot:
                await shows(pilot, "turns")
                process = next(iter(desk.fleet.processes))
                task = next(iter(desk.fleet.tasks))
                await shows(pilot, "here")
                desk.post(RunChanged(at=desk.now(), run=_run(desk.now())))
                copied: list[str] = []

                def copy(text: str, _: str) -> None:
                    copied.append(text)

                monkeypatch.setattr(app, "copy", copy)
                sample = SampleKey(task, "1", 1)
                for place in (task, sample, process, HERE, RUNS, JOURNAL, GUIDES_PLACE):
                    for name in _keys_at(place):
                        app.go(place)
                        await pilot.pause()
                        depth = len(app.screen_stack)
                        await pilot.press(KEYS_BY_NAME[name].split(",")[0])
                        for answer in ("enter", "y", "escape", "escape"):
                            if len(app.screen_stack) > depth:
                                await pilot.press(answer)
                        while len(app.screen_stack) > depth:
                            app.pop_screen()
                told = screen_text(app)
    kinds = {each["kind"] for each in wire.frames()}
    assert kinds, told
    assert kinds <= READING_FRAMES, kinds
    assert all(each["verb"] in READING_VERBS for each in wire.jobs())
    assert not one.task("turns")["paused"]
    assert one.popen.poll() is None
    assert not any("acp" in each for each in copied), copied


def _keys_at(place: Place) -> list[str]:
    """The keys to try on a place: all that may reach a machine, and its own."""
    own = "sample" if isinstance(place, SampleKey) else "panes"
    for each, where in ((RUNS, "runs"), (JOURNAL, "journal"), (GUIDES_PLACE, "guides")):
        own = where if place == each else own
    reach = {name for name, how in KEYS.items() if how is not Behaviour.HERE}
    return [
        key.name
        for key in KEY_TABLE
        if key.where == own or (key.name in reach and key.where in {"panes", "table", "everywhere"})
    ]


def _run(at: float) -> Run:
    return Run(
        id=RUN, machine=HERE, at=at, operator="Ada", state=RunState.RUNNING, task="evalroom/smoke",
        model="mockllm/model", engine="tmux", attach=attach_command("smoke-vdmc2a9g"),
    )  # fmt: skip
