"""Several turns a sample, a pause between two, a number in the store.

With a `gate`, a path, each sample but the first `free` waits after its first turn until a file is
there.
"""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver

sys.path.insert(0, str(Path(__file__).parent))
from gates import gate_at
from mocks import mock_model

MOST_MESSAGES = 80
"""A longer talk forgets its beginning: else each turn of a long sample costs more than the last."""


@solver
def talk(turns: int, sleep: float, gate: str, free: int) -> Solver:
    gate_is_open = gate_at(gate, free)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for turn in range(1, turns + 1):
            state.store.set("turn", turn)
            state.store.set("note", f"turn {turn} of {turns}")
            state = await generate(state)
            await anyio.sleep(sleep)
            if turn == 1:
                await gate_is_open()
            state.messages.append(ChatMessageUser(content=f"and again ({turn})"))
            if len(state.messages) > MOST_MESSAGES:
                del state.messages[1:3]
        return state

    return solve


@task
def turns(  # noqa: PLR0917 - Inspect passes them by name
    samples: int = 4,
    turns: int = 3,
    sleep: float = 0.2,
    think: float = 0.1,
    label: str = "",
    gate: str = "",
    free: int = 0,
) -> Task:
    rows = [Sample(id=f"s{n:03d}", input="say yes", target="yes") for n in range(1, samples + 1)]
    return Task(
        dataset=MemoryDataset(rows, name="turns"),
        solver=talk(turns, sleep, gate, free),
        scorer=includes(),
        model=mock_model("talker", think),
        metadata={"label": label},
    )
