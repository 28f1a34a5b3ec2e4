"""Does an eval run here at all? A task that needs no network, no key and no container.

With the mock model the score is known in advance: a share of `pass_rate` of the samples
passes, spread evenly (to the nearest sample). A real model is asked for the same words, and
passes by saying them.
"""

from fractions import Fraction

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron")


@task(name="evalroom/smoke")
def smoke(samples: int = 10, pass_rate: float = 1.0):
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise ValueError("samples: a whole number from 1, not %r" % (samples,))
    if isinstance(pass_rate, bool) or not isinstance(pass_rate, (int, float)):
        raise ValueError("pass_rate: a number from 0 to 1, not %r" % (pass_rate,))
    if not 0 <= pass_rate <= 1:
        raise ValueError("pass_rate: a number from 0 to 1, not %r" % (pass_rate,))
    passing = passes(samples, pass_rate)
    rows = [
        Sample(
            id=number,
            input="Say this and nothing else: %s" % word_of(number),
            target=word_of(number),
            metadata={"passes": number in passing},
        )
        for number in range(1, samples + 1)
    ]
    return Task(dataset=MemoryDataset(rows, name="smoke"), solver=answer(), scorer=includes())


def passes(samples, pass_rate):
    """Return the numbers of the samples that pass, from 1."""
    share = Fraction(str(pass_rate))
    count = int(samples * share + Fraction(1, 2))
    return {n for n in range(1, samples + 1) if n * count // samples > (n - 1) * count // samples}


def word_of(number):
    return "%s-%d" % (WORDS[number % len(WORDS)], number)


@solver
def answer():
    async def solve(state, generate):
        if state.model.api != "mockllm":
            return await generate(state)
        # Its own outputs name no tokens, and counting them here would want a download.
        words = state.target.text if state.metadata["passes"] else "something else"
        output = ModelOutput.from_content("mockllm/model", words)
        output.usage = ModelUsage(input_tokens=12, output_tokens=4, total_tokens=16)
        mock = get_model("mockllm/model", memoize=False, custom_outputs=[output])
        state.output = await mock.generate(state.messages)
        state.messages.append(state.output.message)
        return state

    return solve
