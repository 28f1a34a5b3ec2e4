"""Docker and its running containers."""

import json
import os
import re
from datetime import datetime

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_to_end
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S
from ssh.shipped.probe.unlisted_evals import unlisted_evals

MEMORY_EVERY = 3  # reading the containers' memory takes seconds: not each time
MAX_CONTAINERS = 500
MAX_LISTED = 5000
INSPECT_PROJECT = re.compile(r"inspect-[a-z0-9_-]*-i[a-z0-9]{6,}\Z")
LABEL = '{{json (.Label "com.docker.compose.project%s")}}'
ROW = (
    '{"id":{{json .ID}},"name":{{json .Names}},"image":{{json .Image}},"status":{{json .Status}},'
    '"created":{{json .CreatedAt}},"project":'
    + LABEL % ""
    + ',"config":'
    + LABEL % ".config_files"
    + ',"folder":'
    + LABEL % ".working_dir"
    + "}"
)


class DockerReader:
    def __init__(self, probe):
        self.probe = probe
        self.round = 0
        self.memory = {}

    def __call__(self):
        tool = find_tool("docker")
        if not tool:
            raise Absent("there is no docker")
        run = run_to_end([tool, "version", "--format", "{{.Server.Version}}"], TOOL_TIMEOUT_S)
        if run.code:
            why = first_line(run.err) or first_line(run.out)
            raise Failed(why or "docker version: exit %d" % run.code)
        version = first_line(run.out, 60)
        run = run_to_end([tool, "ps", "--all", "--no-trunc", "--format", ROW], TOOL_TIMEOUT_S)
        if run.code:
            raise Failed(first_line(run.err) or "docker ps: exit %d" % run.code)
        rows = [each for each in json_lines(run.out) if is_listed(each)]
        if any(is_running(each) for each in rows) and self.round % MEMORY_EVERY == 0:
            self.read_memory_of_containers(tool)
        self.round += 1
        containers = [self.container(each) for each in rows[:MAX_CONTAINERS]]
        others = 0
        if LINUX and any(each["project"] for each in containers):
            others = len(unlisted_evals([pid for pid, _ in list(self.probe.processes.by_key)]))
        return {"version": version, "containers": containers, "others": others}

    def container(self, row):
        short = str(row.get("id", ""))[:12]
        return {
            "id": short,
            "name": str(row.get("name", ""))[:200],
            "image": str(row.get("image", ""))[:300],
            "status": str(row.get("status", ""))[:100],
            "memory": self.memory.get(short),
            "is_running": is_running(row),
            "created": time_of(str(row.get("created", ""))),
            "project": project_of(row),
            "is_own": is_own(row),
        }

    def read_memory_of_containers(self, tool):
        argv = [tool, "stats", "--no-stream", "--format", "{{json .}}"]
        run = run_to_end(argv, TOOL_TIMEOUT_S)
        self.memory = {}
        for row in json_lines(run.out) if not run.code else ():
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
    return project if len(project) <= 100 and INSPECT_PROJECT.match(project) else ""


def is_own(row):
    """Whether the files of a container's project belong to this user."""
    paths = (str(row.get("config") or "").split(",")[0], str(row.get("folder") or ""))
    for path in filter(None, paths):
        try:
            return os.stat(path).st_uid == os.getuid()
        except (OSError, ValueError):
            continue
    return False


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
