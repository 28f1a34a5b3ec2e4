import io
import json
import sys

import pytest

from cli.commands.status import machine_lines, status_lines
from cli.render.plain import aligned, plain, print_json, print_lines, table_lines
from core.model.machine import InspectFound, ToolState
from core.model.process import SlowPoll
from core.text import shown
from core.views.cells import Bar, Column, Row, Span, Table
from core.views.tables.machines import machines_table
from core.views.tables.tasks import tasks_table
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    fleet_after,
    link,
    named,
    process_seen,
    task_row,
    tasks_seen,
)

HOSTILE = "\x1b]52;c;aGk=\x07\u202e\r\n[red]name[/]\u200b"


def test_columns_line_up_by_cells() -> None:
    lines = aligned([["name", "n"], ["漢字", "7"], ["a", "1234"]], right=(1,))
    assert lines == ["name     n", "漢字     7", "a     1234"]


def test_a_cell_is_text_a_bar_or_a_dot() -> None:
    assert plain(()) == "·"
    assert plain((Bar(done=0.5), Span(shown(" x")))) == "[#####.....] x"
    assert plain((Bar(done=7.0),)) == "[##########]"


def test_columns_that_matter_least_go_first_when_room_is_short() -> None:
    columns = tuple(
        Column(name=name, title=shown(name), rank=rank)
        for name, rank in (("must", 0), ("maybe", 1), ("least", 2))
    )
    cells = {name: (Span(shown("x" * 10)),) for name in ("must", "maybe", "least")}
    row = Row(key=1, cells=cells, sort={})
    table = Table(columns=columns, rows=(row,), title=shown("t"))
    assert table_lines(table, 34)[0].split() == ["must", "maybe", "least"]
    assert table_lines(table, 33)[0].split() == ["must", "maybe"]
    assert table_lines(table, 5)[0].split() == ["must"]


def test_an_empty_table_says_why() -> None:
    assert table_lines(tasks_table(fleet_after(named()), NOW), None) == [
        "no machine has answered yet"
    ]


def test_hostile_names_reach_the_output_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_after(
        named(), link(), process_seen(), tasks_seen(task_row(task=HOSTILE, model=HOSTILE))
    )
    print_lines(status_lines(fleet, NOW, None))
    out = capsys.readouterr().out
    assert not [char for char in out if char != "\n" and not char.isprintable()]
    assert "[red]name[/]" in out
    assert len(table_lines(machines_table(fleet, NOW), None)) == 2


def test_status_says_why_rows_stand_still() -> None:
    slow = tuple(SlowPoll(wait=60.0, answer=3.0, task_id=f"t{n}") for n in range(25))
    fleet = fleet_after(named(), link(), process_seen(slow_polls=slow))
    lines = status_lines(fleet, NOW, None)
    why = "samples of t0 are polled every 1m 00s, because the last answer took 3.0s"
    assert f"  h100-1 100: {why}" in lines
    assert "  and 5 more reasons; --json has all of them" in lines


def test_json_is_ascii_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": HOSTILE + "\ud800"})
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out)["name"] == HOSTILE + "\ufffd"


def test_an_ascii_output_gets_question_marks_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_lines(["· 漢 done"])
    assert raw.getvalue() == b"? ? done\n"


def test_a_warning_of_a_gpu_tool_is_printed_beside_its_gpus() -> None:
    fleet = fleet_after(named(), link(), facts(gpu_error="nvidia-smi warns (exit 14)"))
    lines = machine_lines(fleet.machines[H1])
    assert "  warning nvidia-smi warns (exit 14)" in lines


def test_a_python_without_inspect_is_reported_with_what_to_do() -> None:
    lacks = InspectFound(state=ToolState.ABSENT, error="this Python has no inspect_ai")
    fleet = fleet_after(named(), link(), facts(inspect=lacks))
    [line] = [each for each in machine_lines(fleet.machines[H1]) if "inspect" in each]
    assert line.endswith(
        f"has no inspect_ai; a launch brings its own, unless the config sets `python` of {H1}"
    )
