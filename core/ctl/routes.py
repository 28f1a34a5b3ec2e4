"""The routes of Inspect's control channel. One function here quotes every parameter."""

from collections.abc import Sequence
from urllib.parse import quote

AS_OF = "{as_of}"
"""In a polled path: the probe replaces it by the `as_of` of the last answer (docs/frames.md)."""

TASKS = "/tasks"
PROCESS_CONFIG = "/config"
OPENAPI = "/openapi.json"


def _word(value: str) -> str:
    return quote(value, safe="", errors="replace")


def path(*steps: str) -> str:
    """Return the path made of these steps, each quoted."""
    return "/" + "/".join(_word(step) for step in steps)


def with_query(path: str, *query: tuple[str, str | float | bool | None]) -> str:
    """Return the path with its query: the parameters that are not None, each quoted."""
    given = [(name, value) for name, value in query if value is not None]
    if not given:
        return path
    return path + "?" + "&".join(f"{name}={_value(value)}" for name, value in given)


def _value(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _word(str(value))


def samples(
    eval_id: str,
    *,
    active_since: str | float | None = None,
    status: Sequence[str] = (),
    limit: int | None = None,
    all_rows: bool | None = None,
    errors: bool = False,
    content: bool | None = None,
) -> str:
    """Return the path of an attempt's sample list (`active_since` may be `AS_OF`)."""
    watched = active_since == AS_OF
    listed = with_query(
        path("evals", eval_id, "samples"),
        ("active_since", None if watched else active_since),
        ("status", ",".join(status) or None),
        ("limit", limit),
        ("all", all_rows),
        ("filter", "errors" if errors else None),
        ("content", content),
    )
    # Only here `{as_of}` stands unquoted, so no name that a host chose can contain it.
    joint = "&" if "?" in listed else "?"
    return f"{listed}{joint}active_since={AS_OF}" if watched else listed


def sample(eval_id: str, sample_id: str | int, epoch: int, *, content: bool | None = None) -> str:
    """Return the path of one sample's detail."""
    return with_query(
        path("evals", eval_id, "sample"), *_of(sample_id, epoch), ("content", content)
    )


def events(
    eval_id: str,
    sample_id: str | int,
    epoch: int,
    *,
    since: str | None = None,
    tail: int | None = None,
    types: str | None = None,
    limit: int | None = None,
    content: bool | None = None,
    full: bool | None = None,
) -> str:
    """Return the path of a page of a sample's events."""
    return with_query(
        path("evals", eval_id, "sample", "events"),
        *_of(sample_id, epoch),
        ("since", since),
        ("tail", tail),
        ("type", types),
        ("limit", limit),
        ("content", content),
        ("full", full),
    )


def messages(
    eval_id: str,
    sample_id: str | int,
    epoch: int,
    *,
    tail: int | None = None,
    content: bool | None = None,
    full: bool | None = None,
) -> str:
    """Return the path of a sample's messages."""
    return with_query(
        path("evals", eval_id, "sample", "messages"),
        *_of(sample_id, epoch),
        ("tail", tail),
        ("content", content),
        ("full", full),
    )


def store(
    eval_id: str,
    sample_id: str | int,
    epoch: int,
    *,
    keys: Sequence[str] = (),
    content: bool | None = None,
    full: bool | None = None,
) -> str:
    """Return the path of a sample's store."""
    return with_query(
        path("evals", eval_id, "sample", "store"),
        *_of(sample_id, epoch),
        *(("key", key) for key in keys),
        ("content", content),
        ("full", full),
    )


def task_score(task_id: str) -> str:
    """Return the path of a task's last scoring pass."""
    return path("tasks", task_id, "score")


def task_config(task_id: str) -> str:
    """Return the path of a task's config."""
    return path("tasks", task_id, "config")


def throughput(window: int = 60) -> str:
    """Return the path of the models' throughput over the last `window` seconds."""
    return with_query(path("models", "throughput"), ("window", window))


def _of(sample_id: str | int, epoch: int) -> tuple[tuple[str, str | int], ...]:
    return ("sample_id", str(sample_id)), ("epoch", epoch)
