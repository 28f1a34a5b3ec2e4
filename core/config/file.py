"""Reads the config file: TOML to `Config`, or a list of errors, each with its line."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from core.config import rules
from core.config.judge import JudgeConfig, JudgeRule
from core.config.judge_table import judge_values
from core.config.keys import conflicts
from core.config.model import Config, MachineConfig, ScreenConfig, StorageConfig, WatchConfig
from core.config.notify import NotifyRule
from core.config.notify_rules import NOTIFY
from core.config.toml_errors import TOML_HINT, parse_error
from core.config.toml_lines import KeyPath, line_of, lines_of
from core.errors import ConfigWrong
from core.ids import MachineName
from core.named_file import open_to_read
from core.text import shown

MAX_BYTES = 1 << 20
"""The largest config file that is read."""

LOCAL = MachineConfig(name=MachineName("local"), link="command")
"""This computer: the only machine if the config names none."""

_HOUR_S = 3_600.0
_SSH_ONLY = ("host", "user", "port", "identity", "known_hosts", "ssh_config")


def default_config() -> Config:
    """Return the config that applies without a file: this computer is the only machine."""
    return Config(machines=(LOCAL,))


def read_config(
    path: Path,
    *,
    actions: Mapping[str, str] | None = None,
    judged: Sequence[JudgeRule] | None = None,
    kinds: Sequence[str] | None = None,
) -> Config:
    """Read a config file.

    Args:
        path: The file; `~` is not expanded.
        actions: The actions that `[keys]` may name, with their default keys; None: any name.
        judged: The numbers that `[judge]` may name; None: the table is not read.
        kinds: The kinds of findings that `[[notify]]` may name; None: any.

    Raises:
        ConfigWrong: The file can't be read, or a key or value is wrong. Describes the first
            error and counts the others.
    """
    config, errors = check_config(text_of(path), path, actions=actions, judged=judged, kinds=kinds)
    if not errors:
        return config
    first = errors[0]
    if len(errors) == 1:
        raise first
    others = f"{len(errors) - 1} more: evalroom config check lists all"
    raise ConfigWrong(first.message, f"{first.advice} ({others})".strip())


def check_config(
    text: str,
    path: Path,
    *,
    actions: Mapping[str, str] | None = None,
    judged: Sequence[JudgeRule] | None = None,
    kinds: Sequence[str] | None = None,
) -> tuple[Config, tuple[ConfigWrong, ...]]:
    """Read a config's text.

    Returns:
        The config, without its wrong parts, and all errors in the order of their lines.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return default_config(), (_error(path, *parse_error(str(error)), TOML_HINT),)
    except RecursionError:
        what = "the file is nested too deeply"
        return default_config(), (_error(path, None, what, "compare it with config.example.toml"),)
    except ValueError:  # a number with too many digits; tomllib gives no line for it
        what = "a number has too many digits"
        return default_config(), (_error(path, None, what, "write a shorter number"),)
    reader = _ConfigReader(path, lines_of(text))
    config = reader.config(table, actions, judged)
    reader.refuse_unknown_words(config, kinds)
    return config, reader.errors()


