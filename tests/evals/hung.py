# ruff: noqa: ARG001 - Inspect calls by these names
"""Samples whose solver runs a command in their sandbox that does not end, outside of any tool."""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.util import sandbox

sys.path.insert(0, str(Path(__file__).parent))
from mocks import mock_model

COMPOSE = "compose-boxed.yaml"


@solver
def hang(seconds: int) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await sandbox().exec(["true"])
        await sandbox().exec(["sleep", str(seconds)])
        return state

    return solve


@task
def hung(samples: int = 1, seconds: int = 1000, kind: str = "local") -> Task:
    rows = [Sample(id=f"s{number}", input="say yes", target="yes") for number in range(samples)]
    return Task(
        dataset=MemoryDataset(rows, name="hung"),
        solver=[hang(seconds), generate()],
        scorer=includes(),
        model=mock_model("hung"),
        sandbox=("docker", COMPOSE) if kind == "docker" else kind,
    )
