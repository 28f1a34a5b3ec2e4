"""What starts runs on a machine, finds them again, and reads what they left.

Python 3.8 or newer, the standard library alone. It is started for one job, reads one line of
JSON on its standard input (`verb`, `given`, `secrets`), answers with one line, and is gone.
What it starts lives in a session of its own, so that a link that is cut ends nothing.
"""

import base64
import errno
import fnmatch
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

LINUX = sys.platform.startswith("linux")
MANIFEST = "run.json"
MANIFEST_MOST = 16 * 1024 * 1024
TEXT_MOST = 64 * 1024
TAIL = 4096
LOGS_MOST = 20
RUNS_MOST = 500
LIST_MOST = 4 * 1024 * 1024
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}\Z")
WALK_SECONDS = 10
GIVEN_UP = b"evalroom: its launch was given up before it was started\n"
DEEPEST = 50
TOLD = ("run", "at", "operator", "task", "model", "engine", "launch", "log_dir", "command_line")
TOLD += ("spec",)
HEADER_SECONDS = 60
HEADER_MOST = 64 * 1024 * 1024


class CannotDo(Exception):
    """What keeps a job from being done, as a sentence, and what to do."""

    def __init__(self, sentence, advice=""):
        super().__init__(sentence)
        self.advice = advice


def at_home(path):
    return os.path.join(os.path.expanduser("~"), path[2:]) if path.startswith("~/") else path


# -- files


def make_private(folder):
    """Make a folder and those above it that are missing, each for its owner alone."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise CannotDo(*why_not_written(folder, error)) from error


def why_not_written(path, error):
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space is left for %s" % path, "make room on that disk, then launch again"
    if error.errno == errno.EROFS:
        return "%s is on a disk that can only be read" % path, ""
    return "%s can't be written: %s" % (path, error.strerror or error), ""


def write_private(path, data):
    """Write a file for its owner alone, and see it on the disk."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        fd = os.open(path, flags, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CannotDo(*why_not_written(path, error)) from error


def open_file(path):
    """Open a file to be read; a pipe or a device is none: it may never answer."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no file")
    return os.fdopen(fd, "rb")


def read_some(path, most):
    try:
        with open_file(path) as file:
            return file.read(most)
    except OSError:
        return b""


def json_of(text):
    """Return what a JSON text says; None: it is none, or nested too deep to be ours."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def tail_of(path, most=TAIL):
    try:
        with open_file(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - most))
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


# -- the verbs


def place(given):
    """Make a run's folder with its files, whole or not at all; a second time changes nothing."""
    folder = at_home(given["directory"])
    if os.path.isdir(folder):
        return {"placed": False, "directory": folder}
    part = "%s.part-%d" % (folder, os.getpid())
    make_private(part)
    try:
        for name, text in given["files"].items():
            path = os.path.join(part, name)
            if os.path.relpath(path, part).startswith(".."):
                raise CannotDo("%s is no file of a run's folder" % name)
            make_private(os.path.dirname(path))
            write_private(path, base64.b64decode(text))
        try:
            os.rename(part, folder)
        except OSError as error:
            if not os.path.isdir(folder):
                raise CannotDo(*why_not_written(folder, error)) from error
            return {"placed": False, "directory": folder}
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return {"placed": True, "directory": folder}


def start(given):
    """Start a run's script, in a session of its own, and wait a while for what it says.

    Its output goes into files: what becomes of us, or of the link, does not reach it.
    """
    folder = at_home(given["directory"])
    hidden = given.get("secrets_from")
    if not os.path.isdir(folder):
        raise CannotDo("the folder %s of the run is gone" % folder)
    # Sent again, to a script that has read them, they would lie there for ever.
    if hidden and hidden != "-" and not os.path.isdir(os.path.join(folder, "started")):
        write_secrets(at_home(hidden), given["secrets"])
    outputs = [os.path.join(folder, name) for name in ("start.out", "start.err")]
    taken = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for path in outputs]
    try:
        child = subprocess.Popen(
            ["/bin/sh", given["script"]],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=taken[0],
            stderr=taken[1],
            start_new_session=True,
            preexec_fn=listen_to_interrupts,
        )
    except OSError as error:
        raise CannotDo("the script of the run can't be started: %s" % error) from error
    finally:
        for fd in taken:
            os.close(fd)
    try:
        if hidden == "-":
            child.stdin.write(json.dumps(given["secrets"]).encode("utf-8") + b"\n")
        child.stdin.close()
    except OSError:
        pass  # it ended before it read: its status says why
    try:
        status = child.wait(given.get("wait", 60))
    except subprocess.TimeoutExpired:
        status = None
    out, err = (tail_of(path, TEXT_MOST) for path in outputs)
    return {"status": status, "out": out, "err": err}


