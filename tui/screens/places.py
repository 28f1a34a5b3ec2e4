"""Which screen shows which place."""

from core.ids import ProcessKey, SampleKey, TaskKey
from tui.places import Place
from tui.screens.base import PanesScreen
from tui.screens.machine import MachineScreen
from tui.screens.process import ProcessScreen
from tui.screens.sample import SampleScreen
from tui.screens.task import TaskScreen


def screen_for(place: Place) -> PanesScreen:
    """Return a new screen for a place within the room."""
    match place:
        case SampleKey():
            return SampleScreen(place)
        case TaskKey():
            return TaskScreen(place)
        case ProcessKey():
            return ProcessScreen(place)
        case None:
            raise ValueError("the room has its one screen")
        case _:
            return MachineScreen(place)
