"""The room in a real tmux, on a real eval, from the first frame to the last key."""

import sys
from functools import partial
from pathlib import Path

from tests.bench.rooms import home_env
from tests.support.commands import NO_PRESSURE
from tests.support.evals import Eval, Evals, short_folder
from tests.support.processes import command_of, wait_gone, with_variable, working_in
from tests.support.tmux import Tmux, in_tmux
from tests.support.tree import ROOT

EVALROOM = (sys.executable, "-m", "cli")


def _config(folder: Path, data_dir: Path) -> Path:
    file = folder / "config.toml"
    machine = f'[[machines]]\nname = "here"\nlink = "command"\ndata_dir = "{data_dir}"\n'
    file.write_text(machine + NO_PRESSURE)
    file.chmod(0o600)
    return file


def _env(folder: Path) -> dict[str, str]:
    return {**home_env(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}


def test_an_operator_finds_a_sample_and_leaves_on_a_large_terminal_and_a_small_one(
    evals: Evals,
) -> None:
    one = evals.start("turns", args={"samples": 8, "turns": 2_000, "sleep": 0.5})
    for columns, lines in ((200, 50), (80, 24)):
        with short_folder() as folder:
            command = [*EVALROOM, "--config", str(_config(folder, one.data_dir))]
            with in_tmux(folder, command, columns=columns, lines=lines, env=_env(folder)) as tmux:
                _finds_a_sample(tmux, one)
                assert _probes_of(folder)
                if lines == 24:
                    one.kill()
                    tmux.keys("4")
                    tmux.until(lambda screen: "ended" in screen or "gone" in screen)
                tmux.keys("q")
                _leave(tmux)
                tmux.until_gone()
                wait_gone(partial(_probes_of, folder), "the probes are")


def _finds_a_sample(tmux: Tmux, one: Eval) -> None:
    tmux.until("Machines")
    one.wait_ready()
    tmux.keys("2")
    _filter_to(tmux, one.folder.parent.name, "turns")
    tmux.keys("Enter")
    tmux.until("Progress")
    tmux.keys("1")
    tmux.until("mock/talker")
    tmux.keys("Escape")
    tmux.until("Findings")
    tmux.keys("3")
    tmux.until("s001")
    _filter_to(tmux, "s003", "s003")
    tmux.until(lambda screen: "s001" not in screen)
    tmux.keys("Enter")
    tmux.until("s003 epoch 1")
    tmux.keys("?")
    tmux.until("Move down one row")
    tmux.keys("Escape")
    tmux.until("s003 epoch 1")
    tmux.keys("Escape")
    tmux.until("Findings")
    assert "running" in tmux.title()


def _filter_to(tmux: Tmux, text: str, shown: str) -> None:
    tmux.keys("/")
    tmux.keys(text)
    tmux.keys("Enter")
    tmux.until(shown)


def _leave(tmux: Tmux) -> None:
    """Confirm leaving where the room asks."""
    if tmux.is_alive():
        tmux.keys("Enter")


def _probes_of(folder: Path) -> list[int]:
    ours = with_variable("XDG_STATE_HOME", home_env(folder)["XDG_STATE_HOME"])
    return [pid for pid in ours if "evalroom-probe" in command_of(pid)]


def test_the_embedded_default_opens_the_room_and_cleans_up() -> None:
    with short_folder() as folder:
        env = {**_env(folder), "TMPDIR": str(folder)}
        command = [*EVALROOM, "demo", "--seconds", "60"]
        with in_tmux(folder, command, columns=120, lines=40, env=env) as tmux:
            tmux.until("Samples of evalroom/")
            demos = list(folder.glob("evalroom-demo-*"))
            assert demos, "the demo keeps its files in a folder of its own"
            assert working_in(folder)
            tmux.keys("q")
            tmux.until("Leaving ends the demo's eval-set")
            _leave(tmux)
            tmux.until_gone()
        wait_gone(lambda: working_in(folder), "the demo's processes are")
        assert list(folder.glob("evalroom-demo-*")) == []
