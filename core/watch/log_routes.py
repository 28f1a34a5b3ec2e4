"""Reads about the samples of an ended eval: they go to its log, not to its control channel.

The path is the one of the control channel, and so is the form of the answer, so that every screen
and command reads a sample the same way before and after the end of its eval.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.process import ProcessState
from core.watch.log_reads import has_location

DEADLINE_S = 60.0
"""Seconds that the read of one sample may take: Inspect starts for it."""
_LISTED_ROWS = 100
_ALL_ROWS = 20_000
_VIEWS: Mapping[tuple[str, ...], str] = {
    ("samples",): "samples",
    ("sample",): "sample",
    ("sample", "events"): "events",
    ("sample", "messages"): "messages",
    ("sample", "store"): "store",
}
_NO_CHANNEL = frozenset({ProcessState.GONE, ProcessState.HEADLESS, ProcessState.OPTED_OUT})


def log_read_of(
    fleet: Fleet, process: ProcessKey, path: str
) -> tuple[TaskKey, Mapping[str, Any]] | None:
    """Return the task whose log a read goes to, and what to ask for; None: it goes to the process.

    Args:
        fleet: All that is known.
        process: The process that the path is for.
        path: A path of the control channel.
    """
    known = fleet.processes.get(process)
    if known is None or known.state not in _NO_CHANNEL:
        return None
    parts = urlsplit(path)
    steps = [unquote(step) for step in parts.path.split("/")[1:]]
    view = _VIEWS.get(tuple(steps[2:])) if steps[:1] == ["evals"] else None
    if view is None:
        return None
    for key in known.tasks:
        task = fleet.tasks[key]
        if task.row.eval_id == steps[1] and task.ended_at is not None and has_location(task):
            return key, _asked(view, parse_qs(parts.query, keep_blank_values=True))
    return None


def _asked(view: str, query: Mapping[str, list[str]]) -> dict[str, Any]:
    if view == "samples":
        everything = _flag(query, "all")
        return {
            "view": view,
            "status": [each for text in query.get("status", []) for each in text.split(",")],
            "errors": query.get("filter") == ["errors"],
            "limit": _ALL_ROWS if everything else _number(query, "limit") or _LISTED_ROWS,
        }
    return {
        "view": view,
        "id": _first(query, "sample_id") or "",
        "epoch": _number(query, "epoch") or 1,
        "content": _flag(query, "content"),
        "since": _first(query, "since"),
        "types": _first(query, "type"),
        "tail": _number(query, "tail"),
        "keys": query.get("key", []),
    }


def _first(query: Mapping[str, list[str]], name: str) -> str | None:
    return query[name][0] if query.get(name) else None


def _number(query: Mapping[str, list[str]], name: str) -> int | None:
    value = _first(query, name)
    return int(value) if value is not None and value.isdecimal() else None


def _flag(query: Mapping[str, list[str]], name: str) -> bool:
    return _first(query, name) == "true"
