"""The config file: TOML to `Config`, or a list of errors, each with its line."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.config import rules
from core.config.keys import shared
from core.config.model import Config, MachineConfig, ScreenConfig, StorageConfig, WatchConfig
from core.config.toml_errors import NO_TOML, said_of
from core.config.toml_lines import KeyPath, line_of, lines_of
from core.errors import ConfigWrong
from core.ids import MachineName
from core.text import shown

SIZE_LIMIT = 1 << 20
"""The largest config that is read, bytes."""

LOCAL = MachineConfig(name=MachineName("local"), link="command")
"""The one machine there is without a config: this computer."""

_HOUR = 3_600.0
_SSH_ONLY = ("host", "user", "port", "identity", "known_hosts")


def default_config() -> Config:
    """Return what holds without a config file: this computer is the only machine."""
    return Config(machines=(LOCAL,))


def read_config(path: Path, *, actions: Mapping[str, str] | None = None) -> Config:
    """Read a config file.

    Args:
        path: The file; `~` is not expanded.
        actions: What `[keys]` may name, with the keys that each has without it; None: any.

    Raises:
        ConfigWrong: It can't be read, or a key or value is wrong. Of several the first is
            told, with the number of the others.
    """
    config, wrong = check_config(_text_of(path), path, actions=actions)
    if not wrong:
        return config
    first = wrong[0]
    if len(wrong) == 1:
        raise first
    others = f"{len(wrong) - 1} more: evalroom config check shows all"
    raise ConfigWrong(first.message, f"{first.advice} ({others})".strip())


def check_config(
    text: str, path: Path, *, actions: Mapping[str, str] | None = None
) -> tuple[Config, tuple[ConfigWrong, ...]]:
    """Read a config's text.

    Returns:
        The config (of what could be read), and all that is wrong, by line.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return default_config(), (_wrong(path, *said_of(str(error)), NO_TOML),)
    except RecursionError:
        return default_config(), (_wrong(path, None, "it is nested too deeply", ""),)
    except ValueError:  # a TOMLDecodeError says where; a number of too many digits is none
        return default_config(), (_wrong(path, None, "it holds a number of absurd length", ""),)
    reading = _Reading(path, lines_of(text))
    config = reading.config(table, actions)
    return config, reading.wrong()


