"""Words and numbers that several kinds of findings use."""

import hashlib

from core.format import duration_in_words
from core.ids import SampleKey
from core.model.finding import Proposal
from core.text import Shown, shown

_MAX_STEPS = 60
_MAX_NAME_CHARACTERS = 60

CANCEL_AND_SCORE = Proposal(action="cancel-score", scope="sample")
CANCEL_SAMPLE = Proposal(action="cancel", scope="sample")


def last_step(value: float, first: float) -> float:
    """Return the last of `first`, its double, the double of that ... that `value` has reached.

    A sentence names a step and not the value, so that it changes seldom.
    """
    step = max(1.0, first)
    for _ in range(_MAX_STEPS):
        if step * 2 > value:
            break
        step *= 2
    return step


def short_time(seconds: float) -> str:
    """Return a duration for use in a sentence, without seconds or minutes that are 0: `2m`."""
    return duration_in_words(seconds).removesuffix(" 00s").removesuffix(" 00m")


def sample_name(sample: SampleKey) -> Shown:
    """Return the name of a sample in a sentence: `sample s7/1`, harmless."""
    return shown(f"sample {shown(sample.sample_id, _MAX_NAME_CHARACTERS)}/{sample.epoch}")


def name_of(text: str) -> Shown:
    """Return the name of a task or model for use in a sentence, harmless and cut."""
    return shown(text, _MAX_NAME_CHARACTERS)


def key_of(text: str) -> str:
    """Return a short key for a text of a host, of letters and digits alone."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()
