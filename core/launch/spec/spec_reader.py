"""Reads a launch spec from TOML or JSON text, and reports everything that is wrong with it."""

import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO, cast

from core.config.rules import InvalidValue, Rule, UnknownKey, name
from core.config.toml_errors import TOML_HINT, parse_error
from core.config.toml_lines import KeyPath, line_of, lines_of
from core.errors import OnErrorMissing, SpecWrong
from core.launch.engines.registry import DEFAULT_ENGINE, ENGINES, terminal_engine_line
from core.launch.spec import rules
from core.launch.spec import table_rules as tables
from core.launch.spec.secret_patterns import has_secret_shape
from core.launch.spec.spec import BUILT_IN_TASK_ARGS, BUILT_IN_TASKS, Spec
from core.launch.spec.spec_author import author_of
from core.launch.spec.validators import list_of, one_or_many
from core.named_file import open_to_read
from core.text import shown

MAX_SPEC_BYTES = 1 << 20
"""Largest spec file, bytes."""

ON_ERROR_CHOICES = (
    '"stop": the first errored sample ends the task, and nothing is retried',
    '"continue": all samples run; a task with errored samples ends in error and is retried',
    "{ tolerate = 0.1 }: stop once 10% of the samples errored (5 means five samples)",
)
"""The choices for `on_error`, one line each."""

_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "task": one_or_many(rules.task),
        "model": one_or_many(rules.model),
        "machine": one_or_many(name),
        "on_error": rules.on_error,
        "args": tables.arguments,
        "retry_attempts": rules.COUNT,
        "retry_on_error": rules.COUNT,
        "limit": rules.limit,
        "sample_ids": list_of(rules.sample_id, "sample ids"),
        "epochs": rules.WHOLE,
        "message_limit": rules.WHOLE,
        "token_limit": rules.token_limit,
        "time_limit": rules.WHOLE,
        "working_limit": rules.WHOLE,
        "turn_limit": rules.WHOLE,
        "cost_limit": rules.DOLLARS,
        "max_samples": rules.WHOLE,
        "max_tasks": rules.WHOLE,
        "max_connections": rules.WHOLE,
        "max_sandboxes": rules.WHOLE,
        "max_subprocesses": rules.WHOLE,
        "options": tables.options,
        "base_url": rules.url,
        "model_args": tables.arguments,
        "model_roles": tables.model_roles,
        "gpus": rules.GPUS,
        "code": rules.code,
        "packages": list_of(rules.package, "packages"),
        "inspect": rules.version,
        "python": rules.python,
        "env": rules.variables,
        "secrets": rules.secrets,
        "inherit": list_of(rules.inherited, "variables"),
        "engine": rules.engine,
        "keep": rules.FLAG,
        "acp": rules.FLAG,
        "display": rules.DISPLAY,
        "log_dir": rules.log_dir,
        "tags": list_of(rules.tag, "tags"),
        "metadata": tables.metadata,
        "notes": rules.notes,
    }
)
SPEC_KEYS = tuple(_RULES)
"""All keys of a spec."""

_NEEDED = {
    "task": 'name the task, like task = "evalroom/smoke"',
    "model": 'name the model, like model = "mockllm/model"',
    "machine": 'name a machine or a tag, or write machine = "any"',
}
WITHHELD_KEYS = frozenset(
    {"env", "secrets", "code", "base_url", "model_args", "model_roles", "options", "metadata"}
    | {"args", "packages", "log_dir"}
)
"""Keys whose wrong values may be secrets: such values are neither shown nor saved."""
_WHICH_GPUS = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
)


def read_spec(source: str, *, stdin: TextIO | None = None, sets: Sequence[str] = ()) -> Spec:
    """Read a spec file and check all of its fields.

    Args:
        source: A path, or `-` for standard input.
        stdin: The standard input.
        sets: `key=value` arguments that override the file.

    Raises:
        SpecWrong: The file can't be read, or fields are wrong: the message has the first
            problem, the advice all others.
    """
    where = "standard input" if source == "-" else source
    spec, wrong = check_spec(read_text(source, stdin=stdin), where, sets=sets)
    if spec is not None and not wrong:
        return replace(spec, author="" if source == "-" else author_of(Path(source).expanduser()))
    first = wrong[0]
    if len(wrong) == 1:
        raise first
    place = str(shown(where))
    others = "; ".join(
        each.message.removeprefix(f"{place}: ").removeprefix(f"{place}, ") for each in wrong[1:]
    )
    raise type(first)(first.message, f"{first.advice} (also: {others})".strip())


