"""Rows, cells and pages as text."""

from typing import Any

from core.views.cells import Bar, Row, Table
from core.views.pages.page import Page


def text(row: Row[Any], column: str) -> str:
    return cell_text(row.cells[column])


def cell_text(cell: Any) -> str:
    return "".join(f"[{part.done:.2f}]" if isinstance(part, Bar) else part.text for part in cell)


def tone(row: Row[Any], column: str) -> str:
    return str(row.cells[column][0].tone)


def row_of(table: Table[Any], key: Any) -> Row[Any]:
    [row] = [row for row in table.rows if row.key == key]
    return row


def page_text(page: Page) -> str:
    return "\n".join(
        f"{fact.label}: {cell_text(fact.value)}" for each in page.sections for fact in each.facts
    )
