"""Whether a process outlives the link that started it: by trial, and by the session's facts."""

import os
import re
import subprocess
import sys
import time

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.proc import read_file, start_mark, stat_of
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_tool
from ssh.shipped.common.users import user_name

CHILD_LIFE_S = 60  # a child that nobody looks for ends by itself
GONE_WAIT_S = 1.0  # how long an ending session may take to end its processes
CHILD = "import time; time.sleep(%d)" % CHILD_LIFE_S
LOGIN_MANAGER = ("org.freedesktop.login1", "/org/freedesktop/login1")
LOGIN_MANAGER += ("org.freedesktop.login1.Manager",)


def leave_child():
    """Start a process that is detached from this link; return its pid and its start.

    Raises Absent if the answer is known without a trial, because a container may keep zombies.
    """
    if is_entered():
        raise Absent("a program that entered its container leaves processes that stay there")
    null = subprocess.DEVNULL
    argv = [sys.executable, "-I", "-S", "-c", CHILD]
    child = subprocess.Popen(
        argv, stdin=null, stdout=null, stderr=null, cwd="/", start_new_session=True
    )
    return [child.pid, start_mark(child.pid)]


def look_for_child(given):
    """End such a process, and return whether it was still alive."""
    pid, start = given["child"]
    end = time.monotonic() + GONE_WAIT_S
    while start is not None and start_mark(pid) == start:
        if time.monotonic() > end:
            os.kill(pid, 9)
            return {"outlives": True}
        time.sleep(0.05)
    return {"outlives": False}


def read_session(is_command):
    """Return what ends this login's processes with its session; None: nothing known does.

    `step`: a step of a job scheduler. `service`: a service of systemd-run. `container`: a
    container that lives as long as this link's program, a command. `logout`: systemd, at
    logout. `entered` is a container that this program entered from outside, and that stays.
    """
    try:
        groups = read_file("/proc/self/cgroup").decode("utf-8", "replace")
    except OSError:
        return None
    if re.search(r"/step_[^/\n]+", groups) and "slurm" in groups.lower():
        return "step"
    if re.search(r"/run-[^/\n]+\.service(/|$)", groups, re.MULTILINE):
        return "service"
    if is_entered():
        return "entered"
    if is_command and os.getsid(0) == 1:
        return "container"
    if re.search(r"/session-[^/\n]+\.scope(/|$)", groups, re.MULTILINE) and ends_at_logout():
        return "logout"
    return None


def is_entered():
    """Whether this program entered its pid namespace from outside, as with docker exec."""
    pid, stat = os.getpid(), stat_of(os.getpid())
    while stat is not None and stat[1] != 0:
        pid, stat = stat[1], stat_of(stat[1])
    return stat is not None and pid != 1


def ends_at_logout():
    """Whether systemd ends a user's processes at logout (KillUserProcesses of logind.conf)."""
    tool = find_tool("busctl")
    if not tool:
        return False
    values = {}
    for name in ("KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers"):
        try:
            run = run_tool([tool, "get-property", *LOGIN_MANAGER, name], 1.5)
        except Failed:
            return False
        values[name] = run.out.decode("utf-8", "replace") if run.code == 0 else ""
    user = '"%s"' % user_name(os.getuid())
    only = values["KillOnlyUsers"]
    is_meant = '"' not in only or user in only
    return (
        "true" in values["KillUserProcesses"]
        and is_meant
        and (user not in values["KillExcludeUsers"])
    )
