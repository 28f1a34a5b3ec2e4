"""The room's full collections of garbage: every two minutes, at a moment when nobody types."""

import gc
import weakref

from cli.commands.room import FullCollections
from tests.support.clocks import SetClock


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_a_lost_cycle_is_collected_once_nobody_types() -> None:
    clock, quiet = SetClock(), [60.0]
    collections = FullCollections(lambda: quiet[0], clock.monotonic)
    gc.disable()
    try:
        lost = weakref.ref(_Cycle())
        collections.tick()
        assert lost() is not None, "none is due yet"
        clock.later(121.0)
        quiet[0] = 0.5
        collections.tick()
        assert lost() is not None, "someone types"
        quiet[0] = 4.0
        collections.tick()
        assert lost() is None
        lost = weakref.ref(_Cycle())
        clock.later(60.0)
        collections.tick()
        assert lost() is not None, "the next one is due two minutes after the last one"
    finally:
        gc.enable()
