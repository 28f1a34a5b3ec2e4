# ruff: noqa: ARG001 - Inspect calls by these names
"""A solver that blocks the event loop: it sleeps as a program would that knows no asyncio."""

import sys
import time
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

sys.path.insert(0, str(Path(__file__).parent))
from mocks import mock_model


@solver
def block(after: float, seconds: float, rest: float) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await anyio.sleep(after)
        time.sleep(seconds)  # noqa: ASYNC251 - that is the point
        await anyio.sleep(rest)
        return state

    return solve


@task
def blocked(after: float = 2.0, seconds: float = 20.0, rest: float = 5.0) -> Task:
    return Task(
        dataset=MemoryDataset([Sample(id=1, input="say yes", target="yes")], name="blocked"),
        solver=[generate(), block(after, seconds, rest)],
        scorer=includes(),
        model=mock_model("blocker"),
    )