def text_of(path: Path) -> str:
    """Return the text of a config file.

    Raises:
        ConfigWrong: The file can't be read, is too large, or is not UTF-8.
    """
    place = shown(str(path))
    try:
        with open_to_read(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigWrong(
            f"the config file {place} does not exist",
            "create it from config.example.toml, or name another file with --config",
        ) from None
    except OSError as error:
        raise ConfigWrong(
            f"can't read {place}: {error.strerror}", "check the file and its permissions"
        ) from None
    if len(raw) > MAX_BYTES:
        raise ConfigWrong(f"{place} is larger than 1 MiB", "check that it is the right file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _error(path, line, "this line is not UTF-8 text", "save the file as UTF-8") from None


def _error(path: Path, line: int | None, what: str, advice: str) -> ConfigWrong:
    at = f", line {line}" if line else ""
    return ConfigWrong(f"{shown(str(path))}{at}: {what}", advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    at: KeyPath
    what: str
    advice: str


class _ConfigReader:
    """Reads one parsed file; collects errors instead of raising them."""

    def __init__(self, path: Path, lines: Mapping[KeyPath, int]) -> None:
        self._path = path
        self._lines = lines
        self._problems: list[_Problem] = []
        self._top_rules: Mapping[str, rules.Rule] = {"read_only": rules.flag}
        self._table_rules: Mapping[str, Mapping[str, rules.Rule]] = {
            "watch": _WATCH,
            "screen": _SCREEN,
            "storage": _STORAGE,
            "logs": _LOGS,
        }
        self._machine_rules: Mapping[str, rules.Rule] = _machine_rules(path.parent)

    def errors(self) -> tuple[ConfigWrong, ...]:
        placed = [(line_of(self._lines, each.at) or 0, each) for each in self._problems]
        placed.sort(key=lambda pair: pair[0])
        return tuple(_error(self._path, line, each.what, each.advice) for line, each in placed)

    def config(
        self,
        table: dict[str, Any],
        actions: Mapping[str, str] | None,
        judged: Sequence[JudgeRule] | None,
    ) -> Config:
        others = ("judge", *_OF_MODELS, "notify", "keys")
        known = (*self._top_rules, "machines", *self._table_rules, *others)
        for key in table:
            if key not in known:
                self._unknown_key((key,), known)
        top = {key: value for key, value in table.items() if key in self._top_rules}
        watch = self._read_table("watch", table)
        if "keep_gone_hours" in watch:
            watch["keep_gone"] = watch.pop("keep_gone_hours") * _HOUR_S
        logs = self._read_table("logs", table)
        if "schemes" in logs:
            watch["log_schemes"] = logs["schemes"]
        return Config(
            machines=self._read_machines(table.get("machines")),
            path=str(self._path),
            watch=WatchConfig(**watch),
            screen=ScreenConfig(**self._read_table("screen", table)),
            storage=StorageConfig(**self._read_table("storage", table)),
            judge=replace(
                self._read_judge(table.get("judge", {}), judged),
                **{name: self._read_models(name, table) for name in _OF_MODELS},
            ),
            notify=self._read_notify(table.get("notify", [])),
            keys=self._read_keys(table.get("keys", {}), actions),
            **self._read_values((), top, self._top_rules),
        )

    def refuse_unknown_words(self, config: Config, kinds: Sequence[str] | None) -> None:
        """Refuse a `[[notify]]` rule that names a kind, a machine or a tag that nothing has."""
        known: dict[str, Sequence[str]] = {
            "machines": [each.name for each in config.machines],
            "tags": list(dict.fromkeys(tag for each in config.machines for tag in each.tags)),
        }
        if self._problems:  # a machine that is wrong is not among the machines
            known.clear()
        if kinds is not None:
            known["kinds"] = kinds
        for index, rule in enumerate(config.notify):
            for key, words in known.items():
                for word in getattr(rule, key):
                    if word not in words:
                        self._unknown_word(("notify", index, key), word, words)

    def _unknown_word(self, at: KeyPath, word: str, known: Sequence[str]) -> None:
        near = difflib.get_close_matches(word, known, n=1)
        meant = f'did you mean "{near[0]}"? ' if near else ""
        what = f'no finding can match "{shown(word)}" in "{at[-1]}"'
        self._problem(at, what, f"{meant}allowed: {', '.join(known) or 'none, as nothing has one'}")

    def _read_table(self, name: str, table: dict[str, Any]) -> dict[str, Any]:
        value = table.get(name, {})
        if not isinstance(value, dict):
            self._problem((name,), f'"{name}" must be a table', f"write [{name}] on its own line")
            return {}
        return self._read_values((name,), cast("dict[str, Any]", value), self._table_rules[name])

    def _read_judge(self, value: object, known: Sequence[JudgeRule] | None) -> JudgeConfig:
        if known is None:
            return JudgeConfig()
        try:
            return JudgeConfig(values=judge_values(value, known))
        except rules.UnknownKey as error:
            self._unknown_key(("judge", *error.within), error.keys)
        except rules.InvalidValue as error:
            self._invalid_value(("judge", *error.within), error)
        return JudgeConfig()

    def _read_notify(self, value: object) -> tuple[NotifyRule, ...]:
        entries = cast("list[object]", value) if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in entries) or isinstance(value, dict):
            what = '"notify" must be a list of tables'
            self._problem(("notify",), what, "write [[notify]] before each rule")
            return ()
        found: list[NotifyRule] = []
        for index, entry in enumerate(cast("list[dict[str, Any]]", entries)):
            at, before = ("notify", index), len(self._problems)
            if "to" not in entry:
                self._problem(at, "this rule has no address", 'add a line: to = "NAME_OF_A_SECRET"')
            values = self._read_values(at, entry, NOTIFY)
            if len(self._problems) == before:
                found.append(NotifyRule(secret=values.pop("to"), **values))
        return tuple(found)

    def _read_models(self, name: str, table: dict[str, Any]) -> Mapping[str, Any]:
        given = {name: table[name]} if name in table else {}
        found: Mapping[str, Mapping[str, Any]] = self._read_values((), given, _OF_MODELS)
        return found.get(name, MappingProxyType({}))

    def _read_keys(self, value: object, actions: Mapping[str, str] | None) -> Mapping[str, str]:
        for action in _keys_of(value):
            if actions is not None and action not in actions:
                self._unknown_key(("keys", str(action)), tuple(actions))
        try:
            keys = rules.key_names(value)
        except rules.InvalidValue as error:
            self._invalid_value(("keys", *error.within), error)
            return {}
        known = {name: key for name, key in keys.items() if actions is None or name in actions}
        for action, other in conflicts(known, actions or {}):
            what = f'"{shown(action)}" uses a key of "{shown(other)}"'
            advice = f'choose another key, or change the key of "{shown(other)}" too'
            self._problem(("keys", action), what, advice)
        return keys

    def _read_machines(self, value: object) -> tuple[MachineConfig, ...]:
        if value is None:
            return (LOCAL,)
        entries = cast("list[object]", value) if isinstance(value, list) else None
        if entries is None or not all(isinstance(each, dict) for each in entries):
            what = '"machines" must be a list of tables'
            self._problem(("machines",), what, "write [[machines]] before each machine")
            return (LOCAL,)
        if not entries:
            return (LOCAL,)
        found: dict[str, MachineConfig] = {}
        for index, entry in enumerate(cast("list[dict[str, Any]]", entries)):
            machine = self._read_machine(("machines", index), entry)
            if machine is None:
                continue
            if machine.name in found:
                what = f'another machine is named "{machine.name}" too'
                self._problem(("machines", index, "name"), what, "give each machine its own name")
            found[machine.name] = machine
        return tuple(found.values())

    def _read_machine(self, at: KeyPath, entry: dict[str, Any]) -> MachineConfig | None:
        before = len(self._problems)
        if "name" not in entry:
            self._problem(at, "this machine has no name", 'add a line: name = "..."')
        values = self._read_values(at, entry, self._machine_rules)
        is_command = values.get("link") == "command"
        for key in _SSH_ONLY if is_command else ():
            if key in entry:
                what = f'"{key}" has no effect with link = "command"'
                self._problem((*at, key), what, 'remove it, or set link = "asyncssh"')
        if not is_command and "command" in entry:
            what = '"command" has no effect without link = "command"'
            self._problem((*at, "command"), what, 'add link = "command"')
        return None if len(self._problems) > before else MachineConfig(**values)

    def _read_values(
        self, at: KeyPath, table: dict[str, Any], known: Mapping[str, rules.Rule]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                self._unknown_key((*at, key), tuple(known))
                continue
            try:
                out[key] = known[key](value)
            except rules.UnknownKey as error:
                self._unknown_key((*at, key, *error.within), error.keys)
            except rules.InvalidValue as error:
                self._invalid_value((*at, key, *error.within), error)
        return out

    def _unknown_key(self, at: KeyPath, known: tuple[str, ...]) -> None:
        key = str(at[-1])
        near = difflib.get_close_matches(key, known, n=1)
        meant = f'did you mean "{near[0]}"? ' if near else ""
        what = f'unknown key "{shown(key)}"{_in_table(at[:-1])}'
        self._problem(at, what, f"{meant}allowed: {', '.join(known)}")

    def _invalid_value(self, at: KeyPath, error: rules.InvalidValue) -> None:
        keys = [str(each) for each in at if isinstance(each, str)]
        key = ".".join(keys[1:] or keys)
        self._problem(at, f'the value of "{shown(key)}" is wrong', f"allowed: {error.allowed}")

    def _problem(self, at: KeyPath, what: str, advice: str) -> None:
        self._problems.append(_Problem(at=at, what=what, advice=advice))


def _in_table(at: KeyPath) -> str:
    names = [str(each) for each in at if isinstance(each, str)]
    if not names:
        return ""
    is_list = any(isinstance(each, int) for each in at)
    return f" in {'[[' if is_list else '['}{'.'.join(names)}{']]' if is_list else ']'}"


def _machine_rules(folder: Path) -> Mapping[str, rules.Rule]:
    return {
        "name": rules.name,
        "link": rules.one_of("asyncssh", "command"),
        "host": rules.word,
        "user": rules.word,
        "port": rules.port,
        "identity": rules.local_path(folder),
        "known_hosts": rules.local_path(folder),
        "ssh_config": rules.none_or(rules.local_path(folder)),
        "python": rules.program,
        "data_dir": rules.remote_path,
        "gpu_locks": rules.remote_path,
        "command": rules.list_of(rules.argument, "words"),
        "tags": rules.list_of(rules.name, "tags"),
        "read_only": rules.flag,
        "production": rules.flag,
    }


_WATCH: Mapping[str, rules.Rule] = {
    "cadences": rules.cadences,
    "facts_every": rules.number(1, 3_600, "seconds"),
    "discover_every": rules.number(0.2, 3_600, "seconds"),
    "keep_gone_hours": rules.number(0, 8_760, "hours"),
}
_SCREEN: Mapping[str, rules.Rule] = {
    "theme": rules.one_of("dark", "light"),
    "ascii": rules.flag,
    "mouse": rules.flag,
    "bell": rules.flag,
    "clipboard_limit": rules.whole(0, 10_000_000),
    "attach": rules.one_of("window", "switch"),
}
_LOGS: Mapping[str, rules.Rule] = {"schemes": rules.list_of(rules.scheme, "schemes")}
_OF_MODELS: Mapping[str, rules.Rule] = {"budgets": rules.budgets, "prices": rules.prices}
_STORAGE: Mapping[str, rules.Rule] = {"limit_mib": rules.whole(8, 1_048_576)}


def _keys_of(value: object) -> tuple[object, ...]:
    """Return the keys of a table; none where the value is not a table."""
    return tuple(cast("dict[object, object]", value)) if isinstance(value, dict) else ()