def read_text(source: str, *, stdin: TextIO | None = None) -> str:
    """Return the text of a spec file.

    Raises:
        SpecWrong: The file can't be read, is too large, or is not UTF-8.
    """
    name = "standard input" if source == "-" else shown(source)
    try:
        if source == "-":
            raw = b"" if stdin is None else stdin.buffer.read(MAX_SPEC_BYTES + 1)
        else:
            with open_to_read(Path(source).expanduser()) as file:
                raw = file.read(MAX_SPEC_BYTES + 1)
    except FileNotFoundError:
        raise SpecWrong(
            f"the spec {name} does not exist", "start from a template: evalroom templates"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in it, or an unknown `~user`
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SpecWrong(f"can't read {name}: {shown(why)}") from None
    if len(raw) > MAX_SPEC_BYTES:
        raise SpecWrong(f"{name} is larger than 1 MiB", "check that it is the right file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecWrong(f"{name}, line {line}: not UTF-8", "save the file as UTF-8") from None


def check_spec(
    text: str, where: str, *, sets: Sequence[str] = ()
) -> tuple[Spec | None, tuple[SpecWrong, ...]]:
    """Check the text of a spec, TOML or JSON (which begins with a brace).

    Args:
        text: The spec's text.
        where: The name of its source in messages.
        sets: See `read_spec`.

    Returns:
        The spec, or None if it is wrong; and all problems, by line.
    """
    is_json = text.lstrip().startswith("{")
    try:
        table = _json(text) if is_json else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return None, (_wrong(where, *parse_error(str(error)), TOML_HINT),)
    except json.JSONDecodeError as error:
        return None, (_wrong(where, error.lineno, f"invalid JSON: {error.msg}", ""),)
    except RecursionError:
        return None, (_wrong(where, None, "nested too deeply", ""),)
    except ValueError as error:  # a key twice, or a number of too many digits
        text_ = str(error) if is_json and error.args else "a number has too many digits"
        return None, (_wrong(where, None, text_, ""),)
    reading = _SpecReader(where, {} if is_json else lines_of(text))
    try:
        reading.set(table, sets)
        spec = reading.spec(table)
    except RecursionError:
        return None, (_wrong(where, None, "nested too deeply", ""),)
    return spec, reading.wrong()


def _json(text: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f'"{shown(twice)}" appears twice')
        return out

    value = json.loads(text, object_pairs_hook=once)
    return cast("dict[str, Any]", value)


def _wrong(where: str, line: int | None, what: str, advice: str) -> SpecWrong:
    at = f", line {line}" if line else ""
    return SpecWrong(f"{shown(where)}{at}: {what}", advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecProblem:
    """One problem in a spec.

    Attributes:
        at: The path of keys down to it; empty: it concerns the whole spec.
        what, advice: The fault, and the allowed values; harmless to show.
        kind: The class of its error.
    """

    at: KeyPath
    what: str
    advice: str
    kind: type[SpecWrong] = SpecWrong


def check_table(table: Mapping[str, Any]) -> tuple[Spec | None, tuple[SpecProblem, ...]]:
    """Check a spec that is already a table.

    Returns:
        The spec, or None if it is wrong; and all problems, in no particular order.
    """
    reading = _SpecReader("the spec", {})
    try:
        return reading.spec(table), reading.problems
    except RecursionError:
        return None, (SpecProblem(at=(), what="nested too deeply", advice=""),)


class _SpecReader:
    """One pass over a parsed spec; it collects problems instead of raising the first."""

    def __init__(self, where: str, lines: Mapping[KeyPath, int]) -> None:
        self._where = where
        self._lines = lines
        self._set: list[KeyPath] = []
        self._problems: list[SpecProblem] = []

    @property
    def problems(self) -> tuple[SpecProblem, ...]:
        return tuple(self._problems)

    def wrong(self) -> tuple[SpecWrong, ...]:
        placed = [(self._line(each.at) or 0, each) for each in self._problems]
        placed.sort(key=lambda pair: pair[0])
        return tuple(
            each.kind(f"{self._place(each.at, line)}: {each.what}", each.advice)
            for line, each in placed
        )

    def _line(self, at: KeyPath) -> int | None:
        return None if self._was_set(at) else line_of(self._lines, at)

    def _was_set(self, at: KeyPath) -> bool:
        return any(at[: len(each)] == each or each[: len(at)] == at for each in self._set if at)

    def _place(self, at: KeyPath, line: int) -> str:
        if self._was_set(at):
            return "--set"
        return f"{shown(self._where)}, line {line}" if line else str(shown(self._where))

    def set(self, table: dict[str, Any], sets: Sequence[str]) -> None:
        for word in sets:
            key, is_one, value = word.partition("=")
            path = tuple(key.strip().split("."))
            if not is_one or not all(path):
                advice = "write --set limit=5 or --set args.samples=20"
                self._problem((), f'--set "{shown(word)}" is not key=value', advice)
                continue
            self._set.append(path)
            held: dict[str, Any] = table
            for part in path[:-1]:
                inner: Any = held.get(part)
                held[part] = dict(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else {}
                held = held[part]
            held[path[-1]] = parse_typed(value)

    def spec(self, table: Mapping[str, Any]) -> Spec | None:
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _RULES:
                self._unknown((key,), SPEC_KEYS)
            elif not (key in {*_NEEDED, "on_error"} and value == ""):  # a blank of a template
                self._value(key, value, values)
        for key, advice in _NEEDED.items():
            if key not in table or table[key] == "":
                self._problem((key,), f'"{key}" is missing', advice)
        if table.get("on_error", "") == "":
            what = '"on_error" is missing: choose what happens when a sample errors'
            advice = "write on_error = one of these:\n  " + "\n  ".join(ON_ERROR_CHOICES)
            problem = SpecProblem(at=("on_error",), what=what, advice=advice, kind=OnErrorMissing)
            self._problems.append(problem)
        self._together(values)
        return None if self._problems else Spec(**values)

    def _value(self, key: str, value: object, values: dict[str, Any]) -> None:
        try:
            values[key] = _RULES[key](value)
        except UnknownKey as wrong:
            self._unknown((key, *wrong.within), wrong.keys)
        except InvalidValue as wrong:
            at = (key, *wrong.within)
            there = _at(value, wrong.within)
            is_withheld = key in WITHHELD_KEYS or has_secret_shape(str(there))
            text_ = "" if is_withheld else f": {_quoted(there)}"
            is_blank = wrong.within and there == ""  # a blank of a template
            what = "is missing" if is_blank else f"is wrong{text_}"
            self._problem(at, f'"{_dotted(at)}" {what}', f"allowed: {wrong.allowed}")

    def _together(self, values: Mapping[str, Any]) -> None:
        """Check the fields that depend on each other."""
        if "limit" in values and "sample_ids" in values:
            advice = "remove one: Inspect accepts only one of them"
            self._problem(("sample_ids",), '"limit" and "sample_ids" are both set', advice)
        tasks = [BUILT_IN_TASKS.get(each) for each in values.get("task", ())]
        known = {arg for each in tasks for arg in BUILT_IN_TASK_ARGS.get(each or "", ())}
        for arg in values.get("args", ()) if tasks and all(tasks) else ():
            if arg not in known:  # Inspect would ignore it silently
                self._unknown(("args", arg), tuple(sorted(known)))
        self._variables(values)
        if "code" not in values:
            for index, task in enumerate(values.get("task", ())):
                file = rules.task_file(task)
                if file and not file[0].startswith(("/", "~/")):
                    advice = "add code = { repository = ... } or code = { directory = ... }, or"
                    advice += ' start the path with "/" or "~/"'
                    what = f'"task" is a relative path, and "code" is not set: {_quoted(task)}'
                    self._problem(("task", index), what, advice)
        engine = ENGINES.get(values.get("engine", DEFAULT_ENGINE))
        if engine is not None and not engine.has_terminal and "display" in values:
            advice = f'add {terminal_engine_line()}, or remove "display"'
            self._problem(("display",), '"display" needs an engine with a terminal', advice)

    def _variables(self, values: Mapping[str, Any]) -> None:
        for each in values.get("env", ()):
            if each in values.get("secrets", ()):
                what = f'"{shown(each)}" is set in both "env" and "secrets"'
                self._problem(("env", each), what, "remove it from one of them")
            if each in _WHICH_GPUS and values.get("gpus"):
                what = f'"gpus" and the variable "{each}" are both set'
                self._problem(("env", each), what, 'remove one: "gpus" sets the variable itself')

    def _unknown(self, at: KeyPath, known: tuple[str, ...]) -> None:
        key = str(at[-1])
        near = difflib.get_close_matches(key, known, n=1)
        meant = f'did you mean "{near[0]}"? ' if near else ""
        holder = f" in {_dotted(at[:-1])}" if len(at) > 1 else ""
        advice = f"{meant}allowed: {', '.join(known) or 'none'}"
        self._problem(at, f'unknown key "{shown(key)}"{holder}', advice)

    def _problem(self, at: KeyPath, what: str, advice: str) -> None:
        self._problems.append(SpecProblem(at=at, what=what, advice=advice))


def parse_typed(text: str) -> Any:
    """Return the value of a text that was typed alone, as for `--set`: TOML, or plain text."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return table["value"] if tuple(table) == ("value",) else text


def _dotted(at: KeyPath) -> str:
    out = ""
    for each in at:
        out += f"[{each}]" if isinstance(each, int) else f"{'.' if out else ''}{shown(each, 60)}"
    return out


def _at(value: object, within: tuple[str | int, ...]) -> object:
    held: Any = value
    for each in within:
        try:
            held = held[each]
        except (LookupError, TypeError):
            return cast("object", held)
    return cast("object", held)


def _quoted(value: object) -> str:
    """Return a wrong value as written, harmless and short."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{shown(value, 60)}"'
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return str(shown(value, 60))
