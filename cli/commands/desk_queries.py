"""What the headless commands ask of the desk, and how its answers are read."""

from collections.abc import Callable
from typing import Protocol

from core.events import Event
from core.fleet import Fleet
from core.ids import ProcessKey
from core.ports import Reply


class Looker(Protocol):
    """A desk that runs."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Return the time at the desk, Unix seconds."""
        ...

    async def first_look(self, timeout: float) -> bool:
        """Wait until every machine has answered, failed, or the seconds have passed."""
        ...

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET `path` of a process's control channel."""
        ...

    def listen(self, hear: Callable[[Event], None]) -> Callable[[], None]:
        """Tell `hear` every event from now on; return what ends it."""
        ...
