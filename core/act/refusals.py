"""Refusals: why nothing is sent to a target; None where something may be sent."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.act.requests import SIGNALS
from core.act.sample_targets import has_twin, twin_sentence
from core.act.snapshot import TargetSnapshot
from core.ctl.features import DRY_RUN_API_VERSION, missing, missing_feature, upgrade_command
from core.fleet import Fleet
from core.format import plural
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey, process_of
from core.model.action import Action, Offer, Verb
from core.model.feature import Feature
from core.model.log_summary import LogHeader
from core.model.order import Order, OrderState
from core.model.process import Process, ProcessState
from core.model.task import TaskState
from core.read_only import action_reads
from core.text import shown

INTERRUPT_INTERVAL_S = 120.0
"""Minimum seconds between two interrupts of a process: a second one aborts finalising."""

_TASK_KNOBS = frozenset(
    {"max_samples", "log_buffer", "log_shared", "time_limit", "token_limit", "message_limit"}
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is sent to a target.

    Attributes:
        kind: `no change`: nothing would change; `refused`: not allowed; `unsupported`: the Inspect
            there can't do it; `unreachable`: the process can't be reached now.
        sentence: Why, and what to do; harmless text.
    """

    kind: Literal["no change", "refused", "unsupported", "unreachable"]
    sentence: str


def fleet_refusal(offer: Offer, target: Target, fleet: Fleet) -> Refusal | None:
    """Return the refusal that the fleet alone shows: for menus, and before anything is read.

    This is the one place that refuses actions on read-only machines; the probe and the link
    refuse mutations there once more.
    """
    key = process_of(target)
    machine = fleet.machines.get(key.machine)
    if machine is None:
        return Refusal("refused", f"evalroom knows no machine {shown(key.machine)}")
    if machine.read_only and not action_reads(offer.name):
        return Refusal("refused", read_only_reason([machine.name]))
    if not machine.link.is_alive:
        return Refusal(
            "unreachable", f"{shown(machine.name)} is not reachable now ({machine.link.state})"
        )
    if offer.action.verb is Verb.RECOVER and isinstance(target, TaskKey):
        return _unrecoverable(target, fleet)
    return _of_process(offer, target, fleet)


def _of_process(offer: Offer, target: Target, fleet: Fleet) -> Refusal | None:
    process = fleet.processes.get(process_of(target))
    if process is None or process.is_gone:
        return Refusal("no change", "the process is gone")
    unsignalled = process.signal_refusal
    if unsignalled is not None and (process.container or offer.action.verb in SIGNALS):
        return Refusal("refused", unsignalled)
    return _unfit(offer, target, process, fleet)


def _unrecoverable(target: TaskKey, fleet: Fleet) -> Refusal | None:
    """Return why a task has no log to recover, as far as its last read shows."""
    task = fleet.tasks.get(target)
    if task is None or task.state is TaskState.RUNNING or not fleet.is_gone(task.key.process):
        return Refusal(
            "refused", "Its eval still runs. Recover the log only after the eval has died."
        )
    if task.header is None:
        return None  # the preview reads the log
    return unrecoverable_log(task.header)


def unrecoverable_log(header: LogHeader) -> Refusal | None:
    """Return why a log that was read is not recovered."""
    if header.is_final:
        return Refusal("no change", f"its log is complete: it says {shown(header.status, 30)}")
    if header.buffer is None:
        return Refusal("no change", "its buffer holds no sample that the log lacks")
    return None


def _unfit(offer: Offer, target: Target, process: Process, fleet: Fleet) -> Refusal | None:
    if offer.needs is None:
        return None
    return (
        _no_channel(process)
        or _over(offer, target, fleet)
        or _twin(target, fleet)
        or _lacking(offer, process)
    )


def _twin(target: Target, fleet: Fleet) -> Refusal | None:
    if isinstance(target, SampleKey) and has_twin(fleet, target):
        return Refusal("refused", twin_sentence(target))
    return None


def read_only_reason(names: Iterable[str]) -> str:
    """Return why nothing is sent to these machines: all of them are read-only."""
    listed = sorted(names)
    verb = "is" if len(listed) == 1 else "are"
    return f"{shown(', '.join(listed[:3]))} {verb} read-only: evalroom changes nothing there"


def _no_channel(process: Process) -> Refusal | None:
    match process.state:
        case ProcessState.HEADLESS if process.is_cut_off:
            why = "the file of its control socket was removed; the process accepts only signals"
        case ProcessState.HEADLESS:
            why = "its control server is down; the process accepts only signals"
        case ProcessState.OPTED_OUT:
            why = "it was started without a control server; the process accepts only signals"
        case _:
            return None
    return Refusal("unreachable", why)


def _lacking(offer: Offer, process: Process) -> Refusal | None:
    """Return what the Inspect there lacks, where its routes are known already."""
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
        return Refusal("no change", "the task is already finished")
    return None


def snapshot_refusal(
    offer: Offer, action: Action, target: Target, snapshot: TargetSnapshot, process: Process
) -> Refusal | None:
    """Return the refusal that a fresh read shows."""
    if offer.needs is None:
        return None
    return (
        _too_old(offer, action, snapshot, process)
        or _misfit(action, target)
        or _finished(offer, target, snapshot)
    )


