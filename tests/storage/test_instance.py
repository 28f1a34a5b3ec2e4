import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from storage import identity
from storage.identity import boot_id, is_alive, operator_name, start_of, this_instance


def test_this_evalroom_is_alive() -> None:
    here = this_instance()
    assert here.pid == os.getpid()
    assert here == this_instance()
    assert is_alive(here, here) is True


def test_one_that_ended_or_whose_pid_is_anothers_now_is_dead() -> None:
    here = this_instance()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    began = start_of(child.pid)
    assert began
    other = replace(here, pid=child.pid, start=began)
    assert is_alive(other, here) is True
    assert is_alive(replace(other, start="1"), here) is False
    assert is_alive(replace(other, boot="another"), here) is False
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(other, here) is False  # nobody has reaped it yet
    child.communicate()
    assert is_alive(other, here) is False


def test_one_on_another_computer_can_not_be_known() -> None:
    here = this_instance()
    assert is_alive(replace(here, host="elsewhere"), here) is None
    assert is_alive(replace(here, host="elsewhere", boot="x", pid=1), here) is None


def test_without_proc_ps_says_when_a_process_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert boot_id(tmp_path) == ""
    began = start_of(os.getpid(), tmp_path)
    if began:
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        assert start_of(os.getpid(), tmp_path) == began
    assert start_of(2**22 + 1, tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert start_of(os.getpid(), tmp_path) == ""
    assert start_of(2**22 + 1, tmp_path) is None
    assert start_of(0, tmp_path) is None


def test_without_a_known_start_the_pid_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(this_instance(), boot="", start="")
    assert is_alive(here, here) is True
    seen: list[str | None] = []

    def start(pid: int) -> str | None:
        del pid
        return seen[-1]

    monkeypatch.setattr(identity, "start_of", start)
    seen.append("")
    assert is_alive(replace(here, start="Mon"), here) is True
    seen.append(None)
    assert is_alive(here, here) is False


def git_says(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 30", "echo '   '", "kill -9 $$"])
def test_where_git_knows_nobody_it_is_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    git_says(tmp_path, script, monkeypatch)
    monkeypatch.setattr(identity, "_GIT_TIMEOUT_S", 0.3)
    monkeypatch.setenv("LOGNAME", "ada")
    assert operator_name() == "ada"


def test_where_git_is_missing_it_is_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ada")
    assert operator_name() == "ada"


def test_a_name_is_harmless_and_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git_says(tmp_path, r"printf '\033[2JAda \342\200\256 Lovelace\n'", monkeypatch)
    assert operator_name() == "␛[2JAda ⟦202E⟧ Lovelace"
    git_says(tmp_path, "yes x | head -c 100000 | tr -d '\\n'", monkeypatch)
    assert operator_name() == "x" * 100
