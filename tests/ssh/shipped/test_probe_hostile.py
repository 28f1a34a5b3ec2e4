"""Evals that write or answer nonsense: the probe goes on, for the others too, and stays small."""
# pyright: standard
# The shipped programs have no types.

import itertools
import json
import socket
from pathlib import Path

import pytest

from ssh.shipped.probe.records import Records
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.fake_eval import FakeEval, fake_eval, http, says, says_bytes

NO_LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: %s\r\n\r\n[]"
LARGE = 25_000_000
SMALL = 250 * 1024
"""Kibibytes: what a probe may take for one answer of the largest size, held twice and more."""
CLOCKED = {
    "a text without an end": b'[{"as_of":"' + b"x" * LARGE,
    "a text of escapes": b'[{"as_of":"' + b"\\n" * (LARGE // 2) + b'"}]',
    "a clock a million times": b'[{"as_of":1' + b',"as_of":1' * (LARGE // 10) + b"}]",
}


def watch(probe: DirectProbe, fake: FakeEval, path: str = "/tasks") -> None:
    """Watch a path of a fake eval."""
    row = probe.process(fake.pid)
    place = {"pid": fake.pid, "start": row["start"], "name": "tasks", "path": path}
    probe.send("watch", **place, every=0.2, as_of=None)


def peak(pid: int) -> int:
    """The most memory that a process ever had, kibibytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


@pytest.mark.parametrize("age", [0, 10**6], ids=["young", "of a reused pid"])
def test_a_record_whose_path_is_none_hides_no_other_process(age: int, tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as bad, fake_eval(tmp_path, says([])) as good:
        record = json.loads(bad.record_path.read_text())
        record["socket_path"] = f"{bad.control}/\ud800.sock"
        record["started_at"] -= age
        bad.record_path.write_text(json.dumps(record))
        with direct_probe(tmp_path) as probe:
            probe.process(good.pid)
            assert bad.pid not in {row["pid"] for row in probe.processes()}


@pytest.mark.parametrize("length", [b"\xb2", b"9" * 5_000, b"-1", b"1_0", b""])
def test_a_bad_length_is_a_bad_answer(length: bytes, tmp_path: Path) -> None:
    with (
        fake_eval(tmp_path, says_bytes(NO_LENGTH % length)) as fake,
        direct_probe(tmp_path) as probe,
    ):
        watch(probe, fake)
        assert probe.first("trouble").head["error"] == "bad answer"
        assert probe.process(fake.pid, channel="ok")["waiting_since"] is None


def test_going_on_without_an_end_is_a_bad_answer(tmp_path: Path) -> None:
    def serve(connection: socket.socket, _: str) -> bool:
        while True:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        assert probe.first("trouble").head["error"] == "bad answer"


@pytest.mark.parametrize("name", CLOCKED)
def test_an_answer_that_abuses_its_clocks_costs_no_memory(name: str, tmp_path: Path) -> None:
    with fake_eval(tmp_path, says_bytes(http(CLOCKED[name]))) as fake, direct_probe(tmp_path) as p:
        watch(p, fake)
        assert len(p.first("answer", 30).body) == len(CLOCKED[name])
        assert peak(p.pid) < SMALL


@pytest.mark.parametrize("digits", [400, 5_000])
@pytest.mark.parametrize("body", [b'{"as_of":%s,"a":%d}', b'{"a":[],"as_of":%s,"b":%d}'])
def test_an_as_of_beyond_any_clock_is_ignored(body: bytes, digits: int, tmp_path: Path) -> None:
    count = itertools.count()

    def serve(connection: socket.socket, _: str) -> bool:
        connection.sendall(http(body % (b"9" * digits, next(count))))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake, "/x?since={as_of}")
        probe.until(lambda: len(probe.of("answer")) >= 3)
        assert set(fake.paths()) == {"/x"}


def test_records_that_went_are_not_kept_in_mind(tmp_path: Path) -> None:
    records, root = Records(), str(tmp_path / "inspect_ai")
    control = tmp_path / "inspect_ai" / "control"
    control.mkdir(parents=True)
    for pid in range(1, 51):
        record = {"pid": pid, "socket_path": f"{control}/{pid}.sock"}
        (control / f"{pid}.json").write_text(json.dumps(record))
    assert len(records.read(root)) == 50
    for file in control.iterdir():
        file.unlink()
    assert records.read(root) == []
    assert sum(map(len, records.cache.values())) == 0
