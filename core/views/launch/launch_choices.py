"""What Enter offers in a field of the launch form: names with a few words each."""

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

_NAME = 24
_MOST_SEEN = 20
TOLERATE = "tolerate 0.1"
_ON_ERROR = {
    "stop": "the first failed sample ends the task; no second try",
    "continue": "all samples run; if any failed the task is tried again",
    TOLERATE: "as stop, but once a tenth of them failed (5: five)",
}
"""Each choice in one line of a narrow terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChoice:
    """One thing that a field can be.

    Attributes:
        typed: What stands in the field then.
        title: For people.
        goes_on: Whether it is whole: else the operator types on.
    """

    typed: str
    title: Shown
    goes_on: bool = True


def choices_for(key: str, fleet: Fleet, now: float) -> tuple[FieldChoice, ...]:
    """Return what Enter offers for a key of a spec; empty where it is typed alone.

    Args:
        key: Of the spec.
        fleet: For the machines there are, and what ran before.
        now: Unix seconds at the desk.
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
    """Return what stands over the offers."""
    titles = {
        "machine": "Where it runs; several are typed with commas",
        "task": "What runs; several are typed with commas",
        "model": "Which model; several are typed with commas",
        "on_error": "What happens when samples fail",
    }
    return shown(titles.get(key, key))


def _titled(name: str, told: str, *, goes_on: bool = True) -> FieldChoice:
    room = f"{name:<{_NAME}}  " if len(name) <= _NAME else f"{name}  "
    return FieldChoice(typed=name, title=shown(f"{room}{told}", 200), goes_on=goes_on)


def _on_error() -> Iterator[FieldChoice]:
    for choice, told in _ON_ERROR.items():
        title = shown(f"{choice:<12}  {told}")
        yield FieldChoice(typed=choice, title=title, goes_on=choice != TOLERATE)


def _machines(fleet: Fleet, now: float) -> Iterator[FieldChoice]:
    tags: dict[str, list[str]] = {}
    for name, machine in fleet.machines.items():
        for tag in machine.tags:
            tags.setdefault(tag, []).append(name)
        yield _titled(name, _machine_words(machine, now))
    for tag, names in tags.items():
        yield _titled(tag, f"a tag, the one that fits of {', '.join(names)}")
    yield _titled(ANY_MACHINE, "the one that fits of all")


def _machine_words(machine: Machine, now: float) -> str:
    link = "".join(span.text for span in link_words(machine, now) if isinstance(span, Span))
    facts = machine.facts
    gpus = f"{len(facts.gpus)} GPUs" if facts is not None and facts.gpus else ""
    marks = "production" if machine.production else ""
    marks = "read-only: nothing is launched there" if machine.read_only else marks
    return "  ".join(part for part in (link, gpus, marks) if part)


def _tasks(fleet: Fleet) -> Iterator[FieldChoice]:
    seen: dict[str, str] = dict.fromkeys(
        (run.task for run in newest_first(fleet)), "launched before"
    )
    known = dict(list(seen.items())[:_MOST_SEEN])
    known |= dict.fromkeys(BUILT_IN_TASK_ARGS, "comes with evalroom")
    for template in BUILT_IN_TEMPLATES:
        for name in _task_names(template.text):
            known.setdefault(name, template.title)
    for name, told in known.items():
        yield _titled(name, told)


def _task_names(text: str) -> Iterator[str]:
    line = next((each for each in text.splitlines() if each.startswith("task = ")), "")
    name = line.partition('"')[2].partition('"')[0]
    if name:
        yield name


def _models(fleet: Fleet) -> Iterator[FieldChoice]:
    ran = [run.model for run in newest_first(fleet)]
    ran += [task.row.model for task in fleet.tasks.values()]
    known = [each for each in dict.fromkeys(ran) if "/" in each][:_MOST_SEEN]
    for model in known:
        yield _titled(model, "ran here before")
    if "mockllm/model" not in known:
        yield _titled("mockllm/model", "the mock model: no network, no key")
    for name in provider_names():
        if name == "none":
            continue
        provider = provider_of(f"{name}/NAME/x")
        reads = ", ".join(each.name for each in provider.variables) if provider else ""
        yield _titled(f"{name}/", f"reads {reads}" if reads else "reads nothing", goes_on=False)
