"""How much of an eval's time reads may cost: the pauses, on a clock of the test."""
# pyright: standard
# The shipped programs have no types.

import json
import math
import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssh.shipped.common.proc import age_of, start_mark
from ssh.shipped.probe.read_costs import (
    LONGEST_DURATION_S,
    LONGEST_PAUSE_S,
    MAX_KINDS,
    OUTLIER,
    QUICK_S,
    SLOW_FACTOR,
    ReadCosts,
    read_kind,
)
from ssh.shipped.probe.turns import STARTING_S, Turns, mark_in

HOUR_S = 3600.0
SLOW_S = LONGEST_PAUSE_S / SLOW_FACTOR
"""Slower reads have the longest pause."""
DELAYS = [0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 2.1, 5.0, 20.0, 60.0, 90.0, 95.0, 210.0, 600.0]


class Clockwork:
    """A probe that polls one eval, on a clock of its own.

    Attributes:
        polls: (kind, when it began, how long it took) of every read.
    """

    def __init__(self, costs: ReadCosts | None = None, now: float = 1000.0) -> None:
        self.costs = costs or ReadCosts()
        self.began = self.now = now
        self.polls: list[tuple[str, float, float]] = []

    def run(
        self, every: Mapping[str, float], takes: Callable[[str, int], float], seconds: float
    ) -> None:
        """Poll these kinds with these periods; `takes` gives the duration of the nth poll."""
        end, due = self.now + seconds, dict.fromkeys(every, 0.0)
        while True:
            starts = {kind: max(due[kind], self.costs.due(kind), self.now) for kind in every}
            kind = min(starts, key=lambda each: (starts[each], due[each]))
            if starts[kind] >= end:
                self.now = end
                return
            took = takes(kind, len(self.polls))
            self.polls.append((kind, starts[kind], took))
            due[kind] = starts[kind] + every[kind]
            self.now = starts[kind] + took
            self.costs.answered(kind, took, self.now)

    @property
    def share(self) -> float:
        """The share of the time in which a read was in flight."""
        return sum(took for _, _, took in self.polls) / (self.now - self.began)


def steady(seconds: float) -> Callable[[str, int], float]:
    return lambda *_: seconds


@pytest.mark.parametrize("delay", DELAYS)
def test_a_steady_delay_costs_an_eval_its_share_and_no_more(delay: float) -> None:
    polled, hours = Clockwork(), 1 if delay < 0.1 else 100
    polled.run({"tasks": 1.0, "samples": 1.0, "score": 60.0}, steady(delay), hours * HOUR_S)
    if delay <= QUICK_S:
        assert polled.share < 0.01
    elif delay <= SLOW_S:
        assert polled.share < 0.05
    else:
        pauses = [after[1] - one[1] - one[2] for one, after in pairwise(polled.polls)]
        assert all(each >= LONGEST_PAUSE_S for each in pauses[3:])
        assert len(polled.polls) <= hours * HOUR_S / (LONGEST_PAUSE_S + delay) + 3


@pytest.mark.parametrize("delay", DELAYS)
def test_at_least_one_poll_is_made_in_the_longest_pause(delay: float) -> None:
    polled = Clockwork()
    polled.run({"tasks": 1.0}, steady(delay), 5 * HOUR_S)
    starts = [began for _, began, _ in polled.polls]
    gaps = [after - before for before, after in pairwise(starts)]
    assert max(gaps) <= LONGEST_PAUSE_S + delay


@given(
    takes=st.dictionaries(
        st.sampled_from("abcdefgh"), st.floats(0.001, QUICK_S), min_size=1, max_size=8
    ),
    noise=st.lists(st.floats(1.0, OUTLIER * 0.99), min_size=1, max_size=20),
)
def test_any_mix_of_quick_reads_stays_under_its_share(
    takes: dict[str, float], noise: list[float]
) -> None:
    polled = Clockwork()

    def took(kind: str, nth: int) -> float:
        return float(min(QUICK_S, takes[kind] * noise[nth % len(noise)]))

    polled.run(dict.fromkeys(takes, 1.0), took, HOUR_S)
    ahead = 0.25 + max(took for _, _, took in polled.polls)
    assert sum(took for _, _, took in polled.polls) < 0.01 * HOUR_S + ahead


@given(
    takes=st.dictionaries(
        st.sampled_from("abcdef"), st.floats(0.001, 600.0), min_size=1, max_size=6
    )
)
def test_any_mix_of_quick_and_slow_reads_stays_under_both_shares(takes: dict[str, float]) -> None:
    polled = Clockwork()
    polled.run(dict.fromkeys(takes, 1.0), lambda kind, _: takes[kind], 6 * HOUR_S)
    quick = sum(took for _, _, took in polled.polls if took <= QUICK_S)
    slow = sum(took for _, _, took in polled.polls if QUICK_S < took <= SLOW_S)
    slowest = [took for _, _, took in polled.polls if took > SLOW_S]
    # Two polls of each kind tell what it costs.
    tried = 2 * sum(each for each in takes.values() if each > QUICK_S)
    assert quick < 0.01 * 6 * HOUR_S + 0.25 + QUICK_S
    assert slow < 0.05 * 6 * HOUR_S + tried
    assert len(slowest) <= 6 * HOUR_S / LONGEST_PAUSE_S + 2 * len(takes)


