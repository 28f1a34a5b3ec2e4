"""Which tasks use a model server of their machine."""

from core.fleet import Fleet
from core.fold.sandboxes import processes_of
from core.judge.model_use import provider_of
from core.model.machine import Machine
from core.model.model_server import ModelServer
from core.model.process import Process
from core.model.task import Task, TaskState

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")  # noqa: S104 - a name in a URL
_OPTION = "--model-base-url"


def users_of(fleet: Fleet, machine: Machine, server: ModelServer) -> tuple[Task, ...]:
    """Return the running tasks of a machine that use one of its model servers.

    By the address in their command line, else by the provider and the name of their model.
    """
    return tuple(
        task
        for process in processes_of(fleet, machine.name)
        if not process.is_over
        for key in process.tasks
        if (task := fleet.tasks[key]).state is TaskState.RUNNING and _uses(process, task, server)
    )


def _uses(process: Process, task: Task, server: ModelServer) -> bool:
    url = _base_url(process)
    if url:
        host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
        return host in _LOOPBACK and port == str(server.port)
    if provider_of(task.row.model) != server.kind:
        return False
    model = task.row.model.partition("/")[2]
    return not server.model or model == server.model or server.model.endswith(f"/{model}")


def _base_url(process: Process) -> str:
    for at, word in enumerate(process.argv):
        name, equals, value = word.partition("=")
        if name == _OPTION:
            return value if equals else " ".join(process.argv[at + 1 : at + 2])
    return ""