def _too_old(
    offer: Offer, action: Action, snapshot: TargetSnapshot, process: Process
) -> Refusal | None:
    feature = offer.needs
    if feature is None or snapshot.surface is None:
        return None
    lack = missing(feature, snapshot.surface, process.python)
    if lack is not None:
        return Refusal("unsupported", f"{lack.sentence}: {lack.command}")
    version = process.api_version or 0
    if offer.dry_run and version < DRY_RUN_API_VERSION:
        # It would ignore `dry_run` and act, so nothing is sent.
        brings = upgrade_command(process.python, "0.3.250")
        return Refusal(
            "unsupported",
            f"This Inspect has no dry run (0.3.250 or newer has). Upgrade with: {brings}",
        )
    if offer.dry_run and not snapshot.surface.takes(feature, "dry_run"):
        # Whatever version it claims: `dry_run` must be in the parameters of the route.
        return Refusal(
            "unsupported",
            "This Inspect has no dry run for this action: it would act at once. Upgrade Inspect.",
        )
    knob = next((each for each in _parameters(action) if not _takes(snapshot, feature, each)), None)
    if knob is not None:
        brings = upgrade_command(process.python, "0.3.285")
        return Refusal("unsupported", f"This Inspect has no knob {knob}. Upgrade with: {brings}")
    return None


def _parameters(action: Action) -> Iterable[str]:
    return [shown(change.knob, 40) for change in action.changes]


def _takes(snapshot: TargetSnapshot, feature: Feature, name: str) -> bool:
    return snapshot.surface is None or snapshot.surface.takes(feature, name)


def _misfit(action: Action, target: Target) -> Refusal | None:
    if action.verb is Verb.CONFIG and isinstance(target, ProcessKey):
        wrong = [each.knob for each in action.changes if each.knob in _TASK_KNOBS]
        if wrong:
            return Refusal("refused", f"{wrong[0]} is a knob of a single task: name the task")
    return None


def _finished(offer: Offer, target: Target, snapshot: TargetSnapshot) -> Refusal | None:
    if offer.action.verb in _FOR_FINISHED:
        return None
    why = _why_finished(target, snapshot)
    return None if why is None else Refusal("no change", why)


def _why_finished(target: Target, snapshot: TargetSnapshot) -> str | None:
    row = snapshot.row(target)
    match target:
        case ModelKey():
            runs = any(each.model == target.model for each in snapshot.running)
            held = any(target.model in each.paused_models for each in snapshot.rows)
            return None if runs or held else f"no task uses {shown(target.model)} now"
        case ProcessKey():
            return "all tasks are finished" if snapshot.rows and not snapshot.running else None
        case _ if row is None:
            return "the process no longer lists the task"
        case _:
            return "the task is already finished" if row.is_completed else None


def signal_refusal(
    action: Action,
    target: ProcessKey,
    snapshot: TargetSnapshot,
    orders: Iterable[Order],
    now: float,
) -> Refusal | None:
    """Return the refusal of an interrupt or a kill, apart from what the process's logs say.

    Args:
        action: The interrupt or the kill.
        target: The process.
        snapshot: A fresh read; the channel may not answer.
        orders: Interrupts that were sent lately, newest first.
        now: Unix seconds at the desk.
    """
    held = sum(row.held or 0 for row in snapshot.rows)
    if held:
        return Refusal(
            "refused",
            f"{plural(held, 'sample')} {'is' if held == 1 else 'are'} held: work would be lost."
            " Resume first, or pause again without `now` and let samples finish.",
        )
    sent = last_interrupt(target, orders)
    if action.verb is Verb.INTERRUPT and sent is not None and now - sent.at < INTERRUPT_INTERVAL_S:
        ago = max(now - sent.at, 0.0)  # the clock may have been set back
        wait = INTERRUPT_INTERVAL_S - ago
        return Refusal(
            "refused",
            f"The process was interrupted {ago:.0f} s ago and is writing its logs; a second"
            f" interrupt would abort that. evalroom allows a second one in {wait:.0f} s.",
        )
    return None


def kill_refusal(
    snapshot: TargetSnapshot, process: Process, interrupt: Order | None
) -> Refusal | None:
    """Return the refusal of a kill although all known logs of the process are final.

    Args:
        snapshot: A fresh read; the channel may not answer.
        process: The process to kill.
        interrupt: The newest interrupt that was sent to it.
    """
    running = len(snapshot.running)
    if running:
        verb, which = ("is", "it") if running == 1 else ("are", "them")
        return Refusal(
            "refused", f"{plural(running, 'task')} {verb} still running. End {which} first."
        )
    if snapshot.unstarted:
        has = "has" if snapshot.unstarted == 1 else "have"
        count = plural(snapshot.unstarted, "task")
        return Refusal("refused", f"{count} {has} not started yet and would never run.")
    if snapshot.answers or "eval-set" not in process.argv:
        return None
    before = None if interrupt is None else interrupt.basis.get("unstarted")
    if before == 0:
        return None
    return Refusal(
        "refused",
        "The process runs an eval-set and its control server does not answer. Another task may"
        " have started meanwhile, and a kill would lose its work.",
    )


def last_interrupt(target: ProcessKey, orders: Iterable[Order]) -> Order | None:
    """Return the newest interrupt that was sent to a process, whatever its outcome."""
    for order in orders:
        if order.action.verb is Verb.INTERRUPT and _was_sent(order) and _is_same(order, target):
            return order
    return None


def _is_same(order: Order, target: ProcessKey) -> bool:
    """Return whether an order went to this process, also under another machine's name."""
    to = order.address.process
    return to == target or (bool(to.start) and (to.pid, to.start) == (target.pid, target.start))


def _was_sent(order: Order) -> bool:
    return order.state in {OrderState.DONE, OrderState.UNKNOWN, OrderState.SENDING}
