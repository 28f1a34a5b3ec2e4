"""The last view, saved when the app is left and restored at the next start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from tui.arrangement import Arrangement, arrangement_of
from tui.navigation import (
    GUIDES,
    JOURNAL,
    RUNS,
    FindingPlace,
    GuidesPlace,
    JournalPlace,
    Place,
    RunsPlace,
)

_LISTS: Mapping[str, Place] = {"journal": JOURNAL, "guides": GUIDES, "runs": RUNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """One saved view.

    Attributes:
        place: The place on screen.
        pane: The digit of the main screen's current pane.
        task: The task under the cursor.
        theme: The theme that the operator chose; None: the config's.
        arrangements: Sort, filter and columns, by the id of the pane.
    """

    place: Place = None
    pane: int = 2
    task: TaskKey | None = None
    theme: str | None = None
    arrangements: Mapping[str, Arrangement] = field(default_factory=dict[str, Arrangement])

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON for the store."""
        return {
            "place": _place_to_json(self.place),
            "pane": self.pane,
            "task": _place_to_json(self.task),
            "theme": self.theme,
            "arrangements": {name: each.to_json() for name, each in self.arrangements.items()},
        }


def saved_view_of(kept: Mapping[str, Any]) -> SavedView:
    """Read the JSON of `to_json`, of any version; invalid values become defaults."""
    pane, theme, arrangements = kept.get("pane"), kept.get("theme"), kept.get("arrangements")
    task = _place_of(kept.get("task"))
    named: Mapping[str, object] = {}
    if isinstance(arrangements, Mapping):
        named = cast("Mapping[str, object]", arrangements)
    return SavedView(
        place=_place_of(kept.get("place")),
        pane=pane if isinstance(pane, int) and 1 <= pane <= 4 else 2,  # noqa: PLR2004
        task=task if isinstance(task, TaskKey) else None,
        theme=theme if isinstance(theme, str) else None,
        arrangements={name: arrangement_of(each) for name, each in named.items()},
    )


def _place_to_json(  # noqa: PLR0911 - one case per kind of place
    place: Place,
) -> list[Any] | None:
    match place:
        case None:
            return None
        case JournalPlace() | GuidesPlace() | RunsPlace():
            return [next(name for name, each in _LISTS.items() if each == place)]
        case FindingPlace():
            return ["finding", place.id]
        case ProcessKey():
            return ["process", place.machine, place.pid, place.start]
        case TaskKey():
            process = place.process
            return ["task", process.machine, process.pid, process.start, place.task_id]
        case SampleKey():
            process = place.task.process
            task = [process.machine, process.pid, process.start, place.task.task_id]
            return ["sample", *task, place.sample_id, place.epoch]
        case _:
            return ["machine", place]


def _place_of(kept: object) -> Place:  # noqa: PLR0911 - one case per kind of place
    match cast("list[object]", kept) if isinstance(kept, list) else []:
        case [str(name)]:
            return _LISTS.get(name)
        case ["finding", str(finding)]:
            return FindingPlace(finding)
        case ["machine", str(machine)]:
            return MachineName(machine)
        case ["process", str(machine), int(pid), str(start)]:
            return ProcessKey(MachineName(machine), pid, start)
        case ["task", str(machine), int(pid), str(start), str(task_id)]:
            return TaskKey(ProcessKey(MachineName(machine), pid, start), task_id)
        case [
            "sample",
            str(machine),
            int(pid),
            str(start),
            str(task_id),
            str() | int() as name,
            int(epoch),
        ]:
            process = ProcessKey(MachineName(machine), pid, start)
            return SampleKey(TaskKey(process, task_id), name, epoch)
        case _:
            return None
