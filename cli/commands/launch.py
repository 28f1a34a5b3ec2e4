"""`evalroom launch FILE`: check, show, confirm and start runs; `--wait` waits for them."""

import asyncio
import sys
from collections.abc import Sequence

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.confirm import confirm
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.launch import LaunchCommand
from cli.render.checks import checked_plan_json, checked_plan_lines
from cli.render.plain import error_json, print_json, print_lines, print_note
from cli.render.run_plans import run_plan_json, run_plan_lines
from cli.render.runs import run_json, run_line, why_lines
from cli.wiring.config import config_of
from cli.wiring.desk import desk_of, running
from cli.wiring.history import history_of
from cli.wiring.launches import launches_of, plan_context, plan_on
from core.config.model import Config, MachineConfig
from core.errors import NotConfirmed
from core.events import Event, RunChanged
from core.format import plural
from core.launch.plan.confirmation import words_to_launch
from core.launch.plan.matrix import expand
from core.launch.run.service import DeskLaunchService
from core.launch.spec.spec import Spec
from core.launch.spec.spec_reader import read_spec
from core.model.run import Run, RunState
from core.text import shown
from storage.paths import paths

FAILED, NOT_CONFIRMED = 1, 4
_NAMED = 5
"""The most runs that one message names."""


def launch(command: LaunchCommand, options: GlobalOptions) -> int:
    """Run `evalroom launch`; return the exit status.

    Raises:
        SpecWrong: The spec is wrong, or can't be launched with this config.
        NotConfirmed: A check failed, the operator did not confirm, or evalroom is read-only.
    """
    config = config_of(options)
    return (
        _dry_run(config, command) if command.dry_run else run_loop(_run(config, command, options))
    )


def _dry_run(config: Config, command: LaunchCommand) -> int:
    """Print the plans of a spec; return the exit status. Nothing is changed.

    A run that may use several machines is planned on the first of them.
    """
    spec = read_spec(command.file, stdin=sys.stdin, sets=command.sets)
    machines = {each.name: each for each in config.machines}
    context = plan_context()
    plans = [
        plan_on(each, machines[each.candidates[0]], context)
        for each in expand(spec, config.machines_to_plan)
    ]
    if command.as_json:
        print_json({"plans": [run_plan_json(each) for each in plans]})
    else:
        print_lines([line for each in plans for line in (*run_plan_lines(each), "")][:-1])
    return 0


async def _run(config: Config, command: LaunchCommand, options: GlobalOptions) -> int:
    spec = read_spec(command.file, stdin=sys.stdin, sets=command.sets)
    wanted = {name for each in expand(spec, config.machines_to_plan) for name in each.candidates}
    if config.read_only:
        raise NotConfirmed("read-only mode: nothing was launched", "preview it with --dry-run")
    near = config.of_machines(wanted)
    async with history_of(config, paths()) as history:
        with desk_of(near, options.record, event_store=history.brief_store) as desk:
            launches = launches_of(desk, near, history)
            async with running(desk, launches=launches):
                return await launch_now(desk, launches, spec, command, near.machines)


async def launch_now(
    desk: DeskReader,
    launches: DeskLaunchService,
    spec: Spec,
    command: LaunchCommand,
    machines: Sequence[MachineConfig],
) -> int:
    """Check, confirm and launch; return the exit status.

    0: started, and with `--wait` every log says success; 1: a run failed; 4: not confirmed.

    Raises:
        SpecWrong: The spec can't be launched with this config.
        NotConfirmed: A check failed, or the operator did not confirm.
    """
    await first_poll(desk, command.timeout)
    checked = await launches.check(spec)
    if not command.as_json:
        print_lines([line for each in checked for line in (*checked_plan_lines(each), "")][:-1])
    if any(each.stops for each in checked):
        refused = NotConfirmed(
            "a check failed: nothing was launched", "fix the problems marked STOP"
        )
        if not command.as_json:
            raise refused
        print_json(
            {"error": error_json(refused), "plans": [checked_plan_json(each) for each in checked]}
        )
        return NOT_CONFIRMED
    production = {each.name for each in machines if each.production}
    await confirm(
        command.consent,
        question=f"launch {plural(len(checked), 'run')}",
        words=words_to_launch([each.plan.machine for each in checked], production),
        otherwise="nothing was launched",
        may_ask=not command.as_json,
    )
    notes = None if command.as_json else _StateNotes()
    try:
        runs = await launches.launch(checked, on_change=notes)
        if command.wait:
            runs = await _ended(desk, launches, runs, notes)
    except asyncio.CancelledError:
        names = ", ".join(each.plan.run for each in checked[:_NAMED])
        more = f" and {len(checked) - _NAMED} more" if len(checked) > _NAMED else ""
        print_note(f"runs that have started keep running: {names}{more}. See: evalroom runs")
        raise
    if command.as_json:
        print_json(_answer(runs))
    else:
        print_lines([line for run in runs for line in (run_line(run), *why_lines(run))])
    return _status(runs, wait=command.wait)


class _StateNotes:
    """Prints each change of the state of runs once."""

    def __init__(self) -> None:
        self._printed: dict[str, str] = {}

    def __call__(self, run: Run) -> None:
        more = f": {shown(run.message, 300)}" if run.message else ""
        if self._printed.get(run.id) != f"{run.state}{more}":
            self._printed[run.id] = f"{run.state}{more}"
            print_note(f"run {run.id}: {run.state}{more}")


async def _ended(
    desk: DeskReader, launches: DeskLaunchService, runs: Sequence[Run], say: _StateNotes | None
) -> tuple[Run, ...]:
    """Wait until every run has ended; return their final states."""
    ids = [run.id for run in runs]
    has_news = asyncio.Event()

    def on_event(event: Event) -> None:
        if isinstance(event, RunChanged) and event.run.id in ids:
            has_news.set()
            if say is not None:
                say(event.run)

    end = desk.listen(on_event)
    try:
        while not all(launches.registry.runs[each].has_ended for each in ids):
            await has_news.wait()
            has_news.clear()
    finally:
        end()
    return tuple(launches.registry.runs[each] for each in ids)


def _answer(runs: Sequence[Run]) -> dict[str, object]:
    if len(runs) == 1:
        return run_json(runs[0])
    return {"launch": runs[0].launch, "runs": [run_json(run) for run in runs]}


def _status(runs: Sequence[Run], *, wait: bool) -> int:
    fine = (run.state is RunState.SUCCESS if wait else not run.has_failed for run in runs)
    return 0 if all(fine) else FAILED
