"""Processes as a `processes` frame tells them, and the state that follows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.ctl.decode import JsonObject, count, flag, number, objects, parse, text, texts
from core.errors import AnswerMalformed
from core.events import ProcessSeen
from core.ids import MachineName, ProcessKey
from core.model.process import ProcessState

BUSY = 2.0
"""Seconds without an answer from which a process is busy."""
STARVED = 10.0
"""Seconds from which its event loop counts as blocked."""

HEADLESS = 5.0
"""Seconds without a control server from which a living process is headless; an eval that ends
takes its socket away a moment before it goes."""

Channel = str
_STATES: dict[Channel, ProcessState] = {
    "ok": ProcessState.LIVE,
    "new": ProcessState.STARTING,
    "refused": ProcessState.HEADLESS,
    "none": ProcessState.HEADLESS,
    "off": ProcessState.OPTED_OUT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """One process of a `processes` frame.

    Attributes:
        seen: The event it makes; its state is of the moment of the frame.
        channel: The probe's word for its control socket.
        alive: Whether the pid lives.
        at: The host's clock of the frame, Unix seconds.
    """

    seen: ProcessSeen
    channel: Channel
    alive: bool
    at: float

    @property
    def is_refused(self) -> bool:
        """Whether its control server is not there."""
        return self.channel == "refused"

    @property
    def is_calm(self) -> bool:
        """Whether what is known of it depends on no clock."""
        return self.alive and not self.is_refused and self.seen.waiting_since is None

    def at_time(self, clock: float, at: float, *, refused_since: float) -> ProcessSeen:
        """Return what is known of it when the host's clock says `clock`.

        Args:
            clock: Unix seconds on the host.
            at: Unix seconds at the desk.
            refused_since: The host's clock when its control server was first not there.
        """
        return replace(self.seen, at=at, state=self._state(clock, refused_since))

    def _state(self, clock: float, refused_since: float) -> ProcessState:
        if self.is_refused and clock - refused_since < HEADLESS:
            return ProcessState.LIVE
        waiting = self.seen.waiting_since
        if waiting is not None:
            waited = clock - waiting
            if waited >= STARVED:
                return ProcessState.STARVED
            if waited >= BUSY:
                return ProcessState.BUSY
        return _STATES.get(self.channel, ProcessState.LIVE)


def process_reports(
    machine: MachineName, body: bytes, *, clock: float, at: float
) -> Iterator[ProcessReport]:
    """Yield the processes in the body of a `processes` frame.

    Args:
        machine: Where they run.
        body: The frame's body.
        clock: The host's clock of the frame, Unix seconds.
        at: Now at the desk, Unix seconds.

    Raises:
        AnswerMalformed: It is no list.
    """
    listed = parse(body)
    if not isinstance(listed, list):
        raise AnswerMalformed("a process list that is none")
    for row in objects({"listed": listed}, "listed"):
        found = _told(machine, row, clock=clock, at=at)
        if found is not None:
            yield found


def _told(
    machine: MachineName, row: JsonObject, *, clock: float, at: float
) -> ProcessReport | None:
    pid, start = count(row, "pid"), text(row, "start")
    if pid is None or start is None:
        return None
    seen = ProcessSeen(
        at=at,
        process=ProcessKey(machine, pid, start),
        state=ProcessState.LIVE,
        run_id=text(row, "run_id"),
        started_at=number(row, "started_at"),
        api_version=count(row, "api_version"),
        socket_path=text(row, "socket_path"),
        data_dir=text(row, "data_dir"),
        argv=texts(row, "argv"),
        cwd=text(row, "cwd"),
        python=text(row, "python"),
        run=text(row, "run"),
        variables=texts(row, "variables"),
        waiting_since=number(row, "waiting_since"),
    )
    return ProcessReport(
        seen=seen,
        channel=text(row, "channel") or "",
        alive=flag(row, "alive") is not False,
        at=clock,
    )
