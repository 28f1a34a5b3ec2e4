"""Steering: which machines' probes get a new poll list, and when."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from core.fleet import Fleet
from core.ids import MachineName, TaskKey
from core.ports import MachineConnection
from core.watch.observer import MAX_STEER_FRAMES, Observer

STEER_INTERVAL_S = 0.5
"""Minimum seconds between updates of a probe's poll list after a state change."""
CALM_STEER_INTERVAL_S = 4.0
"""Minimum seconds between updates of a probe's poll list when only sample progress changed."""


class Steering:
    """Sends probes their poll lists: at once where it matters, else at most every few seconds.

    A machine is due after data came from it and its interval has passed: a short one after a state
    change, else a longer one. One alarm wakes the loop when the next machine is due.

    Args:
        connections: Send the frames that update a probe's poll list.
        observers: Make those frames.
        wake: Wakes the desk's loop.
        spent: Called with the seconds that it took to make the frames for a machine.
    """

    def __init__(
        self,
        connections: Mapping[MachineName, MachineConnection],
        observers: Mapping[MachineName, Observer],
        *,
        wake: Callable[[], None],
        spent: Callable[[MachineName, float], None] = lambda _machine, _seconds: None,
    ) -> None:
        self._connections = connections
        self._observers = observers
        self._wake = wake
        self._spent = spent
        self._focus: TaskKey | None = None
        """The task that is polled more often than the others."""
        self._outdated: set[MachineName] = set()
        """Machines whose poll list may have to change."""
        self._state_changed: set[MachineName] = set()
        """Those of them where more than sample progress changed; they use the short interval."""
        self._steered_at: dict[MachineName, float] = {}
        """When a machine was last steered, seconds of the event loop; without an entry: at once."""
        self._alarm: asyncio.TimerHandle | None = None
        """Wakes the loop when the next machine is due; None: no machine waits."""

    def focus(self, task: TaskKey | None) -> None:
        """Poll this task more often than the others, from the next update on; None: no task."""
        if task == self._focus:
            return
        for key in (task, self._focus):
            if key is not None and key.machine in self._connections:
                self._outdated.add(key.machine)
                self.steer_at_once(key.machine)
        self._focus = task
        self._wake()

    def outdate(self, machine: MachineName) -> None:
        """Update a machine's poll list when its interval has passed."""
        self._outdated.add(machine)

    def outdate_all(self) -> None:
        """Update every machine's poll list when its interval has passed."""
        self._outdated.update(self._connections)

    def note_state_change(self, machine: MachineName) -> None:
        """Use the short interval for a machine's next update."""
        self._state_changed.add(machine)

    def steer_at_once(self, machine: MachineName) -> None:
        """Send a machine's next update without waiting for its interval."""
        self._steered_at.pop(machine, None)

    def steer(
        self, fleet: Fleet, at: float, *, passing: Callable[[MachineName], bool] = lambda _: False
    ) -> None:
        """Update the poll lists that are due, and set the alarm for the next one.

        Args:
            fleet: All that is known now.
            at: Unix seconds at the desk.
            passing: Whether a machine's observer is in use now, so that this machine comes later.
        """
        loop = asyncio.get_running_loop()
        for machine in tuple(self._due(loop.time())):
            if passing(machine):
                continue
            began = loop.time()
            frames = self._observers[machine].frames(fleet, self._focus, at)
            for frame in frames:
                self._connections[machine].send(frame)
            if len(frames) < MAX_STEER_FRAMES:
                self._outdated.discard(machine)
                self._state_changed.discard(machine)
            self._steered_at[machine] = loop.time()
            self._spent(machine, loop.time() - began)
        if self._alarm is not None:
            self._alarm.cancel()
        waits = [
            self._due_in(machine, loop.time()) for machine in self._outdated if not passing(machine)
        ]
        self._alarm = loop.call_later(min(waits), self._wake) if waits else None

    def _due(self, now: float) -> Iterator[MachineName]:
        return (machine for machine in self._outdated if self._due_in(machine, now) <= 0)

    def _due_in(self, machine: MachineName, now: float) -> float:
        """Return the seconds until a machine may be steered again; 0 or less: now."""
        is_urgent = machine in self._state_changed
        interval = STEER_INTERVAL_S if is_urgent else CALM_STEER_INTERVAL_S
        steered_at = self._steered_at.get(machine)
        return 0.0 if steered_at is None else steered_at + interval - now
