"""GPUs as {index, uuid, why, is_settling}; `why` says why a GPU can't be reserved; None: it can.

`is_settling` is true if only its memory or its utilisation speaks against it: that may be the
end of an eval that just left it.
"""

import os
import re
import threading

from ssh.shipped.common.failures import Failed, Stuck
from ssh.shipped.common.gpu_use import OUTSIDE, hidden_by_login, unseen_use
from ssh.shipped.common.nvidia import query_nvidia, read_users
from ssh.shipped.common.own_pids import has_own_pids
from ssh.shipped.common.rocm import read_rocm
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.units import MIB, csv_number
from ssh.shipped.gpu_holder.refused import Refused

TOOL_TIMEOUT_S = 20.0
QUERIED = ("index", "uuid", "name", "memory.used", "memory.total", "utilization.gpu")
QUERIED += ("mig.mode.current",)


def read_gpus():
    """Return the variables that choose among GPUs for a program, and the GPUs."""
    nvidia, rocm = find_tool("nvidia-smi"), find_tool("rocm-smi")
    gpus = checked(nvidia_gpus, nvidia) if nvidia else []
    if not gpus and rocm:
        return ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"), checked(amd_gpus, rocm)
    if not nvidia:
        raise Refused("this machine has neither nvidia-smi nor rocm-smi, so its GPUs are unknown")
    return ("CUDA_VISIBLE_DEVICES",), gpus


def checked(read, tool):
    """Return what `read` finds; a tool that can't be asked is a reason to reserve nothing."""
    found = []

    def try_to_read():
        try:
            found.append(read(tool))
        except Failed as error:
            found.append(error)

    # In a thread: not even SIGKILL ends a tool that hangs in the driver.
    thread = threading.Thread(target=try_to_read, daemon=True)
    thread.start()
    thread.join(2.5 * TOOL_TIMEOUT_S)
    if not found or isinstance(found[0], Stuck):
        text = "%s did not answer in %d s, so the free GPUs are unknown"
        raise Refused(text % (os.path.basename(tool), TOOL_TIMEOUT_S))
    if isinstance(found[0], Failed):
        raise Refused(str(found[0]))
    thread.join()
    return found[0]


def nvidia_gpus(tool):
    run, names, rows = query_nvidia(tool, "gpu", QUERIED, TOOL_TIMEOUT_S)
    gpus, uses = [], {}
    for cells in rows:
        if len(cells) < 2 or not re.match(r"[0-9]{1,4}\Z", cells[0]):
            continue
        gpu = {"index": int(cells[0]), "uuid": cells[1], "why": None, "is_settling": False}
        gpu["name"] = "".join(cells[2:3])
        if not re.match(r"GPU-[0-9A-Za-z-]{1,80}\Z", cells[1]):
            gpu.update(uuid=None, why="is lost")
        elif len(cells) == len(names) == len(QUERIED) and cells[-1].lower() == "enabled":
            gpu["why"] = "is split into MIG slices, which evalroom does not reserve"
        elif len(cells) >= 6:
            scales = (MIB, MIB, 1)
            numbers = [csv_number(cell, scale) for cell, scale in zip(cells[3:6], scales)]
            uses[gpu["index"]] = unseen_use(*numbers)
        gpus.append(gpu)
    if not gpus:
        if run.code and b"no devices" not in (run.out + run.err).lower():
            why = first_line(run.err) or first_line(run.out) or "exit %d" % run.code
            raise Failed("nvidia-smi lists no GPU: %s" % why)
        return []
    users, unknown = read_users(tool, sum(bool(gpu["uuid"]) for gpu in gpus), TOOL_TIMEOUT_S)
    pids = {gpu["index"]: [pid for pid, _ in users.get(gpu["uuid"], ())] for gpu in gpus}
    unknown = unknown and "nvidia-smi does not list the processes: %s" % unknown
    return judged(gpus, pids, uses, unknown, is_amd=False)


def amd_gpus(tool):
    rows, unknown = read_rocm(tool, TOOL_TIMEOUT_S)
    # HIP takes indexes: reservations of these GPUs are by index too.
    gpus = [{"index": r["index"], "uuid": None, "why": None, "is_settling": False} for r in rows]
    pids = {row["index"]: [str(each["pid"]) for each in row["pids"]] for row in rows}
    uses = {
        r["index"]: unseen_use(r["memory_used"], r["memory_total"], r["utilisation"]) for r in rows
    }
    unknown = unknown and "rocm-smi does not list the processes: %s" % unknown
    return judged(gpus, pids, uses, unknown, is_amd=True)


def judged(gpus, pids, uses, unknown, is_amd):
    """Return the GPUs in order, each with the reason why it can't be reserved."""
    hidden = hidden_by_login(gpus, os.environ, is_amd)
    for gpu in gpus:
        index = gpu["index"]
        if gpu["why"] is not None:
            continue
        if pids[index]:
            listed = "is used by pid " + ", ".join(pids[index][:8])
            gpu["why"] = OUTSIDE if has_own_pids() else listed
        elif index in hidden:
            gpu["why"] = hidden[index]
        elif unknown:
            gpu["why"] = "may be in use: " + unknown
        elif uses.get(index):
            why = "is in use by processes that this account can't see (%s)"
            gpu.update(why=why % uses[index], is_settling=True)
    return sorted(gpus, key=lambda gpu: gpu["index"])
