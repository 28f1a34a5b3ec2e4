"""What a task has spent, and what it will have spent at its end, by the prices of the config."""

from dataclasses import dataclass

from core.config.judge import JudgeConfig
from core.model.sample import SampleStatus
from core.model.task import Task, TaskState

ENOUGH_SAMPLES = 5
"""Finished samples that tell what one costs."""
_MILLION = 1e6
_CENTS_BELOW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """US dollars, from and to: how many tokens went in and how many came out is not known.

    Attributes:
        low, high: If all tokens had the cheaper price, and the dearer one.
        low_at_end: `low` once all samples have ended, at this pace; None: not known yet.
    """

    low: float = 0.0
    high: float = 0.0
    low_at_end: float | None = None


def spent(task: Task, rules: JudgeConfig) -> Money | None:
    """Return what a task has spent; None: its model has no price, or its tokens are unknown."""
    price = rules.prices.get(task.row.model)
    tokens = task.total_tokens
    if price is None or tokens is None or tokens < 0:
        return None
    low, high = sorted((price.into / _MILLION, price.out / _MILLION))
    at_end = _tokens_at_end(task, tokens)
    return Money(
        low=tokens * low, high=tokens * high, low_at_end=None if at_end is None else at_end * low
    )


def _tokens_at_end(task: Task, tokens: int) -> float | None:
    if task.state is not TaskState.RUNNING:
        return tokens
    took = [
        each.total_tokens
        for each in task.samples.values()
        if each.status == SampleStatus.COMPLETED and each.total_tokens
    ]
    if len(took) < ENOUGH_SAMPLES:
        return None
    usual = sum(took) / len(took)
    counts = task.row.samples
    flying = counts.in_flight or 0
    waiting = max(0, counts.total - counts.ended - flying)
    return tokens + usual * (waiting + flying / 2)


def dollars(amount: float) -> str:
    """Return US dollars for a sentence: `$3.20`, `$1,204`."""
    return f"${amount:,.2f}" if amount < _CENTS_BELOW else f"${amount:,.0f}"


def money_in_words(money: Money) -> str:
    """Return what was spent: `$10 to $50 spent, $18 or more at the end`."""
    low, high = dollars(money.low), dollars(money.high)
    words = f"{low} spent" if low == high else f"{low} to {high} spent"
    if money.low_at_end is None or money.low_at_end <= money.low:
        return words
    return f"{words}, {dollars(money.low_at_end)} or more at the end"
