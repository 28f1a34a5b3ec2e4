"""One spec to its launches: tasks x models x machines, one of each."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.ids import MachineName
from core.launch.spec.spec import ANY_MACHINE, Spec
from core.text import shown

MAX_RUNS = 1_000
"""A matrix of more is a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run that is asked for.

    Attributes:
        spec: With one task, one model and one machine.
        asked: The machine as the spec names it.
        candidates: The machines that it may run on, in the order of the config; one alone
            where the spec names it.
        index: Which of the matrix, from 1.
        of: How many the matrix has.
    """

    spec: Spec
    asked: str
    candidates: tuple[MachineName, ...]
    index: int = 1
    of: int = 1

    @property
    def task(self) -> str:
        """Its task, as the spec names it."""
        return self.spec.task[0]

    @property
    def model(self) -> str:
        """Its model."""
        return self.spec.model[0]


def expand(spec: Spec, machines: Sequence[MachineConfig]) -> tuple[RunRequest, ...]:
    """Return the launches of a spec, tasks outermost and machines innermost.

    A machine's own name goes before a tag of the same name.

    Args:
        spec: What is asked for.
        machines: Those of the config.

    Raises:
        SpecWrong: A machine is none, can't be changed, or the matrix is too large.
    """
    places = [(asked, _candidates(asked, machines)) for asked in spec.machine]
    count = len(spec.task) * len(spec.model) * len(places)
    if count > MAX_RUNS:
        raise SpecWrong(
            f"the matrix has {count} runs", f"at most {MAX_RUNS}: launch it in several parts"
        )
    cells = [(t, m, place) for t in spec.task for m in spec.model for place in places]
    return tuple(
        RunRequest(
            spec=replace(spec, task=(task,), model=(model,), machine=(asked,)),
            asked=asked,
            candidates=candidates,
            index=index,
            of=count,
        )
        for index, (task, model, (asked, candidates)) in enumerate(cells, start=1)
    )


def _candidates(asked: str, machines: Sequence[MachineConfig]) -> tuple[MachineName, ...]:
    named = [each for each in machines if each.name == asked]
    fit = named or [each for each in machines if asked == ANY_MACHINE or asked in each.tags]
    if not fit:
        raise _no_machine(asked, machines)
    usable = tuple(each.name for each in fit if not each.read_only)
    if not usable:
        said = f'"machine" is "{shown(asked)}", which is read-only in the config'
        raise SpecWrong(said, "nothing is launched there; take another, or change the config")
    return usable


def _no_machine(asked: str, machines: Sequence[MachineConfig]) -> SpecWrong:
    names = [each.name for each in machines]
    tags = list(dict.fromkeys(tag for each in machines for tag in each.tags))
    near = difflib.get_close_matches(asked, (*names, *tags, ANY_MACHINE), n=1)
    meant = f'did you mean "{near[0]}"? ' if near else ""
    tagged = f"; a tag: {', '.join(tags)}" if tags else ""
    return SpecWrong(
        f'"machine" is wrong: "{shown(asked)}" is no machine of the config',
        f"{meant}allowed: {', '.join(names)}{tagged}; or {ANY_MACHINE}",
    )
