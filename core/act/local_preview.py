"""Previews of actions without a dry run: computed from a fresh read of the process."""

from collections.abc import Mapping

from core.act.preview import Preview
from core.act.refusals import Refusal
from core.act.snapshot import TargetSnapshot
from core.format import plural
from core.ids import ProcessKey, Target
from core.model.action import Action, Verb
from core.model.process import Process, ProcessState
from core.text import shown

FINAL = frozenset({"success", "error", "cancelled"})
"""The status of a log that nothing more is written to."""
LEFTOVER_AFTER_S = 30.0
"""Seconds after an interrupt until a process without a control server counts as a leftover."""


def computed_preview(action: Action, target: Target, snapshot: TargetSnapshot) -> Preview:
    """Return the preview of keep, release or a flush."""
    row = snapshot.row(target)
    keeps = bool(row is not None and row.keep_alive)
    over = bool(snapshot.rows) and not snapshot.running
    match action.verb:
        case Verb.KEEP:
            said = "it stays, parked, once its eval is over"
            return _computed(said if not keeps else "it is kept already", is_noop=keeps)
        case Verb.RELEASE if over:
            return _computed("it is parked: it ends now", is_noop=not keeps and not over)
        case Verb.RELEASE:
            said = "it ends once its eval is over"
            return _computed(said if keeps else "it is not kept", is_noop=not keeps)
        case _:
            return _computed("finished samples that wait in memory are written to the log")


def _computed(sentence: str, *, is_noop: bool = False, notes: tuple[str, ...] = ()) -> Preview:
    return Preview(sentence=sentence, is_computed=True, is_noop=is_noop, notes=notes)


def interrupt_preview(
    snapshot: TargetSnapshot, process: Process, *, is_ours: bool
) -> Preview | Refusal:
    """Return the preview of SIGINT for a process, or why it is not sent."""
    if process.state is ProcessState.HEADLESS or not snapshot.answers:
        return Refusal(
            "refused",
            "Its control server does not answer: an interrupt may be ignored, and evalroom can't"
            " tell what would be lost. Wait for it, or kill it once its logs are final.",
        )
    if snapshot.rows and not snapshot.running and not snapshot.unstarted:
        return Refusal("noop", "all its tasks are finished: release it instead of interrupting it")
    flying = sum(row.samples.in_flight or 0 for row in snapshot.running)
    queued = sum(row.samples.queued or 0 for row in snapshot.running)
    is_one = flying == 1
    cut = f"{plural(flying, 'sample')} in flight {'is' if is_one else 'are'} cut off and written"
    logs = "1 log ends" if len(snapshot.running) == 1 else f"{len(snapshot.running)} logs end"
    said = (
        f"finalising: {f'{cut} as cancelled' if flying else 'nothing is in flight'},"
        f" {queued} queued never run, {logs} as cancelled,"
        f"{_never_started(snapshot)} then the process ends"
    )
    if is_ours:
        return _computed(said)
    note = (
        "evalroom did not start this process. If it ignores SIGINT, the interrupt only stops its"
        " control server and the eval keeps running where evalroom can't see it. Cancel its"
        " tasks, or drain and release it, instead."
    )
    return _computed(said, notes=(note,))


def _never_started(snapshot: TargetSnapshot) -> str:
    return f" {plural(snapshot.unstarted, 'task')} never start," if snapshot.unstarted else ""


def end_preview(
    process: ProcessKey,
    statuses: Mapping[str, str | None],
    *,
    leftover: str | None,
) -> Preview | Refusal:
    """Return the preview of SIGKILL for a process, or why it is not allowed.

    Args:
        process: Which.
        statuses: Each log's own status, as just read; None: it can't be read.
        leftover: Why nothing is lost although its logs are not final; None: something may be.
    """
    if statuses and all(status in FINAL for status in statuses.values()):
        said = f"{plural(len(statuses), 'log')} of it are final: nothing is lost"
        return _computed(f"pid {process.pid} is killed; {said}")
    if leftover is not None:
        return _computed(f"pid {process.pid} is killed; {leftover}")
    if not statuses:
        return Refusal("refused", "Can't tell what would be lost: no log of this process is known.")
    log, status = next(each for each in statuses.items() if each[1] not in FINAL)
    how = "can't be read" if status is None else f"says {shown(status, 30)}"
    return Refusal(
        "refused",
        f"A log of it is not final: {shown(log, 120)} {how}."
        " First interrupt it and let it finalise, or cancel its tasks.",
    )
