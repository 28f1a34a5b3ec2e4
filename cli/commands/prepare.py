"""`evalroom machines prepare NAME SPEC`: what a spec needs is fetched while there is a network."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cli.commands.desk_queries import Looker
from cli.commands.questions import answered
from cli.commands.status import NOBODY_REACHED
from cli.render.plain import aligned, print_json, print_lines, print_note
from core.errors import NotConfirmed
from core.format import plural
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.provision.fetch_client import FindLocalUv
from core.launch.provision.preparation import PreparedItem, PrepareItem, Preparer, prepare_items
from core.model.job import Worker
from core.text import shown

FAILED = 1


class Place(Looker, Worker, Protocol):
    """A desk that runs, and has jobs done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line asks for, beside the machine and the spec.

    Attributes:
        timeout: Seconds to wait for the machine.
    """

    dry_run: bool = False
    yes: bool = False
    as_json: bool = False
    timeout: float = 15.0


async def prepare(
    desk: Place,
    machine: MachineName,
    plans: Sequence[RunPlan],
    asked: Asked,
    *,
    secrets: Mapping[str, str],
    uv: FindLocalUv,
) -> int:
    """Preview, confirm and fetch; return the exit status.

    0: all is there, or nothing is to be fetched; 1: something failed; 3: it can't be reached.

    Args:
        desk: Over that machine.
        machine: Which.
        plans: What would be launched there.
        asked: How.
        secrets: Values by their names, as far as they are needed.
        uv: Finds evalroom's own uv.

    Raises:
        NotConfirmed: Nobody said yes.
    """
    wanted = prepare_items(plans)
    if not asked.as_json:
        print_lines(preview_lines(machine, wanted))
    if asked.dry_run or not wanted:
        if asked.as_json:
            print_json({**_answer(machine, wanted), "dry_run": asked.dry_run})
        return 0
    await desk.first_look(asked.timeout)
    there = desk.fleet.machines[machine]
    if not there.is_reached:
        why = f"{there.link.state}: {there.link.reason or 'no answer'}"
        if asked.as_json:
            print_json({**_answer(machine, wanted), "why": shown(why, 400)})
        else:
            print_lines([f"{shown(machine)} can't be reached: {shown(why, 400)}"])
        return NOBODY_REACHED
    await _consent(asked)
    preparing = Preparer(
        worker=desk,
        secrets=secrets,
        uv=uv,
        say=(lambda _: None) if asked.as_json else print_note,
        tell=(lambda _: None) if asked.as_json else _print_one,
    )
    done = await preparing.run(plans)
    if asked.as_json:
        print_json({"machine": machine, "items": [_row(each.item, each) for each in done]})
    bad = [each for each in done if each.state in {"failed", "skipped"}]
    return FAILED if bad else 0


def preview_lines(machine: MachineName, wanted: Sequence[PrepareItem]) -> list[str]:
    """Return what is going to be fetched, as lines."""
    if not wanted:
        return [f"nothing is to be fetched to {shown(machine)}: what the spec needs is given"]
    rows = [(each.what, each.name, f"to {each.where}", each.how) for each in wanted]
    head = f"to be fetched to {shown(machine)}: {plural(len(wanted), 'thing')}"
    return [head, *(f"  {line}" for line in aligned(rows))]


async def _consent(asked: Asked) -> None:
    if asked.yes:
        return
    if asked.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotConfirmed("not confirmed: nothing is fetched", "add --yes")
    answer = (await answered("fetch this? [y/N] ") or "").strip().lower()
    if answer not in {"y", "yes"}:
        raise NotConfirmed("not confirmed: nothing is fetched")


def _print_one(told: PreparedItem) -> None:
    lines = [f"{told.item.what} {told.item.name}: {told.state}, {told.said}"]
    print_lines([*lines, *([f"  {told.advice}"] if told.advice else [])])


def _answer(machine: MachineName, wanted: Sequence[PrepareItem]) -> dict[str, Any]:
    return {"machine": machine, "items": [_row(each, None) for each in wanted]}


def _row(item: PrepareItem, told: PreparedItem | None) -> dict[str, Any]:
    row = {"what": str(item.what), "name": item.name, "where": item.where, "how": item.how}
    if told is None:
        return row
    return {**row, "state": told.state, "said": told.said, "advice": told.advice}
