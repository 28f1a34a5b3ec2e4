"""Reservations of GPUs against another account: it can have GPUs, and nothing else."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.launch.preflight.gpu_reservations import OWN_FOLDER, SHARED_FOLDER
from ssh.shipped.common import reservations
from ssh.shipped.common.failures import Failed
from ssh.shipped.common.proc import start_mark
from ssh.shipped.gpu_holder import lock_files
from ssh.shipped.gpu_holder.main import EXIT_NO_GPUS
from ssh.shipped.survey.reservations import read_reservations
from tests.hostile.other_user import OtherUser, other_user
from tests.support.evals import short_folder
from tests.support.gpus import HOLDER, RUN, TWO, Gpus, Ran
from tests.support.waiting import WAIT_S


def _reserved(*folders: Path) -> dict[str, Any]:
    """What the survey says of these folders."""
    found: Any = read_reservations([str(each) for each in folders])
    return dict(found)


HOLDS = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o666)
os.write(fd, sys.argv[2].encode().replace(b"PID", b"%d" % os.getpid()))
if sys.argv[3] == "lock":
    fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other() -> OtherUser:
    return other_user()


@pytest.fixture
def gpus() -> Iterator[Gpus]:
    with short_folder() as folder:
        folder.chmod(0o755)
        made = Gpus(folder).are(TWO)
        made.locks.mkdir()
        made.locks.chmod(0o1777)
        yield made


@pytest.fixture
def ended() -> Iterator[list[Ran]]:
    rans: list[Ran] = []
    yield rans
    for each in rans:
        each.end()


@contextmanager
def _holding(
    other: OtherUser, gpus: Gpus, name: str, record: str = "", how: str = "lock"
) -> Iterator[subprocess.Popen[str]]:
    child = other.starts(HOLDS, gpus.locks / name, record, how)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    try:
        yield child
    finally:
        child.communicate("", timeout=WAIT_S)


def test_a_folder_of_another_account_is_not_used(gpus: Gpus, other: OtherUser) -> None:
    os.chown(gpus.locks, other.uid, other.uid)
    refused = gpus.ran(1)
    assert refused.status == EXIT_NO_GPUS
    assert f"belongs to {other.uid}, not to root or to you" in refused.err
    assert not list(gpus.locks.iterdir())


def test_a_folder_in_which_others_can_replace_files_is_not_used(gpus: Gpus) -> None:
    gpus.locks.chmod(0o777)
    assert "it is not sticky" in gpus.ran(1).err


def test_a_folder_that_is_a_link_is_not_followed(gpus: Gpus) -> None:
    victim = gpus.folder / "victim"
    gpus.locks.rename(victim)
    gpus.locks.symlink_to(victim)
    assert "is not a folder" in gpus.ran(1).err
    assert not list(victim.iterdir())


def test_a_folder_that_is_swapped_later_is_not_followed(gpus: Gpus) -> None:
    folder = reservations.open_folder(str(gpus.locks))
    victim = gpus.folder / "victim"
    victim.mkdir()
    gpus.locks.rename(gpus.folder / "moved")
    gpus.locks.symlink_to(victim)
    held = lock_files.lock_own(folder, "GPU-aa", [])
    assert held is not None
    os.close(held)
    os.close(folder)
    assert not list(victim.iterdir())
    assert [each.name for each in (gpus.folder / "moved").iterdir()] == ["GPU-aa.lock"]


def test_a_held_lock_can_not_be_removed_or_written_by_another_account(
    gpus: Gpus, other: OtherUser, ended: list[Ran]
) -> None:
    ended.append(ran := gpus.ran(1))
    assert ran.given == "0"
    lock = gpus.locks / "GPU-aa.lock"
    assert stat.S_IMODE(lock.stat().st_mode) == 0o644
    for attack in (
        "import os, sys; os.unlink(sys.argv[1])",
        "import os, sys; os.rename(sys.argv[1], sys.argv[1] + '.old')",
        "open(__import__('sys').argv[1], 'w').write('{}')",
    ):
        assert "Operation not permitted" in (told := other.does(attack, lock)) or (
            "Permission denied" in told
        )
    assert gpus.held_by("GPU-aa")["run"] == RUN
    assert gpus.ran(2).status == EXIT_NO_GPUS


def test_a_name_that_another_account_took_first_gives_it_no_gpu(
    gpus: Gpus, other: OtherUser, ended: list[Ran]
) -> None:
    other.does("import os, sys; os.close(os.open(sys.argv[1], os.O_CREAT, 0o600))",
               gpus.locks / "GPU-aa.lock")  # fmt: skip
    ended.append(ran := gpus.ran(1))
    assert ran.given == "0", ran.err
    # The other account removes its own file and makes another: the GPU stays reserved.
    other.does("import os, sys; os.unlink(sys.argv[1])", gpus.locks / "GPU-aa.lock")
    held = _reserved(gpus.locks)["held"]
    assert [(each["name"], each["run"]) for each in held] == [("GPU-aa.lock", RUN)]
    assert f"GPU 0 is reserved by run {RUN}" in gpus.ran(2).err


def test_a_forged_record_reserves_nothing(gpus: Gpus, other: OtherUser, ended: list[Ran]) -> None:
    """It names processes that live: of root, and of the account that it would keep out."""
    pids = {str(pid): start_mark(pid) for pid in (1, os.getpid())}
    record = json.dumps({"run": RUN, "operator": "Ada", "pids": pids})
    with _holding(other, gpus, "GPU-aa.lock", record, "write"):
        assert _reserved(gpus.locks)["held"] == []
        ended.append(ran := gpus.ran(1))
        assert ran.given == "0", ran.err


def test_another_accounts_reservation_counts_under_its_own_name(
    gpus: Gpus, other: OtherUser
) -> None:
    record = json.dumps({"account": "root", "pids": {}})
    with _holding(other, gpus, "GPU-aa.lock", record):
        [held] = _reserved(gpus.locks)["held"]
        assert held["account"] == str(other.uid)
        assert f"GPU 0 is reserved by {other.uid}" in gpus.ran(2).err


def test_an_account_that_never_gives_its_turn_up_keeps_nobody_out(
    gpus: Gpus, other: OtherUser, ended: list[Ran]
) -> None:
    hasty = gpus.folder / "hasty.py"
    hasty.write_text(HOLDER.read_text().replace("TURN_TIMEOUT_S = 10.0", "TURN_TIMEOUT_S = 0.3"))
    with _holding(other, gpus, "turn.lock"):
        ended.append(ran := gpus.ran(2, holder=hasty))
        assert ran.given == "0,1", ran.err
        assert len(_reserved(gpus.locks)["held"]) == 2


def test_what_is_not_a_plain_file_does_not_count(
    gpus: Gpus, other: OtherUser, ended: list[Ran]
) -> None:
    victim = gpus.folder / "victim"
    victim.write_text("mine")
    other.does(
        "import os, sys; os.chdir(sys.argv[1]); os.symlink(sys.argv[2], 'GPU-aa.lock');"
        "os.mkfifo('GPU-bb.lock'); os.mkdir('GPU-bb.00000000.lock'); os.symlink('/', 'turn.lock')",
        gpus.locks, victim,
    )  # fmt: skip
    ended.append(ran := gpus.ran(2))
    assert ran.given == "0,1", ran.err
    assert victim.read_text() == "mine"


def test_a_folder_full_of_files_is_refused_and_reported(
    gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reservations, "MAX_LOCK_FILES", 3)
    for number in range(4):
        (gpus.locks / f"GPU-aa.{number:08x}.lock").write_text("")
    with pytest.raises(Failed, match="over 3 files"):
        _reserved(gpus.locks)


def test_the_fallback_is_reported(
    gpus: Gpus, other: OtherUser, ended: list[Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(gpus.locks, other.uid, other.uid)
    own = gpus.folder / "home" / "gpus"
    usual = gpus.folder / "usual.py"
    usual.write_text(
        HOLDER.read_text()
        .replace(f'SHARED_FOLDER = "{SHARED_FOLDER}"', f'SHARED_FOLDER = "{gpus.locks}"')
        .replace(f'OWN_FOLDER = "{OWN_FOLDER}"', f'OWN_FOLDER = "{own}"')
    )
    words = gpus.words(1, holder=usual)
    words[words.index(str(gpus.locks))] = ""
    ended.append(ran := gpus.end_of(gpus.start(words)))
    assert ran.given == "0", ran.err
    assert "other accounts don't see that this run reserves GPUs" in ran.err
    assert f"belongs to {other.uid}" in ran.err
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    monkeypatch.setenv("HOME", str(gpus.folder))
    found = _reserved(gpus.locks, own)
    assert found["folder"] == str(own)
    assert "not to root or to you" in found["why"]


def test_only_root_makes_the_shared_folder(gpus: Gpus, other: OtherUser) -> None:
    gpus.locks.rmdir()
    missing: Path = gpus.folder / "open"
    missing.mkdir()
    missing.chmod(0o1777)
    usual = gpus.folder / "usual.py"
    usual.write_text(
        HOLDER.read_text()
        .replace(f'SHARED_FOLDER = "{SHARED_FOLDER}"', f'SHARED_FOLDER = "{missing}/evalroom"')
        .replace(f'OWN_FOLDER = "{OWN_FOLDER}"', f'OWN_FOLDER = "{missing}/own"')
    )
    usual.chmod(0o644)
    words = gpus.words(1, holder=usual, python="/usr/bin/python3", command=("sleep", "0"))
    words[words.index(str(gpus.locks))] = ""
    child = gpus.start(words, user=other.uid, group=other.uid, extra_groups=[])
    _, err = child.communicate(timeout=WAIT_S)
    assert child.returncode == 0, err
    assert not (missing / "evalroom").exists()
    assert (missing / "own").stat().st_uid == other.uid
