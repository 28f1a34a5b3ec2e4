"""The exact words of `inspect eval-set` for one launch. No shell reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from core.launch.plan.matrix import RunRequest
from core.launch.spec.eval_options import option_kind
from core.launch.spec.rules import task_file
from core.launch.spec.spec import BUILT_IN_TASKS, OnError, Spec, Tolerate
from core.launch.spec.yaml_quote import json_file, plain, word_value, yaml_float, yaml_value

TASK_ARGS_FILE = "task-args.json"
MODEL_ARGS_FILE = "model-args.json"
TASKS_FOLDER = "tasks"
"""The folder of built-in tasks in a run's own."""
CODE_FOLDER = "code"
"""The folder of a repository's checkout in a run's own."""
LOGS_FOLDER = "logs"

_DEFAULT_RETRY_ATTEMPTS = 10
"""How often eval-set tries a failed task again where it is not told."""

_NUMBERS = (
    "limit", "epochs", "message_limit", "token_limit", "time_limit", "working_limit",
    "turn_limit", "cost_limit", "max_samples", "max_tasks", "max_connections", "max_sandboxes",
    "max_subprocesses",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetArgs:
    """What Inspect is called with, after `inspect`.

    Attributes:
        words: One argument each; a path may begin with `~/` where `at_home` says so.
        at_home: Indexes of the words whose `~/` means the home over there.
        files: What the words name, by the path from the run's folder.
    """

    words: tuple[str, ...]
    at_home: frozenset[int] = frozenset()
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))


def eval_set_args(request: RunRequest, *, log_dir: str) -> EvalSetArgs:
    """Return the words of a launch, without `--detach`: that is the engine's.

    Args:
        request: What is asked for.
        log_dir: Where its logs go; from the run's folder, absolute, or from `~/`.
    """
    spec = request.spec
    task_args, task_files = _arguments("-T", "--task-config", spec.args, TASK_ARGS_FILE)
    model_args, model_files = _arguments("-M", "--model-config", spec.model_args, MODEL_ARGS_FILE)
    words = [
        "eval-set",
        task_word(spec),
        "--model",
        request.model,
        *([] if spec.base_url is None else [f"--model-base-url={spec.base_url}"]),
        *model_args,
        *_roles(spec.model_roles),
        *task_args,
        *_numbers(spec),
        *on_error_words(spec),
        *_options(spec.options),
        *([f"--tags={','.join(spec.tags)}"] if spec.tags else []),
        *(w for k, v in spec.metadata.items() for w in ("--metadata", f"{k}={yaml_value(v)}")),
        *(["--acp-server=true"] if spec.acp else []),
        *(["--ctl-server=keep"] if spec.keep else []),
        "--log-dir",
        log_dir,
    ]
    homes = {1} if words[1].startswith("~/") else set[int]()
    if log_dir.startswith("~/"):
        homes.add(len(words) - 1)
    return EvalSetArgs(
        words=tuple(words),
        at_home=frozenset(homes),
        files=MappingProxyType({**task_files, **model_files}),
    )


def task_word(spec: Spec) -> str:
    """Return the task as Inspect is told it: names of files are from the run's folder."""
    task = spec.task[0]
    if task in BUILT_IN_TASKS:
        name = BUILT_IN_TASKS[task]
        return f"{TASKS_FOLDER}/{name.rpartition('/')[2]}.py@{name}"
    file = task_file(task)
    if file is None or file[0].startswith(("/", "~/")) or spec.code is None:
        return task
    directory = spec.code.directory
    return f"{CODE_FOLDER if directory is None else directory.rstrip('/')}/{task}"


def on_error_words(spec: Spec) -> tuple[str, ...]:
    """Return the words of what happens on an error, with the attempts of tasks and samples."""
    words = list(_POLICY.get(spec.on_error, ()))
    if isinstance(spec.on_error, Tolerate):
        threshold = spec.on_error.threshold
        said = str(threshold) if isinstance(threshold, int) else yaml_float(threshold)
        words = ["--fail-on-error", said]
    attempts = retry_attempts(spec)
    if spec.retry_attempts is not None or spec.on_error == "stop":
        words += ["--retry-attempts", str(attempts)]
    if spec.retry_on_error:
        words.append(f"--retry-on-error={spec.retry_on_error}")
    return tuple(words)


_POLICY: Mapping[OnError, tuple[str, ...]] = MappingProxyType(
    {"stop": ("--fail-on-error",), "continue": ("--continue-on-fail",)}
)


def retry_attempts(spec: Spec) -> int:
    """Return how often a failed task is tried again at most."""
    if spec.retry_attempts is not None:
        return spec.retry_attempts
    return 0 if spec.on_error == "stop" else _DEFAULT_RETRY_ATTEMPTS


