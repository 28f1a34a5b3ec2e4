"""Plain printing: tables that line up, JSON, errors. No Textual, no Rich, no colour."""

import json
import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from core.errors import EvalroomError
from core.text import Shown, shown_lines
from core.views.cells import Bar, Cell, Column, Table
from core.views.pages.page import Page

_GAP = "  "
_BAR_CELLS = 10
_UNKNOWN = "·"


def width_of(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def plain(cell: Cell) -> str:
    """Return a cell as text; unknown is a dot."""
    return "".join(_bar(part) if isinstance(part, Bar) else part.text for part in cell) or _UNKNOWN


def _bar(bar: Bar) -> str:
    done = min(_BAR_CELLS, max(0, round(bar.done * _BAR_CELLS)))
    return f"[{'#' * done}{'.' * (_BAR_CELLS - done)}]"


def table_lines(table: Table[Any], room: int | None, skip: Sequence[str] = ()) -> list[str]:
    """Return a table as lines.

    Args:
        table: What to print.
        room: Cells there are in a line: columns that matter least are left out until it fits.
            None: all of it, as for a pipe.
        skip: Names of columns to leave out.
    """
    if not table.rows:
        return [str(table.empty)] if table.empty else []
    columns = [each for each in table.columns if each.name not in skip]
    texts = {
        each.name: [str(each.title), *(plain(row.cells.get(each.name, ())) for row in table.rows)]
        for each in columns
    }
    widths = {name: max(map(width_of, column)) for name, column in texts.items()}
    while room is not None and len(columns) > 1 and _total(columns, widths) > room:
        least = max(reversed(columns), key=lambda column: column.rank)
        if least.rank == 0:
            break
        columns.remove(least)
    return [
        _GAP.join(
            _padded(texts[column.name][index], widths[column.name], column) for column in columns
        ).rstrip()
        for index in range(len(table.rows) + 1)
    ]


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return rows of harmless texts as lines that line up; the first may be a head.

    Args:
        rows: All of the same length.
        right: Which columns are numbers.
    """
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = [
            _blank(width, text) + text if place in right else text + _blank(width, text)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(cells).rstrip())
    return lines


def _blank(width: int, text: str) -> str:
    return " " * (width - width_of(text))


def _total(columns: Sequence[Column], widths: Mapping[str, int]) -> int:
    return sum(widths[each.name] for each in columns) + len(_GAP) * (len(columns) - 1)


def _padded(text: str, width: int, column: Column) -> str:
    blank = _blank(width, text)
    return blank + text if column.align == "right" else text + blank


def page_lines(page: Page) -> list[str]:
    """Return a detail page as lines."""
    lines = [str(page.title)]
    for section in page.sections:
        labels = [str(fact.label) for fact in section.facts]
        width = max(map(width_of, labels), default=0)
        lines += ["", str(section.title)]
        lines += [
            f"  {label}{' ' * (width - width_of(label))}  {plain(fact.value)}"
            for label, fact in zip(labels, section.facts, strict=True)
        ]
    return lines


def print_lines(lines: Sequence[str]) -> None:
    """Print lines to standard output, as far as its encoding goes."""
    _write(sys.stdout, "".join(f"{_harmless(line)}\n" for line in lines))


def _write(out: TextIO, text: str) -> None:
    encoding = out.encoding or "ascii"
    out.write(text.encode(encoding, "replace").decode(encoding))
    out.flush()


def _harmless(text: str) -> Shown:
    """Make a text harmless once more, as the room's driver does: what is harmless stays."""
    return shown_lines(text, len(text))


def print_note(text: str) -> None:
    """Say something beside the answer, on standard error."""
    _write(sys.stderr, f"evalroom: {_harmless(text)}\n")


def print_json(value: object) -> None:
    """Print a value as JSON, ASCII alone: nothing in it can act on a terminal."""
    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(value, indent=indent, ensure_ascii=True), flush=True)


def print_json_line(value: object) -> None:
    """Print a value as one line of ASCII JSON."""
    print(json.dumps(value, separators=(",", ":"), ensure_ascii=True), flush=True)


def print_error(error: EvalroomError, *, as_json: bool) -> None:
    """Tell an error: a sentence on standard error, or JSON on standard output."""
    if as_json:
        print_json(
            {"error": {"kind": error.kind, "message": error.message, "advice": error.advice}}
        )
        return
    said = f"evalroom: {error.message}" + (f"\n  {error.advice}" if error.advice else "")
    _write(sys.stderr, f"{_harmless(said)}\n")


def terminal_room() -> int | None:
    """Return the cells of a line of the terminal; None where output is no terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80
