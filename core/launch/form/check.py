"""A form held against the rules of a spec's file, and against the machines there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.form.field_text import Unreadable, value_of
from core.launch.form.fields import BY_KEY
from core.launch.form.form import Form, field_of
from core.launch.plan.launch_plan import given_python
from core.launch.plan.matrix import Launch, expand
from core.launch.plan.warnings import warnings_by_key
from core.launch.spec.file import WITHHELD, Problem, check_table
from core.launch.spec.spec import Spec

_LOOKED_AT = 50
"""Runs of a matrix whose warnings are gathered while somebody types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """What is wrong with a field; harmless to show."""

    what: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A form as it stands, held against the rules of a spec's file.

    Attributes:
        table: The spec's table as far as it can be read.
        spec: None while something is wrong.
        wrong: By key; the empty key is of none.
        warnings: By key.
        launches: The runs that it comes to; empty while something is wrong.
    """

    table: Mapping[str, Any]
    spec: Spec | None = None
    wrong: Mapping[str, Wrong] = field(default_factory=lambda: MappingProxyType({}))
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    launches: tuple[Launch, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether a plan can be made of it."""
        return self.spec is not None and not self.wrong


def check(form: Form, machines: Sequence[MachineConfig]) -> Checked:
    """Return a form checked: by the rules of a spec's file, and against the machines there are."""
    table, wrong = _read(form)
    spec, problems = check_table(table)
    for problem in problems:
        key = str(problem.at[0]) if problem.at else ""
        if key not in wrong:
            wrong[key] = _wrong(problem)
    launches: tuple[Launch, ...] = ()
    try:
        _places(table, wrong, machines)
        if not wrong and spec is not None:
            launches = expand(spec, machines)
    except SpecWrong as error:
        what = error.message.removeprefix('"machine" is wrong: ')
        wrong["machine"] = Wrong(what=what, advice=error.advice)
    return Checked(
        table=MappingProxyType(table),
        spec=spec,
        wrong=MappingProxyType(wrong),
        warnings=MappingProxyType(_warnings(launches)),
        launches=launches,
    )


def _places(
    table: Mapping[str, Any], wrong: Mapping[str, Wrong], machines: Sequence[MachineConfig]
) -> None:
    """Look at the machines before the rest is right.

    Raises:
        SpecWrong: One of them is none, or nothing may be changed there.
    """
    asked = table.get("machine")
    if asked is not None and "machine" not in wrong:
        names = tuple(cast("list[str]", asked)) if isinstance(asked, list) else (str(asked),)
        some = Spec(task=("-",), model=("-",), machine=names, on_error="stop")
        expand(some, machines)


def _read(form: Form) -> tuple[dict[str, Any], dict[str, Wrong]]:
    table: dict[str, Any] = {}
    wrong: dict[str, Wrong] = {}
    for key in form.keys:
        text = form.text(key)
        if not text:
            continue
        try:
            table[key] = value_of(field_of(key).kind, text)
        except Unreadable as error:
            wrong[key] = Wrong(what=error.why, advice=f"write {error.takes}")
    return table, wrong


def _wrong(problem: Problem) -> Wrong:
    if "is missing" in problem.what:
        return Wrong(what="needed", advice=problem.advice)
    return Wrong(what=problem.what, advice=problem.advice)


def _warnings(launches: Sequence[Launch]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for launch in launches[:_LOOKED_AT]:
        for key, said in warnings_by_key(launch, python=_python(launch.spec)):
            found.setdefault(key, {})[said] = None
    return {key: tuple(said) for key, said in found.items()}


def _python(spec: Spec) -> str | None:
    """Return an interpreter unless uv surely gets one: the preflight knows what a machine has."""
    somewhere = MachineConfig(name=MachineName("somewhere"), python="given")
    return given_python(spec, somewhere, None)


def machines_of(fleet: Fleet) -> tuple[MachineConfig, ...]:
    """Return the machines of a room as far as a spec's machine is checked against them."""
    return tuple(
        MachineConfig(
            name=name,
            link=machine.kind,
            tags=machine.tags,
            read_only=machine.read_only,
            production=machine.production,
        )
        for name, machine in fleet.machines.items()
    )


def may_hold_a_secret(form: Form, checked: Checked) -> frozenset[str]:
    """Return the keys of a form that no draft keeps: what is refused there may be a secret."""
    typed = (*form.texts, *form.former)
    return frozenset(
        key for key in typed if (key in WITHHELD or key not in BY_KEY) and key in checked.wrong
    )
