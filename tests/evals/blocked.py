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
from gates import gate_at
from mocks import mock_model


@solver
def block(gate: str, seconds: float, rest: float) -> Solver:
    gate_is_open = gate_at(gate)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await gate_is_open()
        time.sleep(seconds)  # noqa: ASYNC251 - that is the point
        await anyio.sleep(rest)
        return state

    return solve


@task
def blocked(gate: str = "", seconds: float = 20.0, rest: float = 5.0) -> Task:
    """Block for `seconds` once the file `gate` exists, then go on for `rest` seconds."""
    return Task(
        dataset=MemoryDataset([Sample(id=1, input="say yes", target="yes")], name="blocked"),
        solver=[generate(), block(gate, seconds, rest)],
        scorer=includes(),
        model=mock_model("blocker"),
    )
