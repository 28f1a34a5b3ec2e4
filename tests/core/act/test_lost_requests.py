"""Links that break while a dry run or an order is out: only the order's outcome is uncertain."""

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from core.ids import TaskKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from tests.core.act.test_lying_evals import GOOD, ROW, routes
from tests.support.acting import Acted, acting_on
from tests.support.desk_on_evals import this_computer
from tests.support.evals import short_folder
from tests.support.fake_eval import FakeEval, fake_eval, http

_PAUSE = Action(verb=Verb.PAUSE)


class ProbeKiller:
    """A control server that kills the probe in place of its answer to one kind of request."""

    def __init__(self) -> None:
        self.acted: Acted | None = None
        self.kills_at: str | None = None

    def __call__(self, connection: socket.socket, line: str) -> bool:
        method, path, _ = line.split()
        is_dry = "dry_run" in path
        if method == "POST" and self.kills_at == ("dry run" if is_dry else "order"):
            assert self.acted is not None
            [machine] = self.acted.watched.fleet.machines.values()
            assert machine.probe is not None
            os.kill(machine.probe.pid, signal.SIGKILL)
            return False
        if method == "GET":
            answers: dict[str, Any] = {"/tasks": [ROW], "/openapi.json": routes()}
            value = answers.get(path, {})
        else:
            value = {**GOOD, "dry_run": True} if is_dry else GOOD
        connection.sendall(http(json.dumps(value).encode()))
        return True


def orders_that_arrived(fake: FakeEval) -> list[str]:
    """The real requests that reached the eval."""
    return [line for _, line in fake.asked if line.startswith("POST") and "dry_run" not in line]


@pytest.mark.parametrize("lost", ["dry run", "order"])
async def test_only_an_order_that_left_may_have_been_applied(lost: str) -> None:
    killer = ProbeKiller()
    with short_folder() as folder, fake_eval(folder, killer) as fake:
        machine = this_computer(Path(folder))
        async with acting_on([machine], Path(folder) / "known") as acted:
            killer.acted = acted

            def known() -> TaskKey | None:
                return next(iter(acted.watched.fleet.tasks), None)

            task = await acted.watched.until(known, "its task")
            plan = await acted.plan(_PAUSE, task)
            assert plan.sent, plan
            killer.kills_at = lost
            [report] = await acted.acting.carry_out(plan, yes=True)
            assert report.outcome is not None
            journal = [(order.state, order.message) for order in acted.book.orders]
            if lost == "dry run":
                assert report.outcome.state is OrderState.FAILED
                assert report.outcome.message.startswith("not sent: its dry run got no answer")
                assert "may have been" not in report.outcome.message
                assert journal == []
                assert orders_that_arrived(fake) == []
            else:
                assert report.outcome.state is OrderState.UNKNOWN
                assert report.outcome.message.endswith("; it may have been applied")
                assert journal == [(report.outcome.state, report.outcome.message)]
                assert len(orders_that_arrived(fake)) == 1
