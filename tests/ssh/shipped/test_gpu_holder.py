"""GPUs of a run: nobody else gets them until its eval is gone, whatever is killed first."""
# pyright: standard
# The shipped programs have no types.

import fcntl
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from core.launch.plan.start_script import GPU_HOLDER_FILE
from core.launch.preflight.gpu_reservations import OWN_FOLDER, SHARED_FOLDER
from ssh.shipped.gpu_holder.main import EXIT_NO_GPUS
from ssh.shipped.gpu_holder.reservations import write_owner
from tests.support.gpus import (
    HOLDER,
    IN_THE_BACKGROUND,
    RUN,
    TWO,
    Gpus,
    Ran,
    end,
)
from tests.support.processes import environ_of, parent_of, words_of
from tests.support.specs import LOCAL, Home, plan, spec
from tests.support.waiting import wait_until

SECRET = "sk-never-to-be-seen-by-a-holder"
OTHER = "20260202-000000-abcdefgh"


def _holder_of(ran: Ran) -> int:
    """Return the process that holds the GPUs of a living eval."""
    assert ran.pid is not None
    return parent_of(ran.pid)


def test_a_run_gets_what_it_asks_for_until_its_eval_is_killed(gpus: Gpus, ended: list[Ran]) -> None:
    (gpus.folder / "run.json").write_text('{"operator": "Ada"}' + " " * 9000)
    ended.append(first := gpus.ran(1))
    assert (first.status, first.given) == (0, "0")
    holder = gpus.held_by("GPU-aa")
    assert (holder["run"], holder["operator"], holder["gpu"]) == (RUN, "Ada", 0)
    assert list(holder["pids"]) == [str(first.pid)]
    ended.append(second := gpus.ran(1, run=OTHER))
    assert second.given == "1"
    third = gpus.ran(1)
    assert (third.status, third.pid) == (EXIT_NO_GPUS, None)
    assert third.err == (
        "evalroom: 1 GPU requested, 0 of 2 free;"
        f" GPU 0 is reserved by run {RUN} of Ada; GPU 1 is reserved by run {OTHER} of Ada\n"
    )
    first.end()
    wait_until(lambda: gpus.is_unlocked("GPU-aa"), "the GPU is given back")
    assert not gpus.held_by("GPU-aa")
    ended.append(again := gpus.ran(1))
    assert again.given == "0"


def test_the_holder_has_nothing_of_the_run_and_is_not_an_eval(gpus: Gpus, ended: list[Ran]) -> None:
    child = gpus.start(gpus.words(2), start_new_session=True)
    ended.append(ran := gpus.end_of(child))  # its output ended: nobody else has it
    assert ran.given == "0,1"
    assert ran.pid is not None
    assert environ_of(ran.pid)["EVALROOM_RUN"] == RUN
    assert "EVALROOM_RUN" not in environ_of(_holder_of(ran))
    holder = Path(f"/proc/{_holder_of(ran)}")
    locks = {f"{gpus.locks}/GPU-{each}.lock" for each in ("aa", "bb")}
    wait_until(
        lambda: (
            {str(each.readlink()) for each in (holder / "fd").iterdir()} == {"/dev/null", *locks}
        ),
        "nothing else is open",
    )
    fields = (holder / "stat").read_text().rpartition(")")[2].split()
    assert (fields[3], fields[4]) == (holder.name, "0")  # its own session, no terminal


def test_gpus_stay_reserved_when_their_holder_is_killed(gpus: Gpus, ended: list[Ran]) -> None:
    ended.append(ran := gpus.ran(2))
    end(_holder_of(ran))
    wait_until(lambda: gpus.is_unlocked("GPU-bb"), "the lock is free")
    refused = gpus.ran(1, run=OTHER)
    assert refused.status == EXIT_NO_GPUS
    assert f"GPU 1 is reserved by run {RUN}" in refused.err
    ran.end()
    ran.wait_gone()
    ended.append(after := gpus.ran(2, run=OTHER))
    assert after.status == 0


def test_of_two_in_the_same_instant_one_gets_the_last_gpu(gpus: Gpus, ended: list[Ran]) -> None:
    gpus.are(TWO, apps="GPU-aa, 4242\n")
    both = [gpus.start(gpus.words(1, run=run)) for run in (RUN, OTHER)]
    rans = [gpus.end_of(each) for each in both]
    ended += rans
    assert sorted(each.status for each in rans) == [0, EXIT_NO_GPUS]
    (refused,) = (each for each in rans if each.status)
    winner = OTHER if refused is rans[0] else RUN
    assert "GPU 0 is used by pid 4242" in refused.err
    assert re.search(rf"GPU 1 is reserved by run {winner} of ", refused.err)


