"""What a preview asks of the controller that opened it: a plan, and that its orders are sent."""

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
"""Makes the plan: reports its progress to the function, and stops pausing once the event is set."""


class PlanExecution(Protocol):
    """What a preview asks of the controller that opened it."""

    @property
    def orders(self) -> Sequence[Order]:
        """The newest orders of the fleet."""
        ...

    def production(self, targets: Iterable[Target]) -> Shown:
        """Return what a title says where targets are on production machines."""
        ...

    def carry_out(self, plan: Plan, *, words: str, yes: bool) -> PlanProgress:
        """Send the orders of a confirmed plan, in the background."""
        ...

    def carry_on(self, carrying: PlanProgress, plan: Plan, *, words: str, yes: bool) -> None:
        """Send what had changed since its preview, and was confirmed again."""
        ...

    def next_after(self, carrying: PlanProgress | None) -> PlanProgress | None:
        """Return the plan after this one whose outcomes are not dismissed; None: no other."""
        ...

    def put_away(self, carrying: PlanProgress) -> None:
        """Dismiss the outcomes of a plan."""
        ...
