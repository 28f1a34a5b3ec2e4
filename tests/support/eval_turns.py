"""The turn at an eval, held as a request of another evalroom holds it."""
# pyright: standard
# The shipped programs have no types.

import fcntl
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ssh.shipped.common.proc import start_mark
from ssh.shipped.probe.turns import Turns
from tests.support.waiting import wait_until


@contextmanager
def turn_at(pid: int) -> Generator[None]:
    """Hold the turn at an eval: no request is in flight there, and no probe sends one."""
    folder = Path("~/.evalroom/polls").expanduser()
    with ExitStack() as stack:
        for path in wait_until(lambda: list(folder.glob(f"{pid}-*")), "its file of turns"):
            fcntl.flock(stack.enter_context(path.open("rb")), fcntl.LOCK_EX)
        yield


@contextmanager
def turn_before_all(pid: int) -> Generator[None]:
    """Hold the turn at an eval that no probe has asked yet."""
    turns = Turns(pid, start_mark(pid))
    assert turns.take("") is None
    try:
        yield
    finally:
        turns.close()
