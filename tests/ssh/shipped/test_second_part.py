"""The probe's second part: what waits for it, and what does not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.frames import Frame, encode
from ssh.handshake import compressed
from ssh.shipped_program import sent_parts
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.fake_eval import fake_eval, says
from tests.support.pythons import pythons

FIRST, SECOND = sent_parts("probe")
OLDEST = next(iter(pythons().values()), sys.executable)


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[DirectProbe]:
    """A probe on the oldest Python, which has only its first part."""
    program = tmp_path / "first.py"
    program.write_bytes(FIRST)
    with direct_probe(tmp_path, python=OLDEST, program=program) as probe:
        yield probe


def pieces(*, has_bz2: bool) -> tuple[bytes, bytes]:
    """The second part in two pieces, as the frames that bring them."""
    packed = compressed(SECOND, has_bz2=has_bz2)
    halves = packed[:5_000], packed[5_000:]
    first, second = (
        encode(Frame("program", {"id": -number, "size": len(packed)}, half))
        for number, half in enumerate(halves, 1)
    )
    return first, second


@pytest.mark.parametrize("has_bz2", [True, False])
def test_requests_that_need_the_second_part_wait_for_it(
    probe: DirectProbe, tmp_path: Path, *, has_bz2: bool
) -> None:
    assert probe.first("hello").head["second_part"] == "bz2"
    log = tmp_path / "a.eval"
    log.write_text("text")
    first, second = pieces(has_bz2=has_bz2)
    facts = probe.ask("facts")
    copy = probe.ask("logs", asked={"what": "file", "log": str(log), "bytes": 99})
    wrong = probe.ask("logs", asked="wrong")
    probe.send_bytes(first)
    assert probe.reply(-1).head["status"] == 0
    assert not probe.of("facts") + probe.of("reply", id=copy) + probe.of("refused", id=wrong)
    probe.send_bytes(second)
    assert probe.reply(-2).head["status"] == 0
    assert probe.reply(copy).body == b"text"
    assert probe.reply(wrong).head["error"] == "invalid logs frame: not a read of logs"
    probe.first("facts", id=facts)
    probe.send_bytes(second)
    probe.first("refused", id=-2)


def test_a_request_that_waited_for_the_second_part_in_vain_says_so(probe: DirectProbe) -> None:
    reply = probe.reply(probe.ask("logs", asked={"what": "file"}, deadline=0.3))
    assert reply.head["status"] is None
    assert reply.head["error"].startswith("not sent: the second part of evalroom's probe has not")


def test_rows_and_orders_need_no_second_part(probe: DirectProbe, tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake:
        start = probe.process(fake.pid)["start"]
        whose = {"pid": fake.pid, "start": start}
        probe.send("watch", **whose, name="tasks", path="/tasks", every=5, as_of=None)
        probe.first("answer", name="tasks")
        order = probe.ask("send", **whose, method="POST", path="/pause")
        assert probe.reply(order).head["status"] == 200
        assert not probe.of("facts")


def test_a_probe_that_was_started_with_all_of_it_wants_no_second_part(tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        assert probe.first("hello").head["second_part"] is None
        probe.first("facts")
