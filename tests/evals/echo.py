"""Tasks that tell what reached them, and how often their samples ran."""

import json
import os
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver


def _tell(line: object) -> None:
    path = os.environ.get("ECHO_TO")
    if path is not None:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@solver
def counted(failing: int) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        _tell(state.sample_id)
        if int(state.sample_id) <= failing:
            raise RuntimeError("it fails as it should")
        state.output.completion = "yes"
        return state

    return solve


@task
def echo(text: Any = None, more: Any = None, number: Any = None) -> Task:
    _tell({"text": text, "more": more, "number": number, "env": os.environ.get("ECHO_ENV")})
    return Task(
        dataset=[Sample(id=1, input="?", target="yes")], solver=counted(0), scorer=includes()
    )


@task
def failing(samples: int = 10, failing: int = 1) -> Task:
    rows = [Sample(id=number, input="?", target="yes") for number in range(1, samples + 1)]
    return Task(dataset=rows, solver=counted(failing), scorer=includes())
