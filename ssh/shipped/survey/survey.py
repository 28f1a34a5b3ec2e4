"""Reads the requested facts."""

import os

from ssh.shipped.common.reservations import fcntl
from ssh.shipped.survey.caches import read_caches
from ssh.shipped.survey.docker import read_docker, read_image
from ssh.shipped.survey.folders import (
    FOLDER_TIMEOUT_S,
    read_log_folder,
    read_place,
    read_run_folder,
)
from ssh.shipped.survey.gpus import read_gpus
from ssh.shipped.survey.host import read_host
from ssh.shipped.survey.inspect_tasks import inspect_timeout, read_inspect
from ssh.shipped.survey.limits import read_limits, read_temporary
from ssh.shipped.survey.network import reach_host
from ssh.shipped.survey.programs import TOOL_TIMEOUT_S, read_uv, read_version
from ssh.shipped.survey.reservations import read_reservations
from ssh.shipped.survey.running import read_running
from ssh.shipped.survey.session import leave_child, read_session
from ssh.shipped.survey.side_by_side import each_of, side_by_side
from ssh.shipped.survey.tmux_server import read_tmux_server

MAX_IMAGES = 20
IMAGE_TIMEOUT_S = 12.0


def survey(given):
    """Return each key's state with its value, or with the reason why it has none."""
    env = dict(os.environ, **(given.get("variables") or {}))
    readers = {
        "machine": (read_host, 5.0),
        "limits": (read_limits, 5.0),
        "temporary": (lambda: read_temporary(env), FOLDER_TIMEOUT_S),
        "session": (lambda: read_session(bool(given.get("leave_child"))), 6.0),
        "docker": (read_docker, 3 * TOOL_TIMEOUT_S),
        "gpus": (read_gpus, 3 * TOOL_TIMEOUT_S),
        "running": (read_running, 6.0),
        "caches": (lambda: read_caches(env, given.get("models") or []), FOLDER_TIMEOUT_S),
        "uv": (lambda: read_uv(given.get("uv") or "uv"), 6.0),
        "places": (lambda: each_of(read_place, given.get("places"), FOLDER_TIMEOUT_S), 6.0),
        "logs": (lambda: each_of(read_log_folder, given.get("logs"), FOLDER_TIMEOUT_S), 6.0),
        "runs": (lambda: each_of(read_run_folder, given.get("runs"), FOLDER_TIMEOUT_S), 6.0),
        "programs": (lambda: each_of(read_version, given.get("programs"), 7.0), 8.0),
        "hosts": (lambda: each_of(reach_host, given.get("hosts"), 6.0), 8.0),
        "variables": (lambda: [n for n in given.get("names") or [] if os.environ.get(n)], 2.0),
    }
    folders = given.get("reservations")
    if folders and fcntl is not None:
        readers["reservations"] = (lambda: read_reservations(folders), FOLDER_TIMEOUT_S)
    if given.get("tmux"):
        readers["tmux_server"] = (lambda: read_tmux_server(given["tmux"]), 5.0)
    if given.get("leave_child"):
        readers["child"] = (leave_child, 3.0)
    if given.get("interpreter"):
        readers["inspect"] = (lambda: read_inspect(given), inspect_timeout(given))
    skipped = [name for name in given.get("skip") or [] if readers.pop(name, None)]
    results = side_by_side(readers)
    results["images"] = {"state": "ok", "value": images_of(results, given)}
    results.update((name, {"state": "stuck", "error": "it hung before"}) for name in skipped)
    return results


def images_of(results, given):
    """Return for each image that the tasks need whether it is there, if Docker answers."""
    if (results.get("docker") or {}).get("state") != "ok":
        return {}
    tasks = (results.get("inspect") or {}).get("value") or {}
    rows = (tasks.get("tasks") or {}).values()
    rows = [row for row in rows if given.get("sandbox") or row.get("sandbox") == "docker"]
    names = [name for row in rows for name in row.get("images") or [] if isinstance(name, str)]
    return each_of(read_image, list(dict.fromkeys(names))[:MAX_IMAGES], IMAGE_TIMEOUT_S)
