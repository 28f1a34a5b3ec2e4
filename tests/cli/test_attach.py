"""`evalroom attach`: a run's own display, from a shell."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from core.launch.engines.tmux_sessions import TMUX_COMMAND
from tests.support.commands import EVALROOM, Home, machine
from tests.support.evals import short_folder
from tests.support.specs import SMOKE
from tests.support.tmux import in_tmux

pytestmark = pytest.mark.xdist_group("launches")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    with short_folder() as folder:
        home = Home(folder)
        home.configure(machine("local"))
        (folder / "s.toml").write_text(SMOKE)
        monkeypatch.setenv("TMUX_TMPDIR", str(folder))
        try:
            yield home
        finally:
            subprocess.run([*TMUX_COMMAND, "kill-server"], check=False, capture_output=True)


@pytest.mark.slow
def test_a_display_is_shown_here_and_only_named_without_a_terminal(here: Home) -> None:
    ran = here.run("launch", "s.toml", "--set", "engine=tmux", "--yes", "--wait", "--json")
    assert ran.json["state"] == "success"
    run = ran.json["run_id"]
    printed = here.run("attach", run, "--json").json
    assert printed == {
        "run_id": run,
        "words": [*TMUX_COMMAND, "attach-session", "-t", f"=smoke-{run[-8:]}"],
    }
    line = f"tmux -u -L evalroom attach-session -t '=smoke-{run[-8:]}'"
    assert here.run("attach", run).out == f"{line}\n"

    env = {**here.env, "TMUX_TMPDIR": os.environ["TMUX_TMPDIR"]}
    with in_tmux(here.folder, [*EVALROOM, "attach", run[-8:]], columns=200, lines=51,
                 env=env) as tmux:  # fmt: skip
        tmux.until("accuracy  0.700")
        tmux.keys("C-b", "d")
        tmux.until_gone()


def test_a_run_without_a_display_says_so(here: Home) -> None:
    none = here.run("attach", "nope")
    assert none.status == 2
    assert "no run matches nope" in none.err
