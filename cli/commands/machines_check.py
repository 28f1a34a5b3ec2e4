"""`evalroom machines check NAME [SPEC]`: whether runs can be launched on a machine."""

from collections.abc import Collection, Sequence
from typing import Protocol

from cli.commands.desk_queries import Looker
from cli.render.checks import check_rows, checks_json
from cli.render.plain import print_json, print_lines
from core.config.model import Config, MachineConfig
from core.errors import UsageWrong
from core.launch.plan.run_plan import RunPlan
from core.launch.preflight.checks import Check, CheckLevel
from core.launch.preflight.machine_choice import check_machine, choose_machines
from core.model.job import Worker
from core.text import shown

STOPPED = 1
NOT_REACHED = 3


class Desk(Looker, Worker, Protocol):
    """A desk that runs."""


def machine_named(name: str, config: Config) -> MachineConfig:
    """Return a machine of the config.

    Raises:
        UsageWrong: There is none of that name.
    """
    for each in config.machines:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in config.machines)
    raise UsageWrong(f"there is no machine {shown(name)}", f"there are: {known}")


async def check_any(
    desk: Desk, machine: MachineConfig, *, python: str | None, as_json: bool
) -> int:
    """Print what matters to any run there; return the exit status.

    Args:
        desk: Has the machine looked at.
        machine: Where.
        python: The interpreter with Inspect that runs there get; None: uv gets it.
        as_json: Whether to print JSON.
    """
    checks = await check_machine(desk, machine, desk.fleet, python=python)
    if as_json:
        print_json({"machine": machine.name, "checks": checks_json(checks)})
    else:
        print_lines([machine.name, *(f"  {line}" for line in check_rows(checks))])
    return _status(desk, machine, checks)


async def check_launches(
    desk: Desk,
    machine: MachineConfig,
    plans: Sequence[RunPlan],
    *,
    secrets: Collection[str],
    as_json: bool,
) -> int:
    """Print the preflight of these runs; return the exit status.

    Args:
        desk: Has the machine looked at.
        machine: Where.
        plans: One for each run, on this machine.
        secrets: The names of the secrets that are known here.
        as_json: Whether to print JSON.
    """
    checked = await choose_machines(
        desk,
        [[plan] for plan in plans],
        {machine.name: machine},
        lambda: desk.fleet,
        secrets=secrets,
    )
    if as_json:
        rows = [
            {
                "task": each.plan.request.task,
                "model": each.plan.request.model,
                "warnings": list(each.plan.warnings),
                "checks": checks_json(each.checks),
            }
            for each in checked
        ]
        print_json({"machine": machine.name, "plans": rows})
    else:
        lines: list[str] = []
        for each in checked:
            launch = each.plan.request
            lines.append(f"{shown(launch.task)} with {shown(launch.model)} on {machine.name}")
            lines += [f"  mind  spec: {shown(said, 600)}" for said in each.plan.warnings]
            lines += [f"  {line}" for line in check_rows(each.checks)]
        print_lines(lines)
    return _status(desk, machine, [check for each in checked for check in each.checks])


def _status(desk: Desk, machine: MachineConfig, checks: Sequence[Check]) -> int:
    if not desk.fleet.machines[machine.name].is_reached:
        return NOT_REACHED
    return STOPPED if any(each.level is CheckLevel.STOP for each in checks) else 0
