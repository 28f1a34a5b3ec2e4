"""The choices that Enter shows in a field of the launch form."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.fleet import Fleet
from core.launch.form.form import field_of
from core.launch.spec.model_providers import provider_names, provider_of
from core.launch.spec.spec import ANY_MACHINE, BUILT_IN_TASK_ARGS
from core.launch.spec.templates import BUILT_IN_TEMPLATES
from core.model.machine import Machine
from core.text import Shown, shown
from core.views.cells import Span
from core.views.tables.machines import link_words
from core.views.tables.runs import newest_first

_NAME_COLUMNS = 24
_MAX_SEEN = 20
TOLERATE = "tolerate 0.1"
_ON_ERROR = {
    "stop": "the first errored sample ends the task; no retry",
    "continue": "all samples run; a task with errors is retried",
    TOLERATE: "stop once 10% of the samples errored (5 means five)",
}
"""Each choice fits into one line of a narrow terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChoice:
    """One choice for a field.

    Attributes:
        typed: The text that it puts into the field.
        title: Its line in the list.
        is_complete: Whether the text is a whole value; if not, the operator types the rest.
    """

    typed: str
    title: Shown
    is_complete: bool = True


def choices_for(key: str, fleet: Fleet, now: float) -> tuple[FieldChoice, ...]:
    """Return the choices for a key of a spec; empty: its value can only be typed.

    Args:
        key: The key of the spec.
        fleet: The machines, and what ran before.
        now: The time at the desk, Unix seconds.
    """
    match key:
        case "machine":
            return tuple(_machines(fleet, now))
        case "task":
            return tuple(_tasks(fleet))
        case "model":
            return tuple(_models(fleet))
        case "on_error":
            return tuple(_on_error())
        case _:
            return tuple(
                FieldChoice(typed=each, title=shown(each)) for each in field_of(key).choices
            )


def title_of(key: str) -> Shown:
    """Return the title of the list of choices."""
    titles = {
        "machine": "Where to run; type several with commas",
        "task": "What to run; type several with commas",
        "model": "Which model; type several with commas",
        "on_error": "What happens when a sample errors",
    }
    return shown(titles.get(key, key))


def _titled(name: str, meaning: str, *, is_complete: bool = True) -> FieldChoice:
    room = f"{name:<{_NAME_COLUMNS}}  " if len(name) <= _NAME_COLUMNS else f"{name}  "
    return FieldChoice(typed=name, title=shown(f"{room}{meaning}", 200), is_complete=is_complete)


def _on_error() -> Iterator[FieldChoice]:
    for choice, meaning in _ON_ERROR.items():
        title = shown(f"{choice:<12}  {meaning}")
        yield FieldChoice(typed=choice, title=title, is_complete=choice != TOLERATE)


def _machines(fleet: Fleet, now: float) -> Iterator[FieldChoice]:
    tags: dict[str, list[str]] = {}
    for name, machine in fleet.machines.items():
        for tag in machine.tags:
            tags.setdefault(tag, []).append(name)
        yield _titled(name, _machine_words(machine, now))
    for tag, names in tags.items():
        yield _titled(tag, f"a tag: evalroom chooses from {', '.join(names)}")
    yield _titled(ANY_MACHINE, "evalroom chooses from all machines")


def _machine_words(machine: Machine, now: float) -> str:
    link = "".join(span.text for span in link_words(machine, now) if isinstance(span, Span))
    facts = machine.facts
    gpus = f"{len(facts.gpus)} GPUs" if facts is not None and facts.gpus else ""
    marks = "production" if machine.production else ""
    marks = "read-only: no launches" if machine.read_only else marks
    return "  ".join(part for part in (link, gpus, marks) if part)


def _tasks(fleet: Fleet) -> Iterator[FieldChoice]:
    seen: dict[str, str] = dict.fromkeys(
        (run.task for run in newest_first(fleet)), "launched before"
    )
    known = dict(list(seen.items())[:_MAX_SEEN])
    known |= dict.fromkeys(BUILT_IN_TASK_ARGS, "comes with evalroom")
    for template in BUILT_IN_TEMPLATES:
        for name in _task_names(template.text):
            known.setdefault(name, template.title)
    for name, meaning in known.items():
        yield _titled(name, meaning)


def _task_names(text: str) -> Iterator[str]:
    line = next((each for each in text.splitlines() if each.startswith("task = ")), "")
    name = line.partition('"')[2].partition('"')[0]
    if name:
        yield name


def _models(fleet: Fleet) -> Iterator[FieldChoice]:
    ran = [run.model for run in newest_first(fleet)]
    ran += [task.row.model for task in fleet.tasks.values()]
    known = [each for each in dict.fromkeys(ran) if "/" in each][:_MAX_SEEN]
    for model in known:
        yield _titled(model, "used before")
    if "mockllm/model" not in known:
        yield _titled("mockllm/model", "a mock model: no network, no API key")
    for name in provider_names():
        if name == "none":
            continue
        provider = provider_of(f"{name}/NAME/x")
        reads = ", ".join(each.name for each in provider.variables) if provider else ""
        yield _titled(
            f"{name}/", f"reads {reads}" if reads else "reads no variable", is_complete=False
        )
