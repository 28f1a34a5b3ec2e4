"""`evalroom act ACTION TARGET...`: the same plan, preview and orders as on screen."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cli.commands.desk_queries import Looker
from cli.commands.questions import answered
from cli.commands.status import NOBODY_REACHED
from cli.render.plain import print_json, print_lines, print_note
from cli.render.plans import act_answer, outcome_lines, plan_lines
from core.act.executor import OrderReport
from core.act.plan import Plan
from core.act.service import ActionService
from core.act.target_expansion import ActionPlace
from core.act.target_grammar import TargetSpec, action_named, places_of
from core.errors import NotConfirmed, NothingToDo, UsageWrong
from core.events import OrderEnded
from core.model.action import Action, Change, Manner, Verb
from core.model.order import Order, OrderState, Outcome
from core.text import shown

FAILED, REFUSED = 1, 4
_UNKNOWN_FOR = 20.0
"""Seconds that the command waits for an order without an answer to be resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line asks for, beside the action and its targets.

    Attributes:
        confirm: The words that a preview asks to be typed.
        yes: Enter, and the yes to acting on what somebody else launched.
        content: Also print free text of the dry runs' answers.
    """

    dry_run: bool = False
    yes: bool = False
    confirm: str = ""
    reason: str = ""
    content: bool = False
    as_json: bool = False
    timeout: float = 15.0


def action_of(
    name: str,
    *,
    now: bool = False,
    manner: Manner | None = None,
    completed_only: bool = False,
    tool_call: str | None = None,
) -> Action:
    """Return the action of a name and its options.

    Raises:
        UsageWrong: There is no such action, or an option is none of it.
    """
    action = action_named(name)
    if now and action.verb is not Verb.PAUSE:
        raise UsageWrong("--now goes with pause")
    if manner is not None and action.verb is not Verb.CANCEL:
        raise UsageWrong("--manner goes with cancel")
    if completed_only and action.verb is not Verb.SCORE:
        raise UsageWrong("--completed-only goes with score")
    if tool_call is not None and action.verb is not Verb.CANCEL_CALL:
        raise UsageWrong("--call goes with cancel-call")
    if action.verb is Verb.CONFIG:
        raise UsageWrong("to change knobs use: evalroom config-set TARGET --max-samples N ...")
    return replace(
        action,
        now=now or action.now,
        manner=manner or action.manner,
        completed_only=completed_only or action.completed_only,
        tool_call=tool_call,
    )


async def act(
    desk: Looker, acting: ActionService, action: Action, aim: TargetSpec, asked: Asked
) -> int:
    """Preview, confirm and carry out; return the exit status.

    0: all done or no-op; 1: some failed or are unknown; 3: nothing reachable; 4: refused.

    Raises:
        UsageWrong: The words are off.
    """
    await desk.first_look(asked.timeout)
    if not any(each.is_reached for each in desk.fleet.machines.values()):
        return _nobody(desk, action, asked)
    places = places_of(aim, action, desk.fleet)
    hurry = asyncio.Event()
    hurry.set()  # nobody is there to press the key that hurries
    try:
        plan = await acting.plan(
            title_of(action, places), action, places, reason=asked.reason, hurry=hurry
        )
    except NothingToDo as nothing:
        if asked.as_json:
            print_json({"action": str(action.verb), "dry_run": asked.dry_run, "targets": []})
        else:
            print_lines([nothing.message])
        return 0
    return await finish(desk, acting, plan, asked)


async def undo(desk: Looker, acting: ActionService, asked: Asked) -> int:
    """Take back the last that can be taken back; return the exit status as `act` does."""
    await desk.first_look(asked.timeout)
    await acting.take_up()
    await asyncio.sleep(0)
    return await finish(desk, acting, await acting.undo(), asked)


async def config_set(
    desk: Looker, acting: ActionService, changes: Sequence[Change], aim: TargetSpec, asked: Asked
) -> int:
    """Change knobs; return the exit status as `act` does."""
    if not changes:
        raise UsageWrong("nothing to set", "see: evalroom config-set --help")
    return await act(desk, acting, Action(verb=Verb.CONFIG, changes=tuple(changes)), aim, asked)


def title_of(action: Action, places: Sequence[ActionPlace]) -> str:
    """Return what a plan is called."""
    now = " now" if action.now else ""
    manner = f" ({action.manner})" if action.manner else ""
    return f"{action.verb}{now}{manner}, {len(places)} selected"


async def finish(desk: Looker, acting: ActionService, plan: Plan, asked: Asked) -> int:
    """Show a plan; carry it out where it is confirmed; return the exit status."""
    _say_left(desk, acting)
    if not asked.as_json:
        print_lines(plan_lines(plan, content=asked.content))
    if asked.dry_run:
        if asked.as_json:
            print_json(act_answer(plan, None, dry_run=True, content=asked.content))
        return _status_of_preview(plan)
    if plan.sent:
        words, yes = await _consent(plan, asked)
        told = await acting.carry_out(plan, words=words, yes=yes)
        told = await _settled(desk, told)
    else:
        told = await acting.carry_out(plan, yes=True)
    if asked.as_json:
        print_json(act_answer(plan, told, dry_run=False, content=asked.content))
    else:
        print_lines(["", *outcome_lines(told)])
    return status_of(told)


def _say_left(desk: Looker, acting: ActionService) -> None:
    """Say which orders an evalroom left that ended before it knew what became of them."""
    for order in desk.fleet.orders:
        if order.is_open and acting.answers_for(order) and order.instance != acting.instance:
            print_note(
                f"{shown(order.action.verb)} of {shown(order.name)}, which an evalroom left that"
                " ended before it knew what became of it, is being looked into; it is not sent"
                " again (see: evalroom journal)"
            )


async def _consent(plan: Plan, asked: Asked) -> tuple[str, bool]:
    """Return the words and the yes that were given, by options or at the terminal.

    Raises:
        NotConfirmed: Neither.
    """
    if plan.confirmation == "words" and asked.confirm:
        return asked.confirm, True
    if plan.confirmation != "words" and asked.yes:
        return "", True
    if asked.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotConfirmed(_why(plan), _how(plan))
    prompt = f"type {plan.words} to confirm: " if plan.words else "go on? [y/N] "
    answer = await answered(prompt)
    if answer is None:
        raise NotConfirmed("not confirmed: nothing was sent")
    if plan.words:
        return answer, True
    if answer.strip().lower() not in {"y", "yes"}:
        raise NotConfirmed("not confirmed: nothing was sent")
    return "", True


def _why(plan: Plan) -> str:
    if plan.words:
        return f"not confirmed: nothing was sent ({plan.title} asks for words)"
    return "not confirmed: nothing was sent"


def _how(plan: Plan) -> str:
    return f"add --confirm {shown(repr(plan.words), 120)}" if plan.words else "add --yes"


async def _settled(desk: Looker, told: tuple[OrderReport, ...]) -> tuple[OrderReport, ...]:
    """Wait a while for what had no answer; return what is known by then."""
    mine = {each.order for each in told if each.order is not None}
    heard = asyncio.Event()
    end = desk.listen(lambda event: heard.set() if isinstance(event, OrderEnded) else None)
    try:
        async with asyncio.timeout(_UNKNOWN_FOR):
            while any(order.id in mine and order.is_open for order in desk.fleet.orders):
                await heard.wait()
                heard.clear()
    except TimeoutError:
        pass  # it stays unknown: the next evalroom takes it up
    finally:
        end()
    known = {order.id: order for order in desk.fleet.orders if order.id in mine}
    return tuple(_renewed(each, known.get(each.order or "")) for each in told)


def _renewed(told: OrderReport, order: Order | None) -> OrderReport:
    if order is None:
        return told
    return replace(told, outcome=Outcome(state=order.state, message=order.message))


def _status_of_preview(plan: Plan) -> int:
    refused = any(
        step.refusal is not None and step.refusal.kind in {"refused", "unsupported"}
        for step in plan.steps
    )
    return REFUSED if refused and not plan.sent else 0


def status_of(told: Sequence[OrderReport]) -> int:
    """All done or no-op: 0. None reachable: 3. Nothing sent, refused or changed: 4. Else 1."""
    good = {OrderState.DONE, OrderState.NOOP}
    if told and all(_is_out_of_reach(each) for each in told):
        return NOBODY_REACHED
    states = [each.outcome.state if each.outcome is not None else None for each in told]
    if all(state in good for state in states):
        return 0
    if all(state in {None, OrderState.REFUSED, *good} for state in states):
        return REFUSED
    return FAILED


def _is_out_of_reach(told: OrderReport) -> bool:
    refusal = told.step.refusal
    return refusal is not None and refusal.kind == "unreachable"


def _nobody(desk: Looker, action: Action, asked: Asked) -> int:
    reasons = [
        f"{shown(each.name)}: {each.link.state}"
        + (f", {shown(each.link.reason, 300)}" if each.link.reason else "")
        for each in desk.fleet.machines.values()
    ]
    if asked.as_json:
        print_json(
            {"action": str(action.verb), "dry_run": asked.dry_run, "targets": [], "why": reasons}
        )
    else:
        print_lines(["no machine could be reached", *reasons])
    return NOBODY_REACHED
