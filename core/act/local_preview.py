"""Previews of actions without a dry run: computed from a fresh read of the process."""

from collections.abc import Mapping
from typing import assert_never

from core.act.preview import Preview, all_in_flight
from core.act.refusals import Refusal
from core.act.snapshot import TargetSnapshot
from core.errors import Unsupported
from core.format import plural
from core.ids import ProcessKey, Target
from core.model.action import Action, Verb
from core.model.log_summary import LogHeader
from core.model.process import Process, ProcessState
from core.text import shown

FINAL = frozenset({"success", "error", "cancelled"})
"""The statuses of a log that is complete: Inspect writes nothing more to it."""
LEFTOVER_AFTER_S = 30.0
"""Seconds after an interrupt until a process without a control server counts as a leftover."""


def computed_preview(action: Action, target: Target, snapshot: TargetSnapshot) -> Preview:
    """Return the preview of keep, release or a flush.

    Raises:
        Unsupported: The verb has a preview of its own.
    """
    row = snapshot.row(target)
    keeps = bool(row is not None and row.keep_alive)
    over = bool(snapshot.rows) and not snapshot.running
    match action.verb:
        case Verb.KEEP:
            if keeps:
                return _computed("the process is already set to stay alive", changes_nothing=True)
            return _computed("The process stays alive (parked) after its eval ends")
        case Verb.RELEASE if over:
            return _computed("The process is parked and exits now")
        case Verb.RELEASE if keeps:
            return _computed("The process exits when its eval ends")
        case Verb.RELEASE:
            return _computed("the process is not set to stay alive", changes_nothing=True)
        case Verb.FLUSH:
            return _computed("Finished samples in memory are written to the log")
        case (
            Verb.PAUSE | Verb.RESUME | Verb.CANCEL | Verb.CANCEL_CALL | Verb.DRAIN | Verb.REQUEUE
            | Verb.SCORE | Verb.CONFIG | Verb.RECOVER | Verb.INTERRUPT | Verb.KILL
        ):  # fmt: skip
            raise Unsupported(f"{action.verb} has a preview of its own")
        case _:
            assert_never(action.verb)


def _computed(
    sentence: str, *, changes_nothing: bool = False, notes: tuple[str, ...] = ()
) -> Preview:
    return Preview(
        sentence=sentence, is_computed=True, changes_nothing=changes_nothing, notes=notes
    )


def recovery_preview(header: LogHeader) -> Preview:
    """Return the preview of the recovery of a log whose buffer is there."""
    held = header.buffer.contents if header.buffer is not None else "no sample"
    return _computed(
        f"Inspect writes a new log beside the old one. Its buffer holds {held}; Inspect removes the"
        " buffer afterwards"
    )


def interrupt_preview(
    snapshot: TargetSnapshot, process: Process, *, is_ours: bool
) -> Preview | Refusal:
    """Return the preview of SIGINT for a process, or why it is not sent."""
    if process.state is ProcessState.HEADLESS or not snapshot.answers:
        return Refusal(
            "refused",
            "The control server does not answer: the process may ignore an interrupt, and evalroom"
            " can't tell what would be lost. Wait for the process, or kill it once its logs are"
            " final.",
        )
    if snapshot.rows and not snapshot.running and not snapshot.unstarted:
        return Refusal("no change", "All tasks are finished. Release the process instead.")
    flying = all_in_flight(snapshot.running)
    queued = sum(row.samples.queued or 0 for row in snapshot.running)
    are = "is" if flying == 1 else "are"
    number = "Samples" if flying is None else plural(flying, "sample")
    cut = f"{number} in flight {are} cut off and written as cancelled"
    never = f"{plural(queued, 'queued sample')} never {'runs' if queued == 1 else 'run'}"
    logs = "1 log ends" if len(snapshot.running) == 1 else f"{len(snapshot.running)} logs end"
    sentence = (
        f"{'No sample is in flight' if flying == 0 else cut}, {never}, {logs} as cancelled"
        f"{_never_started(snapshot)}; then the process exits"
    )
    if is_ours:
        return _computed(sentence)
    note = (
        "evalroom did not start this process. If it ignores SIGINT, the interrupt only stops its"
        " control server and the eval keeps running where evalroom can't see it. Cancel its"
        " tasks, or drain and release it, instead."
    )
    return _computed(sentence, notes=(note,))


def _never_started(snapshot: TargetSnapshot) -> str:
    start = "starts" if snapshot.unstarted == 1 else "start"
    return f", {plural(snapshot.unstarted, 'task')} never {start}" if snapshot.unstarted else ""


def end_preview(
    process: ProcessKey,
    statuses: Mapping[str, str | None],
    *,
    leftover: str | None,
) -> Preview | Refusal:
    """Return the preview of SIGKILL for a process, or why it is not allowed.

    Args:
        process: The process to kill.
        statuses: The status that each log contains, just read; None: the log can't be read.
        leftover: Why a kill loses nothing although the logs are not final; None: it may lose
            something.
    """
    if statuses and all(status in FINAL for status in statuses.values()):
        logs = "Its log is" if len(statuses) == 1 else f"All its {len(statuses)} logs are"
        return _computed(f"Process {process.pid} is killed. {logs} final, so nothing is lost")
    if leftover is not None:
        return _computed(f"Process {process.pid} is killed. {leftover}")
    if not statuses:
        return Refusal("refused", "Can't tell what would be lost: no log of this process is known.")
    log, status = next(each for each in statuses.items() if each[1] not in FINAL)
    how = "can't be read" if status is None else f"says {shown(status, 30)}"
    return Refusal(
        "refused",
        f"A log of this process is not final: {shown(log, 120)} {how}."
        " First interrupt the process and let it write its logs, or cancel its tasks.",
    )
