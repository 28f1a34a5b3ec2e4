# ruff: noqa: ARG001 - Inspect calls by these names
"""Everything that an eval may name, named to do harm to a terminal."""

import sys
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageTool, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, basic_agent, solver
from inspect_ai.tool import Tool, ToolDef

sys.path.insert(0, str(Path(__file__).parent))
from mocks import mock_model

EVIL = (
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x1b]0;owned\x07[bold red]b[/] "
    "\u202egnp.exe\u200b\x9b31m\r\n\x00z"
)
IDS = (
    "\x1b[31mred\x1b[0m",
    "[bold]markup[/bold] [@click=app.quit]x[/]",
    "\u202eright to left\u202c",
    "two\nlines\tand\rmore",
    "\x1b]52;c;ZXZpbA==\x07",
    "wide 漢字 e\u0301 👩‍👩‍👧 " + "x" * 300,
)


def evil_tool(seconds: float) -> Tool:
    async def execute() -> str:
        """Do nothing good."""
        await anyio.sleep(seconds)
        return EVIL

    return ToolDef(
        execute, name="[red]t\x1b[31m\u202e", description="nothing good", parameters={}
    ).as_tool()


def answer(seen: list[ChatMessage]) -> ModelOutput:
    if not any(isinstance(message, ChatMessageTool) for message in seen):
        return ModelOutput.for_tool_call("mock/evil", "[red]t\x1b[31m\u202e", {})
    return ModelOutput.for_tool_call("mock/evil", "submit", {"answer": EVIL})


@solver
def fall() -> Solver:
    """The first sample raises, after it put bad words into its store."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store.set(EVIL, EVIL)
        if state.sample_id == IDS[0]:
            raise RuntimeError(EVIL)
        return state

    return solve


@scorer(metrics=[accuracy()], name="[blink]s\x1b[5m")
def evil_score() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=EVIL, answer=EVIL, explanation=EVIL)

    return score


@task(name="hostile")
def hostile(seconds: float = 0.2, think: float = 0.1) -> Task:
    return Task(
        dataset=MemoryDataset([Sample(id=name, input=EVIL) for name in IDS], name=EVIL),
        solver=[fall(), basic_agent(tools=[evil_tool(seconds)], message_limit=12)],
        scorer=evil_score(),
        model=mock_model("[red]evil\x1b[31m", think, answer),
        fail_on_error=False,
    )
