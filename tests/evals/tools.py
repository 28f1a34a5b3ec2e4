"""A tool that takes a nap, called some times a sample."""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageTool, ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import basic_agent
from inspect_ai.tool import Tool, tool

sys.path.insert(0, str(Path(__file__).parent))
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


@task
def tools(samples: int = 3, naps: int = 3, seconds: float = 0.2, think: float = 0.1) -> Task:
    rows = [Sample(input="sleep, then say yes", target="yes") for _ in range(samples)]
    return Task(
        dataset=MemoryDataset(rows, name="tools"),
        solver=basic_agent(tools=[nap()], message_limit=4 * naps + 10),
        scorer=includes(),
        model=mock_model("caller", think, caller(naps, seconds)),
    )
