# ruff: noqa: A002, ARG001, ARG002 - Inspect calls by these names
"""Samples that do what a file says, step by step, and write down when each step began.

The file (JSON) has `model`, `samples`, `steps`, `turns` (lists of steps that the samples take in
turn), `others` (steps by sample id), `then` (the steps of the samples after the first `first`) and
`loads` (seconds until the data set and the model are there). A step is a word with a value:
`generate 2`, `tool 1.5`, `exec 3` (a command in the sandbox), `refuse 1` (the model refuses after a
second), `sleep 1`, `block 20` (blocks the event loop), `eat 100` (MiB of memory), `error WORDS`,
`stumble WORDS` (an error on the first try alone), `loop 50` (so many turns with a tool),
`until PATH` (waits until that file is there).
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import httpx
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    RetryDecision,
    StopReason,
    execute_tools,
    get_model,
    modelapi,
)
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolChoice, ToolInfo, tool
from inspect_ai.util import sandbox

sys.path.insert(0, str(Path(__file__).parent))
from mocks import MockApi

MODEL_SERVER = os.environ.get("MODEL_SERVER", "")
"""Asked before each answer; it may refuse."""


class ScriptedApi(MockApi):
    """Answers what the last message says: text, or a call of a tool, after some seconds."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        if MODEL_SERVER:
            async with httpx.AsyncClient(trust_env=False) as client:
                (await client.post(MODEL_SERVER, json={})).raise_for_status()
        last = input[-1]
        wish: dict[str, Any] = {}
        if not isinstance(last, ChatMessageTool):
            wish = json.loads(last.text)
        await anyio.sleep(wish.get("think", 0.0))
        if "call" in wish:
            output = ModelOutput.for_tool_call(self.model_name, wish["call"], wish["with"])
        else:
            stop: StopReason = "content_filter" if wish.get("refuse") else "stop"
            output = ModelOutput.from_content(self.model_name, "yes", stop_reason=stop)
        output.usage = ModelUsage(input_tokens=70, output_tokens=30, total_tokens=100)
        return output

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        if not isinstance(ex, httpx.HTTPStatusError):
            return RetryDecision.no()
        limited = ex.response.status_code == httpx.codes.TOO_MANY_REQUESTS
        return RetryDecision.rate_limit() if limited else RetryDecision.transient()


@modelapi(name="scripted")
def scripted_api() -> type[MockApi]:
    return ScriptedApi


@tool
def work() -> Tool:
    async def execute(seconds: float) -> str:
        """Work.

        Args:
            seconds: How long.
        """
        await anyio.sleep(seconds)
        return "done"

    return execute


@tool
def shell() -> Tool:
    async def execute(seconds: int) -> str:
        """Run a command in the sandbox.

        Args:
            seconds: How long it runs.
        """
        await sandbox().exec(["sleep", str(seconds)])
        return "done"

    return execute


EATEN: list[bytes] = []
STUMBLED: set[str | int] = set()


async def ask(state: TaskState, model: Model, **wish: Any) -> None:
    state.messages.append(ChatMessageUser(content=json.dumps(wish)))
    state.output = await model.generate(state.messages, tools=[work(), shell()])
    state.messages.append(state.output.message)
    if state.output.message.tool_calls:
        done = await execute_tools(state.messages, [work(), shell()])
        state.messages.extend(done.messages)


async def rest(word: str, value: str) -> None:
    if word == "sleep":
        await anyio.sleep(float(value))
        return
    while not Path(value).exists():  # noqa: ASYNC240, ASYNC110 - only looked at
        await anyio.sleep(0.2)


async def take(state: TaskState, model: Model, word: str, value: str) -> None:
    match word:
        case "generate":
            await ask(state, model, think=float(value))
        case "refuse":
            await ask(state, model, think=float(value), refuse=True)
        case "tool":
            await ask(state, model, call="work", **{"with": {"seconds": float(value)}})
        case "exec":
            await ask(state, model, call="shell", **{"with": {"seconds": int(value)}})
        case "loop":
            for _ in range(int(value)):
                await ask(state, model, think=0.1, call="work", **{"with": {"seconds": 0.1}})
        case "sleep" | "until":
            await rest(word, value)
        case "stumble" if state.sample_id in STUMBLED:
            pass
        case "error" | "stumble":
            STUMBLED.add(state.sample_id)
            raise RuntimeError(value.replace("ID", str(state.sample_id)))
        case _:
            do_at_once(word, value)


def do_at_once(word: str, value: str) -> None:
    if word == "eat":
        EATEN.append(b"x" * (int(value) * 2**20))
    elif word == "block":
        time.sleep(float(value))
    else:
        raise ValueError(word)


@solver
def follow(script: dict[str, Any], marks: str) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        turns = script.get("turns") or [script.get("steps", [])]
        number = int(str(state.sample_id)[1:])
        usual = turns[number % len(turns)]
        if number > script.get("first", number):
            usual = script["then"]
        steps = script.get("others", {}).get(str(state.sample_id), usual)
        for step in steps:
            word, _, value = step.partition(" ")
            mark = {"mark": f"{state.sample_id} {word}", "at": time.time()}
            with Path(marks).open("a") as file:  # noqa: ASYNC230 - a line
                file.write(json.dumps(mark) + "\n")
            await take(state, model, word, value)
        return state

    return solve


@task
def scripted(script: str, kind: str | None = None) -> Task:
    """`script`: the file; `kind`: the sandbox."""
    told = json.loads(Path(script).read_text())
    time.sleep(told.get("loads", 0.0))
    rows = [
        Sample(id=f"s{number:03d}", input="say yes", target="yes")
        for number in range(1, told.get("samples", 10) + 1)
    ]
    boxes: Any = ("docker", kind) if kind and kind.endswith(".yaml") else kind
    return Task(
        dataset=MemoryDataset(rows, name="scripted"),
        solver=follow(told, f"{script}.marks"),
        scorer=includes(),
        model=get_model(f"scripted/{told.get('model', 'model')}", memoize=False),
        sandbox=boxes,
    )