def test_one_slow_answer_among_quick_ones_is_a_busy_eval_and_not_a_cost() -> None:
    polled = Clockwork()
    polled.run({"tasks": 1.0}, lambda _, nth: 20.0 if nth == 30 else 0.005, 300.0)
    slow = next(at for at, poll in enumerate(polled.polls) if poll[2] == 20.0)
    began = polled.polls[slow][1]
    assert polled.polls[slow + 1][1] - began - 20.0 <= 20.0
    assert polled.polls[slow + 2][1] - polled.polls[slow + 1][1] == pytest.approx(1.0)


def test_the_first_slow_answer_of_a_starting_eval_is_tried_again_soon() -> None:
    costs = ReadCosts()
    costs.answered("tasks", 10.0, 110.0, is_starting=True)
    assert costs.due("tasks") == 120.0
    assert costs.due("samples", is_first=True) < 110.0
    costs.answered("tasks", 0.005, 120.005)
    assert costs.due("tasks") < 121.0
    costs = ReadCosts()
    costs.answered("tasks", 10.0, 110.0, is_starting=True)
    costs.answered("tasks", 10.0, 130.0)
    assert costs.due("tasks") == 150.0
    costs.answered("tasks", 10.0, 160.0)  # it was the cost: all three are paid for
    assert costs.due("tasks") == 160.0 + 3 * 10.0 * 20.0 - 10.0 - 20.0


@pytest.mark.parametrize("before", [[], [0.005], [0.005] * 5])
@pytest.mark.parametrize("slow", [[3.0], [3.0, 3.0], [8.0, 3.0], [3.0, 30.0], [1.5, 1.5]])
def test_one_or_two_slow_answers_delay_no_poll_by_a_minute(
    before: list[float], slow: list[float]
) -> None:
    costs, now = ReadCosts(), 100.0
    for took in [*before, *slow, 0.005, 0.005]:
        now = max(now + 1.0, costs.due("tasks")) + took
        costs.answered("tasks", took, now, is_starting=True)
        assert costs.due("tasks") - now <= max(30.0, took)
    assert costs.due("tasks") - now < 1.0


@pytest.mark.parametrize("delay", [0.05, 0.5, 2.0, 3.0, 20.0])
def test_a_starting_eval_pays_for_all_its_answers_from_the_third_one_on(delay: float) -> None:
    costs, now, asked = ReadCosts(), 100.0, 0.0
    share = 0.01 if delay <= QUICK_S else 0.05
    for nth in range(12):
        now = max(now, costs.due("tasks")) + delay
        asked += delay
        costs.answered("tasks", delay, now, is_starting=True)
        if nth >= 2:
            assert asked < share * (costs.due("tasks") - 100.0) + 0.25


@pytest.mark.parametrize("delay", [2.1, 5.0, 20.0, 60.0, 90.0])
def test_the_share_of_slow_answers_holds_from_the_first_one_on(delay: float) -> None:
    polled = Clockwork()
    polled.run({"tasks": 1.0, "samples": 1.0, "score": 60.0}, steady(delay), 3 * HOUR_S)
    for nth, (_, began, _) in enumerate(polled.polls[1:], 1):
        assert nth * delay < 0.05 * (began - polled.began)


def test_a_slow_first_answer_is_the_cost_for_the_longest_pause_at_most() -> None:
    costs = ReadCosts()
    costs.answered("tasks", 95.0, 195.0)
    assert costs.due("tasks") == costs.due("samples", is_first=True) == 195.0 + LONGEST_PAUSE_S


@pytest.mark.parametrize("delay", [0.05, 0.5, 2.0])
def test_a_first_answer_that_is_quick_waits_its_slow_share_until_it_is_confirmed(
    delay: float,
) -> None:
    polled = Clockwork()
    polled.run({"tasks": 1.0}, steady(delay), HOUR_S)
    pauses = [after[1] - one[1] - one[2] for one, after in pairwise(polled.polls)]
    assert pauses[0] == pytest.approx(max(3.0, SLOW_FACTOR * delay))
    assert all(each >= 100.0 * delay for each in pauses[1:])


def test_the_age_of_an_eval_says_whether_it_is_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = start_mark(os.getpid())
    age = age_of(mark)
    assert age is not None
    assert 0.0 < age < HOUR_S * 24
    assert age_of("") is None
    turns = Turns(os.getpid(), mark)
    monkeypatch.setattr("ssh.shipped.probe.turns.age_of", lambda _: 2.0 * STARTING_S)
    turns.count("early", 1.5 * STARTING_S, 100.0)  # the eval started half that time before
    turns.count("late", 0.5 * STARTING_S, 100.0)
    assert turns.costs.kinds["early"].doubted
    assert not turns.costs.kinds["late"].doubted


