"""What a desk asks of its machines, each by its station: reads, mutations, jobs, the link."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.act.requests import Request
from core.errors import NotThere
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.job import Job
from core.ports import Reply, SignIn, Station
from core.watch.log_headers import header_frame


class Reaching:
    """The stations of a desk, by the names of their machines."""

    def __init__(self, stations: Sequence[Station]) -> None:
        self._stations = {station.machine: station for station in stations}

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        raise NotImplementedError

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET `path` of a process's control channel.

        Raises:
            RequestFailed: No answer (see `Station.request`).
        """
        station = self._station(process)
        head = {"pid": process.pid, "start": process.start, "path": path, "deadline": deadline}
        return await station.request(Frame("get", head), deadline=deadline)

    async def send(self, process: ProcessKey, request: Request, *, deadline: float) -> Reply:
        """Send a mutation or a signal to a process, once (`core.act.reader.Asker`).

        Raises:
            RequestFailed: No answer; unless it says "not sent", it may have been applied.
        """
        return await self._station(process).request(request.frame(process), deadline=deadline)

    async def header(self, task: TaskKey, *, deadline: float) -> Reply:
        """Have a task's log header read by that machine's own Inspect.

        Raises:
            RequestFailed: No answer.
        """
        if task not in self.fleet.tasks:
            raise NotThere("that task is not known any more")
        frame = header_frame(self.fleet, task)
        return await self._station(task.process).request(frame, deadline=deadline)

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """Have a job of a launch done there (`core.model.job.Worker`).

        Raises:
            JobFailed, RequestFailed: As there.
        """
        return await self._station_of(machine).work(job, deadline=deadline)

    def _station(self, process: ProcessKey) -> Station:
        return self._station_of(process.machine)

    def _station_of(self, machine: MachineName) -> Station:
        station = self._stations.get(machine)
        if station is None:
            raise NotThere(f"not sent: there is no machine {machine}")
        return station

    def retry(self, machine: MachineName) -> None:
        """Try this machine's link at once."""
        station = self._stations.get(machine)
        if station is not None:
            station.retry_now()

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        """See `core.ports.Room.accept_key`."""
        station = self._stations.get(machine)
        if station is not None:
            station.accept_key(fingerprint)

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        """Return what the operator runs to sign in to this machine; None: nothing."""
        station = self._stations.get(machine)
        return await station.sign_in() if station is not None else None
