"""What screens and commands use to launch: plans checked, runs started, found again and read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.launch.preflight.checks import CheckedPlan
from core.launch.spec.spec import Spec
from core.model.run import Run

Tell = Callable[[str], None]
"""Hears how far something is, one sentence at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A piece of what a run printed.

    Attributes:
        data: Bytes as they came, untrusted.
        end: Where the next piece begins, bytes from the file's start.
        size: Of the file now.
    """

    data: bytes
    end: int
    size: int


class Launching(Protocol):
    """The launches of one room."""

    async def run(self) -> None:
        """Look after all runs until cancelled."""
        ...

    async def check(self, spec: Spec, *, tell: Tell | None = None) -> tuple[CheckedPlan, ...]:
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

    async def output(self, run: Run, *, start: int | None = None) -> Output:
        """Return a piece of at most 64 KiB of what a run printed.

        Args:
            run: Which.
            start: Where it begins, bytes; None: so that it is the end.

        Raises:
            RequestFailed: It can't be read.
        """
        ...
