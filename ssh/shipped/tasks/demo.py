# ruff: noqa: ARG001, ARG002 - Inspect calls by these names
"""A small eval-set that runs anywhere: no network, no key, no container.

Its model is simulated in this file. It waits for a while, calls tools, is rate-limited now and
then, makes mistakes, and reports its token usage. Some samples error and are retried, one
fails for good. `-T pace=0.1` makes it ten times as fast, `-T samples=4` smaller.
"""

import random
import zlib

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageTool,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.scorer import includes, match
from inspect_ai.solver import basic_agent, generate, solver, system_message
from inspect_ai.tool import tool


class SlowDown(Exception):
    """The error of a provider after too many requests."""


class Pretender(ModelAPI):
    """A simulated model that answers sums and calls tools, at a given pace."""

    def __init__(
        self,
        model_name,
        base_url=None,
        api_key=None,
        config=GenerateConfig(),  # noqa: B008
        pace=1.0,
        **model_args,
    ):
        super().__init__(model_name, base_url, api_key, [], config)
        self.pace = pace
        self.calls = 0

    async def generate(self, input, tools, tool_choice, config):  # noqa: A002
        self.calls += 1
        question = next(m.text for m in input if m.role == "user")
        chance = random.Random(f"{question}{len(input)}{self.calls // 40}")
        if self.calls % 23 == 0:
            raise SlowDown("429: too many requests")
        await anyio.sleep(self.pace * chance.uniform(1.5, 5.0))
        output = self._look_up(input, question) if tools else self._add(question, chance)
        prompt = sum(len(m.text) for m in input) // 4 + 40
        answer = len(output.completion) // 4 + chance.randint(60, 400)
        output.usage = ModelUsage(
            input_tokens=prompt, output_tokens=answer, total_tokens=prompt + answer
        )
        return output

    def _add(self, question, chance):
        left, right = (int(word) for word in question.split() if word.isdigit())
        right_answer = chance.random() < 0.75
        total = left + right + (0 if right_answer else chance.choice((-10, 1, 10)))
        return ModelOutput.from_content(self.model_name, f"The sum is {total}")

    def _look_up(self, input, question):  # noqa: A002
        seen = [m for m in input if isinstance(m, ChatMessageTool)]
        drawer = int(question.split()[-1].strip("?."))
        if len(seen) < 3:
            return ModelOutput.for_tool_call(
                self.model_name, "open_drawer", {"drawer": drawer, "depth": len(seen) + 1}
            )
        answer = seen[-1].text.split()[-1]
        if drawer % 5 == 0:
            answer = "nothing"
        return ModelOutput.for_tool_call(self.model_name, "submit", {"answer": answer})

    def should_retry(self, ex):
        return isinstance(ex, SlowDown)

    def max_connections(self):
        return 12

    def connection_key(self):
        return self.model_name


@modelapi(name="evalroom")
def evalroom():
    return Pretender


def pretender(name, pace):
    return get_model(f"evalroom/{name}", memoize=False, pace=pace)


TRIES = {}


@solver
def stumbling(every, for_good):
    """Fail on the first try of some samples, and always on one of them."""

    async def solve(state, generate):
        number = int(state.sample_id)
        TRIES[number] = TRIES.get(number, 0) + 1
        if number == for_good:
            raise RuntimeError(f"sample {number} finds its dataset row broken")
        if number % every == 0 and TRIES[number] == 1:
            raise ConnectionError(f"sample {number} lost its sandbox")
        return state

    return solve


@tool
def open_drawer(pace):
    async def execute(drawer: int, depth: int):
        """Open a drawer of the archive and read the card at a depth.

        Args:
            drawer: The drawer's number.
            depth: How deep to look, from 1.
        """
        await anyio.sleep(pace * (2 + (drawer * depth) % 7))
        if drawer % 6 == 0 and depth == 2:
            await anyio.sleep(pace * 12)
        return f"drawer {drawer}, layer {depth}: a card that says {word_of(drawer)}"

    return execute


def word_of(drawer):
    words = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron")
    return words[zlib.crc32(str(drawer).encode()) % len(words)]


@task(name="evalroom/sums")
def sums(pace: float = 1.0, samples: int = 16):
    numbers = random.Random(7)
    rows = []
    for number in range(1, 3 * samples + 1):
        left, right = numbers.randint(10, 99), numbers.randint(10, 99)
        rows.append(Sample(id=number, input=f"Add {left} and {right}", target=str(left + right)))
    return Task(
        dataset=MemoryDataset(rows, name="sums"),
        solver=[stumbling(every=7, for_good=5), think_twice(pace), generate()],
        scorer=match(numeric=True),
        model=pretender("steady", pace),
        config=GenerateConfig(max_connections=6),
        fail_on_error=False,
    )


@solver
def think_twice(pace):
    """Call the model once before the sample and discard the answer."""

    async def solve(state, generate):
        kept = list(state.messages)
        state = await generate(state)
        state.messages = kept
        await anyio.sleep(pace)
        return state

    return solve


@task(name="evalroom/archive")
def archive(pace: float = 1.0, samples: int = 16):
    rows = [
        Sample(
            id=number,
            input=f"Which word is at the bottom of drawer {number}?",
            target=word_of(number),
        )
        for number in range(1, samples + 1)
    ]
    return Task(
        dataset=MemoryDataset(rows, name="archive"),
        solver=[
            system_message("Look three layers deep, then submit the word."),
            stumbling(every=4, for_good=0),
            basic_agent(tools=[open_drawer(pace)], message_limit=40),
        ],
        scorer=includes(),
        model=pretender("careful", pace),
        config=GenerateConfig(max_connections=6),
        fail_on_error=False,
    )
