"""Expands a spec into its runs: one for each task, model and machine."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.ids import MachineName
from core.launch.spec.spec import ANY_MACHINE, Spec
from core.text import shown

MAX_RUNS = 1_000
"""Largest number of runs of one spec; more is treated as a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run of a spec, before its machine is chosen.

    Attributes:
        spec: The spec with one task, one model and one machine.
        asked: The machine or tag that the spec names.
        candidates: The machines that it may run on, in the order of the config; only one if
            the spec names a machine.
        index: Its number among the runs of the spec, from 1.
        of: How many runs the spec has.
    """

    spec: Spec
    asked: str
    candidates: tuple[MachineName, ...]
    index: int = 1
    of: int = 1

    @property
    def task(self) -> str:
        """The task, as the spec names it."""
        return self.spec.task[0]

    @property
    def model(self) -> str:
        """The model string."""
        return self.spec.model[0]


def expand(spec: Spec, machines: Sequence[MachineConfig]) -> tuple[RunRequest, ...]:
    """Return the runs of a spec, ordered by task, then model, then machine.

    A name that is both a machine and a tag means the machine.

    Args:
        spec: The spec.
        machines: The machines of the config.

    Raises:
        SpecWrong: A machine is unknown or read-only, or the spec has over `MAX_RUNS` runs.
    """
    places = [(asked, _candidates(asked, machines)) for asked in spec.machine]
    count = len(spec.task) * len(spec.model) * len(places)
    if count > MAX_RUNS:
        raise SpecWrong(
            f"the spec has {count} runs, but only {MAX_RUNS} are allowed",
            "split it into several specs",
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
        raise SpecWrong(
            f'"machine" is wrong: "{shown(asked)}" is read-only in the config',
            "choose another machine, or change the config",
        )
    return usable


def _no_machine(asked: str, machines: Sequence[MachineConfig]) -> SpecWrong:
    names = [each.name for each in machines]
    tags = list(dict.fromkeys(tag for each in machines for tag in each.tags))
    near = difflib.get_close_matches(asked, (*names, *tags, ANY_MACHINE), n=1)
    meant = f'did you mean "{near[0]}"? ' if near else ""
    tagged = f", a tag ({', '.join(tags)})" if tags else ""
    return SpecWrong(
        f'"machine" is wrong: the config has no machine or tag "{shown(asked)}"',
        f"{meant}allowed: {', '.join(names)}{tagged} or {ANY_MACHINE}",
    )
