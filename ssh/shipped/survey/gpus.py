"""GPUs, as nvidia-smi reports them."""

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.nvidia import query_nvidia
from ssh.shipped.common.units import MIB, WHOLE_NUMBER, csv_number
from ssh.shipped.survey.programs import TOOL_TIMEOUT_S, message_of, tool_path

QUERIED = ("index", "uuid", "name", "memory.used", "memory.total", "mig.mode.current")
MAX_PIDS = 64


def read_gpus():
    tool = tool_path("nvidia-smi")
    run, names, rows = query_nvidia(tool, "gpu", QUERIED, TOOL_TIMEOUT_S)
    gpus = [
        gpu_row(cells, len(names))
        for cells in rows
        if len(cells) >= len(names) and WHOLE_NUMBER.match(cells[0])
    ]
    if not gpus:
        if b"No devices" in run.out + run.err:
            return []
        raise Failed(message_of(run))
    by_uuid = {gpu["uuid"]: gpu for gpu in gpus if gpu["uuid"]}
    _, _, rows = query_nvidia(tool, "compute-apps", ("gpu_uuid", "pid"), TOOL_TIMEOUT_S)
    for cells in rows:
        if len(cells) == 2 and WHOLE_NUMBER.match(cells[1]) and cells[0] in by_uuid:
            pids = by_uuid[cells[0]]["pids"]
            if len(pids) < MAX_PIDS:
                pids.append({"pid": int(cells[1])})
    return gpus


def gpu_row(cells, count):
    rest = cells[2 - count :]  # the last cell of the name (it may have commas), and what follows
    return {
        "index": int(cells[0]),
        "uuid": cells[1] if cells[1].startswith("GPU-") else None,
        "name": ", ".join(cells[2 : len(cells) - len(rest) + 1])[:100],
        "memory_used": csv_number(rest[1], MIB),
        "memory_total": csv_number(rest[2], MIB),
        "mig": "enabled" if rest[3:] and rest[3].lower() == "enabled" else None,
        "lost": any("lost" in cell.lower() for cell in cells[1:]),
        "pids": [],
    }
