"""A job: one task that a short program of evalroom does on a machine for a launch, then exits.

The probe only reads. Everything else that a launch needs (make a folder, start a script, read
facts for the preflight) is done by jobs, each on a channel of its own. A job names its run, so it
is safe to do it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from core.ids import MachineName
from core.read_only import job_reads

JobProgram = Literal["launcher", "survey", "fetch"]
"""A program of `ssh/shipped`: starts and finds runs; reads facts; brings files and packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        program: The program that does it.
        verb: The operation of that program.
        given: Its arguments, in JSON's types.
        secrets: Values of secrets by name; they travel on its standard input only.
        body: Bytes that follow the request; empty for a program that takes none.
    """

    program: JobProgram
    verb: str
    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def changes(self) -> bool:
        """Whether it may change something on the machine: then no read-only machine gets it."""
        return not job_reads(self.program, self.verb)


class Worker(Protocol):
    """Runs jobs on machines; the desk does, over its connections."""

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Run a job and return its program's answer.

        Args:
            machine: The machine to run it on.
            job: The job.
            deadline: Timeout, seconds.

        Raises:
            JobFailed: The machine can't do it; the message is the machine's own.
            RequestFailed: The link is down or was lost, or the timeout passed. Unless the
                message says "not sent", the job may have been done.
        """
        ...
