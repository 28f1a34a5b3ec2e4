"""An order: one request of a confirmed plan to one target, and its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from core.ids import Address, Target
from core.model.action import Action

BasisValue = str | int | float | bool | None
Basis = Mapping[str, BasisValue]
"""The state that a plan was based on, by field. Machine, pid and start are in the target's key."""


class OrderState(StrEnum):
    """The state of an order: being sent, then its outcome. Only `unknown` may change later."""

    SENDING = "sending"
    DONE = "done"
    NO_CHANGE = "no change"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> "OrderState | None":
        """Read the words of older recordings and databases."""
        return next((state for state, word in OLDER_STATES.items() if word == value), None)


OLDER_STATES = MappingProxyType({OrderState.SENDING: "intent", OrderState.NO_CHANGE: "noop"})
"""The words of an older evalroom for states that have another word now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One running evalroom process. Orders name it, so that orders of a dead one can be settled.

    Attributes:
        host: The name of its computer.
        boot: The boot id of that computer.
        pid, start: Its process id and start time (opaque text).
        operator: The operator's name, from git or the system.
    """

    host: str
    boot: str
    pid: int
    start: str
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One entry of the journal of orders. It contains no free text of an evaluated agent.

    Attributes:
        id: Unique everywhere.
        plan: The id of its plan.
        at: When it was written, before it was sent; Unix seconds at the desk.
        instance: The evalroom that wrote it.
        address: The address of its target.
        action: Its action.
        name: The target's name, for people.
        request: `POST /...` with its query, or `SIGNAL INT`.
        command: The equivalent shell command.
        preview: The sentence of its preview.
        basis: The state of the target that its plan was based on.
        undo: The action that undoes it; None: it can't be undone.
        reason: The operator's reason, in the operator's words.
        is_ours: Whether this operator launched the run.
        state, message, ended_at: Its outcome, and when it was known, Unix seconds at the desk.
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
    state: OrderState = OrderState.SENDING
    message: str = ""
    ended_at: float | None = None

    @property
    def target(self) -> Target:
        """The target of the order."""
        return self.address.target

    @property
    def is_open(self) -> bool:
        """Whether its outcome is not known yet."""
        return self.state in {OrderState.SENDING, OrderState.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of an order; `message` is one sentence, harmless to show."""

    state: OrderState
    message: str
