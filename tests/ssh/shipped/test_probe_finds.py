"""The processes that the probe finds, and their reports."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.inspect_commands import runs_evals
from ssh.shipped.probe.discovery import VERBS
from ssh.shipped.probe.redaction import redacted
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.fake_eval import fake_eval, says
from tests.support.processes import children_of, command_of
from tests.support.waiting import wait_until

_LISTENS = """
import json, os, socket, sys, time
path = f"{sys.argv[2]}/{os.getpid()}"
listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".sock")
listener.listen(8)
with open(path + ".part", "w") as file:
    json.dump(dict(pid=os.getpid(), socket_path=path + ".sock", started_at=time.time()), file)
os.rename(path + ".part", path + ".json")
sys.stdin.readline()
listener.close()
time.sleep(300)
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def test_a_process_is_listed_and_its_end_is_reported_once(tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        with fake_eval(tmp_path, says([])) as fake:
            row = probe.process(fake.pid)
            assert (row["found"], row["alive"], row["run_id"]) == ("record", True, "run1")
            assert row["channel"] == "new"
            probe.send(
                "watch", pid=fake.pid, start=row["start"], name="t", path="/tasks", every=0.2,
                as_of=None,
            )  # fmt: skip
            probe.process(fake.pid, channel="ok")
        ended = probe.process(fake.pid, alive=False)
        assert ended["ended_at"] is not None
        for _ in range(3):
            looked_again(probe, tmp_path)
        lists = [json.loads(frame.body) for frame in probe.of("processes")]
        assert all(before != after for before, after in pairwise(lists))
        rows = [row for each in lists for row in each if row["pid"] == fake.pid]
        assert rows[-1] == ended
        assert [row["alive"] for row in rows].count(False) == len(rows) - rows.index(ended)


def looked_again(probe: DirectProbe, data_dir: Path) -> None:
    """Return once the probe looked for processes anew, by one that it found and lost."""
    with fake_eval(data_dir, says([])) as another:
        probe.process(another.pid)
    probe.process(another.pid, alive=False)


def test_records_that_are_not_right_are_passed_over(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake:
        long = "1" + "0" * 5000
        for number, text in enumerate(
            [
                "{", "[]", '"x"', "null", "{}", '{"pid": "1", "socket_path": "/x"}',
                '{"pid": true, "socket_path": "/x"}', f'{{"pid": {long}, "socket_path": "/x"}}',
                json.dumps({"pid": os.getpid(), "socket_path": "relative.sock"}),
                json.dumps({"pid": os.getpid(), "socket_path": 3}),
                "[" * 100_000, "x" * 100_000,
            ]
        ):  # fmt: skip
            (fake.control / f"{number}.json").write_text(text)
        (fake.control / "90.json").symlink_to("/etc/passwd")
        (fake.control / "91.json").mkdir()
        os.mkfifo(fake.control / "92.json")
        with direct_probe(tmp_path) as probe:
            probe.process(fake.pid)
            assert len(probe.processes()) == 1


def test_numbers_that_are_none_do_no_harm(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake:
        fake.write_record(started_at=float("nan"), api_version=10**400, run_id=["x"])
        with direct_probe(tmp_path) as probe:
            row = probe.process(fake.pid)
            assert row["api_version"] == 0
            assert row["run_id"] is None


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("outside", "its record names a socket outside its own folder"),
        ("link", "its socket is a link or a file of another kind"),
        ("file", "its socket is a link or a file of another kind"),
    ],
)
def test_a_socket_that_is_not_safely_its_own_is_never_asked(
    kind: str, error: str, tmp_path: Path
) -> None:
    with fake_eval(tmp_path, says([]), by_name=True) as fake:
        elsewhere = tmp_path / "elsewhere.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with listener:
            fake.socket_path.unlink()
            listener.bind(str(elsewhere))
            listener.listen(1)
            listener.setblocking(False)
            if kind == "outside":
                fake.write_record(socket_path=str(elsewhere))
            elif kind == "link":
                fake.socket_path.symlink_to(elsewhere)
            else:
                fake.socket_path.write_text("")
            with direct_probe(tmp_path) as probe:
                row = probe.process(fake.pid)
                number = probe.ask("get", pid=fake.pid, start=row["start"], path="/tasks")
                assert probe.reply(number).head["error"].startswith(error)
                assert row["run_id"] is None, "nothing else of the record is believed"
            with pytest.raises(BlockingIOError):
                listener.accept()


@linux
def test_a_record_belongs_to_the_process_that_listens_whatever_pid_it_names(
    tmp_path: Path,
) -> None:
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    with fake_eval(tmp_path, says([]), by_name=True) as fake:
        fake.socket_path.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(fake.socket_path))
            listener.listen(8)
            with direct_probe(env=env) as probe:
                assert probe.process(os.getpid())["run_id"] == "run1"
                assert probe.process(fake.pid)["socket_path"] is None
        assert fake.asked == []


