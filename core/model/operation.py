"""An operation: what an eval does now by Inspect's trace file, such as a command in a sandbox."""

from dataclasses import dataclass

from core.model.sample import SampleId
from core.text import Shown, shown

LONG_COMMAND_S = 600.0
"""A command that has run for so long has run for long, seconds."""

_K8S = "K8s "
"""The begin of the actions of Inspect's sandbox in Kubernetes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation that has begun and has not ended.

    Attributes:
        action: Inspect's name of the action: `Subprocess`, `Model`, `Tool Call` ...
        what: What it is: `docker exec`, `docker compose up`, `subprocess`; else the action.
        words: The first words of its command, or the name of the tool; empty: unknown or withheld.
            Untrusted.
        since: When it began, Unix seconds on the host's clock.
        task: The name of its task; empty: it is not about a sample.
        sample: Its sample; None: it is not about one.
        count: How many operations of this kind the sample has now; this one is the oldest.
    """

    action: str
    what: str
    words: str = ""
    since: float
    task: str = ""
    sample: SampleId | None = None
    count: int = 1

    @property
    def is_command(self) -> bool:
        """Whether it is a command, in a sandbox or beside the eval."""
        return self.action == "Subprocess" or self.action.startswith(_K8S)


def operation_words(operation: Operation) -> Shown:
    """Return an operation in words: `docker exec sleep 1000`, `generating`, the name of a tool."""
    if operation.action == "Model":
        return shown("generating")
    if operation.action == "Tool Call":
        return shown(operation.words or "tool")
    return shown(f"{operation.what} {operation.words}".rstrip())
