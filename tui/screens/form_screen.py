"""The base of a form: its fields, help for the current field, and the resulting spec.

One input lies over the value of the current field. It takes all text; only keys that type nothing
do anything else.
"""

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import Input

from core.ports import Room
from core.views.header.totals import header_totals
from core.views.launch.launch_form import FormRow
from tui.dialogs.keys_help import KeysDialog
from tui.panes.bars import HeaderBar, KeyBar
from tui.panes.form import FormPane
from tui.panes.lines import LinesPane
from tui.panes.too_small import TooSmall, is_too_small
from tui.screens.panes_screen import LOW, NARROW, put
from tui.ui import Ui

_BELOW, _BELOW_LOW = 7, 5
"""Lines below the fields for the help of the current one: on high screens and on low ones."""
_SIDE_LEAST, _SIDE_MOST = 40, 88
_HELP_LINES = 12


class FormScreen(ModalScreen[None], inherit_bindings=False):
    """A screen of fields to fill in; the keys of the other screens do not work here.

    Args:
        ui: The app.
        room: Whose totals and clock the header shows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "move(1)", show=False),
        Binding("up,shift+tab", "move(-1)", show=False),
        Binding("pagedown", "section(1)", show=False),
        Binding("pageup", "section(-1)", show=False),
        Binding("ctrl+down", "scroll(1)", show=False),
        Binding("ctrl+up", "scroll(-1)", show=False),
        Binding("enter", "enter", show=False),
        Binding("escape,ctrl+c", "leave", show=False),
        Binding("f1", "keys", show=False),
    ]
    AUTO_FOCUS = ""
    ALLOW_SELECT = False

    def __init__(self, ui: Ui, room: Room) -> None:
        super().__init__()
        self.ui = ui
        self.room = room
        self._header, self._too_small = HeaderBar(), TooSmall()
        self.key_bar = KeyBar()
        self.fields = FormPane()
        self.field_help = LinesPane("", id="form-help")
        self.made = LinesPane("", id="form-made")
        self.line = Input(id="form-line", select_on_focus=False)
        self.line.cursor_blink = False
        for pane in (self.field_help, self.made):
            pane.can_focus = False
        self._body = Container(self.fields, self.field_help, self.made, self.line, id="form-body")

    # For subclasses

    def begin(self) -> None:
        """Move to the first field to fill in; called after the first drawing."""

    def draw(self) -> None:
        """Draw the fields, the help of the current one, and the keys."""
        raise NotImplementedError

    def draw_help(self) -> None:
        """Draw the help of the current field, and the keys."""
        raise NotImplementedError

    def text_of(self, row: FormRow) -> str:
        """Return the text of a field."""
        raise NotImplementedError

    def take(self, row: FormRow, text: str) -> None:
        """Set the text of a field."""
        raise NotImplementedError

    def action_enter(self) -> None:
        """Handle Enter on the current field."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Leave the form."""
        raise NotImplementedError

    @property
    def key_help(self) -> tuple[tuple[str, str], ...]:
        """Each key with what it does."""
        raise NotImplementedError

    # For all forms

    def compose(self) -> ComposeResult:
        """Lay out header, panes and keys."""
        yield self._header
        yield self._body
        yield self.key_bar
        yield self._too_small

    def on_mount(self) -> None:
        """Draw, and begin."""
        self.fields.make_current(True)
        self._say_time()
        self.set_interval(1.0, self._say_time)
        self.draw()
        self.lay_out()
        self.begin()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new size."""
        del event
        self.call_after_refresh(self.lay_out)

    def _say_time(self) -> None:
        room = self.room
        now = room.now()
        self._header.show([group for group in header_totals(room.fleet, now) if group], now)

    def lay_out(self) -> None:
        """Lay out the panes for the current size."""
        if not self.is_mounted:
            return
        width, height = self.size
        small = is_too_small(self.size)
        self._too_small.display = small
        self._body.display = self.key_bar.display = not small
        height -= 2
        self.made.display = width >= NARROW
        if width >= NARROW:
            side = min(max(width // 3, _SIDE_LEAST), _SIDE_MOST)
            help_lines = min(_HELP_LINES, height // 2)
            put(self.fields, 0, 0, width - side, height)
            put(self.field_help, width - side, 0, side, help_lines)
            put(self.made, width - side, help_lines, side, height - help_lines)
        else:
            below = _BELOW if height + 2 >= LOW else _BELOW_LOW
            put(self.fields, 0, 0, width, height - below)
            put(self.field_help, 0, height - below, width, below)
        self.draw()
        self.show_line()

    # The input

    def show_line(self) -> None:
        """Put the text of the current field into the input, and focus it."""
        if not self.is_mounted or not self.is_active:
            return
        row, line = self.fields.row, self.line
        text = self.text_of(row) if row.is_typed else ""
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        line.placeholder = row.value.text if row.is_typed and not text.strip() else ""
        # At once, not with the next message: a key typed right after belongs to this field.
        self.set_focus(line if row.is_typed else None, scroll_visible=False)
        self.place_line()

    def place_line(self) -> None:
        """Move the input over the value of the current field."""
        line = self.line
        line.display = self.fields.row.is_typed
        x, y, width = self.fields.value_at
        line.styles.offset = (x, y)
        line.styles.width = width

    @on(Input.Changed, "#form-line")
    def _typed(self) -> None:
        row = self.fields.row
        if row.is_typed:
            self.take(row, self.line.value)

    @on(Input.Submitted, "#form-line")
    def _submitted(self) -> None:
        self.action_enter()

    @on(FormPane.FieldMoved)
    def _moved(self) -> None:
        self.draw_help()

    @on(FormPane.ValueMoved)
    def _placed(self) -> None:
        self.show_line()

    def action_keys(self) -> None:
        """List the keys; `?` is text here."""
        self.ui.open(KeysDialog(self.key_help))

    # Moving

    def go(self, name: str) -> bool:
        """Move to the field of this name; return False if no field has it."""
        found = self.fields.move_to(name)
        self.show_line()
        return found

    def action_move(self, by: int) -> None:
        """Move to the next field, or to the previous one."""
        self.fields.move(by)
        self.show_line()

    def action_section(self, by: int) -> None:
        """Move to the next heading, or to the previous one."""
        self.fields.move_section(by)
        self.show_line()

    def action_scroll(self, lines: int) -> None:
        """Scroll the spec; if it is hidden, the help of the field."""
        pane = self.made if self.made.display else self.field_help
        if lines > 0:
            pane.action_down()
        else:
            pane.action_up()
