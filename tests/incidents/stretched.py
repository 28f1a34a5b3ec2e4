"""Stretches a recording: from one moment on, every time in it is so many seconds later."""

from typing import Any, cast

YEAR_S = 366 * 86_400.0
_SPANS = ("total_time", "working_time")
"""Seconds that a sample has lasted: longer, if the moment lies within it."""


class Stretched:
    """Moves what happened after a moment.

    Args:
        moment: From when, Unix seconds; 0: everything.
        by: Seconds.
    """

    def __init__(self, moment: float, by: float) -> None:
        self._moment = moment
        self._by = by

    def time(self, at: float) -> float:
        """Return a time, moved if it is later than the moment."""
        return at + self._by if at >= self._moment else at

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event with its times moved."""
        moved: dict[str, Any] = self._moved(event, event["at"])
        return moved

    def _moved(self, value: Any, read_at: float) -> Any:
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value)
            moved = {key: self._moved(each, read_at) for key, each in items.items()}
            began = items.get("started_at")
            ended = items.get("completed_at") or read_at
            if self._moment and isinstance(began, float) and began < self._moment <= ended:
                moved |= {key: moved[key] + self._by for key in _SPANS if moved.get(key)}
            return moved
        if isinstance(value, list):
            listed = cast("list[object]", value)
            return [self._moved(each, read_at) for each in listed]
        if isinstance(value, float) and abs(value - read_at) < YEAR_S and value > YEAR_S:
            return self.time(value)
        return value