def listen_to_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(0o077)


def write_secrets(path, secrets):
    folder = os.path.dirname(path)
    make_private(folder)
    os.chmod(folder, 0o700)
    try:
        os.unlink(path)
    except OSError:
        pass
    write_private(path, json.dumps(secrets).encode("utf-8") + b"\n")


def bar(given):
    """Keep a run that was given up from starting later: its script's own lock is taken."""
    folder = at_home(given["directory"])
    if not os.path.isdir(folder):
        return {"barred": True}
    try:
        os.mkdir(os.path.join(folder, "started"), 0o700)
    except FileExistsError:
        return {"barred": False}
    except OSError as error:
        raise CannotDo(*why_not_written(folder, error)) from error
    # For those who look at the folder and do not know why.
    write_private(os.path.join(folder, "launch.err"), GIVEN_UP)
    return {"barred": True}


def sweep(given):
    """Remove the file of secrets of a run that did not start."""
    path = at_home(given["path"])
    try:
        os.unlink(path)
    except FileNotFoundError:
        return {"swept": False}
    except OSError as error:
        raise CannotDo("%s can't be removed: %s" % (path, error.strerror)) from error
    return {"swept": True}


def look(given):
    """Tell of each of these runs what can be seen of it."""
    by_run, until = living(), time.monotonic() + WALK_SECONDS
    rows = [seen(each, by_run, until) for each in given["runs"]]
    return {"at": time.time(), "runs": rows}


def list_runs(given):
    """Tell of the newest runs of this account, whoever launched them."""
    base = at_home(given["directory"])
    by_run = living()
    try:
        names = sorted((n for n in os.listdir(base) if RUN_ID.match(n)), reverse=True)
    except OSError:
        names = []
    known = set(given.get("known", ()))
    rows, size = [], 0
    for name in names[: min(RUNS_MOST, given.get("most", RUNS_MOST))]:
        if name not in known:
            row = seen({"run": name, "directory": os.path.join(base, name)}, by_run)
            row["manifest"] = told_of_manifest(manifest_of(os.path.join(base, name)))
            size += len(json.dumps(row))
            if size > LIST_MOST:  # the newest are told; an answer that is too large tells none
                break
            rows.append(row)
    return {"at": time.time(), "runs": rows, "all": len(names)}


def manifest_of(folder):
    text = read_some(os.path.join(folder, MANIFEST), MANIFEST_MOST).decode("utf-8", "replace")
    found = json_of(text)
    return found if isinstance(found, dict) else {}


def told_of_manifest(manifest):
    """Return what others need to know of a run: what is too large or nested is left out."""
    return {
        name: value
        for name, value in manifest.items()
        if name in TOLD and depth_of(value) <= DEEPEST and len(json.dumps(value)) <= TEXT_MOST
    }


def depth_of(value):
    """How many levels of lists and objects a value has; a few more than are read at most."""
    level, now = 0, [value]
    while now and level <= DEEPEST:
        nested = [each for each in now if isinstance(each, (dict, list))]
        lists = [each.values() if isinstance(each, dict) else each for each in nested]
        now = [inner for each in lists for inner in each]
        level += 1
    return level


def seen(asked, by_run, until=0.0):
    """Return what can be seen of one run now; its logs are looked for until then."""
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
    row["alive"] = bool(pids)
    row["pid"], row["start"] = main_of(pids, row["out"])
    if not LINUX and row["pid"]:
        row["alive"] = is_there(row["pid"])
    log_dir = asked.get("log_dir")
    if log_dir:
        row["logs"] = logs_in(os.path.join(folder, at_home(log_dir)), until)
    return row


