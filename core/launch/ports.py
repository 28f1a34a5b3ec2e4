"""What screens and commands use to launch: plans checked, runs started, found again and read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.fleet import Fleet
from core.ids import ProcessKey
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.spec.spec import Spec
from core.model.job import Worker
from core.model.run import Run
from core.ports import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChunk:
    """A piece of what a run printed.

    Attributes:
        data: Bytes as they came, untrusted.
        end: Where the next piece begins, bytes from the file's start.
        size: Of the file now.
    """

    data: bytes
    end: int
    size: int


class LaunchDesk(Worker, Protocol):
    """What a start needs of the desk."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Unix seconds at the desk."""
        ...

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET; raises RequestFailed."""
        ...


class LaunchService(Protocol):
    """The launches of one room."""

    async def run(self) -> None:
        """Look after all runs until cancelled."""
        ...

    async def check(self, spec: Spec, *, tell: OnProgress | None = None) -> tuple[CheckedPlan, ...]:
        """Return the runs of a spec, each on the machine that fits, with its preflight.

        Nothing is changed anywhere.

        Raises:
            SpecWrong: The spec can't be launched with this config.
        """
        ...

    async def launch(
        self, checked: Sequence[CheckedPlan], *, tell: Callable[[Run], None] | None = None
    ) -> tuple[Run, ...]:
        """Start runs that were checked and confirmed; return them as they stand then.

        Each is written down before its first byte is sent. One that is known to be watched, or
        to have failed, is not waited for any further. `tell` hears every change.

        Raises:
            NotConfirmed: A check says stop, or nothing may be changed; nothing was started.
            StorageError: It can't be written down; nothing was started.
        """
        ...

    async def output(self, run: Run, *, start: int | None = None) -> OutputChunk:
        """Return a piece of at most 64 KiB of what a run printed.

        Args:
            run: Which.
            start: Where it begins, bytes; None: so that it is the end.

        Raises:
            RequestFailed: It can't be read.
        """
        ...