def test_the_name_of_a_reservation_is_there_at_every_moment(tmp_path: Path) -> None:
    """Another process reads the file again and again while it is written again and again."""
    path = tmp_path / "GPU-aa.lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    gpu: dict[str, object] = {"index": 0, "uuid": "GPU-aa"}
    owner = {"run": RUN, "operator": "Ada"}
    many = [os.getpid(), *range(100_000, 100_300)]
    write_owner([(gpu, fd)], owner, many)
    reads = [sys.executable, "-c", _READS, str(path)]
    with subprocess.Popen(reads, stdout=subprocess.PIPE, text=True) as reader:
        while reader.poll() is None:
            for pids in ([os.getpid()], many):
                write_owner([(gpu, fd)], owner, pids)
        out, _ = reader.communicate()
    os.close(fd)
    assert out == f"{{'{RUN}'}}\n"


_READS = """
import os, sys
from ssh.shipped.common.reservations import record_in

fd = os.open(sys.argv[1], os.O_RDONLY)
print({record_in(fd).get("run") for _ in range(5000)})
"""


def test_a_gpu_that_its_run_leaves_at_this_moment_is_waited_for(
    gpus: Gpus, ended: list[Ran]
) -> None:
    """The file is empty already, and the lock is still held."""
    gpus.are("0, GPU-aa, Disabled\n")
    gpus.locks.mkdir()
    with (gpus.locks / "GPU-aa.lock").open("w") as leaving:
        fcntl.flock(leaving, fcntl.LOCK_EX)
        child = gpus.start(gpus.words(1))
        wait_until(lambda: _has_open(child.pid, gpus.locks / "turn.lock"), "it picks a GPU")
    ended.append(ran := gpus.end_of(child))
    assert (ran.status, ran.given) == (0, "0"), ran.err


