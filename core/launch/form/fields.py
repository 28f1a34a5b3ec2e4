"""The fields of the launch form: every key of a spec, in the order to fill them in."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.launch.engines.registry import DEFAULT_ENGINE, ENGINES
from core.launch.form.field_text import FieldKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field.

    Attributes:
        key: The key of the spec.
        section: Its heading in the form.
        kind: How its text is read.
        help: What it is for and how to write it, one sentence without its full stop.
        choices: Its possible values, if they are a few words.
        unset: What a blank means, in a few words; empty: the field must be filled in.
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
    help_text: str,
    *choices: str,
    unset: str = "not set",
) -> tuple[str, FieldKind, str, tuple[str, ...], str]:
    return key, kind, help_text, choices, unset


_SECTIONS = {
    "What": (
        _field(
            "task",
            "one or many",
            "the task to run: package/name, evalroom/smoke or path/file.py@name; several,"
            " separated by commas, make one run each",
            unset="",
        ),
        _field(
            "args", "table", "arguments of the task: samples = 10, pass_rate = 0.7", unset="none"
        ),
        _field(
            "code",
            "code",
            "where the file of the task is: repository = https://..., ref = main, and"
            " token = SECRET_NAME if it is private; or a folder on the machine, like ~/evals",
            unset="none needed",
        ),
        _field(
            "packages",
            "list of words",
            "more Python packages to install, as pip names them: inspect-evals, openai",
            unset="none",
        ),
    ),
    "Model": (
        _field(
            "model",
            "one or many",
            "the model, as provider/name: openai/gpt-4o; several, separated by commas, make one"
            " run each",
            unset="",
        ),
        _field(
            "base_url",
            "words",
            "the URL of the model's endpoint: http://localhost:8000/v1",
            unset="the provider's default",
        ),
        _field("model_args", "table", "arguments of the model: device = auto", unset="none"),
        _field(
            "model_roles",
            "table",
            "models for roles in the task: grader = openai/gpt-4o",
            unset="none",
        ),
        _field(
            "secrets",
            "named",
            "variables that get secret values: OPENAI_API_KEY, or OPENAI_API_KEY = SECRET_NAME if"
            " the secret has another name",
            unset="none",
        ),
        _field(
            "env",
            "table of words",
            "variables that are not secret: HF_HUB_OFFLINE = 1",
            unset="none",
        ),
    ),
    "Where": (
        _field(
            "machine",
            "one or many",
            "the name of a machine, a tag, or any: evalroom then chooses a machine that fits;"
            " several, separated by commas, make one run each",
            unset="",
        ),
        _field("gpus", "value", "how many GPUs to reserve for the run", unset="0"),
        _field(
            "engine",
            "words",
            "how to start the run: in the background (detach), or with a display that you can"
            " attach to (tmux)",
            *ENGINES,
            unset=DEFAULT_ENGINE,
        ),
    ),
    "On error": (
        _field(
            "on_error",
            "on_error",
            "what happens when a sample errors: stop, continue, or tolerate 0.1 (stop once 10%"
            " of the samples errored; 5 means five samples)",
            "stop",
            "continue",
            "tolerate",
            unset="",
        ),
        _field(
            "retry_attempts",
            "value",
            "how many times a task that ended in error is retried",
            unset="the default of on_error",
        ),
        _field(
            "retry_on_error", "value", "how many times an errored sample is retried", unset="never"
        ),
    ),
    "Limits": (
        _field(
            "limit",
            "value",
            "how many samples to run, or which range: 10 for the first ten, 10-20",
            unset="all",
        ),
        _field("sample_ids", "list of values", "run only these samples: 1, 2, a7", unset="all"),
        _field("epochs", "value", "how many times to run each sample", unset="the task's default"),
        _field(
            "message_limit", "value", "message limit for each sample", unset="the task's default"
        ),
        _field(
            "token_limit", "value", "token limit for each sample: 500k", unset="the task's default"
        ),
        _field(
            "time_limit", "value", "time limit for each sample, seconds", unset="the task's default"
        ),
        _field(
            "working_limit",
            "value",
            "time limit for each sample, seconds, without waits and retries",
            unset="the task's default",
        ),
        _field("turn_limit", "value", "turn limit for each sample", unset="the task's default"),
        _field(
            "cost_limit",
            "value",
            "cost limit for each sample, dollars",
            unset="the task's default",
        ),
    ),
    "Concurrency": (
        _field(
            "max_samples",
            "value",
            "how many samples run at the same time",
            unset="Inspect's default",
        ),
        _field(
            "max_tasks",
            "value",
            "how many tasks run at the same time",
            unset="Inspect's default",
        ),
        _field(
            "max_connections",
            "value",
            "how many calls to one model run at the same time",
            unset="Inspect's default",
        ),
        _field(
            "max_sandboxes",
            "value",
            "how many containers run at the same time",
            unset="Inspect's default",
        ),
        _field(
            "max_subprocesses",
            "value",
            "how many subprocesses run at the same time",
            unset="Inspect's default",
        ),
    ),
    "More": (
        _field(
            "options",
            "table",
            "other options of `inspect eval-set`: temperature = 0.5, seed = 7",
            unset="none",
        ),
        _field(
            "inspect", "words", "the version of Inspect: 0.3.285", unset="the installed one"
        ),
        _field(
            "python",
            "words",
            "an interpreter on the machine (/opt/venv/bin/python), or a version that uv"
            " installs (3.12)",
            unset="the machine's, from the config",
        ),
        _field(
            "inherit",
            "list of words",
            "the login's INSPECT_ variables to keep: INSPECT_LOG_LEVEL; the others are cleared",
            unset="none",
        ),
        _field(
            "keep",
            "value",
            "whether the process stays alive after its eval ends",
            "true",
            "false",
            unset="false",
        ),
        _field(
            "acp",
            "value",
            "whether you can steer its samples over ACP",
            "true",
            "false",
            unset="false",
        ),
        _field(
            "display",
            "words",
            "Inspect's display; needs an engine with a terminal",
            "full", "conversation", "rich", "plain", "log", "none",
            unset="full",
        ),
        _field(
            "log_dir",
            "words",
            "where the logs go: a folder on the machine, or a URL like s3://...",
            unset="the run's own folder",
        ),
        _field("tags", "list of words", "tags to write into the logs", unset="none"),
        _field("metadata", "table", "metadata to write into the logs: team = red", unset="none"),
        _field("notes", "words", "notes for people", unset="none"),
    ),
}  # fmt: skip

FIELDS: tuple[FormField, ...] = tuple(
    FormField(key=key, section=section, kind=kind, help=help_text, choices=choices, unset=unset)
    for section, fields in _SECTIONS.items()
    for key, kind, help_text, choices, unset in fields
)
"""All fields, in the order of the form."""
FIELD_BY_KEY: Mapping[str, FormField] = {field.key: field for field in FIELDS}
