from core.text import Shown, shown
from core.views.cells import Column, Row, Span, Table
from core.views.tables.fields import sort_value
from core.views.tables.filter_and_sort import filter_rows, sort_rows


def _table(*values: tuple[str, float | str | None]) -> Table[str]:
    return Table(
        columns=tuple(Column(name=name, title=shown(name)) for name in ("name", "value")),
        rows=tuple(
            Row(
                key=name,
                cells={"name": (Span(shown(name)),)},
                sort={"name": sort_value(name), "value": sort_value(value)},
            )
            for name, value in values
        ),
        title=Shown("t"),
    )


ROWS = _table(("Cybench h1", 3), ("gpqa h1", None), ("arith h2", 1), ("cybench h2", 2))


def _keys(table: Table[str]) -> list[str]:
    return [row.key for row in table.rows]


def test_a_filter_is_words_in_any_case_and_order() -> None:
    assert _keys(filter_rows(ROWS, "h1 CYB")) == ["Cybench h1"]


def test_a_filter_can_be_a_regular_expression() -> None:
    assert _keys(filter_rows(ROWS, "/^(gpqa|arith)/")) == ["gpqa h1", "arith h2"]
    assert _keys(filter_rows(ROWS, "/H2$")) == ["arith h2", "cybench h2"]


def test_a_mark_turns_a_filter_round() -> None:
    assert _keys(filter_rows(ROWS, "!cyb")) == ["gpqa h1", "arith h2"]
    assert _keys(filter_rows(ROWS, "!/h1$/")) == ["arith h2", "cybench h2"]


def test_an_empty_filter_and_one_that_is_being_typed_hide_nothing_by_accident() -> None:
    for text in ("", " ", "!", "/", "//", "!/"):
        assert _keys(filter_rows(ROWS, text)) == _keys(ROWS)


def test_a_regular_expression_that_does_not_compile_is_text() -> None:
    assert _keys(filter_rows(ROWS, "/[")) == []


def test_unknown_values_sort_last_both_ways() -> None:
    assert _keys(sort_rows(ROWS, "value")) == ["arith h2", "cybench h2", "Cybench h1", "gpqa h1"]
    back = sort_rows(ROWS, "value", reverse=True)
    assert _keys(back) == ["Cybench h1", "cybench h2", "arith h2", "gpqa h1"]


def test_words_sort_in_any_case_and_equal_rows_keep_their_order() -> None:
    assert _keys(sort_rows(ROWS, "name"))[1:3] == ["Cybench h1", "cybench h2"]
    mixed = _table(("b", "x"), ("a", "X"), ("c", 5))
    assert _keys(sort_rows(mixed, "value")) == ["c", "b", "a"]


def test_a_column_that_is_not_there_changes_nothing() -> None:
    assert sort_rows(ROWS, "nothing") is ROWS
