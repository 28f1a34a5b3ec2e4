"""Why an action is not for a target now; None where it is. Nothing is sent for a refusal."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.act.snapshot import TargetSnapshot
from core.ctl.features import (
    DRY_RUN_API_VERSION,
    Feature,
    missing,
    missing_feature,
    upgrade_command,
)
from core.fleet import Fleet
from core.format import plural
from core.ids import ModelKey, ProcessKey, Target, TaskKey, process_of
from core.model.action import Action, Offer, Verb
from core.model.order import Order, OrderState
from core.model.process import Process, ProcessState
from core.text import shown

INTERRUPT_AGAIN = 120.0
"""Seconds within which no second SIGINT is sent to a process."""

_TASK_KNOBS = frozenset(
    {"max_samples", "log_buffer", "log_shared", "time_limit", "token_limit", "message_limit"}
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is sent to a target.

    Attributes:
        kind: `noop`: it is so already, or over; `refused`: not allowed; `unsupported`: its
            Inspect can't; `unreachable`: not now.
        sentence: Why, and what to do; harmless.
    """

    kind: Literal["noop", "refused", "unsupported", "unreachable"]
    sentence: str


def at_sight(offer: Offer, target: Target, fleet: Fleet) -> Refusal | None:
    """Return what the fleet alone says against it: for menus, and before anything is read."""
    key = process_of(target)
    machine = fleet.machines.get(key.machine)
    if machine is None:
        return Refusal("refused", f"there is no machine {shown(key.machine)}")
    if machine.read_only:
        return Refusal("refused", f"{shown(machine.name)} is read-only: nothing is changed there")
    if not machine.link.is_alive:
        return Refusal(
            "unreachable", f"{shown(machine.name)} is not reachable now ({machine.link.state})"
        )
    process = fleet.processes.get(key)
    if process is None or process.is_gone:
        return Refusal("noop", "its process is gone")
    if offer.needs is None:
        return None
    return _no_channel(process) or _over(offer, target, fleet) or _lacking(offer, process)


def _no_channel(process: Process) -> Refusal | None:
    match process.state:
        case ProcessState.HEADLESS:
            why = "its control server does not answer; only signals reach it"
        case ProcessState.OPTED_OUT:
            why = "it was started without a control server; only signals reach it"
        case _:
            return None
    return Refusal("unreachable", why)


def _lacking(offer: Offer, process: Process) -> Refusal | None:
    """Return what its Inspect lacks, where its routes are known already."""
    if offer.needs is None or process.can is None or offer.needs in process.can:
        return None
    lack = missing_feature(offer.needs, process.python)
    return Refusal("unsupported", f"{lack.sentence}: {lack.command}")


_FOR_FINISHED = frozenset({Verb.SCORE, Verb.FLUSH, Verb.CONFIG, Verb.KEEP, Verb.RELEASE})


def _over(offer: Offer, target: Target, fleet: Fleet) -> Refusal | None:
    if offer.action.verb in _FOR_FINISHED or isinstance(target, ProcessKey | ModelKey):
        return None
    task = fleet.tasks.get(target if isinstance(target, TaskKey) else target.task)
    if task is not None and (task.is_over or task.row.is_completed):
        return Refusal("noop", "the task is already finished")
    return None


def on_reading(
    offer: Offer, action: Action, target: Target, seen: TargetSnapshot, process: Process
) -> Refusal | None:
    """Return what a fresh look says against it."""
    if offer.needs is None:
        return None
    return (
        _too_old(offer, action, seen, process)
        or _misfit(action, target)
        or _finished(offer, target, seen)
    )


def _too_old(
    offer: Offer, action: Action, seen: TargetSnapshot, process: Process
) -> Refusal | None:
    feature = offer.needs
    if feature is None or seen.surface is None:
        return None
    lack = missing(feature, seen.surface, process.python)
    if lack is not None:
        return Refusal("unsupported", f"{lack.sentence}: {lack.command}")
    version = process.api_version or 0
    if offer.dry_run and version < DRY_RUN_API_VERSION:
        # It would ignore the word and act: nothing is asked of it, and nothing is sent blindly.
        brings = upgrade_command(process.python, "0.3.250")
        return Refusal(
            "unsupported",
            f"that Inspect can't say beforehand what it would do, 0.3.250 can: {brings}",
        )
    if offer.dry_run and not seen.surface.takes(feature, "dry_run"):
        # Whatever version it claims: a word that its route does not take is not relied on.
        return Refusal(
            "unsupported",
            "its list of routes has no dry run for this: it would act instead of only saying"
            " what it would do",
        )
    knob = next((each for each in _parameters(action) if not _takes(seen, feature, each)), None)
    if knob is not None:
        brings = upgrade_command(process.python, "0.3.285")
        return Refusal("unsupported", f"that Inspect has no knob {knob} yet: {brings}")
    return None


