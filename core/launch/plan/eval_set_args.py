"""The exact arguments of `inspect eval-set` for one run, and what they mean in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from core.format import plural, times_in_words
from core.launch.plan.matrix import RunRequest
from core.launch.plan.sample_selection import sample_patterns, selected_samples
from core.launch.spec.eval_options import option_kind
from core.launch.spec.rules import task_file
from core.launch.spec.spec import BUILT_IN_TASKS, OnError, Spec, Tolerate
from core.launch.spec.yaml_quote import json_file, plain, word_value, yaml_float, yaml_value

TASK_ARGS_FILE = "task-args.json"
MODEL_ARGS_FILE = "model-args.json"
TASKS_FOLDER = "tasks"
"""The folder of built-in tasks within a run's folder."""
CODE_FOLDER = "code"
"""The folder of the checkout of a repository within a run's folder."""
LOGS_FOLDER = "logs"

_DEFAULT_RETRY_ATTEMPTS = 10
"""How many times eval-set retries a task that ended in error by default."""

_NUMBERS = (
    "limit", "epochs", "message_limit", "token_limit", "time_limit", "working_limit",
    "turn_limit", "cost_limit", "max_samples", "max_tasks", "max_connections", "max_sandboxes",
    "max_subprocesses",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetArgs:
    """The arguments of Inspect, from `eval-set` on.

    Attributes:
        words: One argument each.
        at_home: Indexes of the arguments whose `~/` is the home on the machine.
        files: Files that the arguments name, by path from the run's folder.
    """

    words: tuple[str, ...]
    at_home: frozenset[int] = frozenset()
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))


def eval_set_args(request: RunRequest, *, log_dir: str) -> EvalSetArgs:
    """Return the arguments for one run, without those of its engine.

    Args:
        request: What the spec asks for.
        log_dir: The log folder: absolute, from `~/`, a URL, or from the run's folder.
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
    """Return the task argument; paths of files start at the run's folder."""
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
    """Return the options for errors and retries."""
    words = list(_POLICY.get(spec.on_error, ()))
    if isinstance(spec.on_error, Tolerate):
        threshold = spec.on_error.threshold
        word = str(threshold) if isinstance(threshold, int) else yaml_float(threshold)
        words = ["--fail-on-error", word]
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
    """Return how many times a task that ended in error is retried at most."""
    if spec.retry_attempts is not None:
        return spec.retry_attempts
    return 0 if spec.on_error == "stop" else _DEFAULT_RETRY_ATTEMPTS


def on_error_means(spec: Spec) -> str:
    """Return what happens on an error, one sentence without its full stop."""
    again = retry_attempts(spec)
    times = f"up to {again} times" if again > 1 else "once"
    retried = f"is retried {times}" if again else "is not retried"
    return f"{_means(spec.on_error)}; that task {retried}"


def _means(choice: OnError) -> str:
    if choice == "stop":
        return "the first errored sample ends the task"
    if choice == "continue":
        return "all samples run; a task with errored samples ends in error"
    count = choice.threshold
    samples = f"{100 * count:.6g}% of its samples" if count < 1 else f"{count} of its samples"
    return f"the task ends in error once {samples} have errored"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """How many sample runs a run makes at most, if every sample and every task fails.

    Attributes:
        attempts: Attempts of each sample: those of its task times its own.
        samples: Samples times epochs of one attempt; None: unknown.
        selected: The samples in words, where their number is unknown.
    """

    attempts: int
    samples: int | None
    selected: str = "every sample of the task"

    @property
    def says(self) -> str:
        """The number in words, as after "at worst": `1100 sample runs (100 samples x 11)`."""
        if self.samples is None:
            return f"{self.selected}, {times_in_words(self.attempts)}"
        if self.attempts == 1:
            return plural(self.samples, "sample run")
        runs = self.attempts * self.samples
        return f"{runs} sample runs ({plural(self.samples, 'sample')} x {self.attempts})"


def worst_case(spec: Spec) -> WorstCase:
    """Return the largest number of sample runs of a run."""
    attempts = (1 + retry_attempts(spec)) * (1 + (spec.retry_on_error or 0))
    samples = _samples(spec)
    count = None if samples is None else samples * (spec.epochs or 1)
    if sample_patterns(spec.sample_ids):
        selected = "every sample that matches sample_ids"
        return WorstCase(attempts=attempts, samples=count, selected=selected)
    return WorstCase(attempts=attempts, samples=count)


def _samples(spec: Spec) -> int | None:
    has = _built_in_samples(spec)
    if spec.sample_ids:
        return selected_samples(spec.sample_ids, has)
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
            word = yaml_float(value) if isinstance(value, float) else str(value)
            words += [f"--{key.replace('_', '-')}", word]
    if spec.sample_ids:
        words.append(f"--sample-id={','.join(str(each) for each in spec.sample_ids)}")
    return words


def _arguments(
    option: str, file_option: str, values: Mapping[str, Any], file: str
) -> tuple[list[str], dict[str, bytes]]:
    """Return options for plain values, and a file for values that an option can't carry."""
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
        word = value if isinstance(value, str) else yaml_value(value)
        words += ["--model-role", f"{role}={word}"]
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
    return (f"{dashes}{bare}={_argument(value)}",)


def _each(value: Any) -> list[str]:
    """Return the values of a repeatable option: `{ a = 1 }` becomes `a=1`."""
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        return [f"{key}={yaml_value(each)}" for key, each in held.items()]
    if isinstance(value, list | tuple):
        return [_argument(each) for each in cast("Sequence[Any]", value)]
    return [_argument(value)]


def _argument(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return yaml_float(value)
    if isinstance(value, list | tuple):
        listed = cast("Sequence[Any]", value)
        if all(isinstance(each, str | int) for each in listed):
            return ",".join(str(each) for each in listed)
    return yaml_value(plain(value))