def living():
    """Return the living processes of runs, as {run: {pid: (parent, words)}}."""
    found = {}
    if not LINUX:
        return found
    mine = os.getuid()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat("/proc/" + name).st_uid != mine:
                continue
        except OSError:
            continue
        environ = read_some("/proc/%s/environ" % name, 1024 * 1024)
        told = re.search(rb"(?:\A|\0)EVALROOM_RUN=([0-9a-z-]{1,64})(?:\0|\Z)", environ)
        stat = stat_of(int(name))
        if told is None or stat is None or stat[0] in "ZX":
            continue
        words = read_some("/proc/%s/cmdline" % name, 256 * 1024).split(b"\0")
        found.setdefault(told.group(1).decode("ascii"), {})[int(name)] = (stat[1], words)
    return found


def stat_of(pid):
    """(state letter, parent, start ticks) of a process; None where there is none."""
    data = read_some("/proc/%d/stat" % pid, 4096)
    fields = data[data.rfind(b")") + 2 :].split()
    try:
        return fields[0].decode("ascii"), int(fields[1]), int(fields[19])
    except (IndexError, ValueError):
        return None


def main_of(pids, out):
    """Return the eval among the processes of a run, as the probe names it: (pid, start)."""
    record = last_record(out)
    pid = record.get("pid") if record else None
    if type(pid) is not int:  # what is printed there is anybody's
        pid = None
    if LINUX:
        evals = {
            each: parent
            for each, (parent, words) in pids.items()
            if b"eval-set" in words and (b"--detach" not in words)
        }
        if pid not in pids:
            tops = sorted(each for each, parent in evals.items() if parent not in evals)
            pid = tops[0] if tops else None
        if pid is None:
            return None, None
        boot = read_some("/proc/sys/kernel/random/boot_id", 64).decode("ascii").strip()
        stat = stat_of(pid)
        return (pid, "%s-%d" % (boot[:8], stat[2])) if stat else (None, None)
    return pid, None


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def last_record(out):
    for line in reversed(out.splitlines()):
        found = json_of(line)
        if isinstance(found, dict) and "event" in found:
            return found
    return None


def logs_in(folder, until):
    """Return the newest logs of a folder: path, bytes, when it changed last.

    Of a huge tree (a log folder is anybody's to name) only what is found soon.
    """
    found = []
    try:
        for base, _, names in os.walk(folder):
            if time.monotonic() > until:
                break
            found += [log for log in (log_at(base, name) for name in names) if log]
    except ValueError:
        pass  # a name that can be no path
    found.sort(key=lambda row: row["at"], reverse=True)
    return found[:LOGS_MOST]


def log_at(base, name):
    if not (fnmatch.fnmatch(name, "*.eval") or re.match(r"\d{4}-.*\.json\Z", name)):
        return None
    path = os.path.join(base, name)
    try:
        about = os.stat(path)
    except OSError:
        return None
    return {"path": path, "size": about.st_size, "at": about.st_mtime}


def logs(given):
    """Have that machine's own Inspect read the headers of a run's logs."""
    folder = at_home(given["directory"])
    manifest = manifest_of(folder)
    words = manifest.get("inspect")
    if not words or not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        raise CannotDo("the folder %s does not say how its Inspect is run" % folder)
    words = [at_home(word) for word in words]
    env, where = environment(manifest), given["log_dir"]
    if "://" in where:
        found, error = logs_at(words, env, folder, where)
        if error:
            return {"logs": [{"path": where, "header": None, "error": error}]}
    else:
        found = logs_in(os.path.join(folder, at_home(where)), time.monotonic() + WALK_SECONDS)
    rows, since = [], changed_at(os.path.join(folder, "started"))
    for row in found:
        header, error = header_of(words, env, folder, row["path"])
        rows.append(dict(row, header=header, error=error, is_old=row["at"] < since))
    return {"logs": rows}


