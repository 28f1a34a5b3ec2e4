"""What the desk asks of the watching: which frames go out, and what came back as events."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.config.model import WatchConfig
from core.events import Event, LogRead, LogUnreadable
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, TaskKey
from core.ports import Heard, Reply
from core.watch import log_headers
from core.watch.observer import Observer


class Watcher(Protocol):
    """One machine's eyes: frames of its probe in, events out."""

    def hear(self, heard: Heard, at: float) -> tuple[Event, ...]:
        """Return the events in what a connection said; `at` is Unix seconds at the desk."""
        ...

    def frames(self, fleet: Fleet, focus: TaskKey | None, at: float) -> tuple[Frame, ...]:
        """Return the frames that bring the probe in line with what should be looked at now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """The watching that a desk uses.

    Attributes:
        watcher: Makes one machine's eyes.
        wants: The finishing tasks of a machine whose log header is still to be read.
        frame: Asks for a task's log header.
        event: What the answer proves.
    """

    watcher: Callable[[MachineName, WatchConfig], Watcher] = Observer
    wants: Callable[[Fleet, MachineName], tuple[TaskKey, ...]] = log_headers.header_wants
    frame: Callable[[Fleet, TaskKey], Frame] = log_headers.header_frame
    event: Callable[[Fleet, TaskKey, Reply, float], LogRead | LogUnreadable] = (
        log_headers.header_event
    )
