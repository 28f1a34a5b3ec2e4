"""Every way out of evalroom, and what each does on a read-only machine; in one table.

The link to a machine looks up frames and jobs here before it sends them: it refuses those that the
table does not name. `core.launch.run.attach_command` refuses every display but that of a run. A
test runs every command and presses every key against a read-only machine, and compares the frames
that were sent with this table.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Behaviour(StrEnum):
    """What a way out does on a read-only machine."""

    READS = "reads"
    """It sends only reads to machines."""
    HERE = "here"
    """It sends nothing to a machine; it may write on this computer."""
    VIEWS = "views"
    """It opens a display that takes no input other than the keys that leave it."""
    REFUSED = "refused"
    """It sends nothing that could change something, and says why."""


_READS, _HERE = Behaviour.READS, Behaviour.HERE
_VIEWS, _REFUSED = Behaviour.VIEWS, Behaviour.REFUSED

FRAMES: Mapping[str, Behaviour] = MappingProxyType(
    {
        "start": _READS,
        "stop": _READS,
        "beat": _READS,
        "program": _READS,
        "watch": _READS,
        "unwatch": _READS,
        "poll": _READS,
        "get": _READS,
        "facts": _READS,
        "logs": _READS,
        "send": _REFUSED,  # dry runs too: an old Inspect would ignore the word and act
        "signal": _REFUSED,
        "recover": _REFUSED,
    }
)
"""The frames to a probe, by kind."""

JOBS: Mapping[tuple[str, str], Behaviour] = MappingProxyType(
    {
        ("survey", "survey"): _READS,
        ("survey", "child"): _READS,
        ("launcher", "poll"): _READS,
        ("launcher", "list"): _READS,
        ("launcher", "logs"): _READS,
        ("launcher", "examples"): _READS,
        ("launcher", "read"): _READS,
        ("launcher", "screen"): _READS,
        ("launcher", "place"): _REFUSED,
        ("launcher", "start"): _REFUSED,
        ("launcher", "bar"): _REFUSED,
        ("launcher", "sweep"): _REFUSED,
        ("launcher", "words"): _REFUSED,
        ("launcher", "remove containers"): _REFUSED,
        ("fetch", "uv"): _REFUSED,
        ("fetch", "uv_part"): _REFUSED,
        ("fetch", "packages"): _REFUSED,
        ("fetch", "checkout"): _REFUSED,
        ("fetch", "task"): _REFUSED,
        ("fetch", "tokenizer"): _REFUSED,
        ("fetch", "images"): _REFUSED,
        ("fetch", "clear"): _REFUSED,
    }
)
"""The jobs of a launch, by program and verb."""

ACTIONS: Mapping[str, Behaviour] = MappingProxyType(
    dict.fromkeys(
        (
            "pause", "pause-now", "resume", "drain", "cancel", "cancel-score", "cancel-error",
            "cancel-call", "requeue", "score", "score-finished", "flush", "config", "keep",
            "release", "recover", "interrupt", "kill",
        ),
        _REFUSED,
    )
)  # fmt: skip
"""The actions, by the name of their offers (`core.model.action.OFFERS`)."""

GUIDES: Mapping[str, Behaviour] = MappingProxyType(
    dict.fromkeys(("interrupt", "incident", "finish", "cleanup"), _REFUSED)
)
"""The guides, by kind."""

COMMANDS: Mapping[str, Behaviour] = MappingProxyType(
    {
        "": _READS,  # the room
        "status": _READS,
        "samples": _READS,
        "sample": _READS,
        "watch": _READS,
        "triage": _READS,
        "why": _READS,
        "machines": _READS,
        "machines check": _READS,
        "machines prepare": _REFUSED,
        "doctor": _READS,
        "findings": _HERE,
        "findings ack": _HERE,
        "findings mute": _HERE,
        "notify": _HERE,  # its messages go to people, not to a machine
        "journal": _HERE,
        "act": _REFUSED,
        "config-set": _REFUSED,
        "undo": _REFUSED,
        "guide": _REFUSED,
        "guide list": _HERE,
        "launch": _REFUSED,
        "runs": _READS,
        "run": _READS,
        "output": _READS,
        "attach": _VIEWS,
        "sessions": _READS,
        "sessions end": _REFUSED,
        "templates": _HERE,
        "secrets": _HERE,
        "replay": _HERE,
        "probe": _HERE,
        "config": _HERE,
        "demo": _HERE,  # it starts an eval of its own on this computer
    }
)
"""The headless commands, by their words."""

KEYS: Mapping[str, Behaviour] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "actions", "pause", "pause_now", "cancel", "requeue", "config", "undo", "launch",
                "duplicate", "run_again", "steer", "copy_steer", "guide_on",
            ),
            _REFUSED,
        ),
        "attach": _VIEWS,
        **dict.fromkeys(("open", "retry", "reveal", "runs"), _READS),
        **dict.fromkeys(
            (
                "down", "up", "page_down", "page_up", "first", "last", "mark", "mark_all", "back",
                "next_pane", "previous_pane", "pane_1", "pane_2", "pane_3", "pane_4", "pane_5",
                "filter", "sort", "reverse", "columns", "outcomes", "copy", "copy_launch", "write",
                "trust", "dismiss", "acknowledge", "mute", "triage", "why", "older",
                "newer", "since", "journal", "guides",
                "guide_skip", "guide_stop", "command", "help", "mouse", "redraw", "suspend",
                "quit",
            ),
            _HERE,
        ),
    }
)  # fmt: skip
"""The keys of the room, by name (`tui.keys.table.KEYS`)."""


def frame_reads(kind: str) -> bool:
    """Whether a frame of this kind may go to a read-only machine."""
    return FRAMES.get(kind) is Behaviour.READS


def action_reads(name: str) -> bool:
    """Whether an action, by the name of its offer, may go to a read-only machine."""
    return ACTIONS.get(name) is Behaviour.READS


def job_reads(program: str, verb: str) -> bool:
    """Whether a job may go to a read-only machine."""
    return JOBS.get((program, verb)) is Behaviour.READS
