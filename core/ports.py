"""Protocols that the core needs from outside; `ssh`, `storage` and `cli` implement them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.events import Event, LinkChanged
from core.finding_events import FindingsMuted, SameFinding
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.finding import Finding
from core.model.job import Job
from core.model.question import Question
from core.model.task import ProgressPoint
from core.model.timeouts import REQUEST_TIMEOUT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one request.

    Attributes:
        at: The host's clock just before the read, Unix seconds.
        took: How long the read took, seconds.
        status: HTTP status or exit status; None: there was none.
        error: Why no good answer came; None if one came.
        body: The answer as it came.
    """

    at: float
    took: float
    status: int | None
    error: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class SignIn:
    """A command that the operator runs in the terminal to sign in to a machine.

    Attributes:
        words: The program and its arguments; it prompts on the terminal.
        is_kept: Whether it leaves a connection open that the link then uses (a ControlMaster).
            If not, only the files that it wrote (a host key) help.
    """

    words: tuple[str, ...]
    is_kept: bool

    @property
    def program(self) -> str:
        """The program's name, without an `env NAME=value` before it."""
        rest = self.words[1:] if self.words[0] == "env" else self.words
        return next((word for word in rest if "=" not in word), self.words[0])


Received = LinkChanged | Frame
"""An event from a connection: the link's state changed, or the probe sent a frame."""


class MachineConnection(Protocol):
    """The connection to one machine: keeps its link up and a probe running over it."""

    @property
    def machine(self) -> MachineName:
        """The machine's name."""
        ...

    async def run(self, receive: Callable[[Received], None]) -> None:
        """Keep the link up until cancelled; pass every event to `receive`. Raises no errors."""
        ...

    def send(self, frame: Frame) -> bool:
        """Queue a frame for the probe, without waiting; False: no probe is up."""
        ...

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        """Send a frame that has a reply (`get`, `send`, `header`, `facts`) and wait for it.

        The connection sets the frame's `id`.

        Args:
            frame: The request.
            deadline: Timeout, seconds.

        Raises:
            RequestFailed: The link is down or was lost, the deadline passed, or too many requests
                are pending (`TooBusy`). A mutation may have been applied, unless the message
                starts with "not sent" or the error is `TooBusy`.
        """
        ...

    async def work(self, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Run a job of a launch on its own channel and return its program's answer.

        Args:
            job: The job.
            deadline: Timeout, seconds.

        Raises:
            JobFailed: The program reported a failure.
            RequestFailed: The link is down or was lost, or the deadline passed. Unless the message
                starts with "not sent", the job may have been done anyway.
        """
        ...

    def hold(self, *, is_held: bool) -> None:
        """Stop reading from the link, or go on; meanwhile the machine waits, and is not silent."""
        ...

    def hold_large(self, *, is_held: bool) -> None:
        """Do the same only while a large answer has come in part; other data is read on."""
        ...

    def retry_now(self) -> None:
        """Retry at once instead of after the backoff; this also leaves the state `refused`."""
        ...

    def accept_key(self, fingerprint: str) -> None:
        """Trust the unknown host key with this fingerprint, and retry.

        Raises:
            StorageError: The key can't be saved; it stays unknown.
        """
        ...

    async def sign_in(self) -> SignIn | None:
        """Return the command that signs in; None: not needed now, or a retry asks by itself."""
        ...


Ask = Callable[[Question], Awaitable[str | None]]
"""Asks the operator one question and returns the answer; None: refused."""


class EventStore(Protocol):
    """The store of the desk's events and of the progress of tasks."""

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

    async def keep_findings(self, findings: Sequence[Finding]) -> Sequence[SameFinding]:
        """Write findings that opened, changed or closed; they replace their older versions.

        Returns:
            Those that another room of the operator had found already, which are open there: they
            were written under the ids that the store had for them.

        Raises:
            StorageError: They are not on disk.
        """
        ...

    async def acknowledged(self, findings: Sequence[str]) -> Sequence[Finding]:
        """Return those of these findings, by id, that the operator acknowledged anywhere.

        Raises:
            StorageError: They can't be read.
        """
        ...

    async def mutes_after(self, number: int) -> "MutesRead":
        """Return the mutes that other instances stored after the one with this number.

        Raises:
            StorageError: They can't be read.
        """
        ...

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's kept points, oldest first.

        Raises:
            StorageError: They can't be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class MutesRead:
    """Mutes that the store holds.

    Attributes:
        mutes: Oldest first.
        last: The number of the newest mute in the store; 0: it holds none.
    """

    mutes: tuple[FindingsMuted, ...] = ()
    last: int = 0


@dataclass(frozen=True, slots=True)
class FleetUpdate:
    """One state of the fleet, as a `Room` publishes it.

    Attributes:
        fleet: The fleet.
        revision: Grows with each update that changes more than ages. If it is unchanged, only the
            times of polls differ: rows need not be drawn again.
    """

    fleet: Fleet
    revision: int


Show = Callable[[FleetUpdate], object]
"""Takes each update of the fleet; called at most ten times a second, with the newest only."""


class Clock(Protocol):
    """The clock of the operator's computer."""

    def now(self) -> float:
        """Return Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock, for durations."""
        ...


class Room(Protocol):
    """The source of all that the screens show: a live desk, or the replay of a recording."""

    @property
    def fleet(self) -> Fleet:
        """The present state of the fleet."""
        ...

    @property
    def has_polled(self) -> bool:
        """Whether every machine was polled once, or can't be: what is shown is not old."""
        ...

    @property
    def is_replay(self) -> bool:
        """Whether this replays a recording: nothing can be read or changed."""
        ...

    def now(self) -> float:
        """Return the present time at the desk, Unix seconds; ages are counted from it."""
        ...

    async def run(self) -> None:
        """Process events until cancelled; a replay returns at the end of its recording."""
        ...

    def post(self, event: Event) -> None:
        """Process an event as if a machine had sent it (such as `Dismissed`)."""
        ...

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` with each update of the fleet, at most ten times a second.

        It is not called while nothing changes.

        Returns:
            A function that ends the subscription.
        """
        ...

    def focus(self, task: TaskKey | None) -> None:
        """Poll this task more often than the others; None: no task."""
        ...

    async def read(
        self, process: ProcessKey, path: str, *, deadline: float = REQUEST_TIMEOUT_S
    ) -> Reply:
        """GET `path` of a process's control channel.

        Raises:
            RequestFailed: No answer came (see `MachineConnection.request`), or this is a replay.
        """
        ...

    def retry(self, machine: MachineName) -> None:
        """Try to connect to this machine at once."""
        ...

    def read_log(self, task: TaskKey) -> None:
        """Read the log of an ended task again now, on its machine; an event brings the result."""
        ...

    def poll_now(self, process: ProcessKey) -> None:
        """Poll a process once now, even in the pause after a slow poll."""
        ...

    def give_way(self) -> None:
        """Leave the event loop to the screen for a moment: the operator pressed a key.

        Any thread may call it: a key is first seen in the one that reads the terminal.
        """
        ...

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        """Accept the unknown host key of this machine that has this fingerprint.

        Raises:
            StorageError: The key can't be saved; it stays unknown.
        """
        ...

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        """Return the command that the operator runs in the terminal to sign in to this machine.

        Returns:
            None: the machine needs no sign-in, or a retry itself asks for everything that it needs.
        """
        ...

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's progress, oldest first: the stored points, then those of this session.

        If the stored points can't be read, only those of this session are returned.
        """
        ...