@linux
def test_a_home_that_goes_by_two_paths_is_one_home(tmp_path: Path) -> None:
    """The record holds the path that the eval knew; evalroom came by another, or a longer one."""
    other = tmp_path / "other" / ("x" * 90)
    other.parent.mkdir()
    other.symlink_to(tmp_path / "home")
    for gone in (False, True):
        with fake_eval(tmp_path / "home", says([])) as fake, direct_probe(other) as probe:
            if gone:
                fake.write_record(socket_path=f"/no/such/folder/control/{fake.pid}.sock")
            row = probe.process(fake.pid)
            number = probe.ask("get", pid=fake.pid, start=row["start"], path="/tasks")
            assert probe.reply(number).head["status"] == 200


@linux
@pytest.mark.parametrize("by_name", [True, False])
def test_an_eval_whose_record_another_inspect_swept_away_is_alive(
    by_name: bool, tmp_path: Path
) -> None:
    """Its socket can no longer be reached; when it stops to listen, its eval is over."""
    script = tmp_path / ("inspect" if by_name else "mine.py")
    script.write_text(_LISTENS)
    control = tmp_path / "inspect_ai" / "control"
    control.mkdir(parents=True)
    child = subprocess.Popen(
        [sys.executable, "-S", script, "eval", control],
        stdin=subprocess.PIPE,
        env={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
    )
    assert child.stdin is not None
    try:
        with direct_probe(tmp_path) as probe:
            row = probe.process(child.pid, found="record")
            (control / f"{child.pid}.json").unlink()
            (control / f"{child.pid}.sock").unlink()
            row = probe.process(child.pid, channel="removed")
            assert row["alive"]
            number = probe.ask("get", pid=child.pid, start=row["start"], path="/tasks")
            assert probe.reply(number).head["error"] == "no socket"
            assert probe.process(child.pid)["channel"] == "removed"
        for data_dir in (tmp_path, None):  # a probe that never saw the record
            env = {"HOME": str(tmp_path)}
            with direct_probe(data_dir, env=env) as probe:
                later = probe.process(child.pid, channel="removed")
                assert (later["alive"], later["start"]) == (True, row["start"])
        with direct_probe(tmp_path) as probe:
            probe.process(child.pid, channel="removed")
            child.stdin.write(b"the eval is over\n")
            child.stdin.flush()
            if not by_name:
                probe.process(child.pid, alive=False)
            assert child.poll() is None
    finally:
        child.kill()
        child.wait()
        child.stdin.close()


@linux
def test_an_eval_that_lost_its_record_alone_is_still_read(tmp_path: Path) -> None:
    """Also by a probe that never saw the record: the socket is bound."""
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    with fake_eval(tmp_path / "data", says([]), is_bound_by_path=True) as fake:
        fake.record_path.unlink()
        with direct_probe(env=env) as probe:
            row = probe.process(fake.pid)
            number = probe.ask("get", pid=fake.pid, start=row["start"], path="/tasks")
            assert probe.reply(number).head["status"] == 200


@linux
def test_a_reused_pid_is_not_taken_for_the_former_process(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as old, fake_eval(tmp_path, says([])) as fake:
        old.write_record(started_at=time.time() - 1000)
        old.close()
        with direct_probe(tmp_path) as probe:
            probe.process(fake.pid)
            looked_again(probe, tmp_path)
            assert old.pid not in {
                row["pid"] for frame in probe.of("processes") for row in json.loads(frame.body)
            }


@linux
def test_a_clock_that_was_set_does_not_hide_a_process_that_answers(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake:
        record: dict[str, Any] = {"pid": os.getpid(), "run_id": "mine", "api_version": 8}
        path = fake.control / f"{os.getpid()}.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with listener:
            listener.bind(str(path))
            listener.listen(8)
            record.update(socket_path=str(path), started_at=1.0)
            (fake.control / f"{os.getpid()}.json").write_text(json.dumps(record))
            with direct_probe(tmp_path) as probe:
                probe.process(os.getpid(), run_id="mine")


@linux
def test_an_eval_without_a_record_is_found_by_its_command_line(tmp_path: Path) -> None:
    data = tmp_path / "elsewhere"
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(data)}
    words = ["python3", "/venv/bin/inspect", "eval", "t.py", "-M", "api_key=sk-0123456789abc"]
    runner = tmp_path / "inspect"
    runner.write_text("import time; time.sleep(300)")
    child = subprocess.Popen(
        [sys.executable, str(runner), *words[2:], "--ctl-server=false"], env=env, cwd=tmp_path
    )
    headless = subprocess.Popen([sys.executable, str(runner), "eval-set", "t.py"], env=env)
    viewer = subprocess.Popen([sys.executable, str(runner), "view"], env=env)
    try:
        with direct_probe(data) as probe:
            row = probe.process(child.pid)
            assert row["found"] == "running"
            assert row["channel"] == "off"
            assert row["argv"][1:] == [
                str(runner),
                *words[2:5],
                "api_key=***",
                "--ctl-server=false",
            ]
            assert row["cwd"] == str(tmp_path)
            assert row["python"] == sys.executable
            assert probe.process(headless.pid)["channel"] in {"new", "none"}
            assert viewer.pid not in [row["pid"] for row in probe.processes()]
    finally:
        for process in (child, headless, viewer):
            process.kill()
            process.wait()


@linux
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("folder", ["other", "with a blank"])
def test_an_eval_of_another_data_folder_is_found_with_its_channel(
    tmp_path: Path, by_name: bool, folder: str
) -> None:
    """Also a script or a notebook: its bound socket tells it."""
    home, other = tmp_path / "home", tmp_path / folder
    home.mkdir()
    env = {"HOME": str(home), "XDG_DATA_HOME": ""}
    with fake_eval(other, says([]), by_name=by_name, is_bound_by_path=True) as fake:
        with direct_probe(env=env) as probe:
            row = probe.process(fake.pid, run_id="run1")
            assert row["data_dir"] == str(other)
            number = probe.ask("get", pid=fake.pid, start=row["start"], path="/tasks")
            assert probe.reply(number).head["status"] == 200
        with direct_probe(tmp_path / "chosen", env=env) as probe:
            looked_again(probe, tmp_path / "chosen")
            assert fake.pid not in [row["pid"] for row in probe.processes()]


@linux
def test_an_eval_that_uv_runs_is_one_process(tmp_path: Path) -> None:
    """It is the interpreter, not uv, which waits for it."""
    runner = tmp_path / "inspect"
    runner.write_text("import time; time.sleep(300)")
    uv = str(Path(sys.executable).with_name("uv"))
    words = [uv, "run", "--no-project", "--offline", "--python", sys.executable, "python"]
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    child = subprocess.Popen([*words, str(runner), "eval", "t.py"], env=env, cwd=tmp_path)
    started: list[int] = []
    try:
        # Before, uv asks the interpreter for its version.
        started += wait_until(
            lambda: [each for each in children_of(child.pid) if str(runner) in command_of(each)],
            "uv started it",
        )
        [inner] = started
        with direct_probe(tmp_path / "data") as probe:
            row = probe.process(inner)
            assert row["python"] == sys.executable
            assert [each["pid"] for each in probe.processes()] == [inner]
    finally:
        child.kill()
        child.wait()
        for each in started:
            os.kill(each, signal.SIGKILL)


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["/venv/bin/python", "/venv/bin/inspect", "eval", "t.py"], True),
        (["python3.12", "-u", "-X", "dev", "/b/inspect", "eval-set", "t.py"], True),
        (["python", "-m", "inspect_ai", "eval-retry", "x.eval"], True),
        (["python", "/b/flow", "run", "spec.py"], True),
        (["/b/inspect", "eval", "t.py"], True),
        (["python", "-m", "inspect_ai._cli.main", "eval-set", "t.py"], True),
        (["/usr/bin/python3.13t", "-Im", "inspect_ai", "eval", "t.py"], True),
        (["python3.12", "-BsWignore", "-Xdev", "-minspect_ai", "eval", "t.py"], True),
        (["python3", "--check-hash-based-pycs", "never", "/v/inspect", "eval", "t.py"], True),
        (["python3.11-dbg", "/v/site-packages/inspect_ai/__main__.py", "eval", "t"], True),
        (["/Library/Frameworks/Python.app/Contents/MacOS/Python", "/v/inspect", "eval"], True),
        (["/sw/bin/pypy3.10", "-u", "/v/inspect", "score", "x.eval"], True),
        (["python", "-Ic", "x", "-m", "inspect_ai", "eval"], False),
        (["python", "-m", "inspect_ai.other", "eval"], False),
        (["python-mine", "/v/inspect", "eval"], False),
        (["python", "-", "eval"], False),
        (["uv", "run", "inspect", "eval", "t.py"], False),
        (["python", "/b/inspect", "ctl", "task", "list"], False),
        (["python", "/b/inspect", "log", "dump", "x.eval"], False),
        (["python", "/b/inspect", "eval", "t.py", "--detach"], False),
        (["python", "-c", "inspect eval"], False),
        (["sh", "-c", "inspect eval t.py"], False),
        (["sudo", "inspect", "eval", "t.py"], False),
        (["vim", "inspect", "eval"], False),
        ([], False),
    ],
)
def test_which_command_lines_run_evals(words: list[str], runs: bool) -> None:
    assert runs_evals(words, VERBS) is runs


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-M", "base_url=http://x"], ["-M", "base_url=***"]),
        (["-Mkey=v"], ["-Mkey=***"]),
        (["--env=A=b", "--env", "A=b"], ["--env=A=***", "--env", "A=***"]),
        (["--api-key", "hunter2"], ["--api-key", "***"]),
        (["--api-key=hunter2"], ["--api-key=***"]),
        (["--token-limit=500", "--max-tokens", "9"], ["--token-limit=500", "--max-tokens", "9"]),
        (["-T", "password=x"], ["-T", "password=***"]),
        (["sk-ant-0123456789abcdef"], ["***"]),
        (["s3://key:secret@host/p"], ["s3://key:***@host/p"]),
        (["eval", "t.py@task", "--model", "openai/gpt-4o"],) * 2,
    ],
)
def test_secrets_of_a_command_line_are_blanked(words: list[str], shown: list[str]) -> None:
    assert redacted(words) == shown


def test_a_long_command_line_is_cut() -> None:
    assert len(" ".join(redacted(["x" * 100] * 1000))) <= 8 * 1024 + 10
