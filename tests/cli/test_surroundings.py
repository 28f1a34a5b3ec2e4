"""Commands in odd surroundings: locales, terminals, homes, a folder that is gone, closed files."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.commands import EVALROOM, Home, machine
from tests.support.waiting import WAIT_S

_COMMANDS = (
    "status --json",
    "machines",
    "findings",
    "runs",
    "secrets list",
    "templates",
    "config show",
    "--help",
)
_SURROUNDINGS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "LANG=C": ("home", "", {"LANG": "C", "LC_ALL": "C"}),
    "no color, dumb terminal": ("home", "", {"NO_COLOR": "1", "TERM": "dumb"}),
    "no terminal type": ("home", "", {"TERM": "", "LANG": ""}),
    "a home with blanks": ("höme with ☃", "", {}),
    "a home with blanks, LANG=C": ("höme with ☃", "", {"LANG": "C", "LC_ALL": "C"}),
    "a folder that is gone": ("home", 'mkdir gone; cd gone; rmdir "$PWD"; ', {}),
    "input closed": ("home", "exec <&-; ", {}),
    "output closed": ("home", "exec >&-; ", {}),
    "all closed": ("home", "exec <&- >&- 2>&-; ", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _SURROUNDINGS)
def test_commands_work_in_odd_surroundings(tmp_path: Path, name: str) -> None:
    folder, before, variables = _SURROUNDINGS[name]
    home = Home(tmp_path / folder)
    home.configure(machine("local", tmp_path / "d"))
    for words in _COMMANDS:
        line = f'{before}exec "$@"'
        ran = subprocess.run(
            ["/bin/sh", "-c", line, "sh", *EVALROOM, *words.split()], cwd=home.folder,
            env={**home.env, **variables}, capture_output=True, check=False, timeout=WAIT_S,
        )  # fmt: skip
        err = ran.stderr.decode(errors="replace")
        assert (ran.returncode, "Traceback" in err, "crashed" in err) == (0, False, False), err
    assert not (home.folder / ".local/state/evalroom/crashes").exists()
