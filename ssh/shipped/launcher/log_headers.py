"""Headers of a run's logs, read by the Inspect of that run."""

import os
import subprocess
import time

from ssh.shipped.common.answers import objects_in
from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.paths import at_home
from ssh.shipped.launcher.files import TAIL_BYTES
from ssh.shipped.launcher.log_files import SEARCH_TIMEOUT_S, newest_first, newest_logs
from ssh.shipped.launcher.manifests import manifest_of

HEADER_TIMEOUT_S = 60


def read_logs(given):
    """Return a row with the header for each of a run's newest logs."""
    folder = at_home(given["directory"])
    manifest = manifest_of(folder)
    words = manifest.get("inspect")
    if not words or not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        raise CannotDo("the folder %s does not record how to run its Inspect" % folder)
    inspect = RunInspect([at_home(word) for word in words], env_of(manifest), folder)
    where = given["log_dir"]
    if "://" in where:
        found, error = inspect.list_logs(where)
        if error:
            return {"logs": [{"path": where, "header": None, "error": error}]}
    else:
        until = time.monotonic() + SEARCH_TIMEOUT_S
        found = newest_logs(os.path.join(folder, at_home(where)), until)
    rows, since = [], changed_at(os.path.join(folder, "started"))
    for row in found:
        header, error = inspect.header_of(row["path"])
        rows.append(dict(row, header=header, error=error, is_old=row["at"] < since))
    return {"logs": rows}


def changed_at(path):
    """Return when a file or folder was last changed, Unix seconds; 0 if it does not exist."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def env_of(manifest):
    """Return the environment for a run's Inspect; it may name uv's cache."""
    env = {n: v for n, v in os.environ.items() if not n.startswith("INSPECT_")}
    spec, data_dir = manifest.get("spec"), manifest.get("data_dir")
    given = spec.get("env") if isinstance(spec, dict) else None
    if isinstance(given, dict):
        env.update((n, v) for n, v in given.items() if isinstance(v, str))
    if data_dir and isinstance(data_dir, str):
        env["XDG_DATA_HOME"] = at_home(data_dir)
    return env


class RunInspect:
    """The Inspect of one run. Its methods return (value, None) or (nothing, why)."""

    def __init__(self, words, env, folder):
        self.words = words
        self.env = env
        self.folder = folder

    def list_logs(self, where):
        """Return the newest logs of a location that only Inspect can list."""
        out, error = self.run("log", "list", "--json", "--absolute", "--log-dir", where)
        if error:
            return [], error
        try:
            found = [
                {"path": each["name"], "size": each["size"], "at": (each["mtime"] or 0) / 1000.0}
                for each in objects_in(out, "name")
            ]
        except (KeyError, TypeError):
            return [], "Inspect did not print a list of logs"
        return newest_first(found), None

    def header_of(self, path):
        out, error = self.run("log", "dump", "--header-only", path)
        if error:
            return None, error
        for found in objects_in(out, "status"):
            if isinstance(found.get("eval"), dict):
                try:
                    return header_row(found), None
                except (AttributeError, TypeError):
                    continue
        return None, "Inspect did not print the header of a log"

    def run(self, *arguments):
        """Return what Inspect prints."""
        try:
            done = subprocess.run(
                [*self.words, *arguments],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=HEADER_TIMEOUT_S,
            )
        except (OSError, ValueError, TypeError, subprocess.TimeoutExpired) as error:
            return None, str(error)
        if done.returncode != 0:
            why = done.stderr[-TAIL_BYTES:].decode("utf-8", "replace")
            return None, why or "Inspect gave no reason"
        return done.stdout.decode("utf-8", "replace"), None


def header_row(header):
    """Return the fields of a header that a launch needs; none contains text of an agent."""
    what, results = header.get("eval") or {}, header.get("results") or {}
    return {
        "status": header.get("status"),
        "eval": {name: what.get(name) for name in ("task", "model", "eval_id", "task_id")},
        "has_error": bool(header.get("error")),
        "results": {
            name: results.get(name) for name in ("scores", "total_samples", "completed_samples")
        },
    }
