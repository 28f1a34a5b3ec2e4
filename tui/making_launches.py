"""The launches of a room or a command, made from the config: what they check, bring and keep."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from tui.commands.launch import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Config, MachineConfig
    from core.desk import Desk
    from core.launch.bringing import Brought
    from core.launch.checks import CheckedPlan
    from core.launch.launches import Launches
    from core.launch.matrix import Launch
    from core.launch.plan import RunPlan
    from tui.making import History


def surroundings_of(config: "Config") -> Surroundings:
    """Return what plans need to know from here."""
    from core.launch.warn import INSPECT  # noqa: PLC0415
    from ssh.built_in_tasks import built_in_tasks  # noqa: PLC0415

    try:
        inspect_version = version("inspect-ai")
    except PackageNotFoundError:
        inspect_version = INSPECT
    return Surroundings(
        config=config,
        built_in=built_in_tasks(),
        inspect_version=inspect_version,
        own_python=sys.executable,
    )


def launches_of(desk: "Desk", config: "Config", history: "History") -> "Launches":
    """Return the launches over a desk; they do nothing until they run or are asked."""
    from core.launch.launches import Launches  # noqa: PLC0415
    from core.launch.ledger import Ledger  # noqa: PLC0415
    from storage.instance import this_instance  # noqa: PLC0415

    around = surroundings_of(config)
    instance = this_instance()

    async def choose_one(launch: "Launch") -> "CheckedPlan":
        from core.launch.checks import CheckedPlan  # noqa: PLC0415

        machine = next(each for each in config.machines if each.name == launch.candidates[0])
        return CheckedPlan(plan=plan_on(launch, machine, around))

    async def bring_it(plan: "RunPlan", tell: "Callable[[str], None]") -> "Brought":
        from core.launch.bringing import Brought  # noqa: PLC0415

        del plan, tell
        return Brought()

    async def open_secrets(names: Sequence[str]) -> Mapping[str, str]:
        return {name: os.environ[name] for name in names}

    return Launches(
        desk=desk,
        ledger=Ledger(history.run_book, instance=instance, post=desk.post, now=desk.now),
        machines=config.machines,
        choose=choose_one,
        bring=bring_it,
        open_secrets=open_secrets,
        operator=instance.operator,
        read_only=config.read_only,
    )


def plan_on(launch: "Launch", machine: "MachineConfig", around: Surroundings) -> "RunPlan":
    """Return the plan of a launch on one machine, with a fresh id."""
    from core.launch.plan import make_plan, run_id  # noqa: PLC0415

    return make_plan(
        launch,
        machine,
        run=run_id(time.time(), os.urandom(8)),
        built_in=around.built_in,
        inspect_version=around.inspect_version,
        own_python=around.own_python,
    )
