"""What the desk finds about itself: the disk, the recording."""

from core.fleet import Fleet
from core.judge.finding_list import closed, open_finding
from core.model.finding import Finding

_STORAGE = "storage:"


def storage_failed(fleet: Fleet, reason: str, at: float) -> Finding:
    """Return the finding that nothing can be kept, and why; it stays the same while it lasts."""
    last = open_finding(fleet, _STORAGE)
    return Finding(
        id=f"{_STORAGE}{at:.3f}" if last is None else last.id,
        kind="storage",
        tone="hand",
        opened_at=at if last is None else last.opened_at,
        changed_at=at,
        machine=None,
        text=f"the journal can't be written: {reason}",
    )


def storage_works(fleet: Fleet, at: float) -> Finding | None:
    """Return the finding closed, once things are kept again; None where none is open."""
    last = open_finding(fleet, _STORAGE)
    return None if last is None else closed(last, at)


def recording_stopped(reason: str, at: float) -> Finding:
    """Return the finding that the recording ended before the room did."""
    return Finding(
        id=f"recording:{at:.3f}",
        kind="storage",
        tone="hand",
        opened_at=at,
        machine=None,
        text=f"the recording has stopped: {reason}",
    )
