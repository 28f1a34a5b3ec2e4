"""The shell command that has the same effect as an action, for the target's machine."""

from core.ctl.cli_commands import command, positional
from core.ctl.recovery_command import inspect_of, recovery_command
from core.fleet import Fleet
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey, process_of
from core.model.action import Action, Change, Verb

_SIGNALS = {Verb.INTERRUPT: "-INT", Verb.KILL: "-KILL"}


def equivalent(  # noqa: PLR0911 - one case per kind of request
    action: Action, target: Target, fleet: Fleet, *, reason: str = ""
) -> str:
    """Return the command that carries `action` out on `target`, from a shell on its machine.

    It contains text of the host, so show it only through `shown`.
    """
    process = fleet.processes.get(process_of(target))
    if action.verb in _SIGNALS:
        return f"kill {_SIGNALS[action.verb]} {process_of(target).pid}"
    if action.verb is Verb.RECOVER:
        return _recovery(target, fleet)
    if action.verb is Verb.CONFIG:
        task = _config_task(target, fleet)
        options = (*_knobs(action.changes), *(("--reason", reason) if reason else ()))
        return command(process, "config", *positional(*task, options=options))
    now = ("--now",) if action.now else ()
    verb = str(action.verb)
    match target:
        case SampleKey():
            call = () if action.tool_call is None else ("--tool-call-id", action.tool_call)
            options = (*_manner(action), *call)
            words = (target.task.task_id, target.sample_id, target.epoch)
            verb = "cancel-tool-call" if action.verb is Verb.CANCEL_CALL else verb
            return command(process, "sample", verb, *positional(*words, options=options))
        case TaskKey():
            options = (*now, *_manner(action), *_completed(action))
            verb = "log-flush" if action.verb is Verb.FLUSH else verb
            return command(process, "task", verb, *positional(target.task_id, options=options))
        case ModelKey():
            model = positional(target.model, target.process.pid, options=now)
            return command(process, "model", verb, *model)
        case ProcessKey():
            return command(process, "process", verb, *positional(target.pid, options=now))


def _recovery(target: Target, fleet: Fleet) -> str:
    process = fleet.processes.get(process_of(target))
    task = fleet.tasks.get(target) if isinstance(target, TaskKey) else None
    log = task.row.log_location if task is not None else "LOG"
    return recovery_command(inspect_of(process), log, process.data_dir if process else None)


def _manner(action: Action) -> tuple[str, ...]:
    return () if action.manner is None else ("--action", action.manner)


def _completed(action: Action) -> tuple[str, ...]:
    return ("--completed-only",) if action.completed_only else ()


def _config_task(target: Target, fleet: Fleet) -> tuple[str, ...]:
    """Return the words that name a task; for a process, any task of it selects the process."""
    if isinstance(target, TaskKey):
        return (target.task_id,)
    process = fleet.processes.get(process_of(target))
    running = [key.task_id for key in process.tasks if key.task_id] if process is not None else []
    return tuple(running[:1])


def _knobs(changes: tuple[Change, ...]) -> tuple[str, ...]:
    words: list[str] = []
    for change in changes:
        value = "clear" if change.value is None else str(change.value)
        if change.knob == "key":
            words += ["--key", change.key, value]
        else:
            words += [f"--{change.knob.replace('_', '-')}", value]
        if change.model:
            words += ["--model", change.model]
    return tuple(words)