def changed_at(path):
    """When a file or a folder changed last, Unix seconds; 0: there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def logs_at(words, env, folder, where):
    """Return the newest logs of a place that only Inspect can look into, or why it can't."""
    told, error = inspect(
        words, env, folder, "log", "list", "--json", "--absolute", "--log-dir", where
    )
    if error:
        return [], error
    try:
        found = [
            {"path": each["name"], "size": each["size"], "at": (each["mtime"] or 0) / 1000.0}
            for each in told
        ]
    except (KeyError, TypeError):
        return [], "what Inspect printed of it is no list of logs"
    found.sort(key=lambda row: row["at"], reverse=True)
    return found[:LOGS_MOST], None


def environment(manifest):
    """Return the variables that a run's Inspect is found with: uv's cache may be named there."""
    env = {n: v for n, v in os.environ.items() if not n.startswith("INSPECT_")}
    spec, data_dir = manifest.get("spec"), manifest.get("data_dir")
    given = spec.get("env") if isinstance(spec, dict) else None
    if isinstance(given, dict):
        env.update((n, v) for n, v in given.items() if isinstance(v, str))
    if data_dir and isinstance(data_dir, str):
        env["XDG_DATA_HOME"] = at_home(data_dir)
    return env


def header_of(words, env, folder, path):
    header, error = inspect(words, env, folder, "log", "dump", "--header-only", path)
    if error:
        return None, error
    try:
        return told_of(header), None
    except (AttributeError, TypeError):
        return None, "what Inspect printed of it is no header"


def inspect(words, env, folder, *asked):
    """Return the JSON that a run's own Inspect prints, or why there is none."""
    try:
        done = subprocess.run(
            [*words, *asked],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=HEADER_SECONDS,
        )
    except (OSError, ValueError, TypeError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    if done.returncode != 0:
        return None, done.stderr[-TAIL:].decode("utf-8", "replace") or "Inspect does not say why"
    told = json_of(done.stdout.decode("utf-8", "replace"))
    return told, None if told is not None else "what Inspect printed of it is no JSON"


def told_of(header):
    """Return what a launch needs to know of a header; an agent's text is not among it."""
    what, results = header.get("eval") or {}, header.get("results") or {}
    return {
        "status": header.get("status"),
        "eval": {name: what.get(name) for name in ("task", "model", "eval_id", "task_id")},
        "has_error": bool(header.get("error")),
        "results": {
            name: results.get(name) for name in ("scores", "total_samples", "completed_samples")
        },
    }


def read(given):
    """Return a piece of a file: the end of it where no start is given."""
    path = os.path.join(at_home(given["directory"]), at_home(given["file"]))
    most = min(TEXT_MOST, given.get("most", TEXT_MOST))
    try:
        with open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            start = given.get("start")
            begin = max(0, size - most) if start is None else min(max(0, start), size)
            file.seek(begin)
            data = file.read(most)
    except OSError as error:
        raise CannotDo("%s can't be read: %s" % (path, error.strerror)) from error
    return {
        "data": base64.b64encode(data).decode("ascii"),
        "end": begin + len(data),
        "size": max(size, begin + len(data)),
    }


def run_words(given):
    """Run one short command of an engine (such as tmux's) and return what it says."""
    words = [at_home(word) for word in given["words"]]
    env = {n: v for n, v in os.environ.items() if n not in ("TMUX", "TMUX_PANE")}
    try:
        done = subprocess.run(
            words,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=given.get("wait", 10),
        )
    except subprocess.TimeoutExpired as error:
        raise CannotDo("%s does not answer" % words[0]) from error
    except OSError as error:
        raise CannotDo("%s can't be run: %s" % (words[0], error.strerror)) from error
    return {
        "status": done.returncode,
        "out": done.stdout[-TEXT_MOST:].decode("utf-8", "replace"),
        "err": done.stderr[-TAIL:].decode("utf-8", "replace"),
    }


VERBS = {
    "place": place,
    "start": start,
    "bar": bar,
    "sweep": sweep,
    "look": look,
    "list": list_runs,
    "logs": logs,
    "read": read,
    "words": run_words,
}


def main():
    os.umask(0o077)
    asked = json.loads(sys.stdin.readline())
    try:
        answer = VERBS[asked["verb"]](dict(asked["given"], secrets=asked["secrets"]))
    except CannotDo as cannot:
        answer = {"failed": str(cannot), "advice": cannot.advice}
    except OSError as error:
        answer = {"failed": "%s: %s" % (asked["verb"], error)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
