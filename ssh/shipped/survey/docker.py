"""Docker."""

import re

from ssh.shipped.common.answers import objects_in
from ssh.shipped.common.failures import Failed
from ssh.shipped.common.tools import run_to_end, run_tool
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.survey.programs import TOOL_TIMEOUT_S, message_of, tool_path


def read_docker():
    docker = tool_path("docker")
    run = run_to_end([docker, "info", "--format", "{{json .}}"], TOOL_TIMEOUT_S)
    text = run.out.decode("utf-8", "replace")
    found = objects_in(text, "ServerVersion") or objects_in(text, "ServerErrors")
    if not found:
        raise Failed(message_of(run))
    info = found[0]
    errors = info.get("ServerErrors")
    if errors or not info.get("ServerVersion"):
        raise Failed(errors[0] if isinstance(errors, list) and errors else message_of(run))
    root = info.get("DockerRootDir")
    return {
        "version": info.get("ServerVersion"),
        "compose": read_compose(docker),
        "running": info.get("ContainersRunning"),
        "used": memory_of_containers(docker) if info.get("ContainersRunning") else 0,
        "memory": info.get("MemTotal"),
        "root": root if isinstance(root, str) else None,
    }


def read_compose(docker):
    run = run_tool([docker, "compose", "version", "--short"], 5.0)
    version = run.out.decode("utf-8", "replace").strip()
    return version[:40] if run.code == 0 and re.match(r"v?[0-9]", version) else None


def memory_of_containers(docker):
    """Return the bytes that the running containers use together; None if Docker does not say."""
    run = run_tool([docker, "stats", "--no-stream", "--format", "{{.MemUsage}}"], TOOL_TIMEOUT_S)
    if run.code != 0:
        return None
    sizes = [size_in_bytes(line) for line in run.out.decode("utf-8", "replace").splitlines()]
    return sum(size for size in sizes if size is not None)
