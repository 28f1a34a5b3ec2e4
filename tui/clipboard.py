"""What `y` sends to the clipboard for the thing that the cursor is on."""

from dataclasses import dataclass

from core.ctl import cli_commands
from core.fleet import Fleet
from core.ids import ProcessKey, SampleKey, TaskKey
from core.text import Shown, shown
from tui.navigation import GuidesPlace, JournalPlace, Place, RunsPlace

_LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class CopiedText:
    """A text for the clipboard, and what it is, for people."""

    text: Shown
    what: str


def copy_text(fleet: Fleet, place: Place) -> CopiedText | None:
    """Return what is copied for a place; None where there is nothing.

    Of a task it is the log's location, of a sample, a process or a machine the shell command
    that shows the same on that machine. It is harmless text: never as a host sent it.
    """
    match place:
        case TaskKey():
            task = fleet.tasks.get(place)
            if task is None or not task.row.log_location:
                return None
            return CopiedText(shown(task.row.log_location, _LONGEST), "log location")
        case SampleKey():
            process = fleet.processes.get(place.task.process)
            return CopiedText(shown(cli_commands.sample_show(process, place), _LONGEST), "command")
        case ProcessKey():
            process = fleet.processes.get(place)
            return CopiedText(shown(cli_commands.task_list(process), _LONGEST), "command")
        case None | JournalPlace() | GuidesPlace() | RunsPlace():
            return None
        case _:
            machine = fleet.machines.get(place)
            return None if machine is None else CopiedText(shown(machine.address, 400), "address")
