"""Logins without HOME: the account's entry says where the home is."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.programs import program_file
from tests.support.shipped_answers import answers_in
from tests.support.waiting import WAIT_S


@pytest.mark.parametrize("variables", [{}, {"HOME": ""}, {"HOME": "/elsewhere"}])
def test_a_run_gets_a_home_though_the_login_has_none(
    tmp_path: Path, variables: Mapping[str, str]
) -> None:
    (tmp_path / "start.sh").write_text('echo "$HOME"\n')
    given = {"directory": str(tmp_path), "script": "start.sh", "wait": 20}
    done = subprocess.run(
        [sys.executable, "-I", program_file("launcher")],
        capture_output=True, text=True, check=True,
        input=json.dumps({"verb": "start", "given": given, "secrets": {}}) + "\n", timeout=WAIT_S,
        env={"PATH": os.environ["PATH"], **variables},
    )  # fmt: skip
    [answer] = answers_in(done.stdout)
    home = variables.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    assert (answer["status"], answer["out"]) == (0, home + "\n")
