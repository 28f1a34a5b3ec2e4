"""Queries of nvidia-smi."""

import re

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.text import first_line, text_of
from ssh.shipped.common.tools import run_to_end

NOTE = re.compile(
    r"warning|inforom|\blost\b|unable to determine the device handle|no running .*found",
    re.IGNORECASE,
)
"""A line of nvidia-smi that is not a row: about one GPU, or that no processes run."""
EXIT_MEANINGS = {4: "permission denied", 14: "the infoROM is corrupted", 15: "a GPU is lost"}
MAX_NOTE = 200  # characters


def query_nvidia(tool, what, names, timeout_s):
    """Query `gpu` or `compute-apps`; return (run, names, rows), each row a list of cells.

    Rows count whatever the exit status: nvidia-smi prints good rows and exits with 14 if the
    infoROM of one GPU is corrupted. If an older driver does not know the last name (MIG), the
    query is repeated without it. A `name` with commas is one cell.
    """
    query = "--query-%s=%s" % (what, ",".join(names))
    run = run_to_end([tool, query, "--format=csv,noheader,nounits"], timeout_s)
    if run.code and b"not a valid field" in run.out + run.err and names[-1].startswith("mig."):
        return query_nvidia(tool, what, names[:-1], timeout_s)
    lines = run.out.decode("utf-8", "replace").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    if "name" in names:
        at = names.index("name")
        for cells in rows:
            end = at + 1 + max(0, len(cells) - len(names))
            cells[at:end] = [", ".join(cells[at:end])] if len(cells) > at else []
    return run, names, rows


def read_users(tool, gpu_count, timeout_s):
    """Return the processes that hold memory, and why their list can't be relied on.

    The first is {UUID: [[pid, MiB]]}, as text; it counts in any case. The second is None if the
    list is whole: then a GPU that is not in it has no process that this account can see.
    `gpu_count` is the number of GPUs that are not lost.
    """
    names = ("gpu_uuid", "pid", "used_memory")
    try:
        run, _, rows = query_nvidia(tool, "compute-apps", names, timeout_s)
    except Failed as error:
        return {}, text_of(error)
    users, others = {}, []
    for cells in rows:
        if len(cells) > 1 and re.match(r"(GPU|MIG)-", cells[0]):
            users.setdefault(cells[0], []).append([*cells[1:], ""][:2])
        elif any(cells) and not NOTE.search(", ".join(cells)):
            others.append(", ".join(cells))
    if others and (run.code or not users):
        return users, others[0][:MAX_NOTE]
    if run.code and not users and not are_all_idle(tool, gpu_count, timeout_s):
        return users, first_line(run.err, MAX_NOTE) or exit_words(run.code)
    return users, None


def are_all_idle(tool, gpu_count, timeout_s):
    """Return whether nvidia-smi says of each GPU that no program computes on it.

    Without a process the list of programs is empty, and a failure may leave it empty too. This
    report says `None` for each GPU that it could read.
    """
    try:
        run = run_to_end([tool, "-q", "-d", "PIDS"], timeout_s)
    except Failed:
        return False
    _, *gpus = re.split(r"(?m)^GPU [0-9A-Fa-f:.]+\s*$", run.out.decode("utf-8", "replace"))
    return len(gpus) >= gpu_count and all(is_idle(gpu) for gpu in gpus)


def is_idle(report):
    """Return whether one GPU's report lists no process, or only those that draw (`Type: G`)."""
    types = re.findall(r"(?m)^\s+Type\s*:\s*(\S+)", report)
    is_none = re.search(r"(?m)^\s+Processes\s*:\s*None\s*$", report) is not None
    return set(types) == {"G"} if types else is_none


def notes_of(run):
    """Return the lines of a run that warn of something."""
    lines = (run.out + b"\n" + run.err).decode("utf-8", "replace").splitlines()
    return [line.strip()[:MAX_NOTE] for line in lines if NOTE.search(line)]


def warning_of(run):
    """Return what nvidia-smi warns of beside its rows, one sentence; None: nothing."""
    if not run.code:
        return None
    notes = notes_of(run)
    return "nvidia-smi warns (%s)%s" % (exit_words(run.code), ": " + notes[0] if notes else "")


def exit_words(code):
    meaning = EXIT_MEANINGS.get(code)
    return "exit %d%s" % (code, ", " + meaning if meaning else "")
