"""GPUs, as nvidia-smi reports them."""

import os

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.gpu_use import OUTSIDE, hidden_by_login
from ssh.shipped.common.nvidia import query_nvidia, read_users, warning_of
from ssh.shipped.common.own_pids import has_own_pids
from ssh.shipped.common.units import MIB, WHOLE_NUMBER, csv_number
from ssh.shipped.survey.programs import TOOL_TIMEOUT_S, message_of, tool_path
from ssh.shipped.survey.side_by_side import Warned

QUERIED = ("index", "uuid", "name", "memory.used", "memory.total", "utilization.gpu")
QUERIED += ("mig.mode.current",)
MAX_PIDS = 64


def read_gpus():
    tool = tool_path("nvidia-smi")
    run, names, rows = query_nvidia(tool, "gpu", QUERIED, TOOL_TIMEOUT_S)
    gpus = [
        gpu_row(cells)
        for cells in rows
        if len(cells) >= len(names) and WHOLE_NUMBER.match(cells[0])
    ]
    if not gpus:
        if b"No devices" in run.out + run.err:
            return []
        raise Failed(message_of(run))
    users, unknown = read_users(tool, sum(not gpu["lost"] for gpu in gpus), TOOL_TIMEOUT_S)
    hidden = hidden_by_login(gpus, os.environ, is_amd=False)
    are_foreign = has_own_pids()
    for gpu in gpus:
        mine = users.get(gpu["uuid"], ())
        pids = [] if are_foreign else [int(pid) for pid, _ in mine if WHOLE_NUMBER.match(pid)]
        gpu["pids"] = [{"pid": pid} for pid in pids[:MAX_PIDS]]
        if gpu["index"] in hidden:
            gpu["blocked"] = hidden[gpu["index"]]
        elif unknown:
            gpu["blocked"] = "may be in use: nvidia-smi does not list the processes: %s" % unknown
        elif mine and not pids:
            gpu["blocked"] = OUTSIDE if are_foreign else "is in use"
    warning = warning_of(run)
    return Warned(gpus, warning) if warning else gpus


def gpu_row(cells):
    return {
        "index": int(cells[0]),
        "uuid": cells[1] if cells[1].startswith("GPU-") else None,
        "name": cells[2][:100],
        "memory_used": csv_number(cells[3], MIB),
        "memory_total": csv_number(cells[4], MIB),
        "utilisation": csv_number(cells[5]),
        "mig": "enabled" if cells[6:] and cells[6].lower() == "enabled" else None,
        "lost": any("lost" in cell.lower() for cell in cells[1:]),
    }
