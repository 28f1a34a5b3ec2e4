"""What `evalroom machines check NAME [SPEC]` is given, and how it runs."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.parser.arguments import Words
from core.errors import UsageWrong

if TYPE_CHECKING:
    from core.config.model import Config


async def check_machine(config: "Config", words: Words) -> int:
    """Look at a machine, for a spec or for any run; return the exit status.

    Raises:
        UsageWrong: No machine is named, or one that is none.
        SpecWrong: The spec is wrong, or can't be launched there.
    """
    from cli.commands.machines_check import check_any, check_launches, machine_named  # noqa: PLC0415
    from cli.wiring.desk import desk_of, running  # noqa: PLC0415
    from cli.wiring.launches import plan_on, surroundings_of  # noqa: PLC0415
    from core.launch.plan.matrix import expand  # noqa: PLC0415
    from core.launch.plan.run_plan import machine_python  # noqa: PLC0415
    from core.launch.spec.spec_reader import read_spec  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from storage.secrets import Secrets  # noqa: PLC0415

    given = words.given
    if given["name"] is None:
        raise UsageWrong("machines check: which machine?", "evalroom machines check NAME [SPEC]")
    machine = machine_named(given["name"], config)
    plans = []
    if given["spec"] is not None:
        spec = replace(read_spec(given["spec"], stdin=sys.stdin), machine=(machine.name,))
        around = surroundings_of(config)
        plans = [plan_on(each, machine, around) for each in expand(spec, config.machines)]
    names = await Secrets(paths().secrets).names() if plans else ()
    with desk_of(config.of_machines([machine.name]), words) as desk:
        async with running(desk):
            await desk.first_look(given["timeout"])
            if not plans:
                python = machine_python(machine, sys.executable)
                return await check_any(desk, machine, python=python, as_json=words.as_json)
            return await check_launches(desk, machine, plans, secrets=names, as_json=words.as_json)
