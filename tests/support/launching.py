"""Launches that a test tells: what a preflight finds, and what becomes of runs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from core.config.model import MachineConfig
from core.errors import EvalroomError
from core.events import RunChanged
from core.ids import MachineName
from core.launch.form.validation import machines_of
from core.launch.plan.matrix import RunRequest, expand
from core.launch.plan.run_plan import make_plan
from core.launch.ports import OutputChunk
from core.launch.preflight.checks import Check, CheckedPlan, CheckLevel
from core.launch.progress import OnProgress
from core.launch.spec.spec import Spec
from core.launch.spec.spec_writer import spec_table
from core.model.run import Run, RunState
from ssh.run_files import run_files
from tests.support.rooms import FakeRoom

PYTHON = Check(
    name="python", level=CheckLevel.OK, message="3.12 at /opt/venv/bin/python, Inspect 0.3.285"
)
DISK = Check(name="disk", level=CheckLevel.OK, message="812G free where the run's folder is")


class ScriptedLaunching:
    """A `LaunchService` over a `FakeRoom`.

    Attributes:
        checks: The checks of the preflight by machine; on other machines all is well.
        passed_over: Candidates that do not fit.
        gate: The preflight waits for it.
        states: The states that each started run goes through.
        fails: The error that `check` and `launch` raise.
        launched: The started plans of each call.
        asked: The specs that were checked.
        printed: The output of runs by their ids.
    """

    def __init__(self, room: FakeRoom) -> None:
        self.room = room
        self.checks: Mapping[MachineName, tuple[Check, ...]] = {}
        self.passed_over: tuple[tuple[MachineName, str], ...] = ()
        self.gate, self.starting = asyncio.Event(), asyncio.Event()
        self.gate.set()
        self.starting.set()
        self.states: tuple[RunState, ...] = (RunState.STARTING, RunState.RUNNING)
        self.fails: EvalroomError | None = None
        self.launch_fails: EvalroomError | None = None
        self.launched: list[tuple[CheckedPlan, ...]] = []
        self.asked: list[Spec] = []
        self.printed: dict[str, bytes] = {}
        self.read: list[str] = []
        self._made = 0

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def check(
        self, spec: Spec, *, on_progress: OnProgress | None = None
    ) -> tuple[CheckedPlan, ...]:
        self.asked.append(spec)
        machines = {each.name: each for each in machines_of(self.room.fleet)}
        launches = expand(spec, tuple(machines.values()))
        if on_progress is not None:
            on_progress(f"looked at 0 of {len(launches)}")
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return tuple(self._checked(each.candidates[0], each, machines) for each in launches)

    def _checked(
        self, name: MachineName, launch: RunRequest, machines: Mapping[MachineName, MachineConfig]
    ) -> CheckedPlan:
        self._made += 1
        plan = make_plan(
            launch,
            replace(machines[name], python="/opt/venv/bin/python"),
            run=f"20261129-124107-{self._made:08}",
            built_in=run_files(),
            inspect_version="0.3.285",
        )
        # The full text of a script does not belong into pictures.
        plan = replace(plan, files=dict.fromkeys(plan.files, b"x" * 1_500))
        checks = self.checks.get(name, (PYTHON, DISK))
        return CheckedPlan(plan=plan, checks=checks, passed_over=self.passed_over)

    async def launch(
        self, checked: Sequence[CheckedPlan], *, on_change: Callable[[Run], None] | None = None
    ) -> tuple[Run, ...]:
        assert not any(each.stops for each in checked)
        self.launched.append(tuple(checked))
        await self.starting.wait()
        if self.launch_fails is not None:
            raise self.launch_fails
        runs: list[Run] = []
        for each in checked:
            run = run_of(each, at=self.room.at)
            for state in self.states:
                run = replace(run, state=state)
                self.room.happen(RunChanged(at=self.room.at, run=run))
                if on_change is not None:
                    on_change(run)
                await asyncio.sleep(0)
            runs.append(run)
        return tuple(runs)

    async def output(self, run: Run, *, start: int | None = None) -> OutputChunk:
        del start
        self.read.append(run.id)
        if self.fails is not None:
            raise self.fails
        data = self.printed.get(run.id, b"")
        return OutputChunk(data=data, end=len(data), size=len(data))


def run_of(checked: CheckedPlan, *, at: float) -> Run:
    """Return the record of a run that is about to start."""
    plan = checked.plan
    return Run(
        id=plan.run,
        machine=plan.machine,
        at=at,
        operator="Ada",
        state=RunState.QUEUED,
        task=plan.request.task,
        model=plan.request.model,
        engine=plan.spec.engine,
        spec=spec_table(plan.spec),
        directory=plan.directory,
        log_dir=f"{plan.directory}/{plan.log_dir}",
        command_line=plan.command_line,
        launch=plan.run,
        started_at=at,
    )
