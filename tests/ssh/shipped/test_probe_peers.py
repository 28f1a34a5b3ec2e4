"""A record belongs to the process at the other end of its socket, or to none."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ssh.shipped.common.namespaces import CONTAINED, HERE, UNREAD, place_of
from ssh.shipped.common.proc import start_mark, stat_of
from ssh.shipped.common.reservations import is_same_process
from ssh.shipped.launcher.run_processes import living_processes, peer_of
from ssh.shipped.probe.discovery import Found
from ssh.shipped.probe.eval_process import EvalProcess
from ssh.shipped.probe.process_list import ProcessList
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.fake_eval import fake_eval, says
from tests.support.namespaces import contained_eval
from tests.support.processes import children_of, command_of, lives
from tests.support.waiting import WAIT_S, wait_until

_VICTIM = """
import os, signal, sys, time
def note(number, _):
    with open(sys.argv[1], "a") as file:
        file.write(f"signal {number}\\n")
signal.signal(signal.SIGINT, note)
with open(sys.argv[1], "a") as file:
    file.write("ready\\n")
time.sleep(300)
"""
_NO_LOG = {"what": "headers", "logs": ["/none.eval"], "errored": 1, "others": 1, "bytes": 1000}
_AT_START = """
import os, sys
with open({log!r}, "a") as file:
    file.write("run " + " ".join(sys.orig_argv[1:]) + chr(10))
