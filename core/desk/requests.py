"""What a desk asks of its machines, each by its connection: reads, mutations, jobs, the link."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.act.requests import Request
from core.errors import NotThere
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.job import Job
from core.ports import MachineConnection, Reply, SignIn
from core.watch.log_headers import header_frame


class MachineRequests:
    """The connections of a desk, by the names of their machines."""

    def __init__(self, connections: Sequence[MachineConnection]) -> None:
        self._connections = {connection.machine: connection for connection in connections}

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        raise NotImplementedError

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET `path` of a process's control channel.

        Raises:
            RequestFailed: No answer (see `MachineConnection.request`).
        """
        connection = self._connection(process)
        head = {"pid": process.pid, "start": process.start, "path": path, "deadline": deadline}
        return await connection.request(Frame("get", head), deadline=deadline)

    async def send(self, process: ProcessKey, request: Request, *, deadline: float) -> Reply:
        """Send a mutation or a signal to a process, once (`core.act.ports.ActionDesk`).

        Raises:
            RequestFailed: No answer; unless it says "not sent", it may have been applied.
        """
        return await self._connection(process).request(request.frame(process), deadline=deadline)

    async def header(self, task: TaskKey, *, deadline: float) -> Reply:
        """Have a task's log header read by that machine's own Inspect.

        Raises:
            RequestFailed: No answer.
        """
        if task not in self.fleet.tasks:
            raise NotThere("that task is not known any more")
        frame = header_frame(self.fleet, task)
        return await self._connection(task.process).request(frame, deadline=deadline)

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Have a job of a launch done there (`core.model.job.Worker`).

        Raises:
            JobFailed, RequestFailed: As there.
        """
        return await self._connection_of(machine).work(job, deadline=deadline)

    def _connection(self, process: ProcessKey) -> MachineConnection:
        return self._connection_of(process.machine)

    def _connection_of(self, machine: MachineName) -> MachineConnection:
        connection = self._connections.get(machine)
        if connection is None:
            raise NotThere(f"not sent: there is no machine {machine}")
        return connection

    def retry(self, machine: MachineName) -> None:
        """Try this machine's link at once."""
        connection = self._connections.get(machine)
        if connection is not None:
            connection.retry_now()

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        """See `core.ports.Room.accept_key`."""
        connection = self._connections.get(machine)
        if connection is not None:
            connection.accept_key(fingerprint)

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        """Return what the operator runs to sign in to this machine; None: nothing."""
        connection = self._connections.get(machine)
        return await connection.sign_in() if connection is not None else None
