"""`evalroom act ACTION TARGET...`, `config-set` and `undo`: actions without the room."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.commands.silence import found_target
from cli.commands.status import NOBODY_REACHED
from cli.confirm import confirm
from cli.event_loop import run_loop
from cli.parser.act import ActCommand, ActingCommand, UndoCommand
from cli.parser.command import GlobalOptions
from cli.render.plain import print_json, print_lines, print_note
from cli.render.plans import act_answer, outcome_lines, plan_lines
from cli.wiring.actions import acting_of
from cli.wiring.config import config_of
from cli.wiring.desk import desk_of, running
from cli.wiring.history import history_of
from core.act.executor import OrderReport
from core.act.plan import Plan
from core.act.service import ActionService
from core.act.target_expansion import ActionPlace
from core.act.target_grammar import places_of, tasks_to_list
from core.desk.desk import Desk
from core.errors import NothingToDo
from core.events import OrderEnded
from core.model.action import Action
from core.model.order import Order, OrderState, Outcome
from core.text import shown
from storage.paths import paths

FAILED, REFUSED = 1, 4
_UNKNOWN_FOR_S = 20.0
"""How long the command waits for the outcome of an order that got no answer, seconds."""


def act(command: ActCommand, options: GlobalOptions) -> int:
    """Run `evalroom act` or `evalroom config-set`; return the exit status."""

    async def work() -> int:
        async with _acting(options) as (desk, acting):
            return await act_on(desk, acting, command)

    return run_loop(work())


def undo(command: UndoCommand, options: GlobalOptions) -> int:
    """Run `evalroom undo`; return the exit status."""

    async def work() -> int:
        async with _acting(options, needs_history=True) as (desk, acting):
            await first_poll(desk, command.timeout)
            await acting.take_up()
            await asyncio.sleep(0)
            return await finish(desk, acting, await acting.undo(), command)

    return run_loop(work())


@asynccontextmanager
async def _acting(
    options: GlobalOptions, *, needs_history: bool = False
) -> AsyncGenerator[tuple[Desk, ActionService], None]:
    """Run a desk and its action service during the block.

    Raises:
        StorageError: The history can't be opened, and `needs_history` is set.
    """
    config = config_of(options)
    async with history_of(config, paths()) as history:
        if needs_history:
            history.require()
        with desk_of(config, options.record, event_store=history.brief_store) as desk:
            acting = acting_of(desk, history)
            async with running(desk, acting):
                yield desk, acting


async def act_on(desk: DeskReader, acting: ActionService, command: ActCommand) -> int:
    """Preview, confirm and carry out an action; return the exit status.

    0: all done or no-op; 1: some failed or are unknown; 3: nothing reachable; 4: refused.

    Raises:
        UsageWrong: The targets are wrong.
        NoMachineReached: A target fits nothing, and its machine did not answer.
        NotConfirmed: Nobody agreed.
    """
    action = command.action
    until = asyncio.get_running_loop().time() + command.timeout
    polled = await first_poll(desk, command.timeout)
    if not any(each.is_reached for each in desk.fleet.machines.values()):
        return _nobody(desk, command)

    async def named() -> Sequence[ActionPlace]:
        listings = await acting.list_samples(tasks_to_list(command.targets, desk.fleet))
        return places_of(command.targets, action, desk.fleet, listings)

    places = await found_target(desk, named, polled=polled, until=until)
    hurry = asyncio.Event()
    hurry.set()  # without the room, no one can press the key that hurries this
    try:
        plan = await acting.plan(
            title_of(action, places), action, places, reason=command.reason, hurry=hurry
        )
    except NothingToDo as nothing:
        if command.as_json:
            print_json({"action": str(action.verb), "dry_run": command.dry_run, "targets": []})
        else:
            print_lines([nothing.message])
        return 0
    return await finish(desk, acting, plan, command)


def title_of(action: Action, places: Sequence[ActionPlace]) -> str:
    """Return the title of a plan."""
    now = " now" if action.now else ""
    manner = f" ({action.manner})" if action.manner and action.manner != action.verb else ""
    return f"{action.verb}{now}{manner}, {len(places)} selected"


async def finish(
    desk: DeskReader, acting: ActionService, plan: Plan, command: ActingCommand
) -> int:
    """Show a plan and, once it is confirmed, carry it out; return the exit status.

    Raises:
        NotConfirmed: Nobody agreed.
    """
    _print_open_orders(desk, acting)
    if not command.as_json:
        print_lines(plan_lines(plan, content=command.content))
    if command.dry_run:
        if command.as_json:
            print_json(act_answer(plan, None, dry_run=True, content=command.content))
        return _status_of_preview(plan)
    if plan.sent:
        await confirm(
            command.consent,
            question=plan.title,
            words=plan.words,
            otherwise="nothing was sent",
            may_ask=not command.as_json,
        )
    reports = await acting.carry_out(plan, words=plan.words, yes=True)
    if plan.sent:
        reports = await _settled(desk, reports)
    if command.as_json:
        print_json(act_answer(plan, reports, dry_run=False, content=command.content))
    else:
        print_lines(["", *outcome_lines(reports)])
    return status_of(reports)


def _print_open_orders(desk: DeskReader, acting: ActionService) -> None:
    """Print the orders of earlier instances whose outcome is still unknown."""
    for order in desk.fleet.orders:
        if order.is_open and acting.answers_for(order) and order.instance != acting.instance:
            print_note(
                f"the outcome of an earlier order is unknown: {shown(order.action.verb)} of"
                f" {shown(order.name)}. evalroom is checking, and does not resend it."
                " See: evalroom journal"
            )


async def _settled(desk: DeskReader, reports: tuple[OrderReport, ...]) -> tuple[OrderReport, ...]:
    """Wait up to `_UNKNOWN_FOR_S` for open orders; return the reports with their outcomes."""
    mine = {each.order for each in reports if each.order is not None}
    has_news = asyncio.Event()
    end = desk.listen(lambda event: has_news.set() if isinstance(event, OrderEnded) else None)
    try:
        async with asyncio.timeout(_UNKNOWN_FOR_S):
            while any(order.id in mine and order.is_open for order in desk.fleet.orders):
                await has_news.wait()
                has_news.clear()
    except TimeoutError:
        pass  # its outcome stays unknown: the next instance resolves it
    finally:
        end()
    known = {order.id: order for order in desk.fleet.orders if order.id in mine}
    return tuple(_renewed(each, known.get(each.order or "")) for each in reports)


def _renewed(report: OrderReport, order: Order | None) -> OrderReport:
    if order is None:
        return report
    return replace(report, outcome=Outcome(state=order.state, message=order.message))


def _status_of_preview(plan: Plan) -> int:
    refused = any(
        step.refusal is not None and step.refusal.kind in {"refused", "unsupported"}
        for step in plan.steps
    )
    return REFUSED if refused and not plan.sent else 0


def status_of(reports: Sequence[OrderReport]) -> int:
    """Return the exit status of a plan that was carried out.

    0: all done or no-op; 3: no target reachable; 4: some were refused or had changed; 1: some
    failed, or their outcome is unknown.
    """
    good = {OrderState.DONE, OrderState.NO_CHANGE}
    if reports and all(_is_out_of_reach(each) for each in reports):
        return NOBODY_REACHED
    states = [each.outcome.state if each.outcome is not None else None for each in reports]
    if all(state in good for state in states):
        return 0
    if all(state in {None, OrderState.REFUSED, *good} for state in states):
        return REFUSED
    return FAILED


def _is_out_of_reach(report: OrderReport) -> bool:
    refusal = report.step.refusal
    return refusal is not None and refusal.kind == "unreachable"


def _nobody(desk: DeskReader, command: ActCommand) -> int:
    reasons = [
        f"{shown(each.name)}: {each.link.state}"
        + (f", {shown(each.link.reason, 300)}" if each.link.reason else "")
        for each in desk.fleet.machines.values()
    ]
    if command.as_json:
        answer = {"action": str(command.action.verb), "dry_run": command.dry_run}
        print_json({**answer, "targets": [], "why": reasons})
    else:
        print_lines(["no machine could be reached", *reasons])
    return NOBODY_REACHED
