"""The fields of the launch form: every key of a spec, what it takes, in the order to fill them."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.launch.engines.registry import DEFAULT_ENGINE, ENGINES
from core.launch.form.field_text import FieldKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field.

    Attributes:
        key: Of the spec.
        section: The heading that it stands under.
        help: What it is for and how it is written, one sentence without its end.
        choices: All that it can be, where that is a few words.
        unset: What a blank means, in a few words; empty: it must be filled in.
    """

    key: str
    section: str
    kind: FieldKind
    help: str
    choices: tuple[str, ...] = ()
    unset: str = "not set"


def _field(
    key: str,
    kind: FieldKind,
    told: str,
    *choices: str,
    unset: str = "not set",
) -> tuple[str, FieldKind, str, tuple[str, ...], str]:
    return key, kind, told, choices, unset


_SECTIONS = {
    "What": (
        _field(
            "task",
            "one or many",
            "what runs: package/name, evalroom/smoke, or path/file.py@name; several, with commas,"
            " are a matrix",
            unset="",
        ),
        _field(
            "args", "table", "the task's own arguments: samples = 10, pass_rate = 0.7", unset="none"
        ),
        _field(
            "code",
            "code",
            "where a task's file is: repository = https://..., ref = main, token = NAME of its"
            " secret; or a folder there, like ~/evals",
            unset="none is needed",
        ),
        _field(
            "packages",
            "list of words",
            "further packages as pip names them: inspect-evals, openai",
            unset="none",
        ),
    ),
    "Model": (
        _field(
            "model",
            "one or many",
            "Inspect's model strings, provider/name; several, with commas, are a matrix",
            unset="",
        ),
        _field("base_url", "words", "the model's endpoint", unset="the provider's own"),
        _field("model_args", "table", "the model's own arguments: device = auto", unset="none"),
        _field("model_roles", "table", "role = model string: grader = openai/gpt-4o", unset="none"),
        _field(
            "secrets",
            "named",
            "variables whose values are secrets, by name alone: OPENAI_API_KEY, or"
            " OPENAI_API_KEY = name of another secret",
            unset="none",
        ),
        _field(
            "env", "table of words", "plain variables, no secrets: HF_HUB_OFFLINE = 1", unset="none"
        ),
    ),
    "Where": (
        _field(
            "machine",
            "one or many",
            "a machine's name, a tag, or any that fits; several, with commas, are a matrix",
            unset="",
        ),
        _field("gpus", "value", "how many GPUs are reserved", unset="0"),
        _field(
            "engine",
            "words",
            "how it is started there: in the background, or with a display to attach to",
            *ENGINES,
            unset=DEFAULT_ENGINE,
        ),
    ),
    "On error": (
        _field(
            "on_error",
            "on_error",
            "what happens when samples fail: stop, continue, or tolerate 0.1 (5: as many)",
            "stop",
            "continue",
            "tolerate",
            unset="",
        ),
        _field(
            "retry_attempts",
            "value",
            "how often a failed task is tried again",
            unset="as on_error says",
        ),
        _field(
            "retry_on_error", "value", "how often a failed sample is tried again", unset="never"
        ),
    ),
    "Limits": (
        _field(
            "limit", "value", "the first so many samples, or a range: 10, 10-20", unset="all"
        ),
        _field("sample_ids", "list of values", "these samples alone: 1, 2, a7", unset="all"),
        _field("epochs", "value", "how often each sample runs", unset="as the task says"),
        _field("message_limit", "value", "messages of a sample", unset="as the task says"),
        _field("token_limit", "value", "tokens of a sample: 500k", unset="as the task says"),
        _field("time_limit", "value", "seconds of a sample", unset="as the task says"),
        _field(
            "working_limit", "value", "seconds of a sample without its waits",
            unset="as the task says",
        ),
        _field("turn_limit", "value", "turns of a sample", unset="as the task says"),
        _field("cost_limit", "value", "dollars of a sample", unset="as the task says"),
    ),
    "Concurrency": (
        _field("max_samples", "value", "samples at once", unset="as Inspect does"),
        _field("max_tasks", "value", "tasks at once", unset="as Inspect does"),
        _field("max_connections", "value", "calls of a model at once", unset="as Inspect does"),
        _field("max_sandboxes", "value", "containers at once", unset="as Inspect does"),
        _field("max_subprocesses", "value", "subprocesses at once", unset="as Inspect does"),
    ),
    "More": (
        _field(
            "options",
            "table",
            "any other option of inspect eval-set: temperature = 0.5, seed = 7",
            unset="none",
        ),
        _field("inspect", "words", "the version of Inspect: 0.3.285", unset="what is there"),
        _field(
            "python",
            "words",
            "an interpreter on the machine, or a version that uv gets: 3.12",
            unset="as the machine's config says",
        ),
        _field(
            "inherit",
            "list of words",
            "INSPECT_ variables of the login that stay; the others are cleared",
            unset="none",
        ),
        _field(
            "keep", "value", "whether the process stays after its end", "true", "false",
            unset="false",
        ),
        _field(
            "acp", "value", "whether its samples can be steered over ACP", "true", "false",
            unset="false",
        ),
        _field(
            "display",
            "words",
            "Inspect's display, for an engine with a terminal",
            "full", "conversation", "rich", "plain", "log", "none",
            unset="full",
        ),
        _field(
            "log_dir",
            "words",
            "where logs go: a folder of the machine, or s3://...",
            unset="in the run's own folder",
        ),
        _field("tags", "list of words", "tags in its logs", unset="none"),
        _field("metadata", "table", "metadata in its logs: team = red", unset="none"),
        _field("notes", "words", "for people", unset="none"),
    ),
}  # fmt: skip

FIELDS: tuple[FormField, ...] = tuple(
    FormField(key=key, section=section, kind=kind, help=told, choices=choices, unset=unset)
    for section, fields in _SECTIONS.items()
    for key, kind, told, choices, unset in fields
)
"""In their order."""
FIELD_BY_KEY: Mapping[str, FormField] = {field.key: field for field in FIELDS}
