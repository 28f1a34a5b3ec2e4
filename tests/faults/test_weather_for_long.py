"""Five machines in bad weather, evals that end in it, and the whole room over them.

Ten minutes of it in the slow suite; `make soak` lets an hour pass (`SOAK_MINUTES`).
"""

import os
import time

import pytest

from tests.support.eval_truth import lines_on
from tests.support.observed_room import held_of
from tests.support.soak import Soak, SoakRoom, all_are_up, none_is_finishing, soak
from tests.support.waiting import EVAL_S, wait_until

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
SETTLE_S = 60.0
"""Until dead connections and their programs ended, and garbage was collected, seconds."""
LIVING = 5
"""Evals that live on from the beginning to the end."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(MINUTES * 60 + 1_500)]


def _is_settled(scene: Soak, room: SoakRoom) -> None:
    """Wait until all links are up, the evals that end have ended, and their logs were read."""
    scene.clear()
    scene.until_ended(LIVING, EVAL_S)
    room.until(all_are_up, "all links are up", EVAL_S)
    room.until(none_is_finishing, "all logs were read", EVAL_S)
    room.tour()
    time.sleep(SETTLE_S)


def test_evals_that_end_in_bad_weather_leave_no_false_row_and_nothing_behind() -> None:
    with soak(print) as scene:
        with scene.room("long") as room:
            room.until(all_are_up, "all links are up", EVAL_S)
            room.until(lambda answer: len(answer["fleet"]["tasks"]) == LIVING, "the evals", EVAL_S)
            room.tour()
            time.sleep(SETTLE_S)
            before = held_of(room.ask())
            scene.pass_by(MINUTES, room)
            _is_settled(scene, room)
            answer = room.ask()
            after, screen = held_of(answer), room.tmux.screen()
            assert [len(machine.probes()) for machine in scene.machines] == [1] * LIVING
        false_rows = [*scene.lies, *scene.final_contradictions(answer)]
        false_rows += scene.screen_contradictions(screen)
        assert lines_on(screen), screen
        print(f"{len(scene.evals)} evals; no row of {scene.missing(answer)}")
        with scene.room("fresh") as room:
            _is_settled(scene, room)
            again = room.ask()
            fresh = held_of(again)
        false_rows += scene.final_contradictions(again)
        print(f"before {before}\nafter {after}\nfresh {fresh}")
        assert not false_rows, screen
        assert scene.seen_ended(answer) >= MINUTES / 2, "evals ended in the weather"
        wait_until(
            lambda: not any(machine.probes() for machine in scene.machines), "no probe is left"
        )
    assert after.descriptors <= before.descriptors + 2, (before, after)
    assert after.threads <= before.threads + 2, (before, after)
    assert after.tasks <= before.tasks + 20, (before, after)
    assert after.children <= before.children, (before, after)
    assert after.memory < 1.2 * fresh.memory, (fresh, after)