def _has_open(pid: int, path: Path) -> bool:
    with suppress(OSError):  # it closes some while we look
        return any(each.readlink() == path for each in Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_of_several_that_want_all_gpus_one_gets_them(gpus: Gpus, ended: list[Ran]) -> None:
    rans = [gpus.end_of(each) for each in [gpus.start(gpus.words(2)) for _ in range(4)]]
    ended += rans
    assert sorted(each.status for each in rans) == [0, *[EXIT_NO_GPUS] * 3]


def test_a_command_that_stays_inherits_the_locks(gpus: Gpus) -> None:
    child = gpus.start(gpus.words(1, way="become", command=("sleep", "600")))
    try:
        wait_until(lambda: words_of(child.pid) == ["sleep", "600"], "it becomes the command")
        assert list(gpus.held_by("GPU-aa")["pids"]) == [str(child.pid)]
        assert gpus.ran(2).status == EXIT_NO_GPUS
    finally:
        child.kill()
        child.communicate()
    after = gpus.ran(2)
    assert after.status == 0
    after.end()


def test_a_command_that_fails_leaves_nothing_held(gpus: Gpus) -> None:
    failed = gpus.ran(2, command=("sh", "-c", "echo no such task >&2; exit 3"))
    assert (failed.status, failed.err) == (3, "no such task\n")
    lacking = gpus.ran(2, command=("/nowhere/inspect",))
    assert lacking.status == 127
    assert lacking.err == "evalroom: /nowhere/inspect can't be started: No such file or directory\n"
    killed = gpus.ran(2, command=("sh", "-c", "kill -9 $$"))
    assert killed.status == 137
    wait_until(lambda: gpus.is_unlocked("GPU-aa"), "it is given back")


def test_an_eval_can_be_interrupted_and_its_starter_may_ignore_that(
    gpus: Gpus, ended: list[Ran]
) -> None:
    child = gpus.start(
        gpus.words(1), preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    )
    ended.append(ran := gpus.end_of(child))
    assert ran.pid is not None
    os.kill(ran.pid, signal.SIGINT)
    wait_until(lambda: gpus.is_unlocked("GPU-aa"), "the interrupt ends it")


def test_files_that_others_put_into_the_folder_do_no_harm(gpus: Gpus, ended: list[Ran]) -> None:
    gpus.locks.mkdir()
    victim = gpus.folder / "victim"
    victim.write_text("mine")
    (gpus.locks / "GPU-aa.lock").symlink_to(victim)
    (gpus.locks / "GPU-bb.lock").write_text('{"pids": {"-1": 3, "x": [], "1": "no-1"}, "run": []}')
    ended.append(ran := gpus.ran(2))
    assert (ran.status, ran.given) == (0, "0,1"), ran.err
    assert victim.read_text() == "mine"
    ran.end()
    wait_until(lambda: gpus.is_unlocked("GPU-bb"), "it is given back")
    (gpus.locks / "GPU-bb.lock").unlink()
    os.mkfifo(gpus.locks / "GPU-bb.lock")
    ended.append(again := gpus.ran(2))
    assert (again.status, again.given) == (0, "0,1"), again.err


def test_a_folder_that_can_not_be_used_is_reported(gpus: Gpus) -> None:
    gpus.locks.write_text("")
    refused = gpus.ran(1)
    assert refused.status == EXIT_NO_GPUS
    assert refused.err.startswith("evalroom: GPUs can't be reserved: ")


def test_without_a_shared_folder_the_accounts_own_is_used(gpus: Gpus, ended: list[Ran]) -> None:
    usual, own = gpus.folder / "usual.py", gpus.folder / "home" / "gpus"
    usual.write_text(
        HOLDER.read_text()
        .replace(f'SHARED_FOLDER = "{SHARED_FOLDER}"', f'SHARED_FOLDER = "{gpus.locks}"')
        .replace(f'OWN_FOLDER = "{OWN_FOLDER}"', f'OWN_FOLDER = "{own}"')
    )

    def ran() -> Ran:
        words = gpus.words(1, holder=usual)
        words[words.index(str(gpus.locks))] = ""
        ended.append(one := gpus.end_of(gpus.start(words)))
        return one

    assert ran().given == "0"
    assert stat.S_IMODE(gpus.locks.stat().st_mode) == 0o1777
    assert not own.exists()
    gpus.locks.rename(gpus.folder / "elsewhere")
    gpus.locks.symlink_to(gpus.folder / "elsewhere")  # whoever laid it there
    assert ran().given == "0"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert not stat.S_IMODE(own.parent.stat().st_mode) & 0o022


def test_accounts_share_the_folder_and_never_a_gpu(gpus: Gpus, ended: list[Ran]) -> None:
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not Path(python).exists():
        pytest.skip("only root can act as another account, with a python that all can run")
    gpus.folder.chmod(0o755)
    shutil.copy(HOLDER, gpus.folder)
    for each in gpus.folder.iterdir():
        each.chmod(0o755)

    def start(uid: int) -> subprocess.Popen[str]:
        command = (python, "-c", IN_THE_BACKGROUND)
        words = gpus.words(1, holder=gpus.folder / HOLDER.name, python=python, command=command)
        return gpus.start(words, user=uid, group=uid, extra_groups=[], umask=0o077)

    gpus.are(TWO, apps="GPU-aa, 4242\n")
    denied = gpus.end_of(start(65534))
    assert "can't be created" in denied.err  # the folder above is not theirs
    ended.append(ours := gpus.end_of(start(0)))
    assert ours.given == "1"
    assert stat.S_IMODE(gpus.locks.stat().st_mode) == 0o1777
    assert stat.S_IMODE((gpus.locks / "GPU-bb.lock").stat().st_mode) == 0o644
    theirs = gpus.end_of(start(65534))
    assert "GPU 1 is reserved by run" in theirs.err
    assert " of root" in theirs.err
    end(_holder_of(ours))  # what is left says it to all
    assert "GPU 1 is reserved by run" in gpus.end_of(start(65534)).err
    ours.end()
    ours.wait_gone()
    both = [gpus.end_of(each) for each in [start(uid) for uid in (65534, 0, 65533)]]
    ended += both
    assert sorted(each.status for each in both) == [0, EXIT_NO_GPUS, EXIT_NO_GPUS]


def _is_success(logs: Path) -> bool:
    with suppress(Exception):  # it is being written
        (one,) = list_eval_logs(str(logs))
        return read_eval_log(one.name, header_only=True).status == "success"
    return False


def test_a_real_eval_gets_its_gpus_and_its_secret_and_its_holder_neither(gpus: Gpus) -> None:
    home = Home(gpus.folder)
    machine = replace(LOCAL, gpu_locks=str(gpus.locks))
    asked = plan(spec("gpus = 1\nkeep = true\nsecrets = ['OPENAI_API_KEY']"), machine=machine)
    secret = json.dumps({"OPENAI_API_KEY": SECRET}) + "\n"
    started = home.start(asked, stdin=secret, env={"PATH": gpus.path, "EVALROOM_RUN": "another"})
    assert started.returncode == 0, started.stderr
    record = json.loads(started.stdout)
    pid = record["pid"]
    try:
        assert {
            "CUDA_VISIBLE_DEVICES": "0", "EVALROOM_RUN": asked.run, "OPENAI_API_KEY": SECRET,
        }.items() <= environ_of(pid).items()  # fmt: skip
        holder = parent_of(pid)
        assert GPU_HOLDER_FILE in " ".join(words_of(holder))
        variables = environ_of(holder)
        assert "EVALROOM_RUN" not in variables
        assert SECRET not in variables.values()
        assert list(gpus.held_by("GPU-aa")["pids"]) == [str(pid)]
        refused = home.start(plan(spec("gpus = 2"), machine=machine), env={"PATH": gpus.path})
        assert refused.returncode == EXIT_NO_GPUS
        assert (
            f"2 GPUs requested, 1 of 2 free; GPU 0 is reserved by run {asked.run}" in refused.stderr
        )
        assert gpus.is_unlocked("GPU-bb")
        wait_until(lambda: _is_success(Path(record["log_dir"])), "its log says success")
        end(pid)
        wait_until(lambda: gpus.is_unlocked("GPU-aa"), "the GPU is given back")
    finally:
        end(pid)
