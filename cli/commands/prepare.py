"""`evalroom machines prepare NAME SPEC`: download what a spec needs, ahead of its launch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.commands.desk_protocols import DeskWorker
from cli.commands.first_poll import first_poll
from cli.commands.machines_check import machine_named, plans_on
from cli.commands.status import NOBODY_REACHED
from cli.confirm import confirm
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.machines import PrepareCommand
from cli.render.plain import aligned, print_json, print_lines, print_note
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from core.errors import NotConfirmed
from core.format import plural
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.provision.fetch_client import FindLocalUv
from core.launch.provision.preparation import (
    ItemKind,
    PreparedItem,
    PrepareItem,
    Preparer,
    prepare_items,
)
from core.text import shown
from ssh.local_uv import local_uv
from storage.paths import paths
from storage.secrets import Secrets

FAILED = 1


def prepare(command: PrepareCommand, options: GlobalOptions) -> int:
    """Run `evalroom machines prepare`; return the exit status.

    Raises:
        UsageWrong: The config does not name this machine.
        SpecWrong: The spec is wrong, or can't be launched on the machine.
        NotConfirmed: Nobody agreed, or evalroom is read-only.
    """

    async def work() -> int:
        config = config_of(options)
        machine = machine_named(command.name, config)
        plans = plans_on(machine, command.spec, config, sets=command.sets)
        if config.read_only and not command.dry_run:
            raise NotConfirmed(
                "read-only mode: nothing was downloaded", "preview it with --dry-run"
            )
        names = tuple(dict.fromkeys(_secrets(plans[0])))
        secrets = await Secrets(paths().secrets).open(() if command.dry_run else names)
        async with desk_running(config.of_machines([machine.name]), options) as desk:
            return await fetch(desk, machine.name, plans, command, secrets=secrets, uv=local_uv)

    return run_loop(work())


def _secrets(plan: RunPlan) -> Iterator[str]:
    """Yield the names of the secrets that downloads need: for a task's data, and for its code."""
    if any(item.what is ItemKind.DATA for item in prepare_items([plan])):
        yield from plan.secrets.values()
    if plan.spec.code is not None and plan.spec.code.token is not None:
        yield plan.spec.code.token


async def fetch(
    desk: DeskWorker,
    machine: MachineName,
    plans: Sequence[RunPlan],
    command: PrepareCommand,
    *,
    secrets: Mapping[str, str],
    uv: FindLocalUv,
) -> int:
    """Preview, confirm and download; return the exit status.

    0: everything is downloaded, or nothing is needed; 1: something failed; 3: the machine can't be
    reached.

    Args:
        desk: A desk with that machine.
        machine: The machine to prepare.
        plans: The runs that would be launched on it.
        command: The options.
        secrets: The values of the needed secrets, by name.
        uv: Returns evalroom's own uv.

    Raises:
        NotConfirmed: The operator did not confirm.
    """
    wanted = prepare_items(plans)
    if not command.as_json:
        print_lines(preview_lines(machine, wanted))
    if command.dry_run or not wanted:
        if command.as_json:
            print_json({**_answer(machine, wanted), "dry_run": command.dry_run})
        return 0
    await first_poll(desk, command.timeout)
    there = desk.fleet.machines[machine]
    if not there.is_reached:
        why = f"{there.link.state}: {there.link.reason or 'no answer'}"
        if command.as_json:
            print_json({**_answer(machine, wanted), "why": shown(why, 400)})
        else:
            print_lines([f"{shown(machine)} can't be reached: {shown(why, 400)}"])
        return NOBODY_REACHED
    await confirm(
        command.consent,
        question=f"download this to {shown(machine)}",
        otherwise="nothing was downloaded",
        may_ask=not command.as_json,
    )
    preparing = Preparer(
        worker=desk,
        secrets=secrets,
        uv=uv,
        on_progress=(lambda _: None) if command.as_json else print_note,
        on_item=(lambda _: None) if command.as_json else _print_one,
    )
    done = await preparing.run(plans)
    if command.as_json:
        print_json({"machine": machine, "items": [_row(each.item, each) for each in done]})
    bad = [each for each in done if each.state in {"failed", "skipped"}]
    return FAILED if bad else 0


def preview_lines(machine: MachineName, wanted: Sequence[PrepareItem]) -> list[str]:
    """Return the list of downloads as lines."""
    if not wanted:
        return [f"nothing to download to {shown(machine)}: the spec needs nothing from the network"]
    rows = [(each.what, each.name, f"to {each.where}", each.how) for each in wanted]
    head = f"to download to {shown(machine)}: {plural(len(wanted), 'item')}"
    return [head, *(f"  {line}" for line in aligned(rows))]


def _print_one(done: PreparedItem) -> None:
    state = "nothing to do" if done.state == "there" else done.state
    lines = [f"{done.item.what} {done.item.name}: {state}, {done.message}"]
    print_lines([*lines, *([f"  {done.advice}"] if done.advice else [])])


def _answer(machine: MachineName, wanted: Sequence[PrepareItem]) -> dict[str, Any]:
    return {"machine": machine, "items": [_row(each, None) for each in wanted]}


def _row(item: PrepareItem, done: PreparedItem | None) -> dict[str, Any]:
    row = {"what": str(item.what), "name": item.name, "where": item.where, "how": item.how}
    if done is None:
        return row
    return {**row, "state": done.state, "message": done.message, "advice": done.advice}
