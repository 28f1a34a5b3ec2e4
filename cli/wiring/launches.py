"""The launch service of the room or a command, made from the config."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.wiring.history import History
    from core.config.model import Config, MachineConfig
    from core.desk.desk import Desk
    from core.launch.plan.matrix import RunRequest
    from core.launch.plan.run_plan import RunPlan
    from core.launch.preflight.checks import CheckedPlan
    from core.launch.progress import OnProgress
    from core.launch.provision.dependencies import ProvisionedRun
    from core.launch.run.service import DeskLaunchService
    from core.launch.run.sessions import MachineSession


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """The inputs of a run's plan that come from this computer.

    Attributes:
        built_in: The files of the built-in tasks, by name.
        inspect_version: The version of Inspect that uv installs if a spec names none.
        own_python: The interpreter that runs evalroom.
    """

    built_in: Mapping[str, bytes]
    inspect_version: str
    own_python: str


def plan_context() -> PlanContext:
    """Return the inputs of plans that come from this computer."""
    from core.launch.spec.inspect_facts import inspect_version as known_version  # noqa: PLC0415
    from ssh.run_files import run_files  # noqa: PLC0415

    try:
        inspect_version = version("inspect-ai")
    except PackageNotFoundError:
        inspect_version = known_version()
    return PlanContext(
        built_in=run_files(),
        inspect_version=inspect_version,
        own_python=sys.executable,
    )


def launches_of(desk: "Desk", config: "Config", history: "History") -> "DeskLaunchService":
    """Return the launch service of a desk; it does nothing until it runs or is called."""
    from core.launch.run.run_registry import RunRegistry  # noqa: PLC0415
    from core.launch.run.service import DeskLaunchService  # noqa: PLC0415
    from storage.identity import this_instance  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415
    from storage.secrets import Secrets  # noqa: PLC0415

    context = plan_context()
    secrets = Secrets(paths().secrets)
    instance = this_instance()

    async def choose_all(
        requests: "Sequence[RunRequest]", on_progress: "OnProgress | None"
    ) -> "tuple[CheckedPlan, ...]":
        from core.launch.preflight.machine_choice import choose_machines  # noqa: PLC0415

        machines = {each.name: each for each in config.machines}
        plans = [
            [plan_on(each, machines[name], context) for name in each.candidates]
            for each in requests
        ]
        names = await secrets.names()
        return await choose_machines(
            desk, plans, machines, lambda: desk.fleet, secrets=names, on_progress=on_progress
        )

    async def bring(plan: "RunPlan", on_progress: "OnProgress") -> "ProvisionedRun":
        from core.launch.provision.dependencies import provision  # noqa: PLC0415
        from ssh.local_uv import local_uv  # noqa: PLC0415

        name = plan.spec.code.token if plan.spec.code is not None else None
        token = (await secrets.open([name]))[name] if name is not None else None
        return await provision(desk, plan, token=token, uv=local_uv, on_progress=on_progress)

    return DeskLaunchService(
        desk=desk,
        registry=RunRegistry(history.run_store, instance=instance, post=desk.post, now=desk.now),
        machines=config.machines,
        choose=choose_all,
        provision=bring,
        open_secrets=secrets.open,
        operator=instance.operator,
        read_only=config.read_only,
    )


def plan_on(launch: "RunRequest", machine: "MachineConfig", context: PlanContext) -> "RunPlan":
    """Return the plan of a launch on one machine, with a fresh id."""
    from core.launch.plan.run_plan import make_plan, run_id  # noqa: PLC0415

    return make_plan(
        launch,
        machine,
        run=run_id(time.time(), os.urandom(8)),
        built_in=context.built_in,
        inspect_version=context.inspect_version,
        own_python=context.own_python,
    )


class DeskSessions:
    """Implements `tui.controllers.sessions.Sessions` for the connected machines of a desk."""

    def __init__(self, desk: "Desk") -> None:
        self._desk = desk

    async def list(self) -> "Sequence[MachineSession]":
        """See `Sessions.list`."""
        from core.launch.run.sessions import list_sessions  # noqa: PLC0415

        machines = self._desk.fleet.machines.values()
        up = [each.name for each in machines if each.link.is_up]
        return await list_sessions(self._desk, up)

    async def end(self, found: "MachineSession") -> None:
        """See `Sessions.end`."""
        from core.launch.run.sessions import end_session  # noqa: PLC0415

        await end_session(self._desk, found)
