"""A command of an eval that runs for long and is not a sample's: a build, a pull, a `compose up`.

The kind `stall` tells of commands of samples, and `spin-up` of those before any sample is done.
"""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import plural
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import last_step, short_time
from core.model.operation import LONG_COMMAND_S, Operation
from core.model.process import Process
from core.model.task import TaskState
from core.text import shown

_SUSPECT = JudgeRule(
    kind="command", name="suspect", default=LONG_COMMAND_S, unit="seconds",
    help="A command of an eval, but not of a sample, that runs for longer is suspect.",
)  # fmt: skip

NOTED_FROM = 0.5
"""Part of the time from which a reading counts as one of those that must agree."""
MAX_NAMED_COMMANDS = 3
"""Commands that a sentence names; the others are counted."""

_MAX_NAME_CHARACTERS = 80
_ADVICE = "If it hangs, end what it waits for"


def _signs(scene: Scene, process: Process) -> Signs | None:
    if process.is_gone:
        return OVER
    if not scene.fleet.is_up(process.key.machine):
        return None
    if not process.operations or _is_in_spin_up(scene, process):
        return signs(scene.at)
    bound = scene.rules.number(_SUSPECT)
    clock = scene.at + scene.fleet.clock_offset(process.key.machine)
    noted = [
        each
        for each in process.operations
        if each.is_command and each.sample is None and clock - each.since >= bound * NOTED_FROM
    ]
    if not noted:
        return signs(scene.at)
    long = sorted(
        (each for each in noted if clock - each.since >= bound), key=lambda each: each.since
    )
    lasted = clock - min(each.since for each in noted)
    sign = Sign(
        severity="suspect" if long else None,
        reading=scene.at,
        text=_text(long or noted, lasted, bound),
        since=round(scene.at - lasted),
        closes_when="the command ends",
        machine=process.key.machine,
        process=process.key,
        count=max(1, len(long)),
    )
    return signs(scene.at, [sign])


def _is_in_spin_up(scene: Scene, process: Process) -> bool:
    """Return whether a task of a process runs and none has a sample that ended."""
    tasks = [scene.fleet.tasks[key] for key in process.tasks if key in scene.fleet.tasks]
    runs = any(task.state is TaskState.RUNNING for task in tasks)
    return runs and not any(task.row.samples.ended for task in tasks)


def _text(long: list[Operation], lasted: float, bound: float) -> str:
    for_long = f"for over {short_time(last_step(lasted, bound))}"
    named = [_name(each) for each in long[:MAX_NAMED_COMMANDS]]
    if len(long) == 1:
        return sentences(f"{named[0]} has run {for_long}", _ADVICE)
    more = len(long) - len(named)
    names = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    number = plural(len(long), "command")
    return sentences(f"{number} run for long, the oldest {for_long}: {names}", _ADVICE)


def _name(operation: Operation) -> str:
    words = f" ({operation.words})" if operation.words else ""
    return shown(f"{operation.what}{words}", _MAX_NAME_CHARACTERS)


KIND = Kind(
    name="command",
    help="A command of an eval, but not of a sample, runs for long.",
    numbers=(_SUSPECT,),
    misses=1,
    of_process=_signs,
)
