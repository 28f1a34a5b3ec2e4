"""Removes containers that evals of Inspect left behind."""

import json
import re

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.sandbox_projects import PROJECT_LABEL, SANDBOX_PROJECT
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_to_end

LIST_TIMEOUT_S = 30.0
REMOVE_TIMEOUT_S = 180.0
CONTAINER_ID = re.compile(r"[0-9a-f]{12,64}\Z")


def remove_containers(given):
    """Remove exactly the given containers, with their volumes and their projects' networks.

    `given["containers"]`: id -> the Compose project that it must belong to. One that is no longer
    there, or that belongs to another project, is left alone.
    """
    wanted = given["containers"]
    for each, project in wanted.items():
        if not CONTAINER_ID.match(each) or not SANDBOX_PROJECT.match(project):
            raise CannotDo("not a container of Inspect")
    tool = find_tool("docker")
    if not tool:
        raise CannotDo("docker is not installed on this machine")
    there = {full[:12]: project for full, project in listed_containers(tool)}
    chosen = sorted(each for each, project in wanted.items() if there.get(each[:12]) == project)
    if chosen:
        run = run_to_end([tool, "rm", "--force", "--volumes", *chosen], REMOVE_TIMEOUT_S)
        if run.code:
            raise CannotDo("docker rm: %s" % (first_line(run.err) or "exit %d" % run.code))
    for project in sorted({wanted[each] for each in chosen}):
        remove_networks(tool, project)
    return {"removed": chosen}


def listed_containers(tool):
    row = '{"id":{{json .ID}},"project":{{json (.Label "%s")}}}' % PROJECT_LABEL
    run = run_to_end([tool, "ps", "--all", "--no-trunc", "--format", row], LIST_TIMEOUT_S)
    if run.code:
        raise CannotDo("docker ps: %s" % (first_line(run.err) or "exit %d" % run.code))
    for line in run.out.decode("utf-8", "replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        yield str(found.get("id")), str(found.get("project"))


def remove_networks(tool, project):
    """Remove the networks of a project; one that is still in use stays."""
    label = "label=%s=%s" % (PROJECT_LABEL, project)
    run = run_to_end([tool, "network", "ls", "--quiet", "--filter", label], LIST_TIMEOUT_S)
    for network in run.out.decode("ascii", "replace").split() if not run.code else ():
        run_to_end([tool, "network", "rm", network], LIST_TIMEOUT_S)
