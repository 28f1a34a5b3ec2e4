"""The open connections to jump hosts, each shared by all machines behind it.

Many machines behind one jump host would otherwise log in there once each, and all at the same
time after an outage: sshd drops such bursts, and an account may be locked.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import asyncssh

from core.errors import LinkLost, MachineError, NeedsYou
from core.ids import MachineName
from ssh.links.asyncssh_auth import Credentials
from ssh.links.hop_login import Connected
from ssh.links.ssh_config import Hop

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.7, 42.0
"""How long a failed try holds for the other machines behind that host, seconds; it doubles with
each failure. It is the shortest pause that a link's supervisor makes after as many failures."""
LONGEST_SILENT_PAUSE_S = 2.1
"""The longest pause while the network is silent, seconds; a supervisor's is a little longer."""


class Login(Protocol):
    """Logs in to one jump host."""

    def __call__(
        self,
        hop: Hop,
        before: "asyncssh.SSHClientConnection | None",
        credentials: Credentials,
    ) -> Awaitable[Connected]:
        """Connect to `hop`, over the connection to the host `before` it.

        Raises:
            MachineError: It can't be reached, or the login failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """How one machine reaches the jump hosts on its route.

    Attributes:
        machine: The machine, for errors.
        known_hosts: evalroom's own file of accepted host keys.
        login: Logs in to one of them.
        is_interactive: Whether `login` may ask the operator.
        on_reached: Called when another machine reaches a jump host at which this one failed.
    """

    machine: MachineName
    known_hosts: Path
    login: Login
    is_interactive: bool
    on_reached: Callable[[], None]


class Seat:
    """One machine's part in the connection to a jump host.

    Attributes:
        is_used: Whether that machine's link is up over it.
    """

    def __init__(self, shared: "_Shared") -> None:
        self._shared = shared
        self.is_used = False

    @property
    def connection(self) -> "asyncssh.SSHClientConnection":
        """The connection to the jump host."""
        return self._shared.opening.result().connection

    def went_silent(self) -> None:
        """Note that no data comes over it; a silent connection gets no new machines.

        While another machine's link is up over it, the jump host is not what is silent.
        """
        self.is_used = False
        if not any(each.is_used for each in self._shared.seats):
            self._shared.is_retired = True

    async def close(self) -> None:
        """Leave; the last one closes the connection. Takes bounded time and never raises."""
        await self._shared.leave(self)


class _Shared:
    """One connection to a jump host, or the try to make it."""

    def __init__(self, opening: Coroutine[None, None, Connected], *, is_interactive: bool) -> None:
        self.seats: set[Seat] = set()
        self.is_interactive = is_interactive
        self.is_retired = False
        self.opening = asyncio.create_task(opening)

    def takes_more(self) -> bool:
        """Whether another machine may join."""
        if self.is_retired:
            return False
        if not self.opening.done():
            return True
        failed = self.opening.cancelled() or self.opening.exception() is not None
        return not failed and not self.opening.result().connection.is_closed()

    async def leave(self, seat: Seat) -> None:
        """Take a machine away; the last one ends the connection, or the try."""
        if seat not in self.seats:
            return
        self.seats.discard(seat)
        if self.seats:
            return
        self.is_retired = True
        self.opening.cancel()
        with contextlib.suppress(MachineError, asyncio.CancelledError):
            await asyncio.wait({self.opening})
            await self.opening.result().close()


@dataclass(slots=True)
class _Jump:
    """A jump host, with the jump hosts before it.

    Attributes:
        credentials: What the operator typed for it.
        shared: Its newest connection.
        error: Why the last try failed; None: it did not.
        failures: How many tries failed one after the other.
        held_until: Until when `error` is the answer for every machine, monotonic seconds.
        waiting: What to call once it is reached, by machine: their last try failed here.
    """

    credentials: Credentials = field(default_factory=Credentials)
    shared: _Shared | None = None
    error: MachineError | None = None
    failures: int = 0
    held_until: float = 0.0
    waiting: dict[MachineName, Callable[[], None]] = field(
        default_factory=dict[MachineName, Callable[[], None]]
    )

    def failed(self, error: MachineError) -> None:
        """Note a failed try."""
        longest = FIRST_PAUSE_S  # what waits for the operator is tried again when asked
        if isinstance(error, LinkLost):
            longest = LONGEST_SILENT_PAUSE_S if error.is_silent else LONGEST_PAUSE_S
        pause = min(longest, FIRST_PAUSE_S * 2.0 ** min(self.failures, 10))
        self.error, self.failures = error, self.failures + 1
        self.held_until = time.monotonic() + pause

    def succeeded(self) -> None:
        """Note that it is reached."""
        self.error, self.failures = None, 0
        waiting, self.waiting = self.waiting, {}
        for on_reached in waiting.values():
            on_reached()

    def failed_for(self, way: Way, error: MachineError) -> MachineError:
        """Return `error` for one machine; it is told once another machine reaches this host."""
        self.waiting[way.machine] = way.on_reached
        return _for(way.machine, error)


class JumpHosts:
    """The jump hosts of all machines of a room."""

    def __init__(self) -> None:
        self._jumps: dict[tuple[Path, tuple[Hop, ...]], _Jump] = {}

    def try_again(self) -> None:
        """Forget the failures: the operator asked for a try now."""
        for jump in self._jumps.values():
            jump.held_until = 0.0

    async def join(self, route: tuple[Hop, ...], way: Way) -> tuple[Seat, Credentials]:
        """Return a seat in the connection to the last host of `route`, open by now.

        Waits for a try that is under way already, so that there is one login and one question.

        Returns:
            The seat, which its owner closes, and what the operator typed for that host.

        Raises:
            MachineError: The host can't be reached, or the login failed, now or a moment ago.
        """
        jump = self._jumps.setdefault((way.known_hosts, _alike(route)), _Jump())
        jump.waiting.pop(way.machine, None)  # it tries now, and is told only if that fails
        while True:
            shared = jump.shared
            if shared is None or not shared.takes_more():
                is_held = time.monotonic() < jump.held_until and not way.is_interactive
                if jump.error is not None and is_held:
                    raise jump.failed_for(way, jump.error)
                shared = jump.shared = _Shared(
                    self._open(jump, route, way), is_interactive=way.is_interactive
                )
            seat = Seat(shared)
            shared.seats.add(seat)
            async with contextlib.AsyncExitStack() as undo:
                undo.push_async_callback(seat.close)
                try:
                    await asyncio.shield(shared.opening)
                except MachineError as error:
                    if isinstance(error, NeedsYou) and way.is_interactive > shared.is_interactive:
                        continue  # the operator can be asked now
                    raise jump.failed_for(way, error) from error.__cause__
                undo.pop_all()
                return seat, jump.credentials

    async def _open(self, jump: _Jump, route: tuple[Hop, ...], way: Way) -> Connected:
        """Log in to the last host of `route`, over those before it."""
        *hops_before, hop = route
        before: Seat | None = None
        async with contextlib.AsyncExitStack() as undo:
            if hops_before:
                before, _ = await self.join(tuple(hops_before), way)
                undo.push_async_callback(before.close)
            try:
                connected = await way.login(
                    hop, before.connection if before else None, jump.credentials
                )
            except MachineError as error:
                jump.failed(error)
                raise
            jump.succeeded()
            return replace(connected, undo=undo.pop_all())


def _alike(route: tuple[Hop, ...]) -> tuple[Hop, ...]:
    """Return the route without what makes no other connection: the names in ssh_config."""
    return tuple(
        replace(hop, host=replace(hop.host, name="", jump=None), ignored=()) for hop in route
    )


def _for(machine: MachineName, error: MachineError) -> MachineError:
    """Return the same error as one of `machine`."""
    own = type(error).__new__(type(error), *error.args)
    vars(own).update(vars(error), machine=machine)
    return own
