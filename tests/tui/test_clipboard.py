"""What `y` copies is quoted for a shell: pasted, it runs nothing that a host wrote."""

import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fleet import Fleet
from core.ids import SampleKey
from core.text import shown
from tests.support.fleets import (
    fleet_after,
    link,
    named,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tui.clipboard import copy_text

HOSTILE = ["$(touch HIT)", "`touch HIT`", "x; touch HIT", "a && touch HIT", "'; touch HIT; '", "-e"]


def _with_log(location: str) -> Fleet:
    fleet = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()))
    key = task_key()
    task = fleet.tasks[key]
    changed = replace(task, row=replace(task.row, log_location=location))
    return replace(fleet, tasks={**fleet.tasks, key: changed})


@pytest.mark.parametrize("location", [*HOSTILE, "/logs/a b.eval", "s3://b/x.eval"])
def test_a_pasted_log_location_is_one_word_of_a_shell(location: str, tmp_path: str) -> None:
    copied = copy_text(_with_log(location), task_key())
    assert copied is not None
    assert shlex.split(copied.text) == [location]
    subprocess.run(["/bin/sh", "-c", copied.text], cwd=tmp_path, check=False, capture_output=True)
    assert subprocess.run(["ls", "-A", tmp_path], capture_output=True, check=True).stdout == b""


@given(st.text(min_size=1))
def test_any_location_is_one_harmless_word(location: str) -> None:
    copied = copy_text(_with_log(location), task_key())
    assert copied is not None
    assert shlex.split(copied.text) == [shown(location, 4_000)]


@given(st.text(min_size=1, max_size=100))  # longer ids are cut
def test_a_sample_with_any_id_is_a_command_of_inspect(sample: str) -> None:
    copied = copy_text(_with_log("/l"), SampleKey(task_key(), sample, 1))
    assert copied is not None
    words = shlex.split(copied.text)
    assert words[:4] == ["inspect", "ctl", "sample", "show"]
    assert shown(sample.replace("\0", "")) in " ".join(words)
