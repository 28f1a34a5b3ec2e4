"""What `evalroom machines prepare NAME SPEC` is given, and how it and `check` run."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.parser.arguments import Words
from core.errors import NotConfirmed, UsageWrong

if TYPE_CHECKING:
    from core.config.model import Config
    from core.launch.plan.run_plan import RunPlan


async def one_machine(config: "Config", words: Words) -> int:
    """Check or prepare a machine; return the exit status."""
    if words.given["what"] == "prepare":
        return await prepare_machine(config, words)
    from cli.dispatch.check import check_machine  # noqa: PLC0415

    return await check_machine(config, words)


async def prepare_machine(config: "Config", words: Words) -> int:
    """Fetch to a machine what a spec needs; return the exit status.

    Raises:
        UsageWrong: No machine or spec is named, or one that is none.
        SpecWrong: The spec is wrong, or can't be launched there.
        NotConfirmed: Nobody said yes, or nothing may be changed.
    """
    from cli.commands.machines_check import machine_named  # noqa: PLC0415
    from cli.commands.prepare import Asked, prepare  # noqa: PLC0415
    from cli.wiring.desk import desk_of, running  # noqa: PLC0415
    from cli.wiring.launches import plan_on, surroundings_of  # noqa: PLC0415
    from core.launch.plan.matrix import expand  # noqa: PLC0415
    from core.launch.spec.spec_reader import read_spec  # noqa: PLC0415
    from ssh.local_uv import local_uv  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from storage.secrets import Secrets  # noqa: PLC0415

    given = words.given
    if given["name"] is None or given["spec"] is None:
        raise UsageWrong(
            "machines prepare: which machine, for what?", "evalroom machines prepare NAME SPEC"
        )
    machine = machine_named(given["name"], config)
    spec = read_spec(given["spec"], stdin=sys.stdin, sets=given["sets"])
    launches = expand(replace(spec, machine=(machine.name,)), config.machines)
    around = surroundings_of(config)
    plans = [plan_on(each, machine, around) for each in launches]
    asked = Asked(
        dry_run=given["dry_run"],
        yes=given["yes"],
        as_json=words.as_json,
        timeout=given["timeout"],
    )
    if config.read_only and not asked.dry_run:
        raise NotConfirmed("nothing is fetched: evalroom is read-only", "--dry-run shows it")
    names = tuple(dict.fromkeys(_secrets(plans[0])))
    secrets = await Secrets(paths().secrets).open(() if asked.dry_run else names)
    with desk_of(config.of_machines([machine.name]), words) as desk:
        async with running(desk):
            return await prepare(desk, machine.name, plans, asked, secrets=secrets, uv=local_uv)


def _secrets(plan: "RunPlan") -> Iterator[str]:
    """Yield the names of the secrets that are needed: those of a task that is made, and a token."""
    from core.launch.provision.preparation import ItemKind, prepare_items  # noqa: PLC0415

    if any(item.what is ItemKind.DATA for item in prepare_items([plan])):
        yield from plan.secrets.values()
    if plan.spec.code is not None and plan.spec.code.token is not None:
        yield plan.spec.code.token
