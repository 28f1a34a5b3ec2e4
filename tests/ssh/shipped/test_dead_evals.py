"""What the probe finds of evals that died before it started."""
# pyright: standard
# The shipped programs have no types.

import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log._recorders.buffer.database import location_dir_and_file

from ssh.shipped.probe import dead_evals, network_mounts
from ssh.shipped.probe.dead_evals import DeadEvals, folder_hash, is_open, logs_left, logs_traced
from tests.support.waiting import wait_until

LOG = "2026-01-01T00-00-00+00-00_t_abcdefghijklmnopqrstuv.eval"


class DataFolder:
    """A data folder of Inspect in which one eval died."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.root, self.logs, self.pid = folder / "d" / "inspect_ai", folder / "my logs", pid
        for name in ("traces", "control", "samplebuffer"):
            (self.root / name).mkdir(parents=True)
        self.logs.mkdir()
        self.log = self.logs / LOG
        self.write_log("_journal/start.json")

    def write_log(self, *members: str) -> None:
        with zipfile.ZipFile(self.log, "w") as log:
            for name in members:
                log.writestr(name, "{}")

    def write_trace(self, *entries: dict[str, Any]) -> Path:
        path = self.root / "traces" / f"trace-{self.pid}.log"
        path.write_text("".join(json.dumps(each) + "\n" for each in entries))
        return path

    def write_record(self) -> None:
        record = {"pid": self.pid, "socket_path": "/x", "run_id": "r1", "started_at": 5.0}
        (self.root / "control" / f"{self.pid}.json").write_text(json.dumps(record))

    def write_buffer(self) -> None:
        place = self.root / "samplebuffer" / folder_hash(str(self.logs))
        place.mkdir()
        (place / f"{LOG}.{self.pid}.db").write_bytes(b"")

    def found(self, *folders: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = DeadEvals().rows({str(self.root)}, set(folders))
        return rows


def traced(action: str, detail: str) -> dict[str, Any]:
    return {"action": action, "detail": detail, "event": "enter", "start_time": 4.0}


@pytest.fixture
def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


@pytest.fixture
def data(tmp_path: Path, dead_pid: int) -> DataFolder:
    return DataFolder(tmp_path, dead_pid)


def test_the_trace_file_names_the_log_and_the_record_the_eval(data: DataFolder) -> None:
    data.write_trace(
        traced("Run Task", "t"),
        traced("Log Write", str(data.log)),
        traced("Log Write", f"sample=1\n{data.log}"),
    )
    data.write_record()
    [row] = data.found()
    assert row["logs"] == [str(data.log)]
    assert (row["pid"], row["run_id"], row["started_at"]) == (data.pid, "r1", 4.0)
    assert row["data_dir"] == str(data.root.parent)
    assert row["ended_at"] == pytest.approx(data.log.stat().st_mtime, abs=60)


def test_a_buffer_names_the_log_where_its_folder_is_known(data: DataFolder) -> None:
    data.write_buffer()
    assert data.found() == []
    [row] = data.found("/elsewhere", str(data.logs))
    assert row["logs"] == [str(data.log)]


def test_folders_have_the_names_that_inspect_gives_them(data: DataFolder) -> None:
    assert location_dir_and_file(f"file://{data.log}")[0] == folder_hash(str(data.logs))


def test_a_log_that_is_final_or_gone_is_not_found(data: DataFolder) -> None:
    data.write_trace(traced("Log Write", str(data.log)))
    data.write_log("header.json")
    assert data.found() == []
    data.write_log("_journal/start.json")
    assert len(data.found()) == 1
    data.log.unlink()
    assert data.found() == []


def test_an_eval_that_lives_is_not_dead_under_this_pid_or_another(
    tmp_path: Path, dead_pid: int
) -> None:
    here = DataFolder(tmp_path / "a", os.getpid())
    here.write_trace(traced("Log Write", str(here.log)))
    assert here.found() == []
    # An eval in a container has another pid here, and holds its trace file open.
    inside = DataFolder(tmp_path / "b", dead_pid)
    trace = inside.write_trace(traced("Log Write", str(inside.log)))
    holder = [sys.executable, "-c", f"import time; f = open({str(trace)!r}); time.sleep(3600)"]
    with subprocess.Popen(holder) as child:
        try:
            wait_until(lambda: is_open(_file(trace)), "the trace file is open")
            assert inside.found() == []
        finally:
            child.kill()
    assert len(inside.found()) == 1


def _file(path: Path) -> set[tuple[int, int]]:
    found = path.stat()
    return {(found.st_dev, found.st_ino)}


def test_a_data_folder_that_other_hosts_share_proves_nothing(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.write_trace(traced("Log Write", str(data.log)))
    monkeypatch.setattr(dead_evals, "is_on_network", lambda _: True)
    assert data.found() == []


def test_the_file_system_of_a_folder_is_that_of_its_longest_mount(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mounts = (
        b"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / /home/a\\040b rw - nfs4 h:/x rw\n"
        b"3 2 0:8 / /home/a\\040b/fast rw - tmpfs t rw\n4 1 0:7 / /mnt rw - fuse.sshfs x rw\nbad\n"
    )
    monkeypatch.setattr(network_mounts, "read_file", lambda *_: mounts)
    places = ("/var/x", "/home/a b/x", "/home/a b/fast/x", "/mnt", "/home/a bc")
    found = [network_mounts.is_on_network(each) for each in places]
    assert found == [False, True, False, True, False]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe", b"[]", b'{"action": "Log Write"}',
        b'{"action": "Log Write", "detail": 7}',
        b'{"action": "Log Write", "detail": "relative.eval"}',
        b'{"action": "Log Write", "detail": "/etc/shadow"}',
        b'{"action": "Log Write", "detail": "s3:///x.eval"}',
        b'{"action": "Log Write", "detail": "s3://b/x.txt"}',
        b"[" * 50_000 + b'"Log Write"',
    ],
)  # fmt: skip
def test_a_hostile_trace_file_names_no_log(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "trace-1.log"
    path.write_bytes(line + b' "Log Write"\n' + line + b"\n")
    assert logs_traced(str(path))[0] == []


def test_a_log_at_a_url_is_named_by_the_trace_file_of_an_eval_that_died(data: DataFolder) -> None:
    log = "s3://bucket/x.eval"
    trace = data.write_trace(traced("Run Task", "t"), traced("Log Write", log))
    [row] = data.found()
    assert row["logs"] == [log]
    assert logs_left(str(trace.parent), data.pid) == [log]
    trace.with_suffix(".log.gz").write_bytes(gzip.compress(trace.read_bytes()))
    trace.unlink()  # an eval that ends packs it
    assert data.found() == []
    assert logs_left(str(trace.parent), data.pid) == [log]


def test_the_packed_trace_file_of_an_ended_eval_names_its_log(data: DataFolder) -> None:
    trace = data.write_trace(traced("Log Write", str(data.log)))
    traces = str(trace.parent)
    assert logs_left(traces, data.pid) == [str(data.log)]
    packed = trace.with_suffix(".log.gz")
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    trace.unlink()
    assert logs_left(traces, data.pid) == [str(data.log)]
    packed.write_bytes(packed.read_bytes()[:20])
    assert logs_left(traces, data.pid) == []
    assert logs_left(traces, data.pid + 1) == []


def test_links_and_other_files_are_not_followed(data: DataFolder) -> None:
    trace = data.write_trace(traced("Log Write", str(data.log)))
    moved = trace.with_suffix(".away")
    trace.rename(moved)
    trace.symlink_to(moved)
    assert data.found() == []
    trace.unlink()
    os.mkfifo(trace)
    assert data.found() == []
