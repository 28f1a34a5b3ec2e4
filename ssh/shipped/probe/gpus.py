"""Reads GPUs with whichever tool this machine has."""

from ssh.shipped.common.failures import Absent
from ssh.shipped.common.own_pids import has_own_pids
from ssh.shipped.common.proc import stat_of
from ssh.shipped.common.rocm import read_rocm
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.probe.nvidia import read_nvidia
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S
from ssh.shipped.probe.unlisted_evals import unlisted_row

MAX_PARENTS = 32
FOREIGN_PIDS = "%s may list processes by their pids outside this container: they are left out"


class GpuReader:
    def __init__(self, probe):
        self.probe = probe

    def __call__(self):
        tool, gpus, warning = read_gpus()
        if has_own_pids() and any(gpu["pids"] for gpu in gpus):
            for gpu in gpus:
                gpu["pids"] = []
            warning = warning or FOREIGN_PIDS % tool
        evals = {each.pid for each in self.probe.processes.all() if each.alive}
        for gpu in gpus:
            for row in gpu["pids"]:
                if row["pid"] not in evals:
                    name_user(row, evals)
        return tool, gpus, warning


def name_user(row, evals):
    """Add to the row of a process on a GPU which eval started it; if none did, what it is."""
    pid = row["pid"]
    for _ in range(MAX_PARENTS):
        pid = (stat_of(pid) or (0, 0))[1]
        if pid in evals:
            row["started_by"] = pid
            return
    row.update(unlisted_row(row["pid"]))


def read_gpus():
    """Return the tool, the rows of the GPUs, and what the tool warns of; None: nothing."""
    nvidia, rocm = find_tool("nvidia-smi"), find_tool("rocm-smi")
    if nvidia:
        gpus, warning = read_nvidia(nvidia)
        if gpus or not rocm:
            return "nvidia-smi", gpus, warning
    if rocm:
        gpus, why = read_rocm(rocm, TOOL_TIMEOUT_S)
        return "rocm-smi", gpus, why and "rocm-smi does not list the processes: %s" % why
    raise Absent("there is neither nvidia-smi nor rocm-smi")
