"""Which columns fit, and how wide they are."""

from rich.style import Style

from core.text import Shown
from core.views.cells import Bar, Cell, Column, Row, Span
from tui.panes.columns import natural_widths, place
from tui.panes.row_cache import RowCache, RowDecoration


def column(name: str, width: int = 4, grow: int = 0, rank: int = 0) -> Column:
    return Column(name=name, title=Shown(name), width=width, grow=grow, rank=rank)


def row(**cells: str) -> Row[str]:
    made: dict[str, Cell] = {name: (Span(Shown(text)),) for name, text in cells.items()}
    return Row(key="k", cells=made, sort={})


COLUMNS = (column("name", 6, grow=1), column("num", 4, rank=1), column("note", 4, rank=2))


def placed(width: int, *rows: Row[str]) -> list[tuple[str, int, int]]:
    places = place(COLUMNS, natural_widths(COLUMNS, rows, {}), width)
    return [(each.column.name, each.x, each.width) for each in places]


def test_spare_room_goes_to_the_column_that_may_grow() -> None:
    assert placed(40) == [("name", 0, 28), ("num", 30, 4), ("note", 36, 4)]


def test_the_column_of_the_highest_rank_goes_first() -> None:
    assert [name for name, _, _ in placed(14)] == ["name", "num"]


def test_gaps_shrink_before_a_column_is_left_out() -> None:
    assert placed(16) == [("name", 0, 6), ("num", 7, 4), ("note", 12, 4)]


def test_a_growing_column_gives_way_before_another_is_left_out() -> None:
    long = row(name="a name of twenty-two", num="1")
    assert [name for name, _, _ in placed(20, long)] == ["name", "num", "note"]


def test_a_text_is_cut_before_its_column_is_left_out() -> None:
    down = row(name="h1", num="1", note="down 2m retry 8s")
    assert [each for each in placed(23, down) if each[0] == "note"] == [("note", 12, 11)]
    assert [name for name, _, _ in placed(15, down)] == ["name", "num"]


def test_a_width_never_shrinks_again() -> None:
    wide = natural_widths(COLUMNS, [row(num="123456")], {})
    assert natural_widths(COLUMNS, [row(num="1")], wide)["num"] == 6


def test_a_column_that_a_long_cell_pushed_out_comes_back_after_it() -> None:
    now = [0.0]
    cache = RowCache(lambda _tone, _ground: Style(), clock=lambda: now[0])
    plain = RowDecoration(None, " ", "plain")

    def shown_after(seconds: float, num: str) -> list[str]:
        now[0] += seconds
        cache.lines(COLUMNS, [(row(name="h1", num=num, note="1"), plain)], 21)
        return [each.column.name for each in cache.places]

    assert shown_after(0, "up") == ["name", "num", "note"]
    assert shown_after(1, "down 15s try") == ["name", "num"]
    assert shown_after(1, "up") == ["name", "num"], "the columns do not move back and forth"
    assert shown_after(60, "down 15s try") == ["name", "num"]
    assert shown_after(60, "up") == ["name", "num", "note"]


def test_wide_characters_count_as_two_cells() -> None:
    assert natural_widths(COLUMNS, [row(num="漢字漢字")], {})["num"] == 8


def test_a_bar_wants_room_where_its_column_may_grow() -> None:
    bars = (column("bar", 6, grow=1),)
    cells: dict[str, Cell] = {"bar": (Bar(0.5),)}
    filled: Row[str] = Row(key="k", cells=cells, sort={})
    assert natural_widths(bars, [filled], {})["bar"] == 14


def test_one_column_is_left_whatever_the_room() -> None:
    assert [name for name, _, _ in placed(1)] == ["name"]
