"""The config dialog: reads the knobs of a task or a process, edits them, opens the preview."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.act.target_expansion import ActionPlace
from core.ctl import routes
from core.ctl.answer_errors import good_body
from core.ctl.config_envelopes import config_view
from core.errors import EvalroomError
from core.format import plural
from core.ids import TaskKey, process_of
from core.model.action import Action, Change, Verb
from core.ports import Room
from core.text import Shown, shown
from core.views.actions.action_menu import production, subject, targets_of
from core.views.actions.knob_rows import Knob, knobs_of, parsed_value
from core.views.actions.plan_lines import value_word
from core.views.cells import Span, TextLine, Tone, span_of
from tui.dialogs.text_dialog import TextDialog
from tui.panes.painted_widget import cut

_WIDE, _NARROW = (30, 22), (23, 17)
"""Columns of a knob's name and of its value: on a wide dialog, and on a narrow one."""
_ROOMY = 90
_SCOPE = 8
_NOTE = 12
"""A note is left out of a knob's line below this many columns; the foot shows it too."""


class PreviewAction(Protocol):
    """Opens the preview of an action."""

    def __call__(
        self, title: str, action: Action, places: Sequence[ActionPlace], *, reason: str = ""
    ) -> None:
        """Make the plan of `action` on `places`, and show it."""
        ...


