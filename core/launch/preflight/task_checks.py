"""Checks of the task, and of the packages that it and the model need."""

from collections.abc import Iterator

from core.launch.plan.warnings import package_name
from core.launch.preflight import requirements
from core.launch.preflight.check_text import error_of, listed, packages_line
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.survey_facts import TaskFacts
from core.launch.spec.spec import BUILT_IN_TASKS
from core.model.machine import ToolState

_UNCERTAIN = frozenset({"KeyError", "ValueError", "OSError", "PrerequisiteError"})
"""Errors that code raises if a variable is missing that only the run has."""


_SLOW = "its import may be slow, or hang"
_LATER = "the start of the run will show whether it works"


def task_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield what the machine's Inspect says about the task."""
    name = case.spec.task[0]
    if name in BUILT_IN_TASKS:
        yield passed("task", f"{name} comes with evalroom")
        return
    if name.startswith(requirements.HF_TASK_PREFIX):
        yield passed("task", f"{name} is downloaded from Hugging Face when the run starts")
        return
    task = case.task
    if task is None:
        yield from _unanswered(case, name)
        return
    match task.state:
        case "ok":
            yield from _found(case, name, task)
        case "no file":
            yield _no_file(case, task)
        case "no task":
            advice = f"similar names: {listed(task.near)}" if task.near else ""
            yield stop("task", f"Inspect can't find the task {name}", advice)
        case "fails" if not _missing_module(task):
            yield _fails(case, name, task)
        case "fails" | "no package":
            pass
        case "slow":
            text = f"unknown whether {name} can be imported: {error_of(task.error)}"
            yield warning("task", text, _SLOW)
        case _:
            text = f"the machine's Inspect can't check {name}: {error_of(task.error)}"
            yield warning("task", text, _LATER)


def _missing_module(task: TaskFacts) -> str | None:
    """Return the module that the import of a task misses."""
    is_missing = task.kind == "ModuleNotFoundError" and task.module
    return task.module.partition(".")[0] if is_missing and task.module else None


def _unanswered(case: PreflightContext, name: str) -> Iterator[Check]:
    inspect = case.inspect
    if inspect is None:
        if case.plan.python is None:
            text = f"{name} was not checked: Inspect must be downloaded first"
            yield warning(
                "task", text, "`evalroom machines prepare` or the start of the run will check it"
            )
    elif inspect.imported:
        text = f"unknown whether {name} can be imported: {error_of(inspect.error)}"
        yield warning("task", text, _SLOW)


def _found(case: PreflightContext, name: str, task: TaskFacts) -> Iterator[Check]:
    taken = task.arguments
    unknown = [] if taken is None else [each for each in case.spec.args if each not in taken]
    if unknown:
        text = f"{name} has no argument {listed(unknown)}; Inspect will ignore it silently"
        yield warning("task", text, f"its arguments: {listed(taken or ()) or 'none'}")
    else:
        yield passed("task", f"{name} can be imported")


def _no_file(case: PreflightContext, task: TaskFacts) -> Check:
    if requirements.has_own_code(case.spec):
        return passed("task", "its code will be checked out and checked at launch")
    return stop(
        "task", f"the file {task.error} does not exist", "check the path, and `code` in the spec"
    )


def _fails(case: PreflightContext, name: str, task: TaskFacts) -> Check:
    place = f" ({task.place})" if task.place else ""
    text = f"{name} can't be imported: {error_of(task.error)}{place}"
    if case.spec.secrets and task.kind in _UNCERTAIN:
        return warning("task", text, "the import may need a secret that only the run gets")
    return stop("task", text)


def _python(case: PreflightContext) -> str:
    return case.plan.python or "uv's environment"


def packages_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield the missing packages, with the line for the spec that adds them."""
    lacks = list(_lacks(case))
    if lacks:
        wanted = list(dict.fromkeys(package for _, package in lacks))
        needers = list(dict.fromkeys(needer for needer, _ in lacks))
        verb = "needs" if len(needers) == 1 else "need"
        text = f"{_python(case)} lacks {listed(wanted)}, which {listed(needers)} {verb}"
        yield stop("packages", text, _offer(case, wanted))
    elif case.inspect is None and case.plan.python is None:
        yield from _unseen(case)


def _lacks(case: PreflightContext) -> Iterator[tuple[str, str]]:
    """Yield each missing package as pip names it, after what needs it."""
    task, inspect = case.task, case.inspect
    if task is not None and task.state == "no package" and task.module:
        yield case.spec.task[0], task.module.replace("_", "-")
    module = None if task is None else _missing_module(task)
    if module is not None:
        yield case.spec.task[0], module.replace("_", "-")
    if inspect is None or inspect.inspect is None:
        return
    for model, package in requirements.packages_of(case.spec, case.login):
        if inspect.packages.get(package_name(package), "") is None:
            yield model, package


def _offer(case: PreflightContext, wanted: list[str]) -> str:
    line = packages_line((*case.spec.packages, *wanted))
    own = ""
    if case.task is not None and _missing_module(case.task) and case.spec.code is not None:
        own = "; your own modules must be in `code`"
    if case.plan.python is None:
        return f"set {line}{own}"
    pip = f"{case.plan.python} -m pip install {' '.join(wanted)}"
    return f"set {line} so that uv installs them; or run on the machine: {pip}{own}"


def _unseen(case: PreflightContext) -> Iterator[Check]:
    """Yield the packages that seem missing, by name alone: nothing could be checked."""
    wanted = {package_name(each) for each in case.spec.packages}
    lacks: list[str] = []
    if requirements.may_fetch_data(case.spec):
        lacks.append(case.spec.task[0].partition("/")[0].replace("_", "-"))
    lacks += (package for _, package in requirements.packages_of(case.spec, case.login))
    lacks = [each for each in dict.fromkeys(lacks) if package_name(each) not in wanted]
    if lacks and case.facts.inspect.state is not ToolState.OK:
        line = packages_line((*case.spec.packages, *lacks))
        yield warning("packages", f"`packages` does not contain {listed(lacks)}", f"set {line}")
