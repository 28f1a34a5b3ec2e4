"""An order: one request of a confirmed plan to one target, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.ids import Address, Target
from core.model.action import Action

BasisValue = str | int | float | bool | None
Basis = Mapping[str, BasisValue]
"""What a plan was based on, field by field; machine, pid and start stand in the target's key."""


class OrderState(StrEnum):
    """Where an order stands; all but the first are final, but for a later look at `unknown`."""

    INTENT = "intent"
    DONE = "done"
    NOOP = "noop"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One running evalroom, so that another knows whose intents are a dead one's.

    Attributes:
        host: This computer's name.
        boot: Its boot id.
        pid, start: The process and its start time (opaque).
        operator: Who: from git, or the system.
    """

    host: str
    boot: str
    pid: int
    start: str
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One line of the journal of orders. Nothing in it is free text of an evaluated agent.

    Attributes:
        id: Unique everywhere.
        plan: Of the plan that it came from.
        at: When it was written, before it left; Unix seconds at the desk.
        address: Of the target.
        action: What.
        name: How the target is called, for people.
        request: `POST /...` with its query, or `SIGNAL INT`.
        command: The equivalent shell command.
        preview: What the preview said, one sentence.
        basis: What the plan was based on.
        undo: What takes it back; None: nothing does.
        reason: Why, in the operator's words.
        is_ours: Whether the run was launched by this operator's evalroom.
        state, message, ended_at: Its outcome.
    """

    id: str
    plan: str
    at: float
    instance: Instance
    address: Address
    action: Action
    name: str
    request: str
    command: str
    preview: str
    basis: Basis
    undo: Action | None = None
    reason: str = ""
    is_ours: bool = False
    state: OrderState = OrderState.INTENT
    message: str = ""
    ended_at: float | None = None

    @property
    def target(self) -> Target:
        """To what it goes."""
        return self.address.target

    @property
    def is_open(self) -> bool:
        """Whether nobody knows yet what became of it."""
        return self.state in {OrderState.INTENT, OrderState.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an order.

    Attributes:
        message: One sentence; harmless.
    """

    state: OrderState
    message: str
