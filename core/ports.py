"""What the core needs from outside, as protocols. `ssh`, `storage` and `tui` provide them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.events import Event, LinkChanged
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.job import Job
from core.model.task import ProgressPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one request.

    Attributes:
        at: The host's clock just before the read, Unix seconds.
        took: Seconds.
        status: HTTP status or exit status; None where there was none.
        error: Why there is no good answer; None where there is one.
        body: The answer untouched.
    """

    at: float
    took: float
    status: int | None
    error: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class SignIn:
    """What an operator runs in the foreground to sign in to a machine.

    Attributes:
        words: The program and its arguments; it takes the terminal and asks there.
        is_kept: Whether what it opens outlives it, so that the link can go over it; else only
            what it wrote down (a host key) is of use.
    """

    words: tuple[str, ...]
    is_kept: bool


Heard = LinkChanged | Frame
"""An event from a connection: the link's state changed, or the probe sent a frame."""


class MachineConnection(Protocol):
    """The desk's side of one machine: its link, kept up for ever, and the probe on it."""

    @property
    def machine(self) -> MachineName:
        """Whose it is."""
        ...

    async def run(self, hear: Callable[[Heard], None]) -> None:
        """Keep the link up until cancelled; tell `hear` all that comes. Never raises by itself."""
        ...

    def send(self, frame: Frame) -> bool:
        """Hand a frame to the probe without waiting; False while no probe answers."""
        ...

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        """Send a frame that has an answer (`get`, `send`, `header`, `facts`); wait for it.

        The connection gives it its `id`.

        Raises:
            RequestFailed: The link is down, was lost, the deadline (seconds) passed, or too
                many are out (`TooBusy`). A mutation may then have been applied all the same.
        """
        ...

    async def work(self, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Have a job of a launch done (`core.model.job.Worker`), on a channel of its own.

        Raises:
            JobFailed, RequestFailed: As there.
        """
        ...

    def retry_now(self) -> None:
        """Try the link at once, whatever its backoff; also what resolves `refused`."""
        ...

    def accept_key(self, fingerprint: str) -> None:
        """The operator accepted the unknown host key that has this fingerprint; retry.

        Raises:
            StorageError: It can't be written down; it stays unknown.
        """
        ...

    async def sign_in(self) -> SignIn | None:
        """Return what the operator runs to sign in; None: not asked for, or nothing to run."""
        ...


Ask = Callable[[str, bool], Awaitable[str | None]]
"""Ask the operator one thing: (prompt, whether the answer is seen) -> answer, None: gave up."""


class EventStore(Protocol):
    """The durable side of the desk."""

    async def keep(self, events: Sequence[Event]) -> None:
        """Write the events worth keeping; returns when they are on disk.

        Raises:
            StorageError: They are not.
        """
        ...

    async def keep_progress(self, points: Sequence[tuple[TaskKey, ProgressPoint]]) -> None:
        """Write points of tasks' progress.

        Raises:
            StorageError: They are not on disk.
        """
        ...

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's kept points, oldest first.

        Raises:
            StorageError: They can't be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class FleetUpdate:
    """One state of the fleet, as a room publishes it.

    Attributes:
        fleet: All that is known.
        revision: Grows with each update that changes more than ages. Between two updates with
            the same revision only times of reads differ: rows need not be drawn again.
    """

    fleet: Fleet
    revision: int


Show = Callable[[FleetUpdate], object]
"""Takes each update of the fleet; called at most ten times a second, with the newest only."""


class Clock(Protocol):
    """Time at the desk."""

    def now(self) -> float:
        """Return Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that is never set: for durations."""
        ...


class Room(Protocol):
    """What the screens use: a live desk, or a recording that plays."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    @property
    def is_replay(self) -> bool:
        """Whether a recording plays: nothing can be asked and nothing done."""
        ...

    def now(self) -> float:
        """Return the time that ages are counted to, Unix seconds at the desk."""
        ...

    async def run(self) -> None:
        """Take events in until cancelled; a recording returns at its end."""
        ...

    def post(self, event: Event) -> None:
        """Take an event in, as if a machine had sent it (`Dismissed`)."""
        ...

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` for each new fleet, at most ten times a second; not at all while idle.

        Returns:
            What ends it.
        """
        ...

    def focus(self, task: TaskKey | None) -> None:
        """Look at this task more often than the rest; None: at none."""
        ...

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET `path` of a process's control channel.

        Raises:
            RequestFailed: No answer (see `MachineConnection.request`), or a recording plays.
        """
        ...

    def retry(self, machine: MachineName) -> None:
        """Try this machine's link at once."""
        ...

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        """Accept the unknown host key of this machine that has this fingerprint.

        Raises:
            StorageError: It can't be written down; it stays unknown.
        """
        ...

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        """Return what the operator runs in the foreground to sign in to this machine.

        Returns:
            None: it does not need the operator, or a retry by itself asks for all it needs.
        """
        ...

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's points, oldest first: those kept before this start, then the trail.

        What can't be read from the disk is left out; the trail is always there.
        """
        ...