def on_error_means(spec: Spec) -> str:
    """Return what a spec's choice means, one sentence without its end."""
    again = retry_attempts(spec)
    tried = f"is tried again up to {again} times" if again > 1 else "is tried again once"
    return f"{_means(spec.on_error)}; a failed task {tried if again else 'is not tried again'}"


def _means(choice: OnError) -> str:
    if choice == "stop":
        return "the first failed sample ends the task"
    if choice == "continue":
        return "every sample runs; if any failed the task ends as failed"
    share = f"a share of {choice.threshold:.6g}" if choice.threshold < 1 else str(choice.threshold)
    return f"the task fails once {share} of its samples failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """How much a run can come to when all fails.

    Attributes:
        attempts: Of each sample, those of its task and its own multiplied.
        samples: In one attempt, epochs multiplied; None: all of the task, not known here.
    """

    attempts: int
    samples: int | None

    @property
    def says(self) -> str:
        """In words: `up to 11 x 100 sample runs`."""
        if self.samples is None:
            return f"up to {self.attempts} x all samples of the task"
        return f"up to {self.attempts} x {self.samples} sample runs"


def worst_case(spec: Spec) -> WorstCase:
    """Return how many sample runs a launch comes to at most."""
    attempts = (1 + retry_attempts(spec)) * (1 + (spec.retry_on_error or 0))
    samples = _samples(spec)
    return WorstCase(
        attempts=attempts, samples=None if samples is None else samples * (spec.epochs or 1)
    )


def _samples(spec: Spec) -> int | None:
    has = _built_in_samples(spec)
    if spec.sample_ids:
        return len(spec.sample_ids)
    if spec.limit is None:
        return has
    first, last = spec.limit if isinstance(spec.limit, tuple) else (1, spec.limit)
    if has is not None:
        last = min(last, has)
    return max(0, last - first + 1)


def _built_in_samples(spec: Spec) -> int | None:
    match BUILT_IN_TASKS.get(spec.task[0]):
        case "evalroom/smoke":
            samples = spec.args.get("samples", 10)
            is_count = isinstance(samples, int) and not isinstance(samples, bool)
            return samples if is_count else None
        case "evalroom/arithmetic":
            return 20
        case _:
            return None


def _numbers(spec: Spec) -> list[str]:
    words: list[str] = []
    for key in _NUMBERS:
        value: Any = getattr(spec, key)
        if isinstance(value, tuple):
            value = "-".join(str(each) for each in cast("tuple[int, int]", value))
        if value is not None:
            said = yaml_float(value) if isinstance(value, float) else str(value)
            words += [f"--{key.replace('_', '-')}", said]
    if spec.sample_ids:
        words.append(f"--sample-id={','.join(str(each) for each in spec.sample_ids)}")
    return words


def _arguments(
    option: str, file_option: str, values: Mapping[str, Any], file: str
) -> tuple[list[str], dict[str, bytes]]:
    """Return words for the plain values, and a file for those that a word would change."""
    words: list[str] = []
    rest: dict[str, Any] = {}
    for key, value in values.items():
        word = word_value(value)
        if word is None:
            rest[key] = value
        else:
            words += [option, f"{key}={word}"]
    if not rest:
        return words, {}
    return [file_option, file, *words], {file: json_file(rest)}


def _roles(roles: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for role, value in roles.items():
        said = value if isinstance(value, str) else yaml_value(value)
        words += ["--model-role", f"{role}={said}"]
    return words


def _options(options: Mapping[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in _option(name, value)]


def _option(name: str, value: Any) -> Sequence[str]:
    found = option_kind(name)
    bare, kind = (name, None) if found is None else found
    dashes = "-" if len(bare) == 1 else "--"
    if isinstance(value, bool) and kind not in {"optional", "many", "value"}:
        says_yes = value is (name == bare)
        return (f"--{bare}",) if says_yes else (f"--no-{bare}",)
    if kind == "many":
        return [word for each in _each(value) for word in (f"{dashes}{bare}", each)]
    if value is True:
        return (f"--{bare}",)
    if value is False:
        return (f"--{bare}=false",)
    return (f"{dashes}{bare}={_said(value)}",)


def _each(value: Any) -> list[str]:
    """Return the values of an option that is given several times: `{ a = 1 }` is `a=1`."""
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        return [f"{key}={yaml_value(each)}" for key, each in held.items()]
    if isinstance(value, list | tuple):
        return [_said(each) for each in cast("Sequence[Any]", value)]
    return [_said(value)]


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return yaml_float(value)
    if isinstance(value, list | tuple):
        listed = cast("Sequence[Any]", value)
        if all(isinstance(each, str | int) for each in listed):
            return ",".join(str(each) for each in listed)
    return yaml_value(plain(value))
