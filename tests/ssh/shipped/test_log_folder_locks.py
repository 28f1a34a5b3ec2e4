"""A log folder belongs to one run at a time, whoever launches at the same instant."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import stat
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.proc import BOOT_ID, start_mark
from ssh.shipped.launcher.log_folder_locks import LOCK_FILE, note_eval, take_log_folder
from tests.support.evals import short_folder
from tests.support.programs import program_file
from tests.support.shipped_answers import answers_in
from tests.support.waiting import WAIT_S

ONE, TWO = "20260101-000000-aaaaaaaa", "20260101-000000-bbbbbbbb"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs with two runs in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".evalroom" / "runs"
    for name in (ONE, TWO):
        (folder / name).mkdir(parents=True)
        (folder / name / "start.sh").write_text("echo $$ >begun; mkdir started; sleep 0.2\n")
    return folder


def hold(shared: Path, **more: Any) -> None:
    """Write the lock of a run of this machine whose process lives."""
    shared.mkdir(parents=True, exist_ok=True)
    own = {"run": ONE, "host": os.uname().nodename, "boot": BOOT_ID, "pid": os.getpid()}
    space = str(Path("/proc/self/ns/pid").readlink())
    record = {**own, "start": start_mark(os.getpid()), "space": space, **more}
    (shared / LOCK_FILE).write_text(json.dumps(record))


def test_of_two_launches_at_the_same_instant_one_is_refused(runs: Path, tmp_path: Path) -> None:
    """As two evalrooms do it: each with a launcher of its own."""

    def launch(name: str) -> dict[str, Any]:
        given = {"directory": str(runs / name), "script": "start.sh", "log_dir": "~/a/shared"}
        asked = {"verb": "start", "given": given, "secrets": {}}
        ran = subprocess.run(
            [sys.executable, "-I", str(program_file("launcher"))], input=json.dumps(asked) + "\n",
            env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True,
            timeout=WAIT_S,
        )  # fmt: skip
        found: list[dict[str, Any]] = answers_in(ran.stdout)
        return found[0]

    with ThreadPoolExecutor() as both:
        names = [ONE, TWO]
        answers = dict(zip(names, both.map(launch, names), strict=True))
    begun = [name for name in (ONE, TWO) if (runs / name / "begun").exists()]
    assert len(begun) == 1
    [refused] = {ONE, TWO} - set(begun)
    assert answers[begun[0]]["status"] == 0
    assert answers[refused]["failed"] == f"the run {begun[0]} logs into {tmp_path}/a/shared"
    assert answers[refused]["advice"] == "wait until it ends, or choose another log_dir"
    launch(refused)  # the first one has ended
    assert (runs / refused / "begun").exists()


def test_a_run_takes_its_folder_again(runs: Path, tmp_path: Path) -> None:
    take_log_folder(str(runs / ONE), str(tmp_path / "shared"))
    take_log_folder(str(runs / ONE), str(tmp_path / "shared"))
    with pytest.raises(CannotDo, match=f"the run {ONE} logs into"):
        take_log_folder(str(runs / TWO), str(tmp_path / "shared"))


@pytest.mark.parametrize(
    "more",
    [
        {"start": "0-0"},
        {"pid": 2**30},
        {"pid": "7"},
        {"boot": "another", "pid": 1},
        {"run": 7},
        {"run": None},
        {"host": "its-name-before", "pid": 2**30},
    ],
)
def test_a_run_that_ended_no_longer_holds_its_folder(
    runs: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    hold(tmp_path / "shared", **more)
    take_log_folder(str(runs / TWO), str(tmp_path / "shared"))
    assert json.loads((tmp_path / "shared" / LOCK_FILE).read_text())["run"] == TWO


@pytest.mark.parametrize(
    "more",
    [{"host": "node1", "boot": "another"}, {"space": "pid:[1]", "pid": 2**30}],
)
def test_a_run_of_another_host_or_of_a_container_holds_its_folder_and_the_file_is_named(
    runs: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    hold(tmp_path / "shared", **more)
    with pytest.raises(CannotDo, match=f"the run {ONE} on .+ logs into") as refused:
        take_log_folder(str(runs / TWO), str(tmp_path / "shared"))
    assert f"remove the file {tmp_path}/shared/{LOCK_FILE}" in refused.value.advice


def test_the_lock_names_the_eval_and_holds_as_long_as_it_lives(runs: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    take_log_folder(str(runs / ONE), str(shared))
    (runs / ONE / "started").mkdir()
    (runs / ONE / "started" / "host").write_text(f"h\n1\n{BOOT_ID}\n")
    with subprocess.Popen(["sleep", "3600"]) as child:
        (runs / ONE / "started" / "stat").write_text(Path(f"/proc/{child.pid}/stat").read_text())
        note_eval(str(runs / ONE), str(shared))
        assert json.loads((shared / LOCK_FILE).read_text())["pid"] == child.pid
        with pytest.raises(CannotDo, match=ONE):
            take_log_folder(str(runs / TWO), str(shared))
        child.kill()
        child.wait()
    take_log_folder(str(runs / TWO), str(shared))


@pytest.mark.parametrize("log_dir", ["logs", "s3://bucket/logs", "", None])
def test_a_private_folder_and_a_url_are_not_taken(
    runs: Path, tmp_path: Path, log_dir: str | None
) -> None:
    take_log_folder(str(runs / ONE), log_dir)
    assert list(tmp_path.rglob(LOCK_FILE)) == []


def test_a_folder_that_cannot_be_made_is_a_sentence(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotDo, match="can't be written"):
        take_log_folder(str(runs / ONE), str(tmp_path / "file" / "logs"))


def test_a_folder_for_a_group_stays_open_for_it(runs: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        take_log_folder(str(runs / ONE), str(tmp_path / "new" / "logs"))
    finally:
        os.umask(before)
    for path in (tmp_path / "new", tmp_path / "new" / "logs"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o055 == 0o055 & ~before


@contextmanager
def another_account(folder: Path) -> Generator[None, None, None]:
    """Act as an account that may write in `folder`, and not into the files that are in it."""
    for path in folder.iterdir():
        path.chmod(0o444)
    if os.getuid() != 0:
        yield
        return
    os.chown(folder, 65_534, 65_534)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_another_account_had_is_taken_by_one_run_too() -> None:
    with short_folder() as folder:
        folder.chmod(0o755)
        shared = folder / "shared"
        hold(shared, pid=2**30)
        with another_account(shared):
            take_log_folder(str(folder / ONE), str(shared))
            with pytest.raises(CannotDo, match=f"the run {ONE} logs into"):
                take_log_folder(str(folder / TWO), str(shared))
        assert [path.name for path in shared.iterdir()] == [LOCK_FILE]


def test_another_accounts_file_that_can_not_be_replaced_stays() -> None:
    with short_folder() as folder:
        folder.chmod(0o755)
        shared = folder / "shared"
        hold(shared, run=TWO, pid=2**30)
        with another_account(shared):
            os.seteuid(os.getuid())
            shared.chmod(0o555)
            if os.getuid() == 0:
                os.seteuid(65_534)
            take_log_folder(str(folder / ONE), str(shared))
        shared.chmod(0o755)
        assert json.loads((shared / LOCK_FILE).read_text())["run"] == TWO
