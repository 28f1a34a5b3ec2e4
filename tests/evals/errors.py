# ruff: noqa: ARG001, PLR0917 - Inspect calls by these names
"""Samples that raise: some on their first try, some always."""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

sys.path.insert(0, str(Path(__file__).parent))
from gates import gate_at
from mocks import mock_model

TRIES: dict[int, int] = {}


@solver
def stumble(always: int, first: int, sleep: float, gate: str) -> Solver:
    gate_is_open = gate_at(gate)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await gate_is_open()
        number = int(state.sample_id)
        TRIES[number] = tries = TRIES.get(number, 0) + 1
        await anyio.sleep(sleep)
        if always and number % always == 0:
            raise ValueError(
                f"sample {number} can never be read (\x1b[31mred\x1b[0m [bold]b[/bold])"
            )
        if number <= first and tries == 1:
            raise ConnectionError(f"sample {number} lost its sandbox")
        return state

    return solve


@task
def errors(
    samples: int = 6,
    always: int = 3,
    first: int = 1,
    sleep: float = 0.1,
    fatal: bool = False,
    gate: str = "",
) -> Task:
    """Every `always`-th sample raises for ever, the `first` ones on their first try.

    With `fatal` the first error fails the task (an eval-set then tries it again). With a `gate`
    nothing happens until that file is there.
    """
    rows = [Sample(id=n, input="say yes", target="yes") for n in range(1, samples + 1)]
    return Task(
        dataset=MemoryDataset(rows, name="errors"),
        solver=[stumble(always, first, sleep, gate), generate()],
        scorer=includes(),
        model=mock_model("stumbler", sleep),
        fail_on_error=fatal,
    )
