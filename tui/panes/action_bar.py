"""The action bar: one button for each action that is for the selection now."""

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
    """Buttons in one line. It takes the keys only when Tab or the mouse give them to it."""

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
        """The keys go back: to the next pane, the one before, or the one they came from."""

        way: int

    def __init__(self) -> None:
        super().__init__(id="action-bar")
        self._entries: tuple[MenuEntry, ...] = ()
        self._labels: tuple[str, ...] = ()
        self.at = 0
        """Index of the button that Enter presses."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no button."""
        return not self._entries

    def show(self, entries: "Iterable[MenuEntry]") -> None:
        """Draw these; what does not fit is left out from the right."""
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
        ground = "cursor" if is_at else "resting"
        tone = "strong" if is_at else "plain"
        text = f"{'▸' if is_at else ' '}{entry.word} "
        return [Segment(text, self.style_of(tone, ground))]

    def enter(self, *, last: bool) -> None:
        """Stand on the first button, or on the last."""
        self.at = len(self._entries) - 1 if last else 0
        self.redraw()

    def action_step(self, way: int) -> None:
        """To the next button, or off the bar behind the last."""
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
        """Give the keys back."""
        self.post_message(self.Left(way))

    def on_focus(self) -> None:
        """Draw which button it is."""
        self.redraw()

    def on_blur(self) -> None:
        """Draw none of them as chosen."""
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
