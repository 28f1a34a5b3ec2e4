"""Protocols: what the headless commands need from a desk."""

from collections.abc import Callable
from typing import Protocol

from core.events import Event
from core.fleet import Fleet
from core.ids import ProcessKey
from core.model.job import Worker
from core.model.timeouts import REQUEST_TIMEOUT_S
from core.ports import Reply


class DeskReader(Protocol):
    """A running desk, to read from."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Return the time at the desk, Unix seconds."""
        ...

    async def first_poll(self, timeout: float) -> bool:
        """Wait until every machine has answered or failed, at most `timeout` seconds."""
        ...

    def awaited(self) -> tuple[str, ...]:
        """Return the machines and processes that `first_poll` still waits for."""
        ...

    async def read(
        self, process: ProcessKey, path: str, *, deadline: float = REQUEST_TIMEOUT_S
    ) -> Reply:
        """GET `path` of a process's control channel."""
        ...

    def listen(self, on_event: Callable[[Event], None]) -> Callable[[], None]:
        """Call `on_event` with every event from now on; return a function that ends this."""
        ...


class DeskWorker(DeskReader, Worker, Protocol):
    """A running desk, to read from and to run jobs on machines."""
