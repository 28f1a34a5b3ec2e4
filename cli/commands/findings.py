"""`evalroom findings`: what a room or `watch` found, from the history; no machine is reached."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.findings import AcknowledgeCommand, FindingsCommand, MuteCommand
from cli.render.findings import finding_cells, finding_row
from cli.render.plain import aligned, print_json, print_lines, print_note
from cli.wiring.config import config_of
from cli.wiring.desk import named_machine
from cli.wiring.history import history_of
from core import format as fmt
from core.desk.past import Past, with_past
from core.errors import TargetUnclear, UsageWrong
from core.finding_events import FindingsMuted
from core.fleet import Fleet
from core.fold.fold import fold
from core.judge.finding_list import acknowledged, can_be_acknowledged
from core.judge.mutes import muted_until
from core.model.finding import Finding
from core.model.mute import Mute
from core.text import shown
from core.views.findings.names import short_id
from storage.past import past_readonly
from storage.paths import paths

_SINCE_S = 7 * 86_400.0
"""How far back closed findings are listed, seconds."""
_SEE = "see: evalroom findings"


@dataclass(frozen=True, slots=True)
class _Known:
    """What the history knows: the findings, newest first, and the fleet that they are about."""

    findings: tuple[Finding, ...]
    fleet: Fleet


def findings(command: FindingsCommand, options: GlobalOptions) -> int:
    """Run `evalroom findings`; return the exit status.

    Raises:
        StorageError: The history can't be read.
    """
    now = time.time()
    known = _known(now, options)
    found = [each for each in known.findings if command.closed or each.is_open]
    if command.as_json:
        rows = [finding_row(known.fleet, each, now, options.config) for each in found]
        print_json({"as_of": now, "findings": rows})
    elif found:
        print_lines(aligned([finding_cells(known.fleet, each, now) for each in found]))
    else:
        print_lines(["no findings" if command.closed else "no findings are open"])
    return 0


def acknowledge(command: AcknowledgeCommand, options: GlobalOptions) -> int:
    """Run `evalroom findings ack`; return the exit status.

    Raises:
        UsageWrong: No finding is named, or one that is named can't be acknowledged.
        StorageError: The history can't be read or written.
    """
    now = time.time()
    known = _known(now, options)
    if not command.ids and not command.everything:
        raise UsageWrong("no ID", "name findings, or use --all. List them: evalroom findings")
    chosen = known.findings if command.everything else _chosen(command.ids, known.findings)
    for finding in () if command.everything else chosen:
        if finding.acknowledged_at is not None:
            at = fmt.clock(finding.acknowledged_at)
            print_note(f"finding {short_id(finding)} was acknowledged at {at} already")
    done = [acknowledged(each, now) for each in chosen if can_be_acknowledged(each)]
    run_loop(_store(options, findings=done))
    if command.as_json:
        rows = [finding_row(known.fleet, each, now, options.config) for each in done]
        print_json({"acknowledged": rows})
    else:
        print_lines([f"{fmt.plural(len(done), 'finding')} acknowledged"])
    return 0


def mute(command: MuteCommand, options: GlobalOptions) -> int:
    """Run `evalroom findings mute`; return the exit status.

    Raises:
        UsageWrong: A finding that is named is not open, or has no task.
        StorageError: The history can't be read or written.
    """
    now = time.time()
    known = _known(now, options)
    chosen = _chosen(command.ids, known.findings)
    if command.ends:
        mutes = [
            each.lasting(now)
            for each in known.fleet.mutes
            if each.until > now and any(each.covers(finding) for finding in chosen)
        ]
        if not mutes:
            raise UsageWrong("nothing of this is muted", _SEE)
    else:
        mutes = [_mute_of(command, each, now) for each in chosen]
    mutes = list(dict.fromkeys(mutes))
    events = [FindingsMuted(at=now, id=secrets.token_hex(8), mute=each) for each in mutes]
    run_loop(_store(options, mutes=events))
    fleet = known.fleet
    for event in events:
        fleet = fold(fleet, event)
    about = [
        replace(each, muted_until=muted_until(each, fleet.mutes))
        for each in known.findings
        if each.is_open and any(one.covers(each) for one in mutes)
    ]
    if command.as_json:
        rows = [finding_row(fleet, each, now, options.config) for each in about]
        print_json({"unmuted" if command.ends else "muted": rows})
        return 0
    count = fmt.plural(len(about), "open finding")
    lasts = fmt.duration_in_words(command.lasts)
    print_lines([f"{count} no longer muted" if command.ends else f"{count} muted for {lasts}"])
    return 0


def _mute_of(command: MuteCommand, finding: Finding, now: float) -> Mute:
    until = now + command.lasts
    if command.of_task and finding.task is None:
        raise UsageWrong(
            f"finding {short_id(finding)} is not about a task", "leave --task out, or use --kind"
        )
    if command.of_kind or command.of_task:
        return Mute(
            until=until,
            kind=finding.kind if command.of_kind else "",
            task=finding.task if command.of_task else None,
        )
    return Mute(until=until, finding=finding.id)


async def _store(
    options: GlobalOptions,
    *,
    findings: Sequence[Finding] = (),
    mutes: Sequence[FindingsMuted] = (),
) -> int:
    async with history_of(config_of(options), paths()) as history:
        history.require()
        if history.event_store is not None:
            await history.event_store.keep_findings(findings)
            await history.event_store.keep(mutes)
    return 0


def _known(now: float, options: GlobalOptions) -> _Known:
    """Return the history without the findings of machines that the config no longer names."""
    config = config_of(options)
    past = past_readonly(paths().database, now - _SINCE_S)
    fleet = Fleet(at=now)
    for machine in config.machines:
        fleet = fold(fleet, named_machine(machine, config, now))
    fleet = with_past(fleet, Past(events=past.events, since=past.since, mutes=past.mutes))
    found = [each for each in past.findings if each.machine in {None, *fleet.machines}]
    if left_out := len(past.findings) - len(found):
        what = fmt.plural(left_out, "finding is", "findings are")
        print_note(f"{what} left out: the config no longer names their machines")
    newest_first = (
        replace(each, muted_until=muted_until(each, fleet.mutes)) if each.is_open else each
        for each in reversed(found)
    )
    return _Known(tuple(newest_first), fleet)


def _chosen(ids: Sequence[str], findings: Sequence[Finding]) -> list[Finding]:
    """Return the open findings whose IDs begin with the typed ones.

    Raises:
        TargetUnclear: One fits none, several, or only one that has closed.
    """
    found: dict[str, Finding] = {}
    for typed in ids:
        name = shown(typed, 40)
        fits = [each for each in findings if typed and short_id(each).startswith(typed)]
        still_open = [each for each in fits if each.is_open]
        if len(still_open) > 1:
            raise TargetUnclear(f"the IDs of several findings begin with {name}", "type more of it")
        if not fits:
            raise TargetUnclear(f"no finding of the last 7 days has an ID like {name}", _SEE)
        if not still_open:
            closed_at = fits[0].closed_at or 0.0
            raise TargetUnclear(f"finding {name} closed at {fmt.clock(closed_at)}", _SEE)
        found[still_open[0].id] = still_open[0]
    return list(found.values())