def _parameters(action: Action) -> Iterable[str]:
    return [shown(change.knob, 40) for change in action.changes]


def _takes(seen: TargetSnapshot, feature: Feature, name: str) -> bool:
    return seen.surface is None or seen.surface.takes(feature, name)


def _misfit(action: Action, target: Target) -> Refusal | None:
    if action.verb is Verb.CONFIG and isinstance(target, ProcessKey):
        wrong = [each.knob for each in action.changes if each.knob in _TASK_KNOBS]
        if wrong:
            return Refusal("refused", f"{wrong[0]} is a task's own: name the task")
    return None


def _finished(offer: Offer, target: Target, seen: TargetSnapshot) -> Refusal | None:
    if offer.action.verb in _FOR_FINISHED:
        return None
    why = _why_finished(target, seen)
    return None if why is None else Refusal("noop", why)


def _why_finished(target: Target, seen: TargetSnapshot) -> str | None:
    row = seen.row(target)
    match target:
        case ModelKey():
            runs = any(each.model == target.model for each in seen.running)
            held = any(target.model in each.paused_models for each in seen.rows)
            return None if runs or held else f"nothing runs with {shown(target.model)} any more"
        case ProcessKey():
            return "all its tasks are finished" if seen.rows and not seen.running else None
        case _ if row is None:
            return "the task is not there any more"
        case _:
            return "the task is already finished" if row.is_completed else None


def against_signal(
    action: Action, target: ProcessKey, seen: TargetSnapshot, orders: Iterable[Order], now: float
) -> Refusal | None:
    """Return what speaks against an interrupt or an end, but for what its logs say.

    Args:
        action: Either of the two.
        target: The process.
        seen: A fresh look; its channel may not answer.
        orders: What was sent lately, newest first.
        now: Unix seconds at the desk.
    """
    held = sum(row.held or 0 for row in seen.rows)
    if held:
        return Refusal(
            "refused",
            f"{held} samples are held: their work would be lost."
            " Resume, or pause soft and let them finish, first",
        )
    sent = last_interrupt(target, orders)
    if action.verb is Verb.INTERRUPT and sent is not None and now - sent.at < INTERRUPT_AGAIN:
        ago = max(now - sent.at, 0.0)  # the clock may have been set back
        wait = INTERRUPT_AGAIN - ago
        return Refusal(
            "refused",
            f"it was interrupted {ago:.0f} s ago and is finalising;"
            f" a second interrupt would break that off (possible in {wait:.0f} s)",
        )
    return None


def against_end(seen: TargetSnapshot, process: Process, interrupt: Order | None) -> Refusal | None:
    """Return what speaks against ending a process although all its known logs are final.

    Args:
        seen: A fresh look; its channel may not answer.
        process: Which.
        interrupt: The newest that was sent to it.
    """
    if seen.running:
        return Refusal("refused", f"{plural(len(seen.running), 'task')} of it run: end them first")
    if seen.unstarted:
        return Refusal(
            "refused", f"{plural(seen.unstarted, 'task')} of it have not started: they would never"
        )
    if seen.answers or "eval-set" not in process.argv:
        return None
    before = None if interrupt is None else interrupt.basis.get("unstarted")
    if before == 0:
        return None
    return Refusal(
        "refused",
        "it runs a set and its control server does not answer: another task of it may have"
        " started unseen, and would be lost",
    )


def last_interrupt(target: ProcessKey, orders: Iterable[Order]) -> Order | None:
    """Return the newest interrupt that was sent to a process, whatever became of it."""
    for order in orders:
        if order.action.verb is Verb.INTERRUPT and _left(order) and _is_same(order, target):
            return order
    return None


def _is_same(order: Order, target: ProcessKey) -> bool:
    """Whether an order went to a process: by what it is, also under another machine's name."""
    to = order.address.process
    return to == target or (bool(to.start) and (to.pid, to.start) == (target.pid, target.start))


def _left(order: Order) -> bool:
    return order.state in {OrderState.DONE, OrderState.UNKNOWN, OrderState.INTENT}
