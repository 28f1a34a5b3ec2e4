"""Does a model answer here? Twenty short sums for its endpoint and its key, scored as numbers.

The mock model answers every one correctly, without network.
"""

import re

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer, stderr
from inspect_ai.solver import solver

SUMS = tuple((7 * n % 43 + 3, 11 * n % 57 + 2) for n in range(1, 21))
NUMBER = re.compile(r"[-+\u2212]?\d[\d,]*(?:\.\d+)?|[-+\u2212]?\.\d+")


@task(name="evalroom/arithmetic")
def arithmetic():
    rows = [
        Sample(
            id=number,
            input="What is %d + %d? Answer with the number alone." % (left, right),
            target=str(left + right),
        )
        for number, (left, right) in enumerate(SUMS, 1)
    ]
    return Task(dataset=MemoryDataset(rows, name="arithmetic"), solver=answer(), scorer=as_number())


@solver
def answer():
    async def solve(state, generate):
        if state.model.api != "mockllm":
            return await generate(state)
        # Its own outputs name no tokens, and counting them here would want a download.
        output = ModelOutput.from_content("mockllm/model", state.target.text)
        output.usage = ModelUsage(input_tokens=16, output_tokens=2, total_tokens=18)
        mock = get_model("mockllm/model", memoize=False, custom_outputs=[output])
        state.output = await mock.generate(state.messages)
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def as_number():
    """Compares the last number in an answer as a number: `57`, `57.0` and `**57**`."""

    async def score(state, target):
        answer = last_number(state.output.completion)
        is_right = answer is not None and answer == float(target.text)
        return Score(value="C" if is_right else "I", answer=None if answer is None else str(answer))

    return score


def last_number(text):
    """Return the last number in a text; None: it has no number."""
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "").replace("\u2212", "-")) if found else None
