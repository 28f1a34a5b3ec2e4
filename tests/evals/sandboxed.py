# ruff: noqa: ARG001 - Inspect calls by these names
"""Samples in Docker containers, which wait there until a file exists."""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.util import sandbox

sys.path.insert(0, str(Path(__file__).parent))
from mocks import mock_model


@solver
def wait(gate: str) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        assert (await sandbox().exec(["true"])).success
        Path(f"{gate}.{state.sample_id}").touch()  # noqa: ASYNC240
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 - a test opens it
            await anyio.sleep(0.05)
        return state

    return solve


@task
def sandboxed_by_docker(gate: str, samples: int = 2) -> Task:
    """Wait in containers until the file `gate` exists; `gate.ID` says that a sample waits."""
    rows = [Sample(id=number, input="say yes", target="yes") for number in range(samples)]
    return Task(
        dataset=MemoryDataset(rows, name="sandboxed"),
        solver=[wait(gate), generate()],
        scorer=includes(),
        model=mock_model("boxed"),
        sandbox=("docker", "compose-boxed.yaml"),
    )
