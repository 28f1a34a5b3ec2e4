"""The text that `y` copies for a place."""

from dataclasses import dataclass

from core.ctl import cli_commands
from core.fleet import Fleet
from core.ids import ProcessKey, SampleKey, TaskKey
from core.quoting import plain_word
from core.text import Shown, shown
from tui.navigation import FindingPlace, GuidesPlace, JournalPlace, Place, RunsPlace

_LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class CopiedText:
    """A text for the clipboard.

    Attributes:
        text: The text.
        what: What it is, for the message: `command`.
    """

    text: Shown
    what: str


def copy_text(fleet: Fleet, place: Place) -> CopiedText | None:
    """Return the text to copy for a place; None if the place has none.

    For a task it is the location of its log, for a sample or a process the shell command that
    shows the same, for a machine its address. The text is harmless, not as the host sent it, and
    quoted for a shell.
    """
    match place:
        case TaskKey():
            task = fleet.tasks.get(place)
            if task is None or not task.row.log_location:
                return None
            return CopiedText(_word(task.row.log_location), "log location")
        case SampleKey():
            process = fleet.processes.get(place.task.process)
            return CopiedText(shown(cli_commands.sample_show(process, place), _LONGEST), "command")
        case ProcessKey():
            process = fleet.processes.get(place)
            return CopiedText(shown(cli_commands.task_list(process), _LONGEST), "command")
        case None | JournalPlace() | GuidesPlace() | RunsPlace() | FindingPlace():
            return None
        case _:
            machine = fleet.machines.get(place)
            return None if machine is None else CopiedText(_word(machine.address), "address")


def _word(text: str) -> Shown:
    """Return a text as one word for a shell: pasted there, it runs nothing."""
    return Shown(plain_word(shown(text, _LONGEST)))
