"""Sends the cells that changed and no others.

Textual's own compositor, told of a change in the middle of a line, sends that line from the left
edge of its widget on. A table whose last column ages would send itself whole every second.
"""

from typing import cast

from rich.console import Console
from rich.control import Control
from textual.strip import Strip

from tui.terminal.textual_internals import ChopsUpdate, Compositor


class CellsUpdate(ChopsUpdate):
    """Changed spans of lines, each cut at both of its ends."""

    def render_segments(self, console: Console) -> str:
        """Return what is written to the terminal."""
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


class CellsCompositor(Compositor):
    """A compositor whose partial updates hold changed cells alone."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return what changed since the last update; None: nothing."""
        update = super().render_partial_update()
        if update is None:
            return None
        return CellsUpdate(update.chops, update.spans, update.chop_ends)
