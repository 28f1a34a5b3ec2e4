"""Findings about commands that run for long, such as an exec in a sandbox that hangs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.fold.operations import operations_by_task
from core.format import duration_in_words, plural
from core.ids import ProcessKey, SampleKey, TaskKey
from core.judge.finding_list import closed, open_finding
from core.model.finding import Finding
from core.model.operation import Operation
from core.text import Shown, shown

LONG_COMMAND_S = 600.0
"""A command that has run for so long is a finding, seconds. The finding changes at each double."""
MAX_NAMED_COMMANDS = 3
"""Commands that a sentence names; the others are counted."""

_MAX_ID_CHARACTERS = 60
_LONGEST_S = 1e9
_ADVICE = "If it hangs, end what it waits for, or cancel the sample"


def operation_words(operation: Operation) -> Shown:
    """Return an operation in words: `docker exec sleep 1000`, `generating`, the name of a tool."""
    if operation.action == "Model":
        return shown("generating")
    if operation.action == "Tool Call":
        return shown(operation.words or "tool")
    return shown(f"{operation.what} {operation.words}".rstrip())


def judge_operations(after: Fleet, key: ProcessKey, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed findings about long commands of a process."""
    process = after.processes.get(key)
    if process is None or (not process.is_gone and not after.is_up(key.machine)):
        return
    clock = at + after.clock_offset(key.machine)
    prefix = f"command:{key.machine}:{key.pid}:{key.start}:"
    groups = {
        f"{prefix}{task.task_id if task is not None else ''}:": (task, long)
        for task, long in _long_commands(after, key, clock)
    }
    for identity, (task, long) in groups.items():
        last, text = open_finding(after, identity), _text(long, clock)
        if last is None:
            only = long[0].sample if len(long) == 1 and task is not None else None
            yield Finding(
                id=f"{identity}{at:.3f}",
                kind="command",
                severity="suspect",
                opened_at=at,
                machine=key.machine,
                process=key,
                task=task,
                sample=SampleKey(task, *only) if task is not None and only else None,
                count=len(long),
                text=text,
            )
        elif last.text != text:
            yield replace(last, text=text, count=len(long), changed_at=at)
    for finding in after.findings:
        is_open = finding.closed_at is None and finding.id.startswith(prefix)
        if is_open and finding.id.rpartition(":")[0] + ":" not in groups:
            yield closed(finding, at)


def _long_commands(
    after: Fleet, key: ProcessKey, clock: float
) -> Iterator[tuple[TaskKey | None, list[Operation]]]:
    """Yield the long commands of each task, then those that can't be given to one task."""
    process = after.processes[key]
    rest = [
        each
        for each in process.operations or ()
        if each.is_command and clock - each.since >= LONG_COMMAND_S
    ]
    owners = {
        id(each): task
        for task, own in (operations_by_task(after, process) if rest else {}).items()
        for each in own.values()
    }
    groups: dict[TaskKey | None, list[Operation]] = {}
    for each in rest:
        groups.setdefault(owners.get(id(each)), []).append(each)
    unowned = groups.pop(None, [])
    yield from groups.items()
    if unowned:
        yield None, unowned


def _text(long: list[Operation], clock: float) -> str:
    oldest = sorted(long, key=lambda each: each.since)
    named = [_name(each) for each in oldest[:MAX_NAMED_COMMANDS]]
    lasted = duration_in_words(_step(clock - oldest[0].since)).removesuffix(" 00s")
    if len(oldest) == 1:
        return sentences(f"{named[0]} has run for over {lasted}", _ADVICE)
    more = len(oldest) - len(named)
    names = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    number = plural(len(oldest), "command")
    return sentences(f"{number} run for long, the oldest for over {lasted}: {names}", _ADVICE)


def _name(operation: Operation) -> str:
    name = operation.what + (f" ({operation.words})" if operation.words else "")
    if operation.sample is None:
        return name
    sample_id, epoch = operation.sample
    return f"{name} of sample {shown(sample_id, _MAX_ID_CHARACTERS)}/{epoch}"


def _step(seconds: float) -> float:
    """Return the last of 10m, 20m, 40m ... that is over: so the text changes seldom."""
    step = LONG_COMMAND_S
    while step * 2 <= min(seconds, _LONGEST_S):
        step *= 2
    return step
