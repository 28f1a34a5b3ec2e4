"""Features of Inspect: the version that brought each, and which of them a process has.

The API version changes only when a client must be changed; new routes come without a new one.
So the features of a process are read from its own list of routes (`/openapi.json`).
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from core.ctl.decode import inner, objects, parse_object, text
from core.errors import AnswerMalformed
from core.model.feature import Feature


@dataclass(frozen=True, slots=True)
class Requirement:
    """The route that a feature needs.

    Attributes:
        method, path: The route, as the process's own list names it.
        since: The first version of Inspect that has it.
        parameter: A parameter that the route must take; None: any.
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
        "pause now": Requirement("post", f"{_TASK}/pause", "0.3.260", "now"),
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
"""The route of each feature, found by running or reading these versions."""

DRY_RUN_API_VERSION = 3
"""First API version that refuses an unknown parameter. Older ones ignore `dry_run` and act."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The routes of one process.

    Attributes:
        parameters: The parameters of each route, by (method, path).
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
    """Return the features of a process with these routes."""
    return frozenset(feature for feature in REQUIREMENTS if surface.has(feature))


def surface(body: bytes) -> Surface:
    """Decode `GET /openapi.json`.

    Raises:
        AnswerMalformed: It does not list any route.
    """
    paths = inner(parse_object(body), "paths")
    if not paths:
        raise AnswerMalformed("the list of routes is empty")
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
    """Return the first version of Inspect that has a feature."""
    return REQUIREMENTS[feature].since


@dataclass(frozen=True, slots=True)
class MissingFeature:
    """A feature that the Inspect of a process does not have, and how to get it.

    Attributes:
        sentence: The version that brings it.
        command: The shell command that upgrades the interpreter of the eval. A running eval
            keeps the version that it started with.
    """

    sentence: str
    command: str


def missing(feature: Feature, surface: Surface, python: str | None = None) -> MissingFeature | None:
    """Return how to get a feature that a process lacks; None if it has the feature.

    Args:
        feature: The feature.
        surface: The routes of the process.
        python: The interpreter of the process; None: unknown.
    """
    return None if surface.has(feature) else missing_feature(feature, python)


def missing_feature(feature: Feature, python: str | None) -> MissingFeature:
    """Return how to get a feature, for the process of this interpreter (None: unknown)."""
    first = since(feature)
    return MissingFeature(
        sentence=f"{feature}: this Inspect is too old ({first} or newer has it)",
        command=upgrade_command(python, first),
    )


def upgrade_command(python: str | None, version: str) -> str:
    """Return the shell command that upgrades an interpreter's Inspect to `version` or newer."""
    return f"{shlex.quote(python or 'python3')} -m pip install -U 'inspect-ai>={version}'"
