"""Why: what one sample or process does, since when, and whether that is too long."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from core import format as fmt
from core.config.judge import JudgeConfig
from core.errors import TargetUnclear
from core.fleet import Fleet
from core.ids import ProcessKey, SampleKey
from core.judge.kinds.stall import Stillness, limits_of, stillnesses
from core.judge.pace import durations, quantile
from core.judge.sign import Scene
from core.model.operation import operation_words
from core.model.process import Process, ProcessState
from core.model.sample import NOT_STARTED, Sample, word_of_status
from core.model.task import Task
from core.text import Shown, shown
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.findings.names import subject_of

Word = Literal["fine", "suspect", "alarm", "waits", "ended", "unknown"]

MAX_OPERATIONS = 8
"""Operations of the trace that a report names."""
_MAX_TEXT = 200
_TONES: dict[Word, Tone] = {
    "fine": "good",
    "suspect": "warning",
    "alarm": "error",
    "waits": "plain",
    "ended": "dim",
    "unknown": "warning",
}
_CALLS = {
    "generate": "a generation",
    "thinking": "a generation of a model that thinks first",
    "tool": "a tool call",
    "sandbox": "a command in a sandbox",
}
_TROUBLED: dict[ProcessState, tuple[Word, str]] = {
    ProcessState.STARVED: ("alarm", "its event loop is blocked, so it answers nothing"),
    ProcessState.BUSY: ("suspect", "it answers slowly"),
    ProcessState.HEADLESS: ("alarm", "it lives, but its control server is gone"),
    ProcessState.GONE: ("ended", "it has ended"),
    ProcessState.PARKED: ("ended", "its eval is over, and it is kept alive"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """A report on one sample or process.

    Attributes:
        at: Unix seconds at the desk.
        name: What it is about.
        word: The verdict in one word.
        verdict: The verdict in one sentence.
        rule: The numbers that it rests on; empty: none.
        facts: What is known, each with its label.
    """

    at: float
    name: Shown
    word: Word
    verdict: Shown
    rule: Shown
    facts: tuple[tuple[str, Shown], ...]


def why(
    fleet: Fleet,
    target: SampleKey | ProcessKey,
    rules: JudgeConfig,
    now: float,
    events: Sequence[Shown] = (),
) -> Why:
    """Return the report on a sample or a process.

    Args:
        fleet: All that is known.
        target: The sample or the process.
        rules: The numbers by which it is judged.
        now: Unix seconds at the desk.
        events: Its last events as lines, oldest first, where they were read.

    Raises:
        TargetUnclear: It is not known.
    """
    scene = Scene(fleet=fleet, rules=rules, at=now)
    if isinstance(target, ProcessKey):
        return _why_process(scene, target)
    task = fleet.tasks.get(target.task)
    sample = task.samples.get((target.sample_id, target.epoch)) if task is not None else None
    if task is None or sample is None:
        raise TargetUnclear(
            f"the sample {shown(target.sample_id, 60)} is not listed", "choose it again"
        )
    return _why_sample(scene, target, task, sample, events)


def why_lines(report: Why) -> list[TextLine]:
    """Return a report as lines of text."""
    word = Span(shown(report.word), _TONES[report.word])
    lines: list[TextLine] = [
        (Span(report.name, "strong"),),
        (span_of("  "), word, span_of(": "), Span(report.verdict)),
    ]
    if report.rule:
        lines.append((span_of("  "), Span(report.rule, "dim")))
    label = ""
    lines.append(())
    for name, value in report.facts:
        lines.append((span_of(f"  {name if name != label else '':<12}", "dim"), Span(value)))
        label = name
    return lines


def _why_sample(
    scene: Scene, key: SampleKey, task: Task, sample: Sample, events: Sequence[Shown]
) -> Why:
    fleet = scene.fleet
    process = fleet.processes.get(task.key.process)
    still = dict(stillnesses(fleet, task)).get((sample.sample_id, sample.epoch))
    word, verdict, rule = _verdict(scene, task, process, sample, still)
    name = f"sample {sample.sample_id}/{sample.epoch} of {task.row.task} on {task.key.machine}"
    facts = [
        *_doing(scene, task, sample, still),
        *(("event", each) for each in events),
        *_retries(task, sample),
        *_comparison(task, sample),
        *_surroundings(scene, task.key.process),
        *_findings(fleet, key),
    ]
    return Why(
        at=scene.at,
        name=shown(name, _MAX_TEXT),
        word=word,
        verdict=shown(verdict, _MAX_TEXT),
        rule=shown(rule, _MAX_TEXT),
        facts=tuple(facts),
    )


def _verdict(
    scene: Scene, task: Task, process: Process | None, sample: Sample, still: Stillness | None
) -> tuple[Word, str, str]:
    """Return the word, the sentence and the rule of a sample."""
    early = _without_rule(scene, task, process, sample)
    if early is not None:
        return (*early, "")
    if still is None:
        what = sample.activity.type if sample.activity is not None else "an unknown activity"
        words = {
            "retry_wait": "its model refused or failed, and it waits to ask again",
            "approval": "it waits for a person to approve a tool call",
            "question": "it waits for a person to answer",
        }
        known = words.get(what)
        if known is not None:
            return "waits", known, ""
        return "unknown", "the eval does not report what it does", ""
    suspect, alarm = limits_of(scene, task, still)
    lasted = fmt.duration_in_words(still.lasted)
    rule = (
        f"{_CALLS[still.doing]} is suspect from {fmt.duration_in_words(suspect)} and an alarm from"
        f" {fmt.duration_in_words(alarm)}; see [judge.stall] of the config"
    )
    what = f"{still.name} for {lasted}"
    if still.lasted >= alarm:
        return "alarm", f"{what}: it looks stuck", rule
    if still.lasted >= suspect:
        return "suspect", f"{what}: longer than usual", rule
    return "fine", f"{what}: nothing unusual", rule


def _without_rule(  # noqa: PLR0911 - one return a case
    scene: Scene, task: Task, process: Process | None, sample: Sample
) -> tuple[Word, str] | None:
    row = task.row
    if sample.has_ended:
        return "ended", f"it is {word_of_status(sample.status)}"
    if process is None or process.is_gone:
        return "ended", "its process has ended"
    if not scene.fleet.is_up(task.key.machine):
        return "unknown", "its machine can't be reached; this is what was read last"
    if process.state in _TROUBLED:
        word, words = _TROUBLED[process.state]
        return word, f"its process: {words}"
    if row.paused_now or row.process_paused_now or process.paused_now:
        return "waits", "`pause now` holds it at its next model call; its time limit runs on"
    if sample.status in NOT_STARTED:
        paused = " while its task is paused" if row.paused or process.paused else ""
        return "waits", f"it waits for its turn{paused}"
    if sample.interrupt is not None:
        return "waits", f"a stop is on its way: {sample.interrupt}"
    return None


def _doing(
    scene: Scene, task: Task, sample: Sample, still: Stillness | None
) -> Iterator[tuple[str, Shown]]:
    yield "status", shown(word_of_status(sample.status), 40)
    if still is not None:
        lasted = fmt.duration_in_words(still.lasted)
        yield "doing", shown(f"{still.name} for {lasted}, at the newest reading", _MAX_TEXT)
    if task.samples_heard_at is not None:
        ago = fmt.duration_in_words(max(0.0, scene.at - task.samples_heard_at))
        yield "read", shown(f"{ago} ago")
    activity = sample.activity
    for call in activity.calls if activity is not None else ():
        asked = ", a cancel was requested" if call.cancel_requested else ""
        yield "tool call", shown(f"{call.function} {call.id}{asked}", _MAX_TEXT)
    process = scene.fleet.processes.get(task.key.process)
    mine = (sample.sample_id, sample.epoch)
    for operation in (process.operations or () if process is not None else ())[:200]:
        if operation.sample == mine and operation.task == task.row.task:
            since = max(0.0, task.as_of - operation.since)
            lasted = fmt.duration_in_words(since)
            yield "trace", shown(f"{operation_words(operation)} for {lasted}", _MAX_TEXT)


def _retries(task: Task, sample: Sample) -> Iterator[tuple[str, Shown]]:
    if sample.retries:
        yield "run again", shown(fmt.plural(sample.retries, "time"))
    if task.row.http_retries:
        number = fmt.plural(task.row.http_retries, "HTTP request")
        yield "retries", shown(f"{number} of its task had to be sent again")
    if sample.has_error:
        yield "error", shown("it has an error; ! on its page shows it")


def _comparison(task: Task, sample: Sample) -> Iterator[tuple[str, Shown]]:
    now = task.samples_as_of
    age = now - sample.started_at if now is not None and sample.started_at is not None else None
    if age is not None and not sample.has_ended:
        yield "runs for", shown(fmt.duration_in_words(max(0.0, age)))
    took = durations(task)
    if took:
        middle, late = quantile(took, 0.5), quantile(took, 0.95)
        words = f"half took {fmt.duration_in_words(middle)}, 95% {fmt.duration_in_words(late)}"
        yield "finished", shown(f"{fmt.plural(len(took), 'sample')}: {words} or less")
    if sample.total_tokens is not None:
        turns = f", {fmt.plural(sample.turn_count, 'turn')}" if sample.turn_count else ""
        yield "used", shown(f"{fmt.count(sample.total_tokens)} tokens{turns}")


def _surroundings(scene: Scene, key: ProcessKey) -> Iterator[tuple[str, Shown]]:
    process, machine = scene.fleet.processes.get(key), scene.fleet.machines.get(key.machine)
    if process is not None:
        started = ""
        if process.started_at is not None:
            clock = scene.at + scene.fleet.clock_offset(key.machine)
            ago = fmt.duration_in_words(max(0.0, clock - process.started_at))
            started = f"; it started {ago} ago"
        yield "process", shown(f"{key.pid} is {process.state}{started}")
        if process.trouble:
            yield "trouble", shown(process.trouble, _MAX_TEXT)
    if machine is not None:
        facts = machine.facts
        load = ""
        if facts is not None and facts.load and facts.cpus:
            load = f", load {facts.load[0]:.1f} of {facts.cpus:g}"
        reason = f" ({machine.link.reason})" if machine.link.reason else ""
        yield "machine", shown(f"{machine.name} is {machine.link.state}{reason}{load}", _MAX_TEXT)


def _findings(fleet: Fleet, key: SampleKey) -> Iterator[tuple[str, Shown]]:
    for finding in fleet.findings:
        if finding.is_open and finding.task == key.task and finding.sample in {None, key}:
            yield "finding", shown(f"{finding.severity}: {finding.text}", _MAX_TEXT)


def _why_process(scene: Scene, key: ProcessKey) -> Why:
    process = scene.fleet.processes.get(key)
    if process is None:
        raise TargetUnclear(f"process {key.pid} is no longer known", "choose it again")
    tasks = [scene.fleet.tasks[each] for each in process.tasks]
    still = [
        (task, sample, each)
        for task in tasks
        for sample, each in stillnesses(scene.fleet, task)
        if each.lasted >= limits_of(scene, task, each)[0]
    ]
    word, verdict = _process_verdict(scene, process, len(still))
    facts = [*_surroundings(scene, key), *_operations(scene, process)]
    for task, (sample_id, epoch), each in still[:MAX_OPERATIONS]:
        lasted = fmt.duration_in_words(each.lasted)
        text = f"{sample_id}/{epoch} of {task.row.task}: {each.name} for {lasted}"
        facts.append(("stalled", shown(text, _MAX_TEXT)))
    for finding in scene.fleet.findings:
        about = finding.process or (finding.task.process if finding.task is not None else None)
        if finding.is_open and about == key:
            whose = f" {subject_of(finding, scene.fleet)}:" if finding.task is not None else ""
            text = f"{finding.severity}:{whose} {finding.text}"
            facts.append(("finding", shown(text, _MAX_TEXT)))
    return Why(
        at=scene.at,
        name=shown(f"process {key.pid} on {key.machine}", _MAX_TEXT),
        word=word,
        verdict=shown(verdict, _MAX_TEXT),
        rule=shown(""),
        facts=tuple(facts),
    )


def _process_verdict(scene: Scene, process: Process, still: int) -> tuple[Word, str]:
    if not process.is_gone and not scene.fleet.is_up(process.key.machine):
        return "unknown", "its machine can't be reached; this is what was read last"
    if process.state in _TROUBLED:
        return _TROUBLED[process.state]
    if process.is_stopped:
        return "waits", "a signal stopped it (SIGSTOP, ^z)"
    if still:
        are = "looks" if still == 1 else "look"
        return "suspect", f"it answers, and {fmt.plural(still, 'sample')} of it {are} stuck"
    return "fine", "it answers, and no sample of it looks stuck"


def _operations(scene: Scene, process: Process) -> Iterator[tuple[str, Shown]]:
    """Yield the longest operations that its trace file shows; they are known when it hangs, too."""
    if process.operations is None:
        yield "trace", shown("its trace file was not read")
        return
    clock = scene.at + scene.fleet.clock_offset(process.key.machine)
    longest = sorted(process.operations, key=lambda each: each.since)[:MAX_OPERATIONS]
    for operation in longest:
        lasted = fmt.duration_in_words(max(0.0, clock - operation.since))
        whose = f" ({operation.task} {operation.sample[0]})" if operation.sample else ""
        yield "trace", shown(f"{operation_words(operation)} for {lasted}{whose}", _MAX_TEXT)
