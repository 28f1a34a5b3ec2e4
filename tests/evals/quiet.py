"""Samples that sleep and ask no model: with any model's name, so that a log can be retried."""

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def sleeps(seconds: float) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        await anyio.sleep(seconds)
        state.output = ModelOutput.from_content("none", "yes")
        return state

    return solve


@task
def quiet(samples: int = 12, seconds: float = 1.0, ids: str = "") -> Task:
    """`ids`: the ids of its samples, with `|` between them."""
    named = ids.split("|") if ids else [f"s{n:03d}" for n in range(1, samples + 1)]
    rows = [Sample(id=each, input="say yes", target="yes") for each in named]
    return Task(
        dataset=MemoryDataset(rows, name="quiet"), solver=sleeps(seconds), scorer=includes()
    )
