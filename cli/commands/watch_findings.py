"""`evalroom watch --findings`: print what happens to findings, one line each."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.parser.observation import WatchCommand
from cli.render.findings import change_line, finding_row
from cli.render.plain import print_json_line, print_lines, print_note
from core.errors import NoMachineReached
from core.events import Event
from core.finding_events import FindingsMerged, SameFinding
from core.fold.endings import all_ended
from core.judge.finding_list import with_id
from core.model.finding import Finding
from core.views.findings.changes import FindingChange, finding_changes
from core.views.findings.names import short_name

ALARM_STATUS = 5
"""The exit status of `--until alarm` on an alarm."""
SETTLE_S = 6.0
"""Seconds in which findings of an earlier room may close before they are printed as open."""


async def print_findings(desk: DeskReader, command: WatchCommand, config: Path | None) -> int:
    """Print what happens to findings as it happens; of muted ones, nothing.

    Findings that an earlier room left open are printed once the machines were polled and still
    show them, and those whose mute has ended once it has.

    Args:
        desk: A running desk.
        command: When to end, and how to print.
        config: The config file that the commands of findings name; None: the usual one.

    Returns:
        The exit status: `ALARM_STATUS` on an alarm that ends it, else 0.

    Raises:
        NoMachineReached: It ends by itself, and no machine answered.
    """
    watch = _FindingWatch(desk, command, config)
    stop = desk.listen(watch.on_event)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(command.seconds):
                await _follow(desk, watch, command)
    finally:
        stop()
    return watch.status


async def _follow(desk: DeskReader, watch: "_FindingWatch", command: WatchCommand) -> None:
    polled = asyncio.create_task(first_poll(desk, command.timeout))
    try:
        either: set[asyncio.Future[Any]] = {polled, watch.over}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if watch.over.done():
            await watch.over
            return
        reached = any(each.is_reached for each in desk.fleet.machines.values())
        if command.until is not None and not reached:
            raise NoMachineReached("no machine could be reached", "find out why: evalroom machines")
        if watch.restored:
            await asyncio.wait([watch.over], timeout=SETTLE_S)
        watch.settle()
        await watch.over
    finally:
        polled.cancel()


class _FindingWatch:
    """Prints what happens to findings.

    Attributes:
        status: The exit status so far.
        over: Done once the command should end; it holds the error of a broken output.
        restored: The ids of the findings that an earlier room left open, until they are printed.
    """

    def __init__(self, desk: DeskReader, command: WatchCommand, config: Path | None) -> None:
        self._desk = desk
        self._command = command
        self._config = config
        self._last: Sequence[Finding] = desk.fleet.findings
        self._has_settled = False
        self.status = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.restored = {each.id for each in self._last if each.is_open}
        self._hushed: set[str] = set()
        """What opened or worsened while it was muted, by what it is about."""
        self._printed: set[str] = set()
        """The ids of the open findings that were printed."""

    def on_event(self, event: Event) -> None:
        """Print what an event changed."""
        fleet = self._desk.fleet
        if isinstance(event, FindingsMerged):
            for same in event.same:
                self._rename(same, event.at)
        if fleet.findings is not self._last:
            changes = finding_changes(self._last, fleet.findings)
            self._last = fleet.findings
            for change in changes:
                self._take(change, event.at)
        self._print_unmuted(event.at)
        self._end_if_done()

    def settle(self) -> None:
        """Print the findings of an earlier room that are still open; from now on, it may end."""
        self._has_settled = True
        for finding in reversed(self._desk.fleet.findings):
            if finding.id in self.restored and finding.is_open:
                self._print(FindingChange("opened", finding), self._desk.now())
        self.restored.clear()
        self._end_if_done()

    def _rename(self, same: SameFinding, at: float) -> None:
        """Say that a finding has the id of another room from now on, if its own was printed."""
        finding = with_id(self._desk.fleet, same.id)
        if finding is not None and same.own in self._printed:
            self._printed.discard(same.own)
            self._print(FindingChange("renamed", finding, was=same.own), at)

    def _print_unmuted(self, at: float) -> None:
        """Print the open findings that nobody was told of, because they were muted."""
        if not self._hushed:
            return
        for finding in reversed(self._desk.fleet.findings):
            if finding.identity in self._hushed and finding.is_open and not finding.is_muted(at):
                self._print(FindingChange("opened", finding), at)

    def _take(self, change: FindingChange, at: float) -> None:
        self.restored.discard(change.finding.id)
        self._print(change, at)

    def _print(self, change: FindingChange, at: float) -> None:
        finding, fleet = change.finding, self._desk.fleet
        if self.over.done():
            return
        if finding.is_muted(at):
            if finding.is_open:
                self._hushed.add(finding.identity)
            else:
                self._hushed.discard(finding.identity)
            return
        self._hushed.discard(finding.identity)
        if finding.is_open:
            self._printed.add(finding.id)
        else:
            self._printed.discard(finding.id)
        try:
            if self._command.as_json:
                row = finding_row(fleet, finding, at, self._config)
                was = {"was": short_name(change.was)} if change.was else {}
                print_json_line({"at": at, "change": change.word, **was, **row})
            else:
                print_lines([change_line(fleet, change, at)])
        except OSError as error:  # the reader of the pipe went away
            self.over.set_exception(error)
            return
        if change.word == "renamed":
            return
        is_alarm = finding.severity == "alarm" and finding.needs_attention(at)
        if self._command.until == "alarm" and is_alarm and change.word != "closed":
            self.status = ALARM_STATUS
            self.over.set_result(None)

    def _end_if_done(self) -> None:
        if self._command.until is None or not self._has_settled or self.over.done():
            return
        if all_ended(self._desk.fleet):
            has_tasks = bool(self._desk.fleet.tasks)
            print_note("every eval has ended" if has_tasks else "no eval runs")
            self.over.set_result(None)
