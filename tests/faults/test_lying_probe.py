"""Something else answers in place of the probe: the link says so and tries again."""

import asyncio
import math
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from core.model.machine import LinkState
from core.ports import MachineConnection
from tests.support.lying_probe import lying_python
from tests.support.reached import connection_of
from tests.support.receiving import receiving
from tests.support.waiting import WAIT_S

HELLO = 'frame("hello", \',"at":1.0\')\n'
WRONG = {
    "it ends": "sys.exit(0)",
    "it breaks": "raise ValueError('x' * 10_000)",
    "it is killed": HELLO + "os.kill(os.getpid(), 9)",
    "noise": "out(os.urandom(4_000_000))",
    "a line without an end": "while True: out(b'{' * 65536)",
    "a frame of another version": 'out(b\'{"v":2,"kind":"hello","body":0}\\n\')',
    "a body that is cut": HELLO + 'out(b\'{"v":1,"kind":"facts","body":9}\\n{\')',
    "parts without an end": HELLO
    + """while True: frame("answer", ',"part":0,"parts":9,"stream":1', b"x" * 1_000_000)""",
    "digits": HELLO + "frame('beat', ',\"at\":' + '9' * 5_000)",
    "nesting": HELLO + "frame('beat', ',\"at\":' + '[' * 50_000)",
    "complaints": "sys.stderr.write(('x' * 65536 + '\\x1b[2J\\n') * 20)\nsys.exit(1)",
}


def connection(folder: Path, does: str) -> MachineConnection:
    """A connection of this computer with such a Python."""
    python = lying_python(folder, does)
    machine = MachineConfig(name=MachineName("here"), link="command", command=(), python=python)
    return connection_of(machine, folder / "known_hosts")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("name", WRONG)
async def test_a_false_probe_is_reported_and_tried_again(name: str, tmp_path: Path) -> None:
    async with receiving(connection(tmp_path, WRONG[name])) as received:
        await received.until(lambda: received.state is LinkState.DOWN)
        link = received.links[-1]
        assert link.reason
        assert len(link.reason) < 1_000
        assert "\x1b" not in link.reason
        assert link.retry_at is not None


async def test_a_probe_that_dies_again_and_again_leaves_nothing_behind(tmp_path: Path) -> None:
    dying = connection(tmp_path, HELLO + "time.sleep(0.05)\nos.kill(os.getpid(), 9)")
    async with receiving(dying) as received:
        await received.until(lambda: len(received.frames("hello")) >= 2)
        before = open_files()
        tasks = len(asyncio.all_tasks())
        for times in range(3, 15):

            def again(times: int = times) -> bool:
                if received.state is LinkState.DOWN:  # a retry breaks off an attempt that goes on
                    dying.retry_now()
                return len(received.frames("hello")) >= times

            await received.until(again)
        await received.until(lambda: open_files() <= before + 8)
        await received.until(lambda: len(asyncio.all_tasks()) <= tasks + 8)


async def test_numbers_of_a_reply_that_are_none_are_zero(tmp_path: Path) -> None:
    does = HELLO + (
        "for head in heads():\n"
        "  if head['kind'] == 'get':\n"
        "    frame('reply', ',\"id\":true,\"at\":1')\n"
        '    frame(\'reply\', \',"id":%d,"at":NaN,"took":-Infinity,"status":true\' % head["id"])\n'
    )
    lying = connection(tmp_path, does)
    async with receiving(lying) as received:
        await received.hello()
        reply = await lying.request(Frame("get", {"path": "/"}), deadline=WAIT_S)
        assert (reply.at, reply.took, reply.status) == (0.0, 0.0, None)
        assert math.isfinite(reply.at)
