"""Links that break while a dry run or an order is out: only the order's outcome is uncertain."""

import json
import os
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from core.frames import Frame
from core.ids import TaskKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from core.ports import Reply
from tests.core.act.test_lying_evals import GOOD, ROW, routes
from tests.support.acting import Acted, acting_on
from tests.support.desk_on_evals import this_computer
from tests.support.evals import short_folder
from tests.support.fake_eval import FakeEval, fake_eval, http
from tests.support.waiting import WAIT_S, until

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


class ReadHolder:
    """A control server that, once told to, leaves a poll without its answer for a while."""

    def __init__(self) -> None:
        self.is_holding = threading.Event()
        self.holds_one = threading.Event()
        self.released = threading.Event()

    def __call__(self, connection: socket.socket, line: str) -> bool:
        method, path, _ = line.split()
        if method == "GET" and self.is_holding.is_set():
            self.holds_one.set()
            self.released.wait(WAIT_S)
        answers: dict[str, Any] = {"/tasks": [ROW], "/openapi.json": routes()}
        value = answers.get(path, {}) if method == "GET" else {**GOOD, "dry_run": "dry_run" in path}
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


async def test_an_order_that_waits_behind_a_poll_until_its_deadline_never_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.act.executor.ORDER_TIMEOUT_S", 1.5)
    holder = ReadHolder()
    with short_folder() as folder, fake_eval(folder, holder) as fake:
        machine = this_computer(Path(folder))
        async with acting_on([machine], Path(folder) / "known") as acted:

            def known() -> TaskKey | None:
                return next(iter(acted.watched.fleet.tasks), None)

            plan = await acted.plan(_PAUSE, await acted.watched.until(known, "its task"))
            [connection] = acted.watched.desk.connections
            request = connection.request

            async def behind_a_poll(frame: Frame, *, deadline: float) -> Reply:
                if frame.kind == "send" and "dry_run" not in frame.head["path"]:
                    holder.is_holding.set()
                    await until(holder.holds_one.is_set, "a poll is in flight")
                return await request(frame, deadline=deadline)

            connection.request = behind_a_poll  # type: ignore[method-assign]
            [report] = await acted.acting.carry_out(plan, yes=True)
            assert report.outcome is not None
            assert report.outcome.state is OrderState.FAILED
            assert report.outcome.message == "not sent: the process was busy for 1 s"
            holder.is_holding.clear()
            holder.released.set()
            asked = len(fake.asked)
            await acted.watched.until(lambda: len(fake.asked) > asked + 2, "later polls")
            assert orders_that_arrived(fake) == []
