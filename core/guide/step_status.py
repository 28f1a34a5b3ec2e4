"""How each step of parking, finishing early and cleaning up stands."""

from collections import Counter
from dataclasses import replace

from core.format import plural
from core.guide.context import GOOD, GuideContext, is_running
from core.guide.guide import Guide, GuideKind, GuideStep, StepKind, StepState
from core.ids import ProcessKey, TaskKey, address_of
from core.model.order import OrderState
from core.model.process import Process, ProcessState
from core.model.task import Task, TaskState
from core.text import shown

SLOW_END_S = 120.0
"""Seconds after an interrupt from which a process that is still there wants a look."""
NO_ANSWER = "no answer came: what became of it is being looked for; it is not sent again"
_GONE = "its process ended by itself"


def now_in(step: GuideStep, state: StepState, sentence: str) -> GuideStep:
    """Return a step in a state."""
    return replace(step, state=state, sentence=sentence)


def waiting(step: GuideStep, sentence: str) -> GuideStep:
    """Return a step that waits for the operator."""
    return now_in(step, StepState.WAITING, sentence)


def running(step: GuideStep, sentence: str) -> GuideStep:
    """Return a step that goes on by itself."""
    return now_in(step, StepState.RUNNING, sentence)


def done(step: GuideStep, sentence: str) -> GuideStep:
    """Return a step that is done."""
    return now_in(step, StepState.DONE, sentence)


def not_needed(step: GuideStep, why: str) -> GuideStep:
    """Return a step that there is nothing to do for."""
    return now_in(step, StepState.SKIPPED, why)


# Parking


