"""GPUs of NVIDIA, as nvidia-smi reports them."""

import collections
import re

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.gpu_rows import blank_gpu
from ssh.shipped.common.nvidia import query_nvidia, read_users, warning_of
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tools import run_to_end
from ssh.shipped.common.units import MIB, WHOLE_NUMBER, csv_number
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S

MAX_PIDS = 256
QUERIED = ("index", "uuid", "name", "utilization.gpu", "memory.used", "memory.total")
QUERIED += ("temperature.gpu", "power.draw", "power.limit", "mig.mode.current")


def read_nvidia(tool):
    """Return the rows of the GPUs, and what nvidia-smi warns of; None: nothing."""
    run, names, rows = query_nvidia(tool, "gpu", QUERIED, TOOL_TIMEOUT_S)
    gpus, lost = [], set()
    for cells in rows:
        if len(cells) >= len(names) and WHOLE_NUMBER.match(cells[0]):
            gpus.append(nvidia_row(cells))
        elif is_about_a_lost_gpu(", ".join(cells)):
            lost.add(", ".join(cells))
    for line in run.err.decode("utf-8", "replace").splitlines():
        if is_about_a_lost_gpu(line):
            lost.add(line.strip())
    for line in sorted(lost):
        used = {gpu["index"] for gpu in gpus}
        index = next(number for number in range(len(used) + 1) if number not in used)
        bus = re.search(r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])", line)
        row = blank_gpu(index)
        row.update(name="GPU at %s" % bus.group(1) if bus else "GPU", lost=True)
        gpus.append(row)
    if not gpus:
        if b"No devices" in run.out + run.err:
            return [], None
        why = first_line(run.err) if run.code else ""
        raise Failed(why or first_line(run.out, 120) or "exit %d" % run.code)
    gpus.sort(key=lambda gpu: gpu["index"])
    if any(gpu["mig"] for gpu in gpus):
        gpus = with_slices(tool, gpus)
    warning = warning_of(run)
    if any(not gpu["lost"] for gpu in gpus):
        why = add_pids(tool, gpus)
        warning = warning or (why and "nvidia-smi does not list the processes: %s" % why)
    return gpus, warning


def is_about_a_lost_gpu(line):
    return "lost" in line.lower() or "unable to determine the device handle" in line.lower()


def nvidia_row(cells):
    row = blank_gpu(int(cells[0]))
    row.update(
        uuid=cells[1] if cells[1].startswith("GPU") else None,
        name=cells[2][:200],
        utilisation=csv_number(cells[3]),
        memory_used=csv_number(cells[4], MIB),
        memory_total=csv_number(cells[5], MIB),
        temperature=csv_number(cells[6]),
        power=csv_number(cells[7]),
        power_limit=csv_number(cells[8]),
        mig="enabled" if len(cells) > 9 and cells[9].lower() == "enabled" else None,
        lost=any("lost" in cell.lower() for cell in cells[1:]),
    )
    return row


def with_slices(tool, gpus):
    """Return the rows with each MIG slice after its GPU, named by `nvidia-smi -L`."""
    run = run_to_end([tool, "-L"], TOOL_TIMEOUT_S)
    slices = collections.defaultdict(list)
    current = None
    for line in run.out.decode("utf-8", "replace").splitlines():
        top = re.match(r"GPU ([0-9]{1,18}):", line)
        if top:
            current = int(top.group(1))
        part = re.match(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)", line)
        if part and current is not None:
            row = blank_gpu(current)
            row.update(name="MIG " + part.group(1), mig=part.group(1), uuid=part.group(2))
            slices[current].append(row)
    rows = []
    for gpu in gpus:
        rows.append(gpu)
        rows.extend(slices.get(gpu["index"], ()) if gpu["mig"] else ())
    return rows


def add_pids(tool, gpus):
    """Add to the rows the processes on the GPUs; return why they are unknown, or None."""
    count = len({gpu["index"] for gpu in gpus if not gpu["lost"]})  # slices have its index
    users, why = read_users(tool, count, TOOL_TIMEOUT_S)
    for gpu in gpus:
        for pid, memory in users.get(gpu["uuid"], ())[:MAX_PIDS]:
            if WHOLE_NUMBER.match(pid):
                gpu["pids"].append({"pid": int(pid), "memory": csv_number(memory, MIB)})
    return why
