"""A tool that takes a nap, called some times a sample.

With a `gate`, a path, each sample but the first `free` waits first until a file is there.
"""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageTool, ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, basic_agent, solver
from inspect_ai.tool import Tool, tool

sys.path.insert(0, str(Path(__file__).parent))
from gates import gate_at
from mocks import Answer, mock_model


@tool
def nap() -> Tool:
    async def execute(seconds: float) -> str:
        """Sleep.

        Args:
            seconds: How long.
        """
        await anyio.sleep(seconds)
        return f"slept {seconds}"

    return execute


def caller(naps: int, seconds: float) -> Answer:
    def answer(seen: list[ChatMessage]) -> ModelOutput:
        done = sum(isinstance(message, ChatMessageTool) for message in seen)
        if done < naps:
            return ModelOutput.for_tool_call("mock/caller", "nap", {"seconds": seconds})
        return ModelOutput.for_tool_call("mock/caller", "submit", {"answer": "yes"})

    return answer


@solver
def waits(gate: str, free: int) -> Solver:
    gate_is_open = gate_at(gate, free)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        await gate_is_open()
        return state

    return solve


@task
def tools(  # noqa: PLR0917 - Inspect passes them by name
    samples: int = 3,
    naps: int = 3,
    seconds: float = 0.2,
    think: float = 0.1,
    gate: str = "",
    free: int = 0,
) -> Task:
    rows = [Sample(input="sleep, then say yes", target="yes") for _ in range(samples)]
    return Task(
        dataset=MemoryDataset(rows, name="tools"),
        solver=[
            waits(gate, free),
            basic_agent(tools=[nap()], message_limit=4 * naps + 10),
        ],
        scorer=includes(),
        model=mock_model("caller", think, caller(naps, seconds)),
    )
