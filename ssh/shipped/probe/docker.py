"""Docker, its running containers, and which eval holds those of Inspect."""

import json
from datetime import datetime

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.sandbox_projects import PROJECT_LABEL, SANDBOX_PROJECT
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_to_end, run_tool
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.probe.dead_sandboxes import DeadSandboxes
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S
from ssh.shipped.probe.unlisted_evals import unlisted_evals, unlisted_row

MEMORY_EVERY = 3  # reading the containers' memory takes seconds: not each time
MEMORY_EVERY_AFTER_FAILURE = 30
MEMORY_TIMEOUT_S = 10.0
MAX_MEASURED = 100  # containers whose memory is read: `docker stats` takes 3 s for a hundred
MAX_CONTAINERS = 500
MAX_LISTED = 20_000
MAX_LIST_BYTES = 16 * 1024 * 1024
MAX_UNLISTED_ROWS = 5
LABEL = '{{json (.Label "%s")}}' % PROJECT_LABEL
HOLDER_FIELDS = ("pid", "start", "task", "sample_id", "epoch", "is_alive")
ROW = (
    '{"id":{{json .ID}},"name":{{json .Names}},"image":{{json .Image}},"status":{{json .Status}},'
    '"created":{{json .CreatedAt}},"project":' + LABEL + "}"
)


class DockerReader:
    def __init__(self, processes, traces):
        self.processes = processes
        self.traces = traces
        self.memory_in = 0  # rounds until the memory is read again
        self.memory = {}
        self.dead = DeadSandboxes()

    def __call__(self):
        tool = find_tool("docker")
        if not tool:
            raise Absent("docker is not installed")
        run = run_to_end([tool, "version", "--format", "{{.Server.Version}}"], TOOL_TIMEOUT_S)
        if run.code:
            why = first_line(run.err) or first_line(run.out)
            raise Failed(why or "docker version: exit %d" % run.code)
        version = first_line(run.out, 60)
        argv = [tool, "ps", "--all", "--no-trunc", "--format", ROW]
        run = run_to_end(argv, TOOL_TIMEOUT_S, MAX_LIST_BYTES)
        if run.code:
            raise Failed(first_line(run.err) or "docker ps: exit %d" % run.code)
        rows = [each for each in json_lines(run.out) if is_listed(each)]
        rows.sort(key=lambda each: not project_of(each))  # those of Inspect are never left out
        self.memory_in -= 1
        running = [str(each.get("id", ""))[:12] for each in rows if is_running(each)]
        if running and self.memory_in < 0:
            self.read_memory_of_containers(tool, running[:MAX_MEASURED])
        projects = {project_of(each) for each in rows} - {""}
        self.traces.forget_removed(projects)
        holders = self.holders(projects)
        containers = [self.container(each, holders) for each in rows[:MAX_CONTAINERS]]
        unlisted = []
        if LINUX and any(each["project"] and not each["holder"] for each in containers):
            pids = unlisted_evals([pid for pid, _ in list(self.processes.by_key)])
            unlisted = [unlisted_row(pid) for pid in sorted(pids)[:MAX_UNLISTED_ROWS]]
        return {
            "version": version,
            "containers": containers,
            "total": len(rows),
            "unlisted": unlisted,
        }

    def holders(self, projects):
        """Return project -> the sample that made it, and whether its eval lives here."""
        found = self.traces.holders()
        if not LINUX or projects <= set(found):
            return found
        dead = self.dead.holders(self.processes.data_roots())
        return dict(dead, **found)

    def container(self, row, holders):
        short, holder = str(row.get("id", ""))[:12], holders.get(project_of(row))
        return {
            "id": short,
            "name": str(row.get("name", ""))[:200],
            "image": str(row.get("image", ""))[:300],
            "status": str(row.get("status", ""))[:100],
            "memory": self.memory.get(short),
            "is_running": is_running(row),
            "created": time_of(str(row.get("created", ""))),
            "project": project_of(row),
            "holder": dict(zip(HOLDER_FIELDS, holder)) if holder else None,
        }

    def read_memory_of_containers(self, tool, ids):
        """Read their memory; if that fails or hangs, the containers are known all the same."""
        argv = [tool, "stats", "--no-stream", "--format", "{{json .}}", *ids]
        run = run_tool(argv, MEMORY_TIMEOUT_S)
        self.memory = {}
        self.memory_in = (MEMORY_EVERY if run.code == 0 else MEMORY_EVERY_AFTER_FAILURE) - 1
        for row in json_lines(run.out) if run.code == 0 else ():
            used = size_in_bytes(str(row.get("MemUsage", "")).partition("/")[0])
            self.memory[str(row.get("ID") or row.get("Container") or "")[:12]] = used


def is_running(row):
    return str(row.get("status", "")).startswith("Up")


def is_listed(row):
    """Whether a container is listed: all that run, and those of Inspect that have stopped."""
    return is_running(row) or bool(project_of(row))


def project_of(row):
    """Return the Compose project of a container of Inspect; empty: it is not Inspect's."""
    project = str(row.get("project") or "")
    return project if len(project) <= 100 and SANDBOX_PROJECT.match(project) else ""


def time_of(text):
    """Return the Unix seconds of a time as Docker writes it; None: it can't be read."""
    try:
        words = text.split(" ")
        return datetime.strptime(" ".join(words[:3]), "%Y-%m-%d %H:%M:%S %z").timestamp()
    except ValueError:
        return None


def json_lines(data):
    rows = []
    for line in data.decode("utf-8", "replace").splitlines()[:MAX_LISTED]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows
