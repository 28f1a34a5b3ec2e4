"""Evals whose control server lies, breaks or answers nonsense: evalroom claims nothing false."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.ids import TaskKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from tests.support.acting import Acted, acting_on
from tests.support.desk_on_evals import this_computer
from tests.support.evals import short_folder
from tests.support.fake_eval import FakeEval, fake_eval, http

pytestmark = pytest.mark.xdist_group("lying_evals")

_PAUSE = Action(verb=Verb.PAUSE)
_SECRET = "the agent's own words"
ROW = {
    "task_id": "T1", "task": "turns", "eval_id": "E1", "run_id": "run1", "model": "m/x",
    "status": "running", "attempts": 1, "log_location": "/nowhere/turns.eval", "started_at": 1.0,
    "samples": {"total": 4, "completed": 0, "in_flight": 2, "queued": 2, "errored": 0},
    "paused": None, "paused_now": None, "held": 0, "quiesced": False, "keep_alive": False,
    "resolving": None, "total_tokens": 1,
}  # fmt: skip
GOOD = {"task_id": "T1", "dispatched": 2, "held": 0, "changed": True}


def routes(*, dry_run: bool = True) -> dict[str, Any]:
    """A list of routes, with a dry run of the pause or without."""
    names = ["now", "dry_run"] if dry_run else ["now"]
    taken = [{"name": name, "in": "query"} for name in names]
    return {"paths": {"/tasks/{task_id}/pause": {"post": {"parameters": taken}}}}


class Lies:
    """The answers of a control server to a dry run and to the real request."""

    def __init__(self, dry: Any, real: Any = None, *, dry_run: bool = True) -> None:
        self.dry, self.real, self.dry_run = dry, real, dry_run

    def __call__(self, connection: socket.socket, line: str) -> bool:
        method, path, _ = line.split()
        answer: Any = self.real if "dry_run" not in path else self.dry
        if method == "GET":
            answer = [ROW] if path == "/tasks" else {}
            answer = routes(dry_run=self.dry_run) if path == "/openapi.json" else answer
        if answer is None:
            return False
        data = answer if isinstance(answer, bytes) else http(json.dumps(answer).encode())
        connection.sendall(data)
        return True


@asynccontextmanager
async def acting_on_lies(lies: Lies) -> AsyncGenerator[tuple[Acted, FakeEval, TaskKey]]:
    """Run the actions over one such eval."""
    with short_folder() as folder, fake_eval(folder, lies) as fake:
        machine = this_computer(Path(folder))
        async with acting_on([machine], Path(folder) / "known") as acted:

            def known() -> TaskKey | None:
                return next(iter(acted.watched.fleet.tasks), None)

            task = await acted.watched.until(known, "its task")
            yield acted, fake, task


def posts(fake: FakeEval) -> list[str]:
    """The mutations that it was asked for."""
    return [line for _, line in fake.asked if not line.startswith("GET")]


async def test_a_version_that_lies_high_is_not_believed_where_no_route_takes_a_dry_run() -> None:
    """Nothing is asked dry of a server that would act: its list of routes says so."""
    async with acting_on_lies(Lies(GOOD, GOOD, dry_run=False)) as (acted, fake, task):
        state, message = await acted.one(_PAUSE, task)
        assert state is OrderState.REFUSED
        assert "no dry run" in message
        assert posts(fake) == []


@pytest.mark.parametrize(
    ("dry", "output"),
    [
        (GOOD, "may have been applied"),  # it ignored the word
        ({**GOOD, "dry_run": False}, "may have been applied"),
        ({**GOOD, "dry_run": "true"}, "may have been applied"),
        ({"dry_run": True, "dispatched": 2}, "does not say whether"),
        ({**GOOD, "dry_run": True, "changed": "yes"}, "does not say whether"),
        (http(b"<html>nginx</html>"), ""),
        (http(b'{"changed": 1e999, "dry_run": true}'), "does not say whether"),
        (http(b"["), ""),
        (http(b'{"error": "ValueError: the agent\'s own words"}', "500 Oops"), "HTTP 500"),
        (http(b"Service Unavailable", "503 Service Unavailable"), "connections"),
        (None, ""),
    ],
)
async def test_a_false_dry_run_leads_to_no_order(dry: Any, output: str) -> None:
    async with acting_on_lies(Lies(dry, GOOD)) as (acted, fake, task):
        plan = await acted.plan(_PAUSE, task)
        [step] = plan.steps
        assert step.refusal is not None
        assert output in step.refusal.sentence
        assert _SECRET not in step.refusal.sentence
        await acted.acting.carry_out(plan, yes=True)
        assert all("dry_run=true" in line for line in posts(fake))
        assert not acted.book.orders


@pytest.mark.parametrize(
    "real",
    [
        {"dispatched": 2},
        {**GOOD, "changed": "true"},
        {**GOOD, "dry_run": True},
        http(b"<html>the agent's own words</html>"),
        http(b'{"error": "ValueError: the agent\'s own words"}', "500 Oops"),
        http(b"the agent's own words", "502 Bad Gateway"),
        http(b'{"changed": '),
        None,
    ],
)
async def test_an_answer_without_an_outcome_is_unknown_and_not_done(real: Any) -> None:
    """It is looked for later, and nothing of its text is kept."""
    async with acting_on_lies(Lies({**GOOD, "dry_run": True}, real)) as (acted, fake, task):
        plan = await acted.plan(_PAUSE, task)
        [report] = await acted.acting.carry_out(plan, yes=True)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.UNKNOWN, report.outcome
        assert _SECRET not in report.outcome.message
        assert sum("dry_run" not in line for line in posts(fake)) == 1


async def test_endless_text_of_an_answer_is_cut_and_harmless() -> None:
    reason = "\x1b]0;owned\x07\u202e" + "x" * 10_000_000
    dry = {**GOOD, "dry_run": True, "free": "\x1b[2J" + "y" * 1_000_000}
    lies = Lies(dry, {**GOOD, "changed": False, "reason": reason})
    async with acting_on_lies(lies) as (acted, _, task):
        plan = await acted.plan(_PAUSE, task)
        [step] = plan.steps
        assert step.preview is not None
        assert [each.size for each in step.preview.withheld] == ["free, 1000004 characters"]
        [report] = await acted.acting.carry_out(plan, yes=True)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.NO_CHANGE
        assert len(report.outcome.message) < 400
        assert "\x1b" not in report.outcome.message
        assert "\u202e" not in report.outcome.message
        [order] = acted.book.orders
        assert len(order.message) < 400
