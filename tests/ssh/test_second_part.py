"""The second part of the probe's program on its way: in pieces, and what is wrong with it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from core.model.machine import LinkState
from core.ports import Reply
from ssh.handshake import compressed
from ssh.second_part import FIRST_PIECE_BYTES, MIN_PIECE_BYTES, send_second_part
from ssh.send_queue import MAX_QUEUED_FRAMES, SendQueue
from ssh.shipped_program import sent_parts
from tests.support.lying_probe import lying_python
from tests.support.reached import PYTHON, connection_of
from tests.support.receiving import receiving

M = MachineName("m")
HERE = MachineConfig(name=MachineName("here"), link="command", python=PYTHON)
SIZE = len(compressed(sent_parts("probe")[1], has_bz2=True))


class Carrier:
    """A link that carries so many bytes per second, and what it carried."""

    def __init__(self, rate: float, delay: float) -> None:
        self.rate, self.delay, self.now = rate, delay, 0.0
        self.frames: list[Frame] = []

    async def ask(self, frame: Frame) -> Reply:
        self.frames.append(frame)
        self.now += self.delay + len(frame.body) / self.rate
        return Reply(at=0.0, took=0.0, status=0, error=None, body=b"")


async def carried(
    rate: float, delay: float, monkeypatch: pytest.MonkeyPatch, packing: str = "bz2"
) -> list[Frame]:
    """The frames of a second part over a link of `rate` bytes per second."""
    carrier = Carrier(rate, delay)
    monkeypatch.setattr("ssh.second_part.time", SimpleNamespace(monotonic=lambda: carrier.now))
    await send_second_part(M, Frame("hello", {"second_part": packing}), carrier.ask)
    return carrier.frames


@pytest.mark.parametrize("packing", ["bz2", "zlib"])
@pytest.mark.parametrize("rate", [125.0, 8_000.0, 10_000_000.0])
async def test_the_pieces_are_the_second_part(
    rate: float, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = await carried(rate, 0.1, monkeypatch, packing)
    whole = compressed(sent_parts("probe")[1], has_bz2=packing == "bz2")
    assert b"".join(frame.body for frame in frames) == whole
    assert {frame.head["size"] for frame in frames} == {len(whole)}


async def test_a_usual_link_carries_it_in_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(await carried(1_000_000.0, 0.15, monkeypatch)) == 2


@pytest.mark.parametrize(("rate", "most"), [(8_000.0, 8_000), (125.0, MIN_PIECE_BYTES)])
async def test_a_piece_takes_a_thin_link_about_a_second(
    rate: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = await carried(rate, 0.0, monkeypatch)
    assert len(first.body) == FIRST_PIECE_BYTES
    assert {len(frame.body) for frame in others[:-1]} == {most}


@pytest.mark.parametrize("asked", [None, "", "lzma", 3, ["bz2"]])
async def test_a_probe_that_asks_for_none_gets_none(asked: object) -> None:
    carrier = Carrier(1.0, 0.0)
    await send_second_part(M, Frame("hello", {"second_part": asked}), carrier.ask)
    assert carrier.frames == []


def test_a_piece_goes_also_while_many_frames_wait() -> None:
    queue = SendQueue()
    for _ in range(MAX_QUEUED_FRAMES):
        queue.put(b"")
    assert queue.put(b"") is None
    assert queue.put(b"", is_bounded=False) is not None


async def test_a_python_that_lacks_a_module_of_the_second_part_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parts(name: str) -> tuple[bytes, bytes]:
        return name.encode(), b"import no_such_module"

    monkeypatch.setattr("ssh.second_part.sent_parts", parts)
    async with receiving(connection_of(HERE, tmp_path / "unused")) as received:
        await received.link(LinkState.DOWN)
        reason = received.links[-1].reason or ""
        assert reason.endswith("lacks a part of its standard library: no_such_module")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("""frame("refused", ',"id":%d,"about":"program","error":"no"' % head["id"])""", "no"),
        ("sys.exit(0)", "ended"),
    ],
)
async def test_a_probe_that_takes_no_second_part_is_tried_again(
    answer: str, reason: str, tmp_path: Path
) -> None:
    does = (
        'frame("hello", \',"at":1.0,"second_part":"zlib"\')\n'
        f"for head in heads():\n  if head['kind'] == 'program':\n    {answer}\n"
    )
    machine = MachineConfig(name=M, link="command", command=(), python=lying_python(tmp_path, does))
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        await received.link(LinkState.DOWN)
        down = next(each for each in received.links if each.state is LinkState.DOWN)
        assert (down.reason or "").endswith(reason)
        assert down.retry_at is not None
