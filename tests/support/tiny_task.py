"""The smallest real eval: two samples that wait, a mock model with explicit token usage."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver


@solver
def wait(gate: str) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 - a test makes it
            await asyncio.sleep(0.05)
        return state

    return solve


def _always(output: ModelOutput) -> Callable[..., ModelOutput]:
    def give(*_: object) -> ModelOutput:
        return output

    return give


@task
def tiny(gate: str) -> Task:
    """Its samples wait until there is a file `gate`."""
    output = ModelOutput(
        model="mockllm/model",
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(content="yes", source="generate"), stop_reason="stop"
            )
        ],
        usage=ModelUsage(input_tokens=5, output_tokens=5, total_tokens=10),
    )
    return Task(
        dataset=[Sample(input="say yes", target="yes") for _ in range(2)],
        solver=[generate(), wait(gate)],
        scorer=includes(),
        model=get_model("mockllm/model", custom_outputs=_always(output)),
    )
