"""Checks the launch form: by the rules of a spec, and against the known machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.form.field_text import FieldUnreadable, field_value
from core.launch.form.fields import FIELD_BY_KEY
from core.launch.form.form import Form, field_of
from core.launch.plan.matrix import RunRequest, expand
from core.launch.plan.run_plan import given_python
from core.launch.plan.warnings import warnings_by_key
from core.launch.spec.spec import Spec
from core.launch.spec.spec_reader import WITHHELD_KEYS, SpecProblem, check_table

_MAX_WARNED_RUNS = 50
"""Most runs of a spec that are checked for warnings while someone types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """A problem of one field; harmless to show."""

    what: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedForm:
    """The result of checking a form.

    Attributes:
        table: The spec as a table, as far as the fields can be read.
        spec: The spec; None while a field is wrong.
        wrong: Problems by key; the empty key is for the spec as a whole.
        warnings: Warnings by key.
        launches: The runs of the spec; empty while a field is wrong.
    """

    table: Mapping[str, Any]
    spec: Spec | None = None
    wrong: Mapping[str, FieldProblem] = field(default_factory=lambda: MappingProxyType({}))
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    launches: tuple[RunRequest, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether a plan can be made."""
        return self.spec is not None and not self.wrong


def check_form(form: Form, machines: Sequence[MachineConfig]) -> CheckedForm:
    """Check a form by the rules of a spec and against the machines of the room."""
    table, wrong = _read(form)
    spec, problems = check_table(table)
    for problem in problems:
        key = str(problem.at[0]) if problem.at else ""
        if key not in wrong:
            wrong[key] = _wrong(problem)
    launches: tuple[RunRequest, ...] = ()
    try:
        _places(table, wrong, machines)
        if not wrong and spec is not None:
            launches = expand(spec, machines)
    except SpecWrong as error:
        what = error.message.removeprefix('"machine" is wrong: ')
        wrong["machine"] = FieldProblem(what=what, advice=error.advice)
    return CheckedForm(
        table=MappingProxyType(table),
        spec=spec,
        wrong=MappingProxyType(wrong),
        warnings=MappingProxyType(_warnings(launches)),
        launches=launches,
    )


def _places(
    table: Mapping[str, Any], wrong: Mapping[str, FieldProblem], machines: Sequence[MachineConfig]
) -> None:
    """Check the machines, even while other fields are wrong.

    Raises:
        SpecWrong: A machine is unknown or read-only.
    """
    asked = table.get("machine")
    if asked is not None and "machine" not in wrong:
        names = tuple(cast("list[str]", asked)) if isinstance(asked, list) else (str(asked),)
        some = Spec(task=("-",), model=("-",), machine=names, on_error="stop")
        expand(some, machines)


def _read(form: Form) -> tuple[dict[str, Any], dict[str, FieldProblem]]:
    table: dict[str, Any] = {}
    wrong: dict[str, FieldProblem] = {}
    for key in form.keys:
        text = form.text(key)
        if not text:
            continue
        try:
            table[key] = field_value(field_of(key).kind, text)
        except FieldUnreadable as error:
            wrong[key] = FieldProblem(what=error.why, advice=f"write {error.takes}")
    return table, wrong


def _wrong(problem: SpecProblem) -> FieldProblem:
    if "is missing" in problem.what:
        return FieldProblem(what="needed", advice=problem.advice)
    return FieldProblem(what=problem.what, advice=problem.advice)


def _warnings(launches: Sequence[RunRequest]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for launch in launches[:_MAX_WARNED_RUNS]:
        for key, text in warnings_by_key(launch, python=_python(launch.spec)):
            found.setdefault(key, {})[text] = None
    return {key: tuple(text) for key, text in found.items()}


def _python(spec: Spec) -> str | None:
    """Return an interpreter unless the spec needs uv: only the preflight knows the machine's."""
    somewhere = MachineConfig(name=MachineName("somewhere"), python="given")
    return given_python(spec, somewhere, None)


def machines_of(fleet: Fleet) -> tuple[MachineConfig, ...]:
    """Return the machines of a room with the settings that a spec is checked against."""
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


def withheld_keys(form: Form, checked: CheckedForm) -> frozenset[str]:
    """Return the keys that a draft leaves out: their wrong values may be secrets."""
    typed = (*form.texts, *form.former)
    return frozenset(
        key
        for key in typed
        if (key in WITHHELD_KEYS or key not in FIELD_BY_KEY) and key in checked.wrong
    )
