"""Docker and its running containers."""

import json

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_to_end
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S

MEMORY_EVERY = 3  # reading the containers' memory takes seconds: not each time
MAX_CONTAINERS = 500


class DockerReader:
    def __init__(self):
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
        run = run_to_end([tool, "ps", "--no-trunc", "--format", "{{json .}}"], TOOL_TIMEOUT_S)
        if run.code:
            raise Failed(first_line(run.err) or "docker ps: exit %d" % run.code)
        rows = json_lines(run.out)
        if rows and self.round % MEMORY_EVERY == 0:
            self.read_memory_of_containers(tool)
        self.round += 1
        containers = []
        for row in rows:
            short = str(row.get("ID", ""))[:12]
            containers.append(
                {
                    "id": short,
                    "name": str(row.get("Names", ""))[:200],
                    "image": str(row.get("Image", ""))[:300],
                    "status": str(row.get("Status", ""))[:100],
                    "memory": self.memory.get(short),
                }
            )
        return {"version": version, "containers": containers}

    def read_memory_of_containers(self, tool):
        argv = [tool, "stats", "--no-stream", "--format", "{{json .}}"]
        run = run_to_end(argv, TOOL_TIMEOUT_S)
        self.memory = {}
        for row in json_lines(run.out) if not run.code else ():
            used = size_in_bytes(str(row.get("MemUsage", "")).partition("/")[0])
            self.memory[str(row.get("ID") or row.get("Container") or "")[:12]] = used


def json_lines(data):
    rows = []
    for line in data.decode("utf-8", "replace").splitlines()[:MAX_CONTAINERS]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows
