"""evalroom started with standard input, output or error closed."""

import subprocess
from pathlib import Path

import pytest

from tests.support.commands import EVALROOM, Home, machine
from tests.support.waiting import WAIT_S


@pytest.mark.parametrize(
    ("words", "closed", "status", "says"),
    [
        (("launch", "-"), "<&-", 1, '"task" is missing'),
        (("secrets", "set", "X"), "<&-", 2, "the value of X is empty"),
        (("runs",), ">&-", 0, ""),
        (("runs",), "<&- >&- 2>&-", 0, ""),
    ],
)
def test_a_closed_descriptor_is_not_a_crash(
    tmp_path: Path, words: tuple[str, ...], closed: str, status: int, says: str
) -> None:
    home = Home(tmp_path)
    home.configure(machine("local"))
    line = " ".join((*EVALROOM, *words, closed))
    ran = subprocess.run(
        ["/bin/sh", "-c", line], env=home.env, cwd=tmp_path, check=False, capture_output=True,
        text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert (ran.returncode, "crashed" in ran.stderr) == (status, False), ran.stderr
    assert says in ran.stdout + ran.stderr
    assert not (tmp_path / ".local/state/evalroom/crashes").exists()
