"""`evalroom machines check NAME [SPEC]`: whether runs can be launched on a machine."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace

from cli.commands.desk_protocols import DeskWorker
from cli.commands.first_poll import first_poll
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.machines import CheckCommand
from cli.render.checks import check_rows, checks_json
from cli.render.plain import print_json, print_lines
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from cli.wiring.launches import plan_context, plan_on
from core.config.model import Config, MachineConfig
from core.errors import UsageWrong
from core.launch.plan.matrix import expand
from core.launch.plan.risks import author_warning
from core.launch.plan.run_plan import RunPlan, machine_python
from core.launch.preflight.checks import Check, CheckLevel
from core.launch.preflight.machine_choice import check_machine, choose_machines
from core.launch.spec.spec_reader import read_spec
from core.text import shown
from storage.paths import paths
from storage.secrets import Secrets

STOPPED = 1
NOT_REACHED = 3


def check(command: CheckCommand, options: GlobalOptions) -> int:
    """Run `evalroom machines check`; return the exit status.

    Raises:
        UsageWrong: The config does not name this machine.
        SpecWrong: The spec is wrong, or can't be launched on the machine.
    """

    async def work() -> int:
        config = config_of(options)
        machine = machine_named(command.name, config)
        plans = plans_on(machine, command.spec, config) if command.spec is not None else ()
        names = await Secrets(paths().secrets).names() if plans else ()
        async with desk_running(config.of_machines([machine.name]), options) as desk:
            await first_poll(desk, command.timeout)
            if not plans:
                python = machine_python(machine, sys.executable)
                return await check_any(desk, machine, python=python, as_json=command.as_json)
            return await check_launches(
                desk, machine, plans, secrets=names, as_json=command.as_json
            )

    return run_loop(work())


def plans_on(
    machine: MachineConfig, file: str, config: Config, *, sets: Sequence[str] = ()
) -> tuple[RunPlan, ...]:
    """Return the plans of a spec's runs, all on one machine.

    Args:
        machine: The machine to plan for, even if the spec names another.
        file: The spec; `-` is standard input.
        config: The config, for its machines.
        sets: `KEY=VALUE` each; these override the file.

    Raises:
        SpecWrong: The spec is wrong, or can't be launched on the machine.
    """
    spec = replace(read_spec(file, stdin=sys.stdin, sets=sets), machine=(machine.name,))
    context = plan_context()
    return tuple(plan_on(each, machine, context) for each in expand(spec, config.machines_to_plan))


def machine_named(name: str, config: Config) -> MachineConfig:
    """Return a machine of the config.

    Raises:
        UsageWrong: No machine has that name.
    """
    for each in config.machines:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in config.machines)
    raise UsageWrong(f"no machine is called {shown(name)}", f"the config has: {known}")


async def check_any(
    desk: DeskWorker, machine: MachineConfig, *, python: str | None, as_json: bool
) -> int:
    """Print the checks that apply to every run on a machine; return the exit status.

    Args:
        desk: A desk with that machine.
        machine: The machine to check.
        python: The interpreter with Inspect for runs on it; None: uv installs Inspect.
        as_json: Whether to print JSON.
    """
    checks = await check_machine(desk, machine, desk.fleet, python=python)
    if as_json:
        print_json({"machine": machine.name, "checks": checks_json(checks)})
    else:
        print_lines([machine.name, *(f"  {line}" for line in check_rows(checks))])
    return _status(desk, machine, checks)


async def check_launches(
    desk: DeskWorker,
    machine: MachineConfig,
    plans: Sequence[RunPlan],
    *,
    secrets: Collection[str],
    as_json: bool,
) -> int:
    """Print the preflight of these runs; return the exit status.

    Args:
        desk: A desk with that machine.
        machine: The machine to check.
        plans: The plan of each run, on this machine.
        secrets: The names of all stored secrets.
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
            request = each.plan.request
            lines.append(f"{shown(request.task)} with {shown(request.model)} on {machine.name}")
            author = author_warning(each.plan.spec)
            lines += [f"  warn  spec: {shown(author, 600)}"] if author else []
            lines += [f"  warn  spec: {shown(warning, 600)}" for warning in each.plan.warnings]
            lines += [f"  {line}" for line in check_rows(each.checks)]
        print_lines(lines)
    return _status(desk, machine, [check for each in checked for check in each.checks])


def _status(desk: DeskWorker, machine: MachineConfig, checks: Sequence[Check]) -> int:
    if not desk.fleet.machines[machine.name].is_reached:
        return NOT_REACHED
    return STOPPED if any(each.level is CheckLevel.STOP for each in checks) else 0
