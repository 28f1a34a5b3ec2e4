"""The features of an Inspect, by name; `core.ctl.features` says what each needs."""

from typing import Literal

Feature = Literal[
    "tasks", "samples", "sample", "events", "messages", "store", "task config", "process config",
    "throughput", "task score", "sample score", "log flush", "keep", "release",
    "pause task", "resume task", "pause process", "resume process", "pause now",
    "pause model", "resume model", "cancel task", "drain task", "cancel sample",
    "cancel tool call", "requeue sample", "score task", "score sample",
    "change task config", "change process config",
]  # fmt: skip
"""Something that Inspect can show or do."""