def text_of(path: Path) -> str:
    """Return the text of a config file.

    Raises:
        ConfigWrong: It can't be read, is too large, or is no UTF-8.
    """
    return _text_of(path)


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise ConfigWrong(
            f"there is no config file {shown(str(path))}",
            "name another with --config, or write one after config.example.toml",
        ) from None
    except OSError as error:
        raise ConfigWrong(f"{shown(str(path))} can't be read: {error.strerror}") from None
    if len(raw) > SIZE_LIMIT:
        raise ConfigWrong(f"{shown(str(path))} is larger than 1 MiB", "is it the right file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _wrong(path, line, "a byte that is no UTF-8 text", "save it as UTF-8") from None


def _wrong(path: Path, line: int | None, what: str, advice: str) -> ConfigWrong:
    at = f", line {line}" if line else ""
    return ConfigWrong(f"{shown(str(path))}{at}: {what}", advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    at: KeyPath
    what: str
    advice: str


class _Reading:
    """One pass over a parsed file; what is wrong is gathered, not raised."""

    def __init__(self, path: Path, lines: Mapping[KeyPath, int]) -> None:
        self._path = path
        self._lines = lines
        self._problems: list[_Problem] = []
        folder = path.parent
        self._top: Mapping[str, rules.Rule] = {"read_only": rules.flag}
        self._tables: Mapping[str, Mapping[str, rules.Rule]] = {
            "watch": _WATCH,
            "screen": _SCREEN,
            "storage": _STORAGE,
        }
        self._machine: Mapping[str, rules.Rule] = _machine_rules(folder)

    def wrong(self) -> tuple[ConfigWrong, ...]:
        placed = [(line_of(self._lines, each.at) or 0, each) for each in self._problems]
        placed.sort(key=lambda pair: pair[0])
        return tuple(_wrong(self._path, line, each.what, each.advice) for line, each in placed)

    def config(self, table: dict[str, Any], actions: Mapping[str, str] | None) -> Config:
        known = (*self._top, "machines", *self._tables, "keys")
        for key in table:
            if key not in known:
                self._unknown((key,), known)
        top = self._values((), {k: v for k, v in table.items() if k in self._top}, self._top)
        watch = self._table("watch", table)
        if "keep_gone_hours" in watch:
            watch["keep_gone"] = watch.pop("keep_gone_hours") * _HOUR
        return Config(
            machines=self._machines(table.get("machines")),
            path=str(self._path),
            watch=WatchConfig(**watch),
            screen=ScreenConfig(**self._table("screen", table)),
            storage=StorageConfig(**self._table("storage", table)),
            keys=self._keys(table.get("keys", {}), actions),
            **top,
        )

    def _table(self, name: str, table: dict[str, Any]) -> dict[str, Any]:
        value = table.get(name, {})
        if not isinstance(value, dict):
            self._problem((name,), f'"{name}" is no table', f"write [{name}] on its own line")
            return {}
        return self._values((name,), cast("dict[str, Any]", value), self._tables[name])

    def _keys(self, value: object, actions: Mapping[str, str] | None) -> Mapping[str, str]:
        try:
            keys = rules.key_names(value)
        except rules.NotAllowed as wrong:
            self._not_allowed(("keys", *wrong.within), wrong)
            return {}
        for action in keys:
            if actions is not None and action not in actions:
                self._unknown(("keys", action), tuple(actions))
        for action, other in shared(keys, actions or {}):
            what = f'"{shown(action)}" takes a key of "{shown(other)}"'
            self._problem(("keys", action), what, f'give it another, or "{shown(other)}" too')
        return keys

    def _machines(self, value: object) -> tuple[MachineConfig, ...]:
        if value is None:
            return (LOCAL,)
        entries = cast("list[object]", value) if isinstance(value, list) else None
        if entries is None or not all(isinstance(each, dict) for each in entries):
            self._problem(("machines",), '"machines" is no list of tables', "write [[machines]]")
            return (LOCAL,)
        if not entries:
            return (LOCAL,)
        found: dict[str, MachineConfig] = {}
        for index, entry in enumerate(cast("list[dict[str, Any]]", entries)):
            machine = self._one_machine(("machines", index), entry)
            if machine is None:
                continue
            if machine.name in found:
                advice = "give every machine a name of its own"
                self._problem(
                    ("machines", index, "name"), f'a second machine "{machine.name}"', advice
                )
            found[machine.name] = machine
        return tuple(found.values())

    def _one_machine(self, at: KeyPath, entry: dict[str, Any]) -> MachineConfig | None:
        before = len(self._problems)
        if "name" not in entry:
            self._problem(at, "a machine without a name", 'give it one: name = "..."')
        values = self._values(at, entry, self._machine)
        is_command = values.get("link") == "command"
        for key in _SSH_ONLY if is_command else ():
            if key in entry:
                advice = 'it goes with link = "asyncssh"; a command says all in its own words'
                self._problem((*at, key), f'"{key}" has no meaning with link = "command"', advice)
        if not is_command and "command" in entry:
            advice = 'add link = "command"'
            self._problem((*at, "command"), '"command" goes with link = "command" alone', advice)
        return None if len(self._problems) > before else MachineConfig(**values)

    def _values(
        self, at: KeyPath, table: dict[str, Any], known: Mapping[str, rules.Rule]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                self._unknown((*at, key), tuple(known))
                continue
            try:
                out[key] = known[key](value)
            except rules.NoSuchKey as wrong:
                self._unknown((*at, key, *wrong.within), wrong.keys)
            except rules.NotAllowed as wrong:
                self._not_allowed((*at, key, *wrong.within), wrong)
        return out

    def _unknown(self, at: KeyPath, known: tuple[str, ...]) -> None:
        key = str(at[-1])
        near = difflib.get_close_matches(key, known, n=1)
        meant = f'did you mean "{near[0]}"? ' if near else ""
        holder = _holder(at[:-1])
        self._problem(
            at, f'unknown key "{shown(key)}"{holder}', f"{meant}allowed: {', '.join(known)}"
        )

    def _not_allowed(self, at: KeyPath, wrong: rules.NotAllowed) -> None:
        keys = [str(each) for each in at if isinstance(each, str)]
        key = ".".join(keys[1:] or keys)
        self._problem(at, f'"{shown(key)}" is wrong', f"allowed: {wrong.allowed}")

    def _problem(self, at: KeyPath, what: str, advice: str) -> None:
        self._problems.append(_Problem(at=at, what=what, advice=advice))


def _holder(at: KeyPath) -> str:
    names = [str(each) for each in at if isinstance(each, str)]
    if not names:
        return ""
    listed = any(isinstance(each, int) for each in at)
    return f" in {'[[' if listed else '['}{'.'.join(names)}{']]' if listed else ']'}"


def _machine_rules(folder: Path) -> Mapping[str, rules.Rule]:
    return {
        "name": rules.name,
        "link": rules.one_of("asyncssh", "command"),
        "host": rules.word,
        "user": rules.word,
        "port": rules.port,
        "identity": rules.local_path(folder),
        "known_hosts": rules.local_path(folder),
        "python": rules.program,
        "data_dir": rules.remote_path,
        "gpu_locks": rules.remote_path,
        "command": rules.many(rules.argument, "words"),
        "tags": rules.many(rules.name, "tags"),
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
    "clipboard_limit": rules.whole(0, 10_000_000),
    "attach": rules.one_of("window", "switch"),
}
_STORAGE: Mapping[str, rules.Rule] = {"limit_mib": rules.whole(8, 1_048_576)}


def all_keys() -> Iterator[str]:
    """Every key that a config may hold, dotted, `machines.` before those of a machine."""
    yield "read_only"
    yield from (f"machines.{key}" for key in _machine_rules(Path()))
    yield from (f"watch.{key}" for key in _WATCH if key != "cadences")
    yield from (f"watch.cadences.{phase}" for phase in rules.PHASE_WORDS)
    yield from (f"screen.{key}" for key in _SCREEN)
    yield from (f"storage.{key}" for key in _STORAGE)
