"""A real eval with a hung tool, from the alarm on screen to its end, in a real tmux."""

import sys
from pathlib import Path

import pytest

from tests.bench.rooms import home_env
from tests.support.commands import NO_PRESSURE
from tests.support.evals import Eval, Evals, short_folder
from tests.support.tmux import Tmux, in_tmux
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

RULES = "[judge.stall]\ntool = { suspect = 2, alarm = 6 }\n"


def _config(folder: Path, data_dir: Path) -> Path:
    file = folder / "config.toml"
    machine = f'[[machines]]\nname = "here"\nlink = "command"\ndata_dir = "{data_dir}"\n'
    file.write_text(machine + NO_PRESSURE + RULES)
    file.chmod(0o600)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "lines"), [(200, 50), (80, 24)])
def test_an_operator_ends_a_hung_tool_from_its_finding(
    evals: Evals, columns: int, lines: int
) -> None:
    one = evals.start("tools", args={"samples": 1, "naps": 1, "seconds": 3_600}).wait_ready()
    with short_folder() as folder:
        command = [sys.executable, "-m", "cli", "--config", str(_config(folder, one.data_dir))]
        env = {**home_env(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "NO_COLOR": "1"}
        with in_tmux(folder, command, columns=columns, lines=lines, env=env) as tmux:
            _ends_the_call(tmux, one)
            tmux.keys("q")
            tmux.until("Leave")
            tmux.keys("Enter")
            tmux.until_gone()


def _ends_the_call(tmux: Tmux, one: Eval) -> None:
    tmux.keys("3")
    tmux.until("⚠ stalled")
    wait_until(lambda: "1 alarm" in tmux.title(), "the title counts it", seen=tmux.title)
    tmux.keys("4")
    tmux.until("→ cancel tool call")
    tmux.keys("/", "stall", "Enter", "Enter")
    tmux.until("nap has run for over")
    tmux.keys("1")
    tmux.until("likely cause")
    tmux.keys("2")
    tmux.until("evalroom act cancel-call")
    tmux.keys("Enter")
    tmux.until("y yes")
    wait_until(lambda: _says_yes(tmux), "the preview takes the yes", seen=tmux.screen)
    tmux.keys("Enter")
    wait_until(lambda: one.popen.poll() is not None, "the sample went on, and the eval ended")
    tmux.keys("Escape")
    tmux.until(lambda screen: "Esc close" not in screen)
    tmux.keys("1")
    tmux.until("closed ")
    tmux.keys("Escape")
    tmux.until("4 Findings")


def _says_yes(tmux: Tmux) -> bool:
    """Press `y` while the preview asks for it; it drops a key that comes too early."""
    if "y yes" in tmux.screen():
        tmux.keys("y")
    return "Enter cancel-call" in tmux.screen()
