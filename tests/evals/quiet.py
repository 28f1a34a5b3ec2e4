"""Samples that sleep and ask no model: with any model's name, so that a log can be retried."""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver

sys.path.insert(0, str(Path(__file__).parent))
from gates import gate_at


@solver
def sleeps(seconds: float, gate: str, free: int) -> Solver:
    gate_is_open = gate_at(gate, free)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        await gate_is_open()
        await anyio.sleep(seconds)
        state.output = ModelOutput.from_content("none", "yes")
        return state

    return solve


@task
def quiet(
    samples: int = 12, seconds: float = 1.0, ids: str = "", gate: str = "", free: int = 0
) -> Task:
    """`ids`: the ids of its samples, with `|` between them.

    With a `gate`, a path, each sample but the first `free` waits first until a file is there.
    """
    named = ids.split("|") if ids else [f"s{n:03d}" for n in range(1, samples + 1)]
    rows = [Sample(id=each, input="say yes", target="yes") for each in named]
    return Task(
        dataset=MemoryDataset(rows, name="quiet"),
        solver=sleeps(seconds, gate, free),
        scorer=includes(),
    )
