"""The places that have screens, and the history of visited ones."""

from dataclasses import dataclass

from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.finding import Finding


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """The place of the journal of orders."""


JOURNAL = JournalPlace()


@dataclass(frozen=True, slots=True)
class GuidesPlace:
    """The place of the guides."""


GUIDES = GuidesPlace()


@dataclass(frozen=True, slots=True)
class RunsPlace:
    """The place of the runs."""


RUNS = RunsPlace()


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """The place of one finding.

    Attributes:
        id: Its id.
    """

    id: str


Subject = MachineName | ProcessKey | TaskKey | SampleKey
"""A part of the fleet that has a screen."""

Place = Subject | JournalPlace | GuidesPlace | RunsPlace | FindingPlace | None
"""The place that a screen shows; None is the main screen."""

_LONGEST = 100


@dataclass(frozen=True, slots=True)
class PlaceHistory:
    """The visited places, as in a browser.

    Attributes:
        places: The places in the order visited.
        at: Index of the place on screen.
    """

    places: tuple[Place, ...] = (None,)
    at: int = 0

    @property
    def place(self) -> Place:
        """The place on screen."""
        return self.places[self.at]

    def to(self, place: Place) -> "PlaceHistory":
        """Return the history with one more place; places after the current one are dropped."""
        if place == self.place:
            return self
        places = (*self.places[: self.at + 1], place)[-_LONGEST:]
        return PlaceHistory(places, len(places) - 1)

    def older(self) -> "PlaceHistory":
        """Return the history one place back."""
        return PlaceHistory(self.places, max(self.at - 1, 0))

    def newer(self) -> "PlaceHistory":
        """Return the history one place forward."""
        return PlaceHistory(self.places, min(self.at + 1, len(self.places) - 1))


def is_there(fleet: Fleet, place: Place) -> bool:
    """Return whether the fleet knows a place."""
    match place:
        case None | JournalPlace() | GuidesPlace() | RunsPlace():
            return True
        case FindingPlace():
            return any(each.id == place.id for each in fleet.findings)
        case SampleKey():
            task = fleet.tasks.get(place.task)
            return task is not None and (place.sample_id, place.epoch) in task.samples
        case TaskKey():
            return place in fleet.tasks
        case ProcessKey():
            return place in fleet.processes
        case _:
            return place in fleet.machines


def machine_of(place: Place) -> MachineName | None:
    """Return the machine of a place; None for the main screen and for the lists."""
    match place:
        case SampleKey():
            return place.task.machine
        case ProcessKey() | TaskKey():
            return place.machine
        case JournalPlace() | GuidesPlace() | RunsPlace() | FindingPlace():
            return None
        case _:
            return place


def subject_of(finding: Finding) -> Subject | None:
    """Return the narrowest place that a finding is about."""
    return finding.sample or finding.task or finding.process or finding.machine
