"""Docker."""

import re

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.script_answers import objects_in
from ssh.shipped.common.tools import run_to_end, run_tool
from ssh.shipped.common.units import size_in_bytes
from ssh.shipped.survey.network import reach_host
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
    return {
        "version": info.get("ServerVersion"),
        "compose": read_compose(docker),
        "running": info.get("ContainersRunning"),
        "used": memory_of_containers(docker) if info.get("ContainersRunning") else 0,
        "memory": info.get("MemTotal"),
        "has_proxy": has_proxy(info),
    }


def has_proxy(info):
    """Whether the engine pulls by another way than straight from a registry."""
    registry = info.get("RegistryConfig")
    mirrors = registry.get("Mirrors") if isinstance(registry, dict) else None
    return bool(info.get("HttpProxy") or info.get("HttpsProxy") or mirrors)


def read_image(name):
    """Return whether an image is there; if not, whether its registry can be reached."""
    docker = tool_path("docker")
    run = run_to_end([docker, "image", "inspect", "--format", "{{.Id}}", "--", name], 5.0)
    if run.code == 0:
        return {"there": True}
    if b"no such image" not in (run.out + run.err).lower():
        raise Failed(message_of(run))
    registry = registry_of(name)
    try:
        reach_host(registry)
    except Failed as error:
        return {"there": False, "registry": registry, "error": str(error)}
    return {"there": False, "registry": registry}


def registry_of(name):
    """Return the address of the registry of an image."""
    first, slash, _ = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return "registry-1.docker.io:443"
    return first if ":" in first else first + ":443"


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
