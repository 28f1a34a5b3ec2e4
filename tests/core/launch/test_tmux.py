"""The engine `tmux` on a real tmux and a real Inspect, its plans carried out by hand."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from core.launch.engines.engine import ScreenOutput, StartResult
from core.launch.engines.registry import engine_named
from core.launch.engines.start_failures import start_failure
from core.launch.engines.tmux_sessions import (
    TMUX_COMMAND,
    TmuxSession,
    attach_command,
    end_command,
    list_command,
    parse_sessions,
)
from core.launch.plan.run_plan import RunPlan
from tests.support.evals import short_folder
from tests.support.specs import Home, plan, spec
from tests.support.waiting import WAIT_S, wait_until

SECRET = "sk-never-to-be-seen-again"


class TmuxHome(Home):
    """A home with a tmux server of its own."""

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**super().env(more), "TMUX_TMPDIR": str(self.folder)}

    def tmux(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            words,
            env=self.env(env or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_S,
        )
        return done.stdout

    def sessions(self) -> tuple[TmuxSession, ...]:
        return parse_sessions(self.tmux(*list_command()))

    def begin(self, asked: RunPlan) -> StartResult:
        done = self.start(asked)
        return engine_named("tmux").read(done.returncode, done.stdout, done.stderr)

    def screen(self, started: StartResult) -> str:
        assert isinstance(started.output, ScreenOutput)
        return self.tmux(*started.output.words)


@pytest.fixture
def home() -> Iterator[TmuxHome]:
    with short_folder() as folder:
        one = TmuxHome(folder)
        try:
            yield one
        finally:
            one.tmux(*TMUX_COMMAND, "kill-server")


def _of_home(home: TmuxHome, file: str) -> str:
    """Return a file of /proc of every process of that home, all together."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home.folder}".encode() in (entry / "environ").read_bytes():
                found.append((entry / file).read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


def test_a_run_on_a_terminal_scores_as_known_and_leaves_its_last_screen(home: TmuxHome) -> None:
    asked = plan(spec("engine = 'tmux'\nsecrets = ['OPENAI_API_KEY']\nacp = true"))
    hidden = home.hide(asked, {"OPENAI_API_KEY": SECRET})
    started = home.begin(asked)
    assert started.attach == asked.attach

    def environ() -> str:
        found = _of_home(home, "environ")
        return found if f"OPENAI_API_KEY={SECRET}" in found else ""

    assert f"EVALROOM_RUN={asked.run}" in wait_until(environ, "the eval has its secret")
    assert not hidden.exists()
    assert SECRET not in _of_home(home, "cmdline")
    assert SECRET not in home.tmux(*TMUX_COMMAND, "show-environment", "-g")
    assert SECRET not in home.tmux(
        *TMUX_COMMAND, "show-environment", "-t", f"{started.attach[-1]}:"
    )

    wait_until(
        lambda: home.sessions()[0].has_ended,
        "the eval ends",
        seen=lambda: home.screen(started),
    )
    (session,) = home.sessions()
    assert (session.run, session.has_ended, session.attached) == (asked.run, True, 0)
    assert session.status in {0, None}  # tmux before 3.5 may lose it
    screen = home.screen(started)
    assert "accuracy  0.700" in screen
    assert SECRET not in screen

    folder = home.folder / asked.directory.removeprefix("~/")
    (info,) = list_eval_logs(str(folder / "logs"))
    log = read_eval_log(info.name, header_only=True)
    assert log.status == "success"
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(0.7)
    own = [folder, *(each for each in folder.iterdir() if each.name != "logs")]
    assert {oct(each.stat().st_mode & 0o077) for each in own} == {"0o0"}
    assert not [
        f for f in home.folder.rglob("*") if f.is_file() and SECRET in f.read_text("latin1")
    ]

    assert home.begin(asked) == started  # it starts once, and answers as it did
    assert home.sessions() == (session,)
    home.tmux(*end_command(session.name))
    assert home.sessions() == ()


def test_a_start_that_fails_says_why_on_its_screen_under_a_name_that_was_free(
    home: TmuxHome,
) -> None:
    asked = plan(spec("engine = 'tmux'\npython = '/no/python'"))
    name = asked.attach[-1].removeprefix("=")
    # Someone's session has the name, on a server that someone started with all he had.
    home.tmux(*TMUX_COMMAND, "new-session", "-d", "-s", name, "sleep 3600", env={"LEAK": SECRET})
    started = home.begin(asked)
    assert started.attach == attach_command(f"{name}-2")

    wait_until(lambda: home.sessions()[-1].has_ended, "the start fails")
    assert [(each.name, each.run) for each in home.sessions()] == [
        (name, None), (f"{name}-2", asked.run),
    ]  # fmt: skip
    error = start_failure(home.screen(started))
    assert "/no/python can't be started" in error.message


def test_a_run_gets_a_clean_environment_whoever_started_the_server(home: TmuxHome) -> None:
    python = home.folder / "python"
    python.write_text(f"#!/bin/sh\nenv >{home.folder}/environ\n")
    python.chmod(0o700)
    home.tmux(*TMUX_COMMAND, "new-session", "-d", "-s", "other", "sleep 3600", env={"LEAK": SECRET})
    home.begin(plan(spec(f"engine = 'tmux'\npython = '{python}'\nenv = {{ PLAIN = 'p' }}")))
    environ = home.folder / "environ"
    wait_until(
        lambda: environ.exists() and "PLAIN=p" in environ.read_text(),
        "the run wrote its environment",
    )
    names = {line.partition("=")[0] for line in environ.read_text().splitlines()}
    assert {"HOME", "PATH", "LANG", "TERM", "SHELL", "USER", "EVALROOM_RUN"} <= names
    assert SECRET not in environ.read_text()
    assert not {each for each in names if each.startswith("TMUX")}


def test_no_tmux_is_a_sentence_and_leaves_nothing_behind(home: TmuxHome) -> None:
    asked = plan(spec("engine = 'tmux'"))
    folder = home.folder / "bin"
    folder.mkdir()
    for name in ("mkdir", "cat", "mv", "id"):
        (folder / name).symlink_to(f"/bin/{name}" if name != "id" else "/usr/bin/id")
    done = home.start(asked, env={"PATH": str(folder)})
    assert done.returncode == 69
    assert home.sessions() == ()