"""


@dataclass(frozen=True)
class Victim:
    """A bystander with a program of its own, which writes down each start and each SIGINT."""

    pid: int
    start: str
    log: Path

    @property
    def output(self) -> list[str]:
        """What happened to it, after its own start."""
        return self.log.read_text().splitlines()[2:]


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    """A process whose program is a Python by another name."""
    log, home = tmp_path / "log", tmp_path / "victim"
    subprocess.run(
        [Path(sys.executable).resolve(), "-m", "venv", "--copies", "--without-pip", home],
        check=True,
    )
    site = sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)})
    (Path(site) / "sitecustomize.py").write_text(_AT_START.format(log=str(log)))
    program = home / "bin" / "victim"
    shutil.copy(home / "bin" / "python", program)
    script = tmp_path / "victim.py"
    script.write_text(_VICTIM)
    child = subprocess.Popen([program, script, log])
    try:
        wait_until(lambda: log.exists() and "ready" in log.read_text(), "the victim runs")
        assert log.read_text().startswith("run "), "it writes down each start of its program"
        yield Victim(child.pid, start_mark(child.pid) or "", log)
    finally:
        child.kill()
        child.wait()


def try_to_reach(probe: DirectProbe, victim: Victim) -> None:
    """Ask for everything that once reached the victim."""
    for sign in ("INT", "KILL"):
        number = probe.ask("signal", pid=victim.pid, start=victim.start, signal=sign)
        assert probe.reply(number).head["error"] == "not sent: no such process"
    probe.send(
        "watch", pid=victim.pid, start=victim.start, name="t", path="/tasks", every=0.2, as_of=None
    )
    number = probe.ask("logs", pid=victim.pid, start=victim.start, pythons=[], asked=_NO_LOG)
    probe.reply(number)


def test_a_pid_of_another_namespace_is_not_the_process_that_has_it_here(
    victim: Victim, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with contained_eval(data, victim.pid) as inside:
        assert inside.inner_pid == victim.pid
        assert json.loads(inside.record.read_text())["pid"] == victim.pid
        with direct_probe(data) as probe:
            row = probe.process(inside.pid)
            assert row["channel"] == row["unsignalled"] == "contained"
            assert (row["python"], row["cwd"], row["run"], row["variables"]) == (None,) * 3 + ([],)
            assert row["container"]["pid"] == victim.pid
            assert row["container"]["namespace"] == str(
                Path(f"/proc/{inside.pid}/ns/pid").readlink()
            )
            try_to_reach(probe, victim)
            for kind, more in (("signal", {"signal": "KILL"}), ("get", {"path": "/tasks"})):
                number = probe.ask(kind, pid=inside.pid, start=row["start"], **more)
                error = probe.reply(number).head["error"]
                assert error.startswith("not sent: it runs in a container")
            assert victim.pid not in [each["pid"] for each in probe.processes()]
        assert inside.asked == b""
    assert victim.output == []


def test_a_record_whose_socket_refuses_is_not_a_process(victim: Victim, tmp_path: Path) -> None:
    """As with evals of another node that share the home."""
    data = tmp_path / "data"
    with contained_eval(data, victim.pid) as inside:
        record = inside.record.read_text()
    wait_until(lambda: not Path(f"/proc/{inside.outer.pid}").exists(), "it is gone")
    inside.record.write_text(record)
    with fake_eval(data, says([])) as fake, direct_probe(data) as probe:
        probe.process(fake.pid)
        try_to_reach(probe, victim)
        assert [each["pid"] for each in probe.processes()] == [fake.pid]
    assert victim.output == []


def test_a_program_that_is_not_a_python_by_name_is_never_run(
    tmp_path: Path, victim: Victim
) -> None:
    """Not even that of an eval of ours, whose log is read."""
    data = tmp_path / "data"
    (tmp_path / "eval").write_text("import time; time.sleep(300)")
    program = victim.log.parent / "victim" / "bin" / "victim"
    child = subprocess.Popen(
        ["inspect", "eval"], executable=program, cwd=tmp_path,
        env={"XDG_DATA_HOME": str(data), "HOME": str(tmp_path)},
    )  # fmt: skip
    try:
        with direct_probe(data) as probe:
            row = probe.process(child.pid)
            assert row["python"] is None
            number = probe.ask(
                "logs", pid=child.pid, start=row["start"], pythons=[str(program)], asked=_NO_LOG
            )
            probe.reply(number)
    finally:
        child.kill()
        child.wait()
    assert [line for line in victim.output if line.startswith("run -c")] == []


def test_a_script_is_read_and_gets_no_signal(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake, direct_probe(tmp_path) as probe:
        row = probe.process(fake.pid)
        assert row["unsignalled"] == "script"
        place = {"pid": fake.pid, "start": row["start"]}
        assert probe.reply(probe.ask("get", **place, path="/tasks")).head["status"] == 200
        reply = probe.reply(probe.ask("signal", **place, signal="KILL"))
        assert reply.head["error"].startswith("not sent: its command line")
        assert start_mark(fake.pid) == row["start"]


@pytest.mark.parametrize("how", [{"by_name": True}, {"run": "20261130-070000-abcdefgh"}])
def test_an_inspect_by_name_and_a_run_of_ours_get_their_signal(
    how: dict[str, Any], tmp_path: Path
) -> None:
    with fake_eval(tmp_path, says([]), **how) as fake, direct_probe(tmp_path) as probe:
        row = probe.process(fake.pid)
        assert row["unsignalled"] is None
        number = probe.ask("signal", pid=fake.pid, start=row["start"], signal="KILL")
        assert probe.reply(number).head["status"] == 0
        probe.process(fake.pid, alive=False)


def test_a_process_that_became_another_program_gets_no_signal(tmp_path: Path) -> None:
    """The row may still be the former one when the order comes: the probe reads it anew."""
    data = tmp_path / "data"
    data.mkdir()
    go, script = tmp_path / "go", tmp_path / "inspect"
    script.write_text(
        "import os, sys, time\n"
        "while not os.path.exists(sys.argv[2]):\n    time.sleep(0.01)\n"
        "os.execv('/bin/sleep', ['sleep', '300'])\n"
    )
    env = {"XDG_DATA_HOME": str(data), "HOME": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-S", script, "eval", go], env=env)
    try:
        with direct_probe(data, discover_every=60) as probe:
            row = probe.process(child.pid)
            go.touch()
            wait_until(lambda: command_of(child.pid) == "sleep 300", "it is another program")
            number = probe.ask("signal", pid=child.pid, start=row["start"], signal="INT")
            assert probe.reply(number).head["error"].startswith("not sent: its command line")
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_pid_of_a_run_or_of_a_reservation_is_not_a_process_of_a_container(tmp_path: Path) -> None:
    run = "20261130-070000-abcdefgh"
    with contained_eval(tmp_path, run=run) as inside, fake_eval(tmp_path, says([]), run=run) as own:
        assert b"EVALROOM_RUN" in Path(f"/proc/{inside.pid}/environ").read_bytes()
        living = living_processes()[run]
        assert own.pid in living
        assert inside.pid not in living
        for pid, lives in ((inside.pid, False), (own.pid, True)):
            assert is_same_process(str(pid), start_mark(pid)) is lives
        assert peer_of({"socket_path": str(inside.record.with_suffix(".sock"))}) is None
        assert peer_of({"socket_path": str(own.socket_path)}) == own.pid


def test_where_a_process_lives(tmp_path: Path) -> None:
    here = subprocess.Popen(["sleep", "300"])
    try:
        assert place_of(os.getpid()) == HERE
        wait_until(lambda: place_of(here.pid) == HERE, "a child lives here")
        with contained_eval(tmp_path) as inside:
            assert place_of(inside.pid) == CONTAINED
    finally:
        here.kill()
        here.wait()
    assert place_of(here.pid) == UNREAD


def test_a_process_that_ends_is_not_taken_for_one_in_a_container() -> None:
    """The kernel takes its namespaces away before the process itself."""
    child = subprocess.Popen(["true"])
    wait_until(lambda: (stat_of(child.pid) or "?")[0] == "Z", "it ended, and nobody waited for it")
    assert place_of(child.pid) == UNREAD
    child.wait()


def test_a_process_whose_namespaces_can_not_be_read_for_a_moment_keeps_its_watches() -> None:
    stub = SimpleNamespace(
        frames=SimpleNamespace(state=lambda *_: None), polling=True, second_part=None
    )
    stub.processes = processes = ProcessList(stub)
    key = (os.getpid(), start_mark(os.getpid()))
    seen = []
    for place in (HERE, UNREAD, HERE, CONTAINED, HERE):
        processes.update({key: Found(None, place, True)})
        process = processes.by_key[key]
        seen.append(process)
        assert process.client.is_alive() is (place != CONTAINED)
    assert seen[0] is seen[1] is seen[2]
    assert len(set(seen)) == 3
    seen[-1].client.stop()


@pytest.mark.parametrize("place", [HERE, UNREAD, CONTAINED])
def test_only_a_process_that_is_proved_to_live_here_is_followed(place: str, tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([]), by_name=True) as fake:
        process = EvalProcess(SimpleNamespace(polling=True), fake.pid, "start", place)
        process.learn_proc()
        process.client.stop()
    assert process.argv is not None
    assert process.argv[-2:] == ["eval", "task.py"], "it is shown"
    followed = [process.python, process.log_dir]
    assert [each is not None for each in followed] == [place == HERE] * 2


def test_another_root_is_another_place(tmp_path: Path) -> None:
    """A chroot shares all namespaces with us."""
    unshare = [] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user"]
    code = f"import os, time; os.chroot({str(tmp_path)!r}); print(1, flush=True); time.sleep(300)"
    child = subprocess.Popen([*unshare, sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    try:
        child.stdout.readline()
        assert place_of(child.pid) == CONTAINED
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_a_former_probe_in_another_container_is_left_alone(tmp_path: Path) -> None:
    marks = ("evalroom-probe", "the same desk")
    outer = subprocess.Popen(
        ["unshare", *([] if os.getuid() == 0 else ["--user", "--map-root-user"]), "--pid",
         "--fork", "--mount-proc", "--kill-child", sys.executable, "-S", "-c",
         "import time; time.sleep(300)", *marks],
    )  # fmt: skip
    inner = wait_until(lambda: children_of(outer.pid), "it runs in its container")[0]
    wait_until(lambda: command_of(inner).endswith("the same desk"), "it looks like a probe")
    own = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)", *marks])
    try:
        wait_until(lambda: command_of(own.pid).endswith("the same desk"), "so does this one")
        with direct_probe(tmp_path, desk="the same desk"):
            # It is ended after those that have a smaller pid.
            assert own.wait(WAIT_S) == -signal.SIGTERM
            assert lives(inner)
    finally:
        for each in (outer, own):
            each.kill()
            each.wait()
