"""What screens and commands use to launch: check plans, start and follow runs, read output."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.fleet import Fleet
from core.ids import ProcessKey
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.spec.spec import Spec
from core.model.job import Worker
from core.model.log_summary import ErrorGroup
from core.model.run import Run
from core.model.timeouts import REQUEST_TIMEOUT_S
from core.ports import Reply

OpenSecrets = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the values of secrets by name; raises EvalroomError where one is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChunk:
    """A part of a run's output.

    Attributes:
        data: The bytes as the machine sent them, untrusted.
        end: Offset of the next part, bytes from the start of the output.
        size: Size of the output now, bytes.
    """

    data: bytes
    end: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorExample:
    """The full error of one sample, as an example of its group.

    Attributes:
        group: The group, with the sample.
        text: The traceback or the message as the log has it, untrusted; None: it can't be read.
        trouble: Why it can't be read, untrusted; empty: it was.
    """

    group: ErrorGroup
    text: str | None
    trouble: str = ""


class LaunchDesk(Worker, Protocol):
    """What launches need from the desk: jobs on machines, the fleet, and reads of processes."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Return the time at the desk, Unix seconds."""
        ...

    async def read(
        self, process: ProcessKey, path: str, *, deadline: float = REQUEST_TIMEOUT_S
    ) -> Reply:
        """Send a GET to a process and return its reply.

        Args:
            process: Which process.
            path: The path of the request.
            deadline: Timeout, seconds.

        Raises:
            RequestFailed: No reply came.
        """
        ...


class LaunchService(Protocol):
    """Checks, starts and follows the runs of one room."""

    async def run(self) -> None:
        """Poll all runs until cancelled."""
        ...

    async def check(
        self, spec: Spec, *, on_progress: OnProgress | None = None
    ) -> tuple[CheckedPlan, ...]:
        """Return a plan for every run of a spec, each on the best machine, with its preflight.

        Nothing is changed on any machine.

        Args:
            spec: What to launch.
            on_progress: Gets a line of text after each machine.

        Raises:
            SpecWrong: The spec can't be launched with this config.
        """
        ...

    async def launch(
        self, checked: Sequence[CheckedPlan], *, on_change: Callable[[Run], None] | None = None
    ) -> tuple[Run, ...]:
        """Start runs that were checked and confirmed, and return their state.

        Every run is in the database before anything is sent to its machine. A run is awaited
        until its process is watched or it has failed, at most for a few seconds.

        Args:
            checked: The plans to start.
            on_change: Gets a run at each of its changes.

        Raises:
            NotConfirmed: A check says stop, or evalroom is read-only. Nothing was started.
            StorageError: The runs can't be stored. Nothing was started.
        """
        ...

    async def output(self, run: Run, *, start: int | None = None) -> OutputChunk:
        """Return at most 64 KiB of a run's output.

        Args:
            run: Which run.
            start: Offset of the first byte; None: the last 64 KiB.

        Raises:
            RequestFailed: The output can't be read.
        """
        ...
