"""Trims a recording: what no rule reads is left out, and the names of one computer are replaced."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

_LEFT_OUT = frozenset({"LinkHeard", "SurfaceRead", "ScoreSeen"})
_NOT_READ = frozenset({"raw", "variables", "boot_id", "namespace", "socket_path"})
_FACTS = ("load", "memory", "disks", "docker", "gpus", "cpus")


def trimmed(
    events: Iterable[dict[str, Any]], words: Mapping[str, str], facts: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the events that rules read, without what they do not read.

    Args:
        events: As they were recorded.
        words: What must not stand in a recording, with what stands there instead.
        facts: The facts of machines that matter (`disks`, `docker` ...); none: these readings are
            left out, as they tell of the computer that recorded.
    """
    kept = frozenset(facts)
    found: list[dict[str, Any]] = []
    for event in events:
        if event["event"] in _LEFT_OUT or (event["event"] == "MachineRead" and not kept):
            continue
        if event["event"] == "MachineRead":
            for name in _FACTS:
                if name not in kept:
                    event["facts"].pop(name, None)
            disks = event["facts"].get("disks", ())
            event["facts"]["disks"] = [each for each in disks if each["what"] == "logs"]
        if event["event"] == "ProbeAnswered":
            event["probe"] |= {"platform": "Linux", "user": "op"}
        text = json.dumps(_without(event))
        for word, other in words.items():
            text = text.replace(word, other)
        found.append(json.loads(text))
    return found


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {
            key: _without(each)
            for key, each in items.items()
            if key not in _NOT_READ and each is not None
        }
    if isinstance(value, list):
        listed = cast("list[object]", value)
        return [_without(each) for each in listed]
    return value
