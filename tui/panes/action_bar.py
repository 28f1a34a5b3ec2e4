"""The action bar: one button for each action that is available for the selection."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from core.text import Shown
from tui.panes.painted_widget import Line, PaintedWidget, fitted, width_of

if TYPE_CHECKING:
    from core.views.actions.action_menu import MenuEntry

_GAP = " "


class ActionBar(PaintedWidget, can_focus=True):
    """A line of buttons. Only Tab or the mouse focus it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,right,l", "step(1)", show=False),
        Binding("shift+tab,left", "step(-1)", show=False),
        Binding("enter,space", "press", show=False),
        Binding("escape,up,down", "leave(0)", show=False),
    ]

    @dataclass
    class Pressed(Message):
        """A button was pressed."""

        entry: "MenuEntry"

    @dataclass
    class Left(Message):
        """The focus leaves the bar: to the next pane (1), the previous one (-1) or back (0)."""

        way: int

    def __init__(self) -> None:
        super().__init__(id="action-bar")
        self._entries: tuple[MenuEntry, ...] = ()
        self.at = 0
        """Index of the button that Enter presses."""

    @property
    def is_empty(self) -> bool:
        """Whether the bar has no buttons."""
        return not self._entries

    def show(self, entries: "Iterable[MenuEntry]") -> None:
        """Draw these entries; those that do not fit are left out at the right."""
        before = self._entries[self.at].name if self.at < len(self._entries) else ""
        self._entries = tuple(entries)
        names = [each.name for each in self._entries]
        self.at = names.index(before) if before in names else 0
        self.redraw()

    def paint(self, size: Size) -> list[Line]:
        """Return the one line."""
        out: list[Segment] = [Segment(_GAP, self.base_style)]
        for index, entry in enumerate(self._entries):
            button = self._button(entry, is_at=self.has_focus and index == self.at)
            if width_of(out) + width_of(button) > size.width:
                break
            out += [*button, Segment(_GAP, self.base_style)]
        return [tuple(fitted(out, size.width, self.base_style))]

    def _button(self, entry: "MenuEntry", *, is_at: bool) -> list[Segment]:
        ground = "cursor" if is_at else "unfocused"
        tone = "strong" if is_at else "plain"
        text = f"{'▸' if is_at else ' '}{entry.word} "
        return [Segment(text, self.style_of(tone, ground))]

    def enter(self, *, last: bool) -> None:
        """Move to the first button, or to the last one."""
        self.at = len(self._entries) - 1 if last else 0
        self.redraw()

    def action_step(self, way: int) -> None:
        """Move to the next or previous button; past the ends, leave the bar."""
        at = self.at + way
        if 0 <= at < len(self._entries):
            self.at = at
            self.redraw()
        else:
            self.post_message(self.Left(way))

    def action_press(self) -> None:
        """Press the button."""
        if self.at < len(self._entries):
            self.post_message(self.Pressed(self._entries[self.at]))

    def action_leave(self, way: int) -> None:
        """Leave the bar."""
        self.post_message(self.Left(way))

    def on_focus(self) -> None:
        """Highlight the current button."""
        self.redraw()

    def on_blur(self) -> None:
        """Highlight no button."""
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Press the button under the mouse."""
        x = 1
        for index, entry in enumerate(self._entries):
            width = len(Shown(f" {entry.word} "))
            if x <= event.x < x + width:
                self.at = index
                self.action_press()
                return
            x += width + len(_GAP)