def pause(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """The soft pause of a whole process."""
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    order = world.newest(step).get(guide.process)
    process = world.process(guide.process)
    if order is not None and order.state in GOOD:
        return done(step, "nothing new starts")
    if order is not None and order.is_open:
        return running(step, NO_ANSWER)
    if process is not None and process.paused and not process.paused_now:
        return done(step, "it was paused already: nothing new starts")
    if order is not None:
        return waiting(step, f"not paused: {shown(order.message, 200)}")
    return waiting(step, "nothing new starts; what is in flight finishes")


def quiesce(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Until nothing is in flight."""
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    tasks = world.running(guide.process)
    if world.is_quiet(guide.process):
        return done(step, "nothing is in flight" if tasks else "nothing runs any more")
    held = sum(task.row.held or 0 for task in tasks)
    flying = sum(task.row.samples.in_flight or 0 for task in tasks)
    said = f"{plural(flying, 'sample')} in flight"
    if held:
        return running(step, f"{said}, {held} of them held by a hard pause: soften or resume it")
    process = world.process(guide.process)
    order = [order for each in guide.steps for order in world.own(each)]
    settled = order[0].ended_at if order else step.since
    if process is not None and not process.paused and _is_newer(tasks, settled):
        return running(step, f"{said}; it was resumed since: pause it again, or leave this")
    return running(step, said)


def _is_newer(tasks: tuple[Task, ...], at: float | None) -> bool:
    """Whether all rows were heard a while after a moment at the desk."""
    return at is not None and all(task.heard_at > at + 2.0 for task in tasks)


def flush(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """The log of each task that is not finished."""
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    sent = world.newest(step)
    tasks = world.running(guide.process)
    left = [task for task in tasks if address_of(task.key) not in step.settled]
    orders = [sent.get(task.key) for task in left]
    if all(order is not None and order.state in GOOD for order in orders):
        return done(step, _flushed(len(tasks)))
    if any(order is not None and order.is_open for order in orders):
        return running(step, "writing")
    bad = [order for order in orders if order is not None and order.state not in GOOD]
    if bad:
        return waiting(step, f"not written: {shown(bad[0].message, 200)}")
    return waiting(step, f"{plural(len(left), 'log')}: finished samples in memory are written")


def _flushed(number: int) -> str:
    return f"{plural(number, 'log')} up to date" if number else "there is no open log"


def interrupt(  # noqa: PLR0911 - one case after the other
    guide: Guide, step: GuideStep, world: GuideContext
) -> GuideStep:
    """The SIGINT; never without a command that resumes."""
    order = world.newest(step).get(guide.process)
    if order is not None and order.state is OrderState.DONE:
        return done(step, "SIGINT was sent")
    if order is not None and order.is_open and world.presence(guide.process) != "gone":
        return running(step, NO_ANSWER)
    found = _without_process(guide, step, world)
    if found is not None:
        return done(step, "it has ended") if order is not None else found
    if not world.running(guide.process) and _is_parked(world.process(guide.process)):
        return not_needed(step, "nothing runs any more: it is parked, release it instead")
    if not guide.command:
        why = "the command that resumes it is not known: it is not interrupted, and stays paused"
        return now_in(step, StepState.STOPPED, why)
    if order is not None:
        return waiting(step, f"not interrupted: {shown(order.message, 200)}")
    return waiting(step, "the logs are written, then the process ends; the preview asks for words")


def _is_parked(process: Process | None) -> bool:
    return process is not None and process.state is ProcessState.PARKED


def _without_process(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep | None:
    """Return how a step stands whose process is not there; None: it is."""
    match world.presence(guide.process):
        case "gone":
            return not_needed(step, _GONE)
        case "unknown":
            machine = shown(guide.process.machine)
            return replace(step, sentence=f"{machine} can't be asked now")
        case _:
            return None


# Ends


def end(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Until what ended has ended: the logs say so themselves."""
    if guide.kind is GuideKind.FINISH:
        target = guide.places[0]
        task = world.fleet.tasks.get(target) if isinstance(target, TaskKey) else None
        return _task_end(step, task, guide, world)
    return _process_end(guide, step, world)


def _process_end(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    tasks = world.tasks(guide.process)
    here = world.presence(guide.process)
    if here == "unknown":
        return running(step, f"{shown(guide.process.machine)} can't be asked now")
    asked = any(each.kind is StepKind.INTERRUPT and world.own(each) for each in guide.steps)
    if here == "there":
        if not asked:
            return not_needed(step, "it was not interrupted")
        return running(step, _finalising(step, world.process(guide.process), world.now))
    if not tasks:
        logs = ", ".join(shown(log, 120) for log in guide.logs[:4])
        return done(step, f"its process is gone; its logs were not read from here: {logs}")
    unread = [task for task in tasks if not task.is_over]
    if unread:
        return running(step, f"its process is gone; {plural(len(unread), 'log')} to be read")
    return done(step, f"its process is gone; {_logs(tasks)}")


def _finalising(step: GuideStep, process: Process | None, now: float) -> str:
    if process is not None and process.state is ProcessState.HEADLESS:
        return "its control server is gone: finalising, or an eval that ignores the interrupt"
    if step.since is not None and now - step.since > SLOW_END_S:
        return "still there: look at it before anything else; nothing is sent a second time"
    return "finalising"


def _logs(tasks: tuple[Task, ...]) -> str:
    states = Counter(task.state for task in tasks)
    said = ", ".join(f"{number} {state}" for state, number in states.items())
    lost = " (a lost one was never ended: look at it)" if states[TaskState.LOST] else ""
    return f"{plural(len(tasks), 'log')}: {said}{lost}"


def _task_end(step: GuideStep, task: Task | None, guide: Guide, world: GuideContext) -> GuideStep:
    if task is None:
        if world.presence(guide.process) == "gone":
            logs = ", ".join(shown(log, 200) for log in guide.logs)
            return done(step, f"its process is gone; its log was not read from here: {logs}")
        return running(step, "its machine can't be asked now")
    if task.is_over:
        counts = task.progress
        return done(step, f"its log says {task.state}, {counts.completed} of {counts.total} done")
    if is_running(task):
        return running(step, f"ending: {_left(task)}")
    return running(step, "its log is to be read")


# Finishing early


_WORDS = {
    StepKind.DRAIN: "what is in flight finishes, what is queued is abandoned",
    StepKind.SCORE: "wait for them, or end them now and score what they did",
    StepKind.CANCEL: "wait for them, or cut them off",
}
_SAID = {
    StepKind.DRAIN: "nothing new starts",
    StepKind.SCORE: "what is in flight is scored as it stands",
    StepKind.CANCEL: "what is in flight is cut off",
}


def ending(  # noqa: PLR0911 - one case after the other
    guide: Guide, step: GuideStep, world: GuideContext
) -> GuideStep:
    """One of the three ways to end a task, the mildest first."""
    target = guide.places[0]
    task = world.fleet.tasks.get(target) if isinstance(target, TaskKey) else None
    order = world.newest(step).get(target)
    if order is not None and order.state in GOOD:
        return done(step, _SAID[step.kind])
    if task is not None and not is_running(task):
        return not_needed(step, "the task is finished")
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    if order is not None and order.is_open:
        return running(step, NO_ANSWER)
    if guide.targets[0] in step.settled:
        return done(step, "it does so already")
    left = _left(task) if task is not None else "not known"
    if order is not None:
        return waiting(step, f"{left}; it was not done: {shown(order.message, 200)}")
    return waiting(step, f"{left}: {_WORDS[step.kind]}")


def _left(task: Task) -> str:
    counts = task.row.samples
    queued = "queued" if task.row.resolving is None else "abandoned"
    return f"{counts.in_flight or 0} in flight, {counts.queued or 0} {queued}"


# Cleaning up


def release(  # noqa: PLR0911 - one case after the other
    guide: Guide, step: GuideStep, world: GuideContext
) -> GuideStep:
    """The end of one parked process."""
    del guide
    key = step.address.process if step.address is not None else None
    if not isinstance(key, ProcessKey):
        return not_needed(step, "nothing to release")
    order = world.newest(step).get(key)
    if order is not None and order.state in GOOD:
        return done(step, "released: it ends")
    match world.presence(key):
        case "gone":
            return done(step, "it has ended")
        case "unknown":
            return waiting(step, f"{shown(key.machine)} can't be asked now")
        case _:
            pass
    if order is not None and order.is_open:
        return running(step, NO_ANSWER)
    if order is not None:
        return waiting(step, f"not released: {shown(order.message, 200)}")
    if step.address in step.settled:
        return not_needed(step, "there is nothing to release")
    return waiting(step, _parked(key, world))


def _parked(key: ProcessKey, world: GuideContext) -> str:
    tasks = world.tasks(key)
    unread = sum(not task.is_over for task in tasks)
    said = f"parked, {plural(len(tasks), 'task')} finished"
    return f"{said}; {plural(unread, 'log')} not read yet" if unread else said
