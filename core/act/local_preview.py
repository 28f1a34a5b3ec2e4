"""Previews of what has no dry run: worked out from what the process just said."""

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
"""What a log's own status says once nothing more is written to it."""
HUSK_AFTER = 30.0
"""Seconds after an interrupt, from which a process that lives without a channel is a husk."""


def computed_preview(action: Action, target: Target, seen: TargetSnapshot) -> Preview:
    """Return what keep, release or a flush would do."""
    row = seen.row(target)
    keeps = bool(row is not None and row.keep_alive)
    over = bool(seen.rows) and not seen.running
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
    seen: TargetSnapshot, process: Process, *, is_ours: bool
) -> Preview | Refusal:
    """Return what SIGINT means for a process."""
    if process.state is ProcessState.HEADLESS or not seen.answers:
        return Refusal(
            "refused",
            "its control server does not answer: an interrupt may be ignored, and what it would"
            " lose can't be told. Wait for it, or end it once its logs are final",
        )
    if seen.rows and not seen.running and not seen.unstarted:
        return Refusal("noop", "all its tasks are finished: release it instead of interrupting it")
    flying = sum(row.samples.in_flight or 0 for row in seen.running)
    queued = sum(row.samples.queued or 0 for row in seen.running)
    is_one = flying == 1
    cut = f"{plural(flying, 'sample')} in flight {'is' if is_one else 'are'} cut off and written"
    logs = "1 log ends" if len(seen.running) == 1 else f"{len(seen.running)} logs end"
    said = (
        f"finalising: {f'{cut} as cancelled' if flying else 'nothing is in flight'},"
        f" {queued} queued never run, {logs} as cancelled,"
        f"{_never_started(seen)} then the process ends"
    )
    if is_ours:
        return _computed(said)
    note = (
        "this evalroom did not start it: where SIGINT is ignored in it, this only takes its"
        " control server away and the eval goes on unseen. Cancel its tasks, or drain and"
        " release, first"
    )
    return _computed(said, notes=(note,))


def _never_started(seen: TargetSnapshot) -> str:
    return f" {plural(seen.unstarted, 'task')} never start," if seen.unstarted else ""


def end_preview(
    process: ProcessKey,
    statuses: Mapping[str, str | None],
    *,
    husk: str | None,
) -> Preview | Refusal:
    """Return what SIGKILL means for a process, or why it is not allowed.

    Args:
        process: Which.
        statuses: By log: its own status as just read; None: it can't be read.
        husk: Why nothing is lost although its logs are not final; None: it does not hold.
    """
    if statuses and all(status in FINAL for status in statuses.values()):
        said = f"{plural(len(statuses), 'log')} of it are final: nothing is lost"
        return _computed(f"pid {process.pid} is killed; {said}")
    if husk is not None:
        return _computed(f"pid {process.pid} is killed; {husk}")
    if not statuses:
        return Refusal("refused", "no log of it is known: what it would lose can't be told")
    log, status = next(each for each in statuses.items() if each[1] not in FINAL)
    how = "can't be read" if status is None else f"says {shown(status, 30)}"
    return Refusal(
        "refused",
        f"a log of it is not final: {shown(log, 120)} {how}."
        " Interrupt it and let it finalise, or cancel its tasks, first",
    )
