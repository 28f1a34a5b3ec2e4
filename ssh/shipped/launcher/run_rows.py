"""The present state of runs, from their folders and processes."""

import json
import os
import re
import time

from ssh.shipped.common.paths import at_home
from ssh.shipped.launcher.files import tail_of
from ssh.shipped.launcher.log_files import SEARCH_TIMEOUT_S, newest_logs
from ssh.shipped.launcher.manifests import manifest_of, short_manifest
from ssh.shipped.launcher.run_hosts import host_of
from ssh.shipped.launcher.run_processes import (
    eval_of,
    is_known_gone,
    left_processes,
    living_processes,
)

MAX_RUNS = 500
MAX_LIST_BYTES = 4 * 1024 * 1024
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}\Z")


def poll_runs(given):
    """Return a row for each of the given runs."""
    by_run, until = living_processes(), time.monotonic() + SEARCH_TIMEOUT_S
    rows = [run_row(each, by_run, until) for each in given["runs"]]
    return {"at": time.time(), "runs": rows}


def list_runs(given):
    """Return a row and a manifest for the newest runs of this account, whoever launched them."""
    base = at_home(given["directory"])
    by_run = living_processes()
    try:
        names = sorted((n for n in os.listdir(base) if RUN_ID.match(n)), reverse=True)
    except OSError:
        names = []
    known = set(given.get("known", ()))
    rows, size = [], 0
    for name in names[: min(MAX_RUNS, given.get("most", MAX_RUNS))]:
        if name not in known:
            row = run_row({"run": name, "directory": os.path.join(base, name)}, by_run)
            row["manifest"] = short_manifest(manifest_of(os.path.join(base, name)))
            size += len(json.dumps(row))
            if size > MAX_LIST_BYTES:  # a shorter list is better than one that is refused
                break
            rows.append(row)
    return {"at": time.time(), "runs": rows, "all": len(names)}


def run_row(asked, by_run, until=0.0):
    """Return the row of one run; the search for its logs stops at `until`, monotonic seconds."""
    run, folder = asked["run"], at_home(asked["directory"])
    row = {"run": run, "there": os.path.isdir(folder)}
    row["started"] = os.path.isdir(os.path.join(folder, "started"))
    row["ended"] = os.path.exists(os.path.join(folder, "launch.json"))
    row["out"] = tail_of(os.path.join(folder, "launch.json"))
    row["err"] = tail_of(os.path.join(folder, "launch.err")) or tail_of(
        os.path.join(folder, "start.err")
    )
    row["output"] = asked.get("output")
    pids = by_run.get(run, {})
    row["host"], row["is_here"] = host_of(folder)
    row["pid"], row["start"] = eval_of(folder, pids, row["out"])
    is_starting = any("eval-set" in argv for _, argv in pids.values())
    is_starting = is_starting and not is_known_gone(folder, row["out"])
    row["alive"] = row["pid"] is not None or is_starting
    row["left"] = [] if row["alive"] else left_processes(pids)
    if row["alive"]:  # a machine may have been renamed since
        row["is_here"] = True
    log_dir = asked.get("log_dir")
    if log_dir:
        row["logs"] = newest_logs(os.path.join(folder, at_home(log_dir)), until)
    return row
