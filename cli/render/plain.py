"""Plain printing: aligned tables, JSON and errors, without colour."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from cli.output import writing_output
from core import strict_json
from core.errors import EvalroomError
from core.text import Shown, shown_lines
from core.text_width import width_of
from core.views.cells import Bar, Cell, Column, Table

_GAP = "  "
_BAR_CELLS = 10
_UNKNOWN = "·"


def plain(cell: Cell) -> str:
    """Return a cell as text; an unknown value becomes a dot."""
    return "".join(_bar(part) if isinstance(part, Bar) else part.text for part in cell) or _UNKNOWN


def _bar(bar: Bar) -> str:
    done = min(_BAR_CELLS, max(0, round(bar.done * _BAR_CELLS)))
    return f"[{'#' * done}{'.' * (_BAR_CELLS - done)}]"


def table_lines(table: Table[Any], room: int | None) -> list[str]:
    """Return a table as lines.

    Args:
        table: The table to print.
        room: Cells in a line; the least important columns are left out until the table fits.
            None: no limit, as for a pipe.
    """
    if not table.rows:
        return [str(table.empty)] if table.empty else []
    columns = list(table.columns)
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
    """Return rows of harmless texts as lines with aligned columns; the first may be a header.

    Args:
        rows: All of the same length.
        right: The columns to align right.
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


def print_lines(lines: Sequence[str]) -> None:
    """Print lines to standard output; characters that its encoding lacks become `?`."""
    _write(sys.stdout, "".join(f"{_harmless(line)}\n" for line in lines))


def _write(out: TextIO, text: str) -> None:
    encoding = out.encoding or "ascii"
    with writing_output():
        out.write(text.encode(encoding, "replace").decode(encoding))
        out.flush()


def _harmless(text: str) -> Shown:
    """Make a text harmless for a terminal, as a last safeguard; harmless text is unchanged."""
    return shown_lines(text, len(text))


def print_note(text: str) -> None:
    """Print a note on standard error, apart from the answer."""
    _write(sys.stderr, f"evalroom: {_harmless(text)}\n")


def print_json(value: object) -> None:
    """Print a value as ASCII JSON, so that it can't control the terminal."""
    indent = 2 if sys.stdout.isatty() else None
    _write(sys.stdout, f"{strict_json.encode(value, indent=indent)}\n")


def print_json_line(value: object) -> None:
    """Print a value as one line of ASCII JSON."""
    _write(sys.stdout, f"{strict_json.encode(value)}\n")


def error_json(error: EvalroomError) -> dict[str, str]:
    """Return an error as a value for JSON."""
    return {"kind": error.kind, "message": error.message, "advice": error.advice}


def print_error(error: EvalroomError, *, as_json: bool) -> None:
    """Print an error: a sentence on standard error, or JSON on standard output."""
    if as_json:
        print_json({"error": error_json(error)})
        return
    text = f"evalroom: {error.message}" + (f"\n  {error.advice}" if error.advice else "")
    _write(sys.stderr, f"{_harmless(text)}\n")


def terminal_room() -> int | None:
    """Return the width of the terminal in cells; None if the output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80
