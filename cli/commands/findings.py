"""`evalroom findings`: what a room or `watch` found, from the history; no machine is reached."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.findings import AcknowledgeCommand, FindingsCommand
from cli.render.fleet_json import Json, plain_json
from cli.render.plain import aligned, print_json, print_lines, print_note
from cli.wiring.config import config_of
from cli.wiring.history import history_of
from core import format as fmt
from core.desk.past import Past
from core.errors import TargetUnclear, UsageWrong
from core.events import Event, TasksSeen
from core.ids import TaskKey
from core.judge.finding_list import acknowledged
from core.model.finding import Finding
from core.text import shown
from storage.past import past_readonly
from storage.paths import paths

_SINCE_S = 7 * 86_400.0
"""How far back closed findings are listed, seconds."""
_ID_CHARS = 8


def findings(command: FindingsCommand, options: GlobalOptions) -> int:
    """Run `evalroom findings`; return the exit status.

    Raises:
        StorageError: The history can't be read.
    """
    now = time.time()
    past = _past(now, options)
    found = [each for each in _newest_first(past) if command.closed or each.closed_at is None]
    if command.as_json:
        print_json({"as_of": now, "findings": [_row(each) for each in found]})
    elif found:
        names = _task_names(past.events)
        print_lines(aligned([_words(each, names, now) for each in found]))
    else:
        print_lines(["no findings are open"])
    return 0


def acknowledge(command: AcknowledgeCommand, options: GlobalOptions) -> int:
    """Run `evalroom findings ack`; return the exit status.

    Raises:
        UsageWrong: No finding is named, or one that is named does not wait.
        StorageError: The history can't be read or written.
    """
    now = time.time()
    waiting = [each for each in _newest_first(_past(now, options)) if each.waits]
    chosen = waiting if command.everything else _chosen(command.ids, waiting)
    done = [acknowledged(each, now) for each in chosen]
    run_loop(_store(done, options))
    if command.as_json:
        print_json({"acknowledged": [_row(each) for each in done]})
    else:
        print_lines([f"{fmt.plural(len(done), 'finding')} acknowledged"])
    return 0


async def _store(findings: Sequence[Finding], options: GlobalOptions) -> int:
    async with history_of(config_of(options), paths()) as history:
        history.require()
        if history.event_store is not None:
            await history.event_store.keep_findings(findings)
    return 0


def _past(now: float, options: GlobalOptions) -> Past:
    """Return the history without the findings of machines that the config no longer names."""
    past = past_readonly(paths().database, now - _SINCE_S)
    named = {machine.name for machine in config_of(options).machines}
    found = [each for each in past.findings if each.machine is None or each.machine in named]
    if left_out := len(past.findings) - len(found):
        what = fmt.plural(left_out, "finding is", "findings are")
        print_note(f"{what} left out: the config no longer names their machines")
    return replace(past, findings=tuple(found))


def _newest_first(past: Past) -> list[Finding]:
    return [*reversed(past.findings)]


def _task_names(events: Sequence[Event]) -> Mapping[TaskKey, str]:
    return {
        TaskKey(event.process, row.task_id): row.task
        for event in events
        if isinstance(event, TasksSeen)
        for row in event.rows
    }


def _subject(finding: Finding, names: Mapping[TaskKey, str]) -> str:
    """Return what a finding is about, written as a TARGET."""
    if finding.task is not None:
        name = names.get(finding.task)
        named = f" ({shown(name, 60)})" if name is not None else ""
        return f"{shown(finding.task.machine, 60)}:{shown(finding.task.task_id, 60)}{named}"
    if finding.process is not None:
        return f"{shown(finding.process.machine, 60)}:{finding.process.pid}"
    return shown(finding.machine or "", 60)


def _chosen(ids: Sequence[str], waiting: Sequence[Finding]) -> list[Finding]:
    if not ids:
        raise UsageWrong("no ID", "name findings, or use --all. List them: evalroom findings")
    found: dict[str, Finding] = {}
    for typed in ids:
        fits = [each for each in waiting if typed and _short(each).startswith(typed)]
        if len(fits) != 1:
            what = (
                "the IDs of several findings begin"
                if fits
                else "no finding that waits for you has an ID that begins"
            )
            raise TargetUnclear(f"{what} with {shown(typed, 40)}", "see: evalroom findings")
        found[fits[0].id] = fits[0]
    return list(found.values())


def _short(finding: Finding) -> str:
    """Return a short id of a finding, for people to type."""
    return hashlib.sha256(finding.id.encode("utf-8", "replace")).hexdigest()[:_ID_CHARS]


def _row(finding: Finding) -> Json:
    plain: Json = plain_json(replace(finding, text=shown(finding.text, 4_000)))
    return {**plain, "short_id": _short(finding), "waits": finding.waits}


def _words(finding: Finding, names: Mapping[TaskKey, str], now: float) -> list[str]:
    state = "waits for you" if finding.waits else "open" if finding.closed_at is None else "closed"
    return [
        _short(finding),
        fmt.age(now - finding.opened_at),
        state,
        shown(finding.kind, 20),
        _subject(finding, names),
        shown(finding.text, 400),
    ]
