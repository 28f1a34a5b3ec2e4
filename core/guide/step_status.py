"""The state of each step of the guides interrupt, finish and cleanup."""

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
"""A process that still runs this long after an interrupt should be checked."""
NO_ANSWER = "no answer; evalroom checks whether the order was applied and does not resend it"
_GONE = "the process ended by itself"


def now_in(step: GuideStep, state: StepState, sentence: str) -> GuideStep:
    """Return a step in a state."""
    return replace(step, state=state, sentence=sentence)


def waiting(step: GuideStep, sentence: str) -> GuideStep:
    """Return a step that waits for the operator."""
    return now_in(step, StepState.WAITING, sentence)


def running(step: GuideStep, sentence: str) -> GuideStep:
    """Return a step that runs by itself."""
    return now_in(step, StepState.RUNNING, sentence)


def done(step: GuideStep, sentence: str) -> GuideStep:
    """Return a step that is done."""
    return now_in(step, StepState.DONE, sentence)


def not_needed(step: GuideStep, why: str) -> GuideStep:
    """Return a step that is skipped because there is nothing to do."""
    return now_in(step, StepState.SKIPPED, why)


# Interrupting


def pause(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step that pauses the process (soft)."""
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    order = world.newest(step).get(guide.process)
    process = world.process(guide.process)
    if order is not None and order.state in GOOD:
        return done(step, "no new samples start")
    if order is not None and order.is_open:
        return running(step, NO_ANSWER)
    if process is not None and process.paused and not process.paused_now:
        return done(step, "the process was already paused: no new samples start")
    if order is not None:
        return waiting(step, f"not paused: {shown(order.message, 200)}")
    return waiting(step, "no new samples start; samples in flight finish")


def quiesce(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step that waits until no sample is in flight."""
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    tasks = world.running(guide.process)
    if world.is_quiet(guide.process):
        return done(step, "no sample is in flight" if tasks else "no task is running")
    held = sum(task.row.held or 0 for task in tasks)
    flying = sum(task.row.samples.in_flight or 0 for task in tasks)
    count = f"{plural(flying, 'sample')} in flight"
    if held:
        return running(
            step, f"{count}, {held} held by a `pause now`: resume, or pause again without `now`"
        )
    process = world.process(guide.process)
    order = [order for each in guide.steps for order in world.own(each)]
    settled = order[0].ended_at if order else step.since
    if process is not None and not process.paused and _is_newer(tasks, settled):
        what = "someone resumed the process: pause it again, or stop this guide"
        return running(step, f"{count}; {what}")
    return running(step, count)


def _is_newer(tasks: tuple[Task, ...], at: float | None) -> bool:
    """Whether all rows came more than 2 s after `at`, Unix seconds at the desk."""
    return at is not None and all(task.heard_at > at + 2.0 for task in tasks)


def flush(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step that writes the log of each running task."""
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
        return running(step, "writing the logs")
    bad = [order for order in orders if order is not None and order.state not in GOOD]
    if bad:
        return waiting(step, f"not written: {shown(bad[0].message, 200)}")
    return waiting(step, f"{plural(len(left), 'log')}: write finished samples from memory")


def _flushed(number: int) -> str:
    return f"{plural(number, 'log')} up to date" if number else "no log is open"


def interrupt(  # noqa: PLR0911 - one case after the other
    guide: Guide, step: GuideStep, world: GuideContext
) -> GuideStep:
    """Return the state of the step that sends SIGINT; it needs a command that resumes the run."""
    order = world.newest(step).get(guide.process)
    if order is not None and order.state is OrderState.DONE:
        return done(step, "SIGINT was sent")
    if order is not None and order.is_open and world.presence(guide.process) != "gone":
        return running(step, NO_ANSWER)
    found = _without_process(guide, step, world)
    if found is not None:
        return done(step, "the process has ended") if order is not None else found
    if not world.running(guide.process) and _is_parked(world.process(guide.process)):
        return not_needed(step, "no task is running; the process is parked: release it instead")
    if not guide.command:
        why = "not interrupted: no command to resume the run is known. The process stays paused"
        return now_in(step, StepState.STOPPED, why)
    if order is not None:
        return waiting(step, f"not interrupted: {shown(order.message, 200)}")
    return waiting(step, "the process writes its logs, then exits; you type words to confirm")


def _is_parked(process: Process | None) -> bool:
    return process is not None and process.state is ProcessState.PARKED


def _without_process(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep | None:
    """Return the state of a step whose process is gone or unreachable; None: it is there."""
    match world.presence(guide.process):
        case "gone":
            return not_needed(step, _GONE)
        case "unknown":
            machine = shown(guide.process.machine)
            return replace(step, sentence=f"{machine} can't be reached now")
        case _:
            return None


# Ends


def end(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step that waits until the process is gone and its logs are read."""
    if guide.kind is GuideKind.FINISH:
        target = guide.places[0]
        task = world.fleet.tasks.get(target) if isinstance(target, TaskKey) else None
        return _task_end(step, task, guide, world)
    return _process_end(guide, step, world)


def _process_end(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    tasks = world.tasks(guide.process)
    here = world.presence(guide.process)
    if here == "unknown":
        return running(step, f"{shown(guide.process.machine)} can't be reached now")
    asked = any(each.kind is StepKind.INTERRUPT and world.own(each) for each in guide.steps)
    if here == "there":
        if not asked:
            return not_needed(step, "the process was not interrupted")
        return running(step, _finalising(step, world.process(guide.process), world.now))
    if not tasks:
        logs = ", ".join(shown(log, 120) for log in guide.logs[:4])
        return done(step, f"the process is gone; evalroom has not read the logs: {logs}")
    unread = [task for task in tasks if not task.is_over]
    if unread:
        return running(step, f"the process is gone; {plural(len(unread), 'log')} not read yet")
    return done(step, f"the process is gone; {_logs(tasks)}")


def _finalising(step: GuideStep, process: Process | None, now: float) -> str:
    if process is not None and process.state is ProcessState.HEADLESS:
        return "no control server: the process is writing its logs, or ignores the interrupt"
    if step.since is not None and now - step.since > SLOW_END_S:
        return "still running: check the process; evalroom does not send a second SIGINT"
    return "the process is writing its logs"


def _logs(tasks: tuple[Task, ...]) -> str:
    states = Counter(task.state for task in tasks)
    summary = ", ".join(f"{number} {state}" for state, number in states.items())
    lost = " (a lost log is incomplete: check it)" if states[TaskState.LOST] else ""
    unread = " (an unreadable log proves nothing: check it)" if states[TaskState.UNREADABLE] else ""
    return f"{plural(len(tasks), 'log')}: {summary}{lost}{unread}"


def _task_end(step: GuideStep, task: Task | None, guide: Guide, world: GuideContext) -> GuideStep:
    if task is None:
        if world.presence(guide.process) == "gone":
            logs = ", ".join(shown(log, 200) for log in guide.logs)
            return done(step, f"the process is gone; evalroom has not read the log: {logs}")
        return running(step, "the machine can't be reached now")
    if task.is_over:
        counts = task.progress
        samples = f"{counts.completed} of {counts.total} samples done"
        return done(step, f"log status: {task.state}, {samples}")
    if is_running(task):
        return running(step, f"ending: {_left(task)}")
    return running(step, "reading the log")


# Finishing early


_WORDS = {
    StepKind.DRAIN: "samples in flight finish, queued samples are abandoned",
    StepKind.SCORE: "wait, or cancel them now and score their work so far",
    StepKind.CANCEL: "wait, or cut them off now",
}
_DONE_WORDS = {
    StepKind.DRAIN: "no new samples start",
    StepKind.SCORE: "samples in flight are scored as they are",
    StepKind.CANCEL: "samples in flight are cut off",
}


def ending(  # noqa: PLR0911 - one case after the other
    guide: Guide, step: GuideStep, world: GuideContext
) -> GuideStep:
    """Return the state of a step that ends a task: by drain, score or cancel."""
    target = guide.places[0]
    task = world.fleet.tasks.get(target) if isinstance(target, TaskKey) else None
    order = world.newest(step).get(target)
    if order is not None and order.state in GOOD:
        return done(step, _DONE_WORDS[step.kind])
    if task is not None and not is_running(task):
        return not_needed(step, "the task is finished")
    found = _without_process(guide, step, world)
    if found is not None:
        return found
    if order is not None and order.is_open:
        return running(step, NO_ANSWER)
    if guide.targets[0] in step.settled:
        return done(step, "already in effect")
    left = _left(task) if task is not None else "samples in flight unknown"
    if order is not None:
        return waiting(step, f"{left}; not done: {shown(order.message, 200)}")
    return waiting(step, f"{left}: {_WORDS[step.kind]}")


def _left(task: Task) -> str:
    counts = task.row.samples
    queued = "queued" if task.row.resolving is None else "abandoned"
    return f"{counts.in_flight or 0} in flight, {counts.queued or 0} {queued}"


# Cleaning up


def release(  # noqa: PLR0911 - one case after the other
    guide: Guide, step: GuideStep, world: GuideContext
) -> GuideStep:
    """Return the state of the step that releases one parked process."""
    del guide
    key = step.address.process if step.address is not None else None
    if not isinstance(key, ProcessKey):
        return not_needed(step, "nothing to release")
    order = world.newest(step).get(key)
    if order is not None and order.state in GOOD:
        return done(step, "released: the process exits")
    match world.presence(key):
        case "gone":
            return done(step, "the process has ended")
        case "unknown":
            return waiting(step, f"{shown(key.machine)} can't be reached now")
        case _:
            pass
    if order is not None and order.is_open:
        return running(step, NO_ANSWER)
    if order is not None:
        return waiting(step, f"not released: {shown(order.message, 200)}")
    if step.address in step.settled:
        return not_needed(step, "nothing to release")
    return waiting(step, _parked(key, world))


def _parked(key: ProcessKey, world: GuideContext) -> str:
    tasks = world.tasks(key)
    unread = sum(not task.is_over for task in tasks)
    summary = f"parked, {plural(len(tasks), 'task')} finished"
    return f"{summary}; {plural(unread, 'log')} not read yet" if unread else summary
