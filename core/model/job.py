"""A job: one thing that a program of ours does on a machine for a launch, and is done.

The probe watches and never writes; what a launch needs (a folder made, a script started, facts
for a preflight) is done by short programs, each on a channel of its own, started as the probe
is. A job that is done again does no harm: it is named by its run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from core.ids import MachineName

JobProgram = Literal["launcher", "survey", "fetch"]
"""A file of `ssh/shipped`: what starts and finds runs, what looks around, what brings things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        verb: What that program is to do.
        given: What it needs to know, in JSON's types.
        changes: Whether it may change something there: none of these goes to a read-only machine.
        secrets: Values that go over its standard input and nowhere else.
        body: Bytes that follow what it is asked; a program that takes none gets none.
    """

    program: JobProgram
    verb: str
    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    changes: bool = True
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    body: bytes = field(default=b"", repr=False)


class Worker(Protocol):
    """Who has jobs done; the desk, over its connections."""

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Have a job done and return what its program answered.

        Args:
            machine: Where.
            job: What.
            deadline: Seconds.

        Raises:
            JobFailed: It can't be done; the sentence is that machine's.
            RequestFailed: The link is down, was lost, or the deadline passed. Unless it says
                "not sent", it may have been done all the same.
        """
        ...