class ConfigDialog(TextDialog):
    """Lists every knob that a process reports. A change is sent once its preview is confirmed.

    Args:
        room: Reads the knobs.
        places: The targets; the values shown are those of the first.
        preview: Opens the preview of the change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown,ctrl+d", "move(10)", show=False),
        Binding("pageup,ctrl+u", "move(-10)", show=False),
        Binding("enter", "edit", show=False),
        Binding("r", "reason", show=False),
        Binding("backspace,delete,ctrl+z", "forget", show=False),
        Binding("g", "read_again", show=False),
        Binding("s,ctrl+s", "preview", show=False),
    ]

    def __init__(
        self, room: Room, places: Sequence[ActionPlace], *, preview: PreviewAction
    ) -> None:
        super().__init__()
        self._preview = preview
        self._room = room
        self._places = tuple(places)
        self._first = targets_of(room.fleet, places)[0]
        self._knobs: tuple[Knob, ...] = ()
        self._wanted: dict[int, int | None] = {}
        self._at = 0
        self._state = Shown("reading ...")
        self._message = Shown("")
        self._value_line = self.line("value", "")
        self._reason = self.line("reason", "reason, also written to the eval's log")

    def compose(self) -> ComposeResult:
        """Lay out the dialog with its two inputs."""
        yield from self.composed(self._value_line, self._reason)

    def on_mount(self) -> None:
        """Read."""
        self.draw()
        self.action_read_again()

    def action_read_again(self) -> None:
        """Read the knobs again; edited values stay."""
        self.run_worker(self._read(), exit_on_error=False, exclusive=True)

    async def _read(self) -> None:
        target = self._first
        of_task = isinstance(target, TaskKey)
        path = routes.PROCESS_CONFIG
        if isinstance(target, TaskKey):
            path = routes.task_config(target.task_id)
        try:
            reply = await self._room.read(process_of(target), path)
            known = self._room.fleet.processes.get(process_of(target))
            knobs = knobs_of(
                config_view(good_body(reply, "config", "task config")),
                of_task=of_task,
                argv=() if known is None else known.argv,
            )
        except EvalroomError as error:
            self._state = shown(f"The knobs can't be read: {error.sentence}", 400)
        else:
            wanted = {self._knobs[index].change: value for index, value in self._wanted.items()}
            self._knobs = knobs
            self._wanted = {
                index: wanted[knob.change]
                for index, knob in enumerate(knobs)
                if knob.change in wanted
            }
            self._at = min(self._at, max(len(knobs) - 1, 0))
            self._state = Shown("" if knobs else "This process reports no knobs.")
        self.draw()

    @property
    def changes(self) -> tuple[Change, ...]:
        """The edited values, as changes of the action."""
        return tuple(
            replace(self._knobs[index].change, value=value)
            for index, value in sorted(self._wanted.items())
        )

    # Drawing

    def title_text(self) -> Shown:
        """Return the title."""
        return Shown(f"Config · nothing has been sent{production(self._room.fleet, self._places)}")

    def head(self) -> Iterator[TextLine]:
        """Return the target and the column titles."""
        fleet = self._room.fleet
        name = subject(fleet, self._places)
        of_first = "" if len(self._places) == 1 else "   (values of the first target)"
        yield (Span(shown(f"Knobs of {name}"), "strong"), span_of(of_first, "dim"))
        if self._knobs:
            yield ()
            label, value = self._widths
            columns = f"  {'knob'.ljust(label)} {'scope'.ljust(_SCOPE)}{'now'.ljust(value)}"
            yield (span_of(columns, "dim"), span_of("launch   in use", "dim"))

    def body(self) -> Iterator[TextLine]:
        """Return a line for each knob."""
        if self._state:
            yield (Span(self._state, "dim"),)
        for index, knob in enumerate(self._knobs):
            yield self._row(index, knob)

    @property
    def _widths(self) -> tuple[int, int]:
        return _WIDE if self.inner_width >= _ROOMY else _NARROW

    def _row(self, index: int, knob: Knob) -> TextLine:
        label, value = self._widths
        here, edited = index == self._at, index in self._wanted
        tone: Tone = "dim" if knob.fixed else "strong" if here or edited else "plain"
        now = value_word(knob.now)
        spans = [
            Span(Shown("▸ " if here else "  "), "key"),
            Span(shown(cut(knob.label, label).ljust(label) + " "), tone),
            span_of(knob.scope.ljust(_SCOPE), "dim"),
        ]
        if edited:
            after = value_word(self._wanted[index])
            room = max(value - len(now) - 3, 1)
            spans += [span_of(f"{now} → ", "dim"), span_of(after.ljust(room), "warning")]
        else:
            spans.append(span_of(now.ljust(value), tone if knob.now is not None else "dim"))
        launch = "·" if knob.launch is None else str(knob.launch)
        used = "·" if knob.in_use is None else str(knob.in_use)
        spans.append(span_of(f"{launch.ljust(9)}{used.ljust(8)}", "dim"))
        left = self.inner_width - sum(len(span.text) for span in spans)
        if left >= _NOTE:
            spans.append(Span(Shown(cut(knob.fixed or knob.note, left)), "dim"))
        return tuple(spans)

    def foot(self) -> Iterator[TextLine]:
        """Return the allowed values of the current knob, the reason, and unsent changes."""
        if self._message:
            yield (Span(self._message, "warning"),)
        elif self._knobs:
            knob = self._knobs[self._at]
            note = f"{knob.note}; " if knob.note else ""
            what = knob.fixed or f"{note}takes {knob.allowed}"
            yield (Span(knob.label, "key"), span_of(f"  {what}", "dim"))
        if self._reason.value and not self.is_typing(self._reason):
            yield (span_of("reason  ", "dim"), Span(shown(self._reason.value, 300)))
        if self._wanted:
            yield (span_of(f"{plural(len(self._wanted), 'change')} not sent yet", "warning"),)

    def keys(self) -> Iterator[tuple[str, str]]:
        """Return the keys that work now, each with its word."""
        if self.is_typing(self._value_line) or self.is_typing(self._reason):
            yield from [("Enter", "set"), ("Esc", "cancel")]
            return
        if self._knobs:
            yield "Enter", "edit"
        if self._wanted:
            yield from [("s", "preview"), ("r", "reason"), ("Del", "reset")]
        yield from [("g", "read again"), ("Esc", "close")]

    # Keys

    def action_move(self, by: int) -> None:
        """Move to another knob."""
        if self.is_typing(self._value_line) or self.is_typing(self._reason):
            return
        self._at = max(0, min(self._at + by, len(self._knobs) - 1))
        self._message = Shown("")
        self.draw()
        self.keep_in_view(self._at)

    def action_edit(self) -> None:
        """Type a value for the knob under the cursor."""
        if not self._knobs:
            return
        knob = self._knobs[self._at]
        if knob.fixed is not None:
            self._message = shown(f"{knob.label}: {knob.fixed}")
            self.draw()
            return
        self._message = Shown("")
        wanted = self._wanted.get(self._at, knob.now)
        self._value_line.value = "" if wanted is None else str(wanted)
        self._value_line.cursor_position = len(self._value_line.value)
        self._value_line.placeholder = knob.allowed
        self._open(self._value_line)

    def action_reason(self) -> None:
        """Type the reason."""
        self._open(self._reason)

    def _open(self, line: Input) -> None:
        line.display = True
        self.set_focus(line)
        self.draw()

    def _close(self, line: Input) -> None:
        line.display = False
        self.set_focus(None)
        self.draw()

    @on(Input.Submitted, "#value")
    def _value_typed(self, message: Input.Submitted) -> None:
        knob = self._knobs[self._at]
        value = parsed_value(knob, message.value)
        if isinstance(value, str):
            self._message = value
            self.draw()
            return
        self._message = Shown("")
        if value == knob.now:
            self._wanted.pop(self._at, None)
        else:
            self._wanted[self._at] = value
        self._close(self._value_line)

    @on(Input.Submitted, "#reason")
    def _reason_typed(self) -> None:
        self._close(self._reason)

    def action_forget(self) -> None:
        """Discard the edited value of the knob under the cursor."""
        self._wanted.pop(self._at, None)
        self.draw()

    def action_preview(self) -> None:
        """Open the preview of the edited values."""
        if self.is_typing(self._value_line) or self.is_typing(self._reason):
            return
        if not self._wanted:
            self._message = Shown("Nothing is edited yet. Enter edits the knob under the cursor.")
            self.draw()
            return
        action = Action(verb=Verb.CONFIG, changes=self.changes)
        reason = self._reason.value.strip()
        title = f"Config of {subject(self._room.fleet, self._places)}"
        self.dismiss(None)
        self._preview(title, action, self._places, reason=reason)

    def action_leave(self) -> None:
        """Leave the input; if none is open, close the dialog."""
        line = next(
            (each for each in (self._value_line, self._reason) if self.is_typing(each)), None
        )
        if line is None:
            self.dismiss(None)
        else:
            self._message = Shown("")
            self._close(line)
