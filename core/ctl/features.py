"""Which Inspect brings what: the surface of a process, and what an upgrade would add.

The API version changes only when a client must change its ways; new routes come without. So
what a process can do is read from its own list of routes (`/openapi.json`).
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast

from core.ctl.decode import inner, objects, parse_object, text
from core.errors import AnswerMalformed

Feature = Literal[
    "tasks", "samples", "sample", "events", "messages", "store", "task config", "process config",
    "throughput", "task score", "sample score", "log flush", "keep", "release",
    "pause task", "resume task", "pause process", "resume process", "hard pause",
    "pause model", "resume model", "cancel task", "drain task", "cancel sample",
    "cancel tool call", "requeue sample", "score task", "score sample",
    "change task config", "change process config",
]  # fmt: skip
"""Something that an Inspect can show or do."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a feature needs.

    Attributes:
        method, path: Its route, as the process's own list names it.
        since: The first Inspect that has it.
        parameter: A parameter that the route must take too.
    """

    method: str
    path: str
    since: str
    parameter: str | None = None


_FIRST = "0.3.246"
_SAMPLE = "/evals/{eval_id}/sample"
_TASK = "/tasks/{task_id}"

REQUIREMENTS: Mapping[Feature, Requirement] = MappingProxyType(
    {
        "tasks": Requirement("get", "/tasks", _FIRST),
        "samples": Requirement("get", "/evals/{eval_id}/samples", _FIRST),
        "sample": Requirement("get", _SAMPLE, _FIRST),
        "events": Requirement("get", f"{_SAMPLE}/events", _FIRST),
        "messages": Requirement("get", f"{_SAMPLE}/messages", "0.3.250"),
        "store": Requirement("get", f"{_SAMPLE}/store", "0.3.265"),
        "task config": Requirement("get", f"{_TASK}/config", _FIRST),
        "process config": Requirement("get", "/config", _FIRST),
        "throughput": Requirement("get", "/models/throughput", "0.3.265"),
        "task score": Requirement("get", f"{_TASK}/score", "0.3.265"),
        "sample score": Requirement("get", f"{_SAMPLE}/score", "0.3.265"),
        "log flush": Requirement("post", f"{_TASK}/log-flush", _FIRST),
        "keep": Requirement("post", "/keep", _FIRST),
        "release": Requirement("post", "/release", _FIRST),
        "pause task": Requirement("post", f"{_TASK}/pause", "0.3.250"),
        "resume task": Requirement("post", f"{_TASK}/resume", "0.3.250"),
        "pause process": Requirement("post", "/pause", "0.3.250"),
        "resume process": Requirement("post", "/resume", "0.3.250"),
        "hard pause": Requirement("post", f"{_TASK}/pause", "0.3.260", "now"),
        "pause model": Requirement("post", "/models/pause", "0.3.252"),
        "resume model": Requirement("post", "/models/resume", "0.3.252"),
        "cancel task": Requirement("post", f"{_TASK}/cancel", "0.3.250"),
        "drain task": Requirement("post", f"{_TASK}/drain", "0.3.265"),
        "cancel sample": Requirement("post", f"{_SAMPLE}/cancel", "0.3.250"),
        "cancel tool call": Requirement("post", f"{_SAMPLE}/cancel-tool-call", "0.3.265"),
        "requeue sample": Requirement("post", f"{_SAMPLE}/requeue", "0.3.252"),
        "score task": Requirement("post", f"{_TASK}/score", "0.3.265"),
        "score sample": Requirement("post", f"{_SAMPLE}/score", "0.3.265"),
        "change task config": Requirement("patch", f"{_TASK}/config", _FIRST),
        "change process config": Requirement("patch", "/config", _FIRST),
    }
)
"""What each feature needs, by the versions that were run or read."""

DRY_RUN_API_VERSION = 3
"""API version from which an unknown parameter is refused. Before, `dry_run` would be ignored
and the action done."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The routes of one process.

    Attributes:
        parameters: Of each route, by (method, path).
    """

    parameters: Mapping[tuple[str, str], frozenset[str]]

    def has(self, feature: Feature) -> bool:
        """Whether this process can do or show it."""
        needed = REQUIREMENTS[feature]
        found = self.parameters.get((needed.method, needed.path))
        return found is not None and (needed.parameter is None or needed.parameter in found)

    def takes(self, feature: Feature, parameter: str) -> bool:
        """Whether the route of a feature takes this parameter (`dry_run`, a knob)."""
        needed = REQUIREMENTS[feature]
        return parameter in self.parameters.get((needed.method, needed.path), ())


def features(surface: Surface) -> frozenset[str]:
    """Return all that a process with these routes can show and do."""
    return frozenset(feature for feature in REQUIREMENTS if surface.has(feature))


def surface(body: bytes) -> Surface:
    """Decode `GET /openapi.json`.

    Raises:
        AnswerMalformed: It lists no routes.
    """
    paths = inner(parse_object(body), "paths")
    if not paths:
        raise AnswerMalformed("a list of routes without routes")
    found: dict[tuple[str, str], frozenset[str]] = {}
    for path in paths:
        methods = inner(paths, path)
        for method, route in methods.items():
            if isinstance(route, dict):
                taken = objects(cast("Mapping[str, object]", route), "parameters")
                names = (text(each, "name") for each in taken)
                found[method.lower(), path] = frozenset(name for name in names if name)
    return Surface(MappingProxyType(found))


def since(feature: Feature) -> str:
    """Return the first Inspect that has it."""
    return REQUIREMENTS[feature].since


@dataclass(frozen=True, slots=True)
class MissingFeature:
    """Something that a process's Inspect does not have yet, and the way to it.

    Attributes:
        sentence: Which version brings it.
        command: Brings that version to the interpreter that runs the eval. A running eval goes
            on with what it has.
    """

    sentence: str
    command: str


def missing(feature: Feature, surface: Surface, python: str | None = None) -> MissingFeature | None:
    """Return what keeps a feature away from a process; None where it has it.

    Args:
        feature: What is wanted.
        surface: The process's routes.
        python: Its interpreter, where known.
    """
    return None if surface.has(feature) else missing_feature(feature, python)


def missing_feature(feature: Feature, python: str | None) -> MissingFeature:
    """Return what is told of a feature that a process does not have."""
    first = since(feature)
    return MissingFeature(
        f"{feature}: that Inspect is too old, {first} brings it", upgrade_command(python, first)
    )


def upgrade_command(python: str | None, version: str) -> str:
    """Return the shell command that brings at least `version` to a machine's interpreter."""
    return f"{shlex.quote(python or 'python3')} -m pip install -U 'inspect-ai>={version}'"
