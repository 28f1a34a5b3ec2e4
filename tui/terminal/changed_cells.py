"""A compositor that sends only the cells that changed.

For a change in the middle of a line, Textual's own compositor sends the line from the left edge of
its widget. A table whose last column shows ages would be sent as a whole every second.
"""

from typing import cast

from rich.console import Console
from rich.control import Control
from textual.strip import Strip

from tui.terminal.textual_internals import ChopsUpdate, OpenCompositor


class CellsUpdate(ChopsUpdate):
    """Changed spans of lines, each cut at both ends."""

    def render_segments(self, console: Console) -> str:
        """Return the text that is written to the terminal."""
        out: list[str] = []
        for y, first, last in self.spans:
            at = -1
            pieces = cast("dict[int, Strip | None]", self.chops[y])
            for end, (x, strip) in zip(self.chop_ends[y], pieces.items(), strict=False):
                if strip is None or x >= last or end <= first:
                    continue
                start = max(x, first)
                if start != at:
                    out.append(Control.move_to(start, y).segment.text)
                at = min(end, last)
                is_whole = start == x and at == end
                out.append((strip if is_whole else strip.crop(start - x, at - x)).render(console))
        return "".join(out)


class CellsCompositor(OpenCompositor):
    """A compositor whose partial updates contain changed cells only."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return the changes since the last update; None if nothing changed."""
        update = super().render_partial_update()
        if update is None:
            return None
        return CellsUpdate(update.chops, update.spans, update.chop_ends)
