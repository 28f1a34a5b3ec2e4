"""A dialog of text that fits its own size: head, scrolling body, foot, keys."""

from collections.abc import Iterable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from core.text import Shown
from core.views.cells import TextLine
from tui.app_access import app_of
from tui.dialogs.dialog import Dialog, TextBlock, key_line
from tui.panes.lines import folded
from tui.panes.scrolling_lines import ScrollingLines

_FRAME = 4
"""Lines that the box adds to its text: the frame and one blank line at each end."""
_SIDES = 6
"""Columns that the box adds to its text."""
_LEAST = 3
WIDEST = 104


class TextDialog(Dialog[None]):
    """A box whose text is redrawn whenever its content changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("ctrl+c", "leave", show=False, priority=True),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,ctrl+d", "page(1)", show=False),
        Binding("pageup,ctrl+u", "page(-1)", show=False),
    ]
    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__(Shown(""), (), ())
        self._early = None
        self._box = Vertical(classes="box sheet")
        self._head, self._body, self._foot = TextBlock(()), ScrollingLines(), TextBlock(())
        self._key_line = TextBlock(())
        self._typed: tuple[Input, ...] = ()
        self._above = 0
        """Lines of the head that scroll with the body, when last drawn."""
        self.inner_width = WIDEST - _SIDES
        """Width of the text when last drawn, in columns."""

    # For the dialogs that derive

    def title_text(self) -> Shown:
        """Return the title."""
        raise NotImplementedError

    def head(self) -> Iterable[TextLine]:
        """Return the lines above the scrolling body."""
        raise NotImplementedError

    def body(self) -> Iterable[TextLine]:
        """Return the lines of the scrolling body."""
        raise NotImplementedError

    def foot(self) -> Iterable[TextLine]:
        """Return the lines below the body."""
        raise NotImplementedError

    def keys(self) -> Iterable[tuple[str, str]]:
        """Return the keys that work now, each with its word."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Close it."""
        self.dismiss(None)

    # What all have

    @staticmethod
    def line(name: str, placeholder: str) -> Input:
        """Return an input that is hidden until its `display` is set."""
        made = Input(id=name, placeholder=placeholder, select_on_focus=False)
        made.cursor_blink = False
        made.display = False
        return made

    def is_typing(self, line: Input) -> bool:
        """Whether the input has the focus; its own `has_focus` becomes true only later."""
        return self.focused is line

    def composed(self, *lines: Input) -> ComposeResult:
        """Lay out the box."""
        self._typed = lines
        with self._box:
            yield self._head
            yield self._body
            yield self._foot
            yield from lines
            yield self._key_line

    def on_screen_resume(self) -> None:
        """Do not replay keys that were typed while it opened: `holds` drops them."""

    def on_resize(self, event: events.Resize) -> None:
        """Fit the new size."""
        del event
        self.call_after_refresh(self.draw)

    def draw(self, *, from_top: bool = False) -> None:
        """Draw the current content, and resize the box to it.

        The question and the keys stay in view: on a low screen the head scrolls with the body,
        and on one that is lower still the foot does too.
        """
        if not self.is_mounted:
            return
        size = app_of(self).size
        width = min(WIDEST, max(size.width - 2, _SIDES + 1))
        inner = max(width - _SIDES, 1)
        self.inner_width = inner
        head = list(self.head())
        body, foot = list(self.body()), list(self.foot())
        if foot:
            foot = [(), *foot]
        keys: list[TextLine] = [(), key_line(self.keys())]
        lines = sum(2 for each in self._typed if each.display)
        most = size.height - _FRAME - lines - _height(keys, inner) - _LEAST
        self._above = 0
        if head and _height((*head, *foot), inner) > most:
            self._above, body, head = _folds(head, inner), [*head, *body], []
        if _height(foot, inner) > most:
            body, foot = [*body, *foot], []
        fixed = _height((*head, *foot, *keys), inner) + lines
        self._head.show(head)
        self._foot.show(foot)
        self._key_line.show(keys)
        room = max(size.height - _FRAME - fixed, _LEAST)
        self._box.styles.width = width
        for each, height in (
            (self._head, _height(head, inner)),
            (self._foot, _height(foot, inner)),
            (self._key_line, _height(keys, inner)),
        ):
            each.styles.height = height
            each.display = height > 0
        self._body.styles.height = min(max(_folds(body, inner), 1), room)
        self._body.show(body, from_top=from_top)
        self._box.border_title = Content(self.title_text())
        # Which lines are in view is known only after the new layout.
        self.call_after_refresh(self._say_where)

    @on(ScrollingLines.Resized)
    def _say_where(self) -> None:
        if not self.is_mounted:
            return
        seen = self._body.in_view
        where = "" if seen is None else f"{seen[0]}-{seen[1]} of {seen[2]} · j k PgDn"
        self._box.border_subtitle = Content(where)

    def keep_in_view(self, line: int) -> None:
        """Scroll just enough to show a line of the body; its lines must not be folded."""
        self._body.reach(self._above + line)
        self._say_where()

    def action_scroll(self, lines: int) -> None:
        """Scroll the body by lines."""
        self._body.scroll(lines)
        self._say_where()

    def action_page(self, pages: int) -> None:
        """Scroll the body by pages."""
        self._body.scroll(pages * self._body.page)
        self._say_where()


def _height(lines: Iterable[TextLine], width: int) -> int:
    return sum(len(folded(line, width)) for line in lines)


def _folds(lines: Iterable[TextLine], width: int) -> int:
    return sum(len(folded(line, width, 2)) for line in lines)
