"""`evalroom launch FILE`: checked, shown, confirmed, started, and watched to the end on demand."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.commands.desk_queries import Looker
from cli.commands.questions import answered
from cli.render.checks import check_rows, checks_json
from cli.render.plain import print_json, print_lines, print_note
from cli.render.runs import run_json, run_line, why_lines
from core.config.model import MachineConfig
from core.errors import NotConfirmed
from core.events import Event, RunChanged
from core.format import plural
from core.launch.preflight.checks import CheckedPlan
from core.launch.run.service import DeskLaunchService
from core.launch.spec.spec import Spec
from core.model.run import Run, RunState
from core.text import shown
from core.views.tables.runs import log_place

FAILED, NOT_CONFIRMED = 1, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line asks for, beside the spec.

    Attributes:
        confirm: The words that a production machine asks to be typed.
        wait: Whether the command ends only when the runs are over.
        timeout: Seconds to wait for machines.
    """

    yes: bool = False
    confirm: str = ""
    wait: bool = False
    as_json: bool = False
    timeout: float = 15.0


async def launch_now(
    desk: Looker,
    launches: DeskLaunchService,
    spec: Spec,
    asked: Asked,
    machines: Sequence[MachineConfig],
) -> int:
    """Check, confirm and launch; return the exit status.

    0: started (with `wait`: every log says success); 1: a run failed; 4: not confirmed.

    Raises:
        SpecWrong: The spec can't be launched with this config.
        NotConfirmed: A check says stop, or nobody said yes.
    """
    await desk.first_look(asked.timeout)
    checked = await launches.check(spec)
    if not asked.as_json:
        print_lines([line for each in checked for line in (*check_lines(each), "")][:-1])
    if any(each.stops for each in checked):
        refused = NotConfirmed("nothing is launched", "do what the checks that say stop ask for")
        if not asked.as_json:
            raise refused
        print_json(
            {
                "error": {
                    "kind": refused.kind,
                    "message": refused.message,
                    "advice": refused.advice,
                },
                "plans": [_checked_json(each) for each in checked],
            }
        )
        return NOT_CONFIRMED
    words = words_for(checked, machines)
    await _consent(words, len(checked), asked)
    say = None if asked.as_json else _Saying()
    try:
        runs = await launches.launch(checked, tell=say)
        if asked.wait:
            runs = await _over(desk, launches, runs, say)
    except asyncio.CancelledError:
        names = ", ".join(each.plan.run for each in checked[:5])
        more = f" and {len(checked) - 5} more" * (len(checked) > 5)  # noqa: PLR2004 - a line
        print_note(f"what was started goes on; evalroom runs tells what became of {names}{more}")
        raise
    if asked.as_json:
        print_json(_answer(runs))
    else:
        print_lines([line for run in runs for line in (run_line(run), *why_lines(run))])
    return _status(runs, wait=asked.wait)


def words_for(checked: Sequence[CheckedPlan], machines: Sequence[MachineConfig]) -> str:
    """Return the words that confirm a launch on production machines; empty: a yes is enough."""
    production = {each.name for each in machines if each.production}
    there = [each.plan.machine for each in checked if each.plan.machine in production]
    if not there:
        return ""
    return str(there[0]) if len(checked) == 1 else f"launch {len(checked)}"


def check_lines(checked: CheckedPlan) -> Iterator[str]:
    """Yield what a run will be, and what its preflight found."""
    plan = checked.plan
    yield f"run {plan.run}: {shown(plan.spec.task[0])} with {shown(plan.spec.model[0])}"
    for machine, why in checked.passed_over:
        yield f"  not on {shown(machine)}: {shown(why, 300)}"
    for title, text in (
        ("machine", plan.machine),
        ("on error", plan.means),
        ("at worst", plan.worst.says),
        ("logs", log_place(plan.directory, plan.log_dir)),
        ("command", plan.command_line),
        *(("warning", each) for each in plan.warnings),
    ):
        yield f"  {title:<9}{shown(text, 20_000)}"
    yield from (f"  {line}" for line in check_rows(checked.checks))


def _checked_json(checked: CheckedPlan) -> dict[str, object]:
    return {
        "run_id": checked.plan.run,
        "machine": checked.plan.machine,
        "task": checked.plan.spec.task[0],
        "model": checked.plan.spec.model[0],
        "passed_over": [{"machine": m, "why": why} for m, why in checked.passed_over],
        "checks": checks_json(checked.checks),
    }


async def _consent(words: str, count: int, asked: Asked) -> None:
    if words and asked.confirm == words:
        return
    if not words and asked.yes:
        return
    how = f"add --confirm {shown(repr(words), 120)}" if words else "add --yes"
    if asked.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotConfirmed("not confirmed: nothing is launched", how)
    question = f"type {words} to launch: " if words else f"launch {plural(count, 'run')}? [y/N] "
    answer = (await answered(question) or "").strip()
    if answer != words if words else answer.lower() not in {"y", "yes"}:
        raise NotConfirmed("not confirmed: nothing is launched")


class _Saying:
    """Says how runs stand, each change once."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def __call__(self, run: Run) -> None:
        more = f": {shown(run.said, 300)}" if run.said else ""
        if self._said.get(run.id) != f"{run.state}{more}":
            self._said[run.id] = f"{run.state}{more}"
            print_note(f"{run.id} is {run.state}{more}")


async def _over(
    desk: Looker, launches: DeskLaunchService, runs: Sequence[Run], say: "_Saying | None"
) -> tuple[Run, ...]:
    """Wait until every run is over; return them as they stand then."""
    ids = [run.id for run in runs]
    heard = asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event, RunChanged) and event.run.id in ids:
            heard.set()
            if say is not None:
                say(event.run)

    end = desk.listen(hear)
    try:
        while not all(launches.registry.runs[each].is_over for each in ids):
            await heard.wait()
            heard.clear()
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
