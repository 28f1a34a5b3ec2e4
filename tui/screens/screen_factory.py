"""Makes the screen of a place."""

from core.ids import ProcessKey, SampleKey, TaskKey
from tui.navigation import FindingPlace, GuidesPlace, JournalPlace, Place, RunsPlace
from tui.screens.panes_screen import PanesScreen
from tui.screens.ports import RoomUi


def screen_for(ui: RoomUi, place: Place) -> PanesScreen:  # noqa: PLR0911 - one case per kind of place
    """Return a new screen for a place; its module is loaded on first use.

    Raises:
        ValueError: The place is the main screen, which exists once.
    """
    match place:
        case SampleKey():
            from tui.screens.sample import SampleScreen  # noqa: PLC0415

            return SampleScreen(ui, place)
        case TaskKey():
            from tui.screens.task import TaskScreen  # noqa: PLC0415

            return TaskScreen(ui, place)
        case ProcessKey():
            from tui.screens.process import ProcessScreen  # noqa: PLC0415

            return ProcessScreen(ui, place)
        case JournalPlace():
            from tui.screens.journal import JournalScreen  # noqa: PLC0415

            return JournalScreen(ui, place)
        case GuidesPlace():
            from tui.screens.guides import GuidesScreen  # noqa: PLC0415

            return GuidesScreen(ui, place)
        case RunsPlace():
            from tui.screens.runs import RunsScreen  # noqa: PLC0415

            return RunsScreen(ui, place)
        case FindingPlace():
            from tui.screens.finding import FindingScreen  # noqa: PLC0415

            return FindingScreen(ui, place)
        case None:
            raise ValueError("the main screen exists once")
        case _:
            from tui.screens.machine import MachineScreen  # noqa: PLC0415

            return MachineScreen(ui, place)
