"""Requests of the desk to its machines: reads, mutations, log headers, jobs, the link."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from core.act.requests import RECOVER, Request
from core.ctl.decode import parse_object, text
from core.desk.log_access import LogVariables, no_variables, with_access
from core.errors import AnswerMalformed, NotThere, RequestFailed
from core.events import Event
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.job import Job
from core.model.log_summary import LogHeader, LogSummary, UnreadLog
from core.model.timeouts import REQUEST_TIMEOUT_S
from core.ports import MachineConnection, Reply, SignIn
from core.watch.log_reads import (
    has_location,
    log_answer,
    log_event,
    logs_frame,
    recovered_log_frame,
    recovery_frame,
    sample_frame,
    sample_reply,
)
from core.watch.log_routes import DEADLINE_S as LOG_DEADLINE_S
from core.watch.log_routes import log_read_of

_OK = 200


class MachineRequests:
    """Sends each request through the connection of its machine.

    Args:
        connections: One for each machine.
        log_variables: Returns the variables with which to read the log of a run.
    """

    def __init__(
        self,
        connections: Sequence[MachineConnection],
        log_variables: LogVariables = no_variables,
    ) -> None:
        self._connections = {connection.machine: connection for connection in connections}
        self._log_variables = log_variables

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the desk's time, Unix seconds."""
        raise NotImplementedError

    def post(self, event: Event) -> None:
        """Take an event in."""
        raise NotImplementedError(event)

    async def read(
        self, process: ProcessKey, path: str, *, deadline: float = REQUEST_TIMEOUT_S
    ) -> Reply:
        """GET `path` of a process's control channel.

        A path about samples of an eval that has ended is answered from its log, in the same form.

        Raises:
            RequestFailed: No answer (see `MachineConnection.request`).
        """
        from_log = log_read_of(self.fleet, process, path)
        if from_log is not None:
            return await self._read_sample(*from_log, deadline=max(deadline, LOG_DEADLINE_S))
        head = {"pid": process.pid, "start": process.start, "path": path, "deadline": deadline}
        connection = self._connection_to(process.machine)
        return await connection.request(Frame("get", head), deadline=deadline)

    async def _read_sample(
        self, task: TaskKey, asked: Mapping[str, Any], *, deadline: float
    ) -> Reply:
        frame = await self._with_access(sample_frame(self.fleet, task, asked), task)
        reply = await self._connection_to(task.machine).request(frame, deadline=deadline)
        return await asyncio.to_thread(sample_reply, reply)

    async def send(self, process: ProcessKey, request: Request, *, deadline: float) -> Reply:
        """Send a mutation or a signal to a process, once.

        Raises:
            RequestFailed: No answer. Unless the message begins with "not sent", the
                request may have been applied.
        """
        if request.method == RECOVER:
            return await self._recover(process, request.path, deadline)
        connection = self._connection_to(process.machine)
        return await connection.request(request.frame(process), deadline=deadline)

    async def _recover(self, process: ProcessKey, log: str, deadline: float) -> Reply:
        """Have a log recovered, then read the new one: it takes the place of the old one."""
        known = self.fleet.processes.get(process)
        keys = known.tasks if known is not None else ()
        task = next((key for key in keys if self.fleet.tasks[key].row.log_location == log), None)
        if task is None:
            raise NotThere("not sent: this task is no longer known")
        connection = self._connection_to(process.machine)
        frame = await self._with_access(recovery_frame(self.fleet, task), task)
        reply = sample_reply(await connection.request(frame, deadline=deadline))
        new = _recovered_log(reply)
        if new is not None:
            with suppress(RequestFailed):  # it is recovered, whether it can be read now or not
                frame = recovered_log_frame(self.fleet, task, new)
                frame = await self._with_access(frame, task)
                answer = log_answer(await connection.request(frame, deadline=LOG_DEADLINE_S))
                if (reading := answer.logs.get(new)) is not None:
                    self.post(log_event(task, reading, self.now()))
        return reply

    async def log_header(self, task: TaskKey, *, deadline: float) -> LogHeader:
        """Have the header of a task's log read by the Inspect of its machine, now.

        Raises:
            NotThere: The fleet has no such task.
            RequestFailed: No answer, or the log can't be read.
        """
        known = self.fleet.tasks.get(task)
        if known is None:
            raise NotThere("this task is no longer known")
        if not has_location(known):
            raise RequestFailed("Inspect has not reported a log of this task")
        frame = logs_frame(self.fleet, (task,), with_samples=False)
        frame = await self._with_access(frame, task)
        answer = log_answer(
            await self._connection_to(task.machine).request(frame, deadline=deadline)
        )
        match answer.logs.get(known.row.log_location):
            case LogSummary(header=header):
                return header
            case UnreadLog(reason=reason):
                raise RequestFailed(f"the log can't be read: {reason}")
            case None:
                raise RequestFailed(f"the log was not read: {answer.why or 'no answer'}")

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Run a job of a launch on a machine (see `core.model.job.Worker`).

        Raises:
            JobFailed: The machine can't do it.
            RequestFailed: No answer; the job may have been done.
        """
        return await self._connection_to(machine).work(job, deadline=deadline)

    async def _with_access(self, frame: Frame, task: TaskKey) -> Frame:
        return await with_access(frame, self.fleet, task, self._log_variables)

    def _connection_to(self, machine: MachineName) -> MachineConnection:
        connection = self._connections.get(machine)
        if connection is None:
            raise NotThere(f"not sent: evalroom knows no machine {machine}")
        return connection

    def retry(self, machine: MachineName) -> None:
        """Try to connect to this machine at once."""
        connection = self._connections.get(machine)
        if connection is not None:
            connection.retry_now()

    def poll_now(self, process: ProcessKey) -> None:
        """Poll a process once now, even in the pause after a slow poll."""
        if (connection := self._connections.get(process.machine)) is not None:
            connection.send(Frame("poll", {"pid": process.pid, "start": process.start}))

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        """Accept a machine's unknown host key (see `core.ports.Room.accept_key`).

        Raises:
            StorageError: It can't be written down; the key stays unknown.
        """
        connection = self._connections.get(machine)
        if connection is not None:
            connection.accept_key(fingerprint)

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        """Return what the operator runs to sign in to this machine; None: nothing to run."""
        connection = self._connections.get(machine)
        return await connection.sign_in() if connection is not None else None


def _recovered_log(reply: Reply) -> str | None:
    """Return the path of the log that a recovery wrote; None: it wrote none."""
    if reply.error is not None or reply.status != _OK:
        return None
    try:
        return text(parse_object(reply.body), "log")
    except AnswerMalformed:
        return None