def test_a_cheap_read_says_nothing_about_an_expensive_one() -> None:
    polled = Clockwork()
    polled.run(
        {"tasks": 1.0, "samples": 1.0},
        lambda kind, _: 0.002 if kind == "tasks" else 30.0,
        6 * HOUR_S,
    )
    of_samples = sum(took for kind, _, took in polled.polls if kind == "samples")
    assert of_samples / (6 * HOUR_S) < 0.05
    assert len(polled.polls) > 20_000  # the tasks are read as often as before


def test_an_expensive_first_read_of_a_new_task_waits_where_reads_of_its_shape_are_slow() -> None:
    costs = ReadCosts()
    one, other = (read_kind("GET", f"/evals/{name}/samples?limit=500") for name in ("AbC1", "XyZ2"))
    for at in (100.0, 300.0):
        costs.answered(one, 95.0, at)
    assert costs.usual(other) == 95.0
    assert costs.due(other, is_first=True) >= 300.0 + LONGEST_PAUSE_S
    assert costs.usual(read_kind("GET", "/tasks")) == 95.0


def test_the_first_read_of_a_new_probe_waits_only_where_reads_are_slow() -> None:
    costs = ReadCosts()
    for at in (100.0, 200.0, 300.0):
        costs.answered("quick", 0.5, at)
        costs.answered("slow", 30.0, at)
    assert costs.due("quick") > 300.0
    assert costs.due("quick", is_first=True) < 300.0
    assert costs.due("slow", is_first=True) > 300.0


def test_kinds_are_distinguished_by_their_path_and_not_by_its_numbers() -> None:
    base = "/evals/AbC/samples?active_since={}&limit=500"
    assert read_kind("GET", base.format("1764000000.25")) == read_kind("GET", base.format("1.5"))
    assert read_kind("GET", base.format(1)) != read_kind("GET", "/evals/AbC/samples?limit=500")
    assert read_kind("GET", "/tasks") != read_kind("POST", "/tasks")


def test_measured_costs_survive_a_file() -> None:
    polled = Clockwork()
    polled.run({"tasks": 1.0, "samples": 5.0}, lambda _, nth: 0.1 + nth % 3, HOUR_S)
    kept = ReadCosts.from_dict(polled.costs.as_dict(), polled.now)
    for kind in ("tasks", "samples"):
        assert kept.usual(kind) == polled.costs.usual(kind)
        assert kept.due(kind) == pytest.approx(polled.costs.due(kind), abs=0.01)


DAMAGED: list[Any] = [
    None, [], {}, {"kinds": 3}, {"kinds": {"a": 3}, "quick": 1, "slow": 1},
    {"kinds": {"a": [["x"]]}, "quick": 1, "slow": 1},
    {"kinds": {}, "quick": None, "slow": 1},
    {"kinds": {"a": [[10**400]]}, "quick": 1, "slow": 1},
    {"kinds": {"a": [[1.0], 1, 1, 1, math.inf]}, "quick": 1, "slow": 1},
    {"kinds": {}, "quick": 10**400, "slow": 1},
]  # fmt: skip


@pytest.mark.parametrize("value", DAMAGED)
def test_a_damaged_file_yields_nothing(value: Any) -> None:
    assert ReadCosts.from_dict(value, 100.0).due("tasks") <= 100.0


@pytest.mark.parametrize("far", [1e300, math.inf, math.nan, -math.inf])
def test_no_file_makes_a_pause_longer_than_the_longest_one(far: float) -> None:
    value = {"kinds": {"a": [[1.0], far, far, 1.0]}, "quick": far, "slow": far}
    costs = ReadCosts.from_dict(value, 100.0)
    assert costs.due("a") <= 100.0 + LONGEST_PAUSE_S
    assert json.dumps(costs.as_dict(), allow_nan=False)


@pytest.mark.parametrize("odd", [math.inf, math.nan, -math.inf, 1e300])
def test_a_duration_of_a_file_is_a_number_that_can_be_shown(odd: float) -> None:
    value = {"kinds": {"a": [[odd], 1.0, 1.0, odd]}, "quick": 1, "slow": 1}
    costs = ReadCosts.from_dict(value, 100.0)
    assert 0 <= round(costs.usual("a")) <= LONGEST_DURATION_S
    costs.answered("a", 0.1, 101.0)
    assert costs.due("a") <= 101.0 + LONGEST_PAUSE_S


@pytest.mark.parametrize(
    "line",
    [b"[Infinity, 1]", b"[NaN, 1]", b"[1" + b"0" * 40 + b"]", b"[1e999, 1]", b"[[], 1]", b"{}",
     b"[" + b"9" * 4000 + b', "x"]', b"\xff", b"[" * 64],
)  # fmt: skip
def test_a_mark_that_an_eval_wrote_is_not_a_request_in_flight(line: bytes) -> None:
    assert mark_in(line) is None


def test_the_kinds_are_bounded() -> None:
    costs = ReadCosts()
    for number in range(3 * MAX_KINDS):
        costs.answered(f"kind {number}", 0.01, float(number))
    assert len(costs.kinds) == MAX_KINDS
