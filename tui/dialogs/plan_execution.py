"""The interface between a preview and the controller that opened it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from core.act.plan import Plan
from core.act.planner import PlanningProgress
from core.ids import Target
from core.model.order import Order
from core.text import Shown
from core.views.actions.plan_progress import PlanProgress

MakePlan = Callable[[Callable[[PlanningProgress], None], asyncio.Event], Awaitable[Plan]]
"""Makes the plan. It reports progress to the function; the event ends its pauses."""


class PlanExecution(Protocol):
    """Sends the orders of a confirmed plan, and knows the plans that were sent before."""

    @property
    def orders(self) -> Sequence[Order]:
        """The newest orders of the fleet."""
        ...

    def production(self, targets: Iterable[Target]) -> Shown:
        """Return the mark for the title if a target is on a production machine; else empty."""
        ...

    def carry_out(self, plan: Plan, *, words: str, yes: bool) -> PlanProgress:
        """Send the orders of a confirmed plan, in the background."""
        ...

    def carry_out_changed(
        self, sent_plan: PlanProgress, plan: Plan, *, words: str, yes: bool
    ) -> None:
        """Send the targets that had changed since their preview and were confirmed again."""
        ...

    def next_after(self, sent_plan: PlanProgress | None) -> PlanProgress | None:
        """Return the plan after this one whose outcomes are not dismissed; None: no other."""
        ...

    def dismiss(self, sent_plan: PlanProgress) -> None:
        """Dismiss the outcomes of a plan."""
        ...
