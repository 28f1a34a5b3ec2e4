"""What looks around on a machine before a launch: facts, and nothing else.

Python 3.8 or newer, the standard library alone. It is started for one job, reads one line of
JSON on its standard input (`verb`, `given`, `secrets`), answers with one line, and is gone.

Every part is read in a thread of its own and bounded in time: what hangs is told as stuck and
left behind, with the programs that it started killed. A tool that is missing, fails, or prints
garbage is a fact. The one thing that takes seconds is asking the machine's own Inspect for a
task: that imports it, as the eval would.
"""

import errno
import hashlib
import importlib.util
import json
import os
import platform
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

try:
    import fcntl
    import pwd
except ImportError:  # pragma: no cover - every machine we know has them
    fcntl = pwd = None

LINUX = sys.platform.startswith("linux")
MIB = 1024 * 1024
TOOL_SECONDS = 8.0
TOOL_MOST = MIB
SHORT = 300
FILES_MOST = 5000
FOLDER_SECONDS = 4.0
HOST_SECONDS = 4.0
USUAL_SECONDS = 30.0
MORE_SECONDS = 3.0
"""For each further task that one Inspect is asked for."""
WHOLE = re.compile(r"[0-9]{1,18}\Z")


class Absent(Exception):
    """There is no such thing here."""


class Failed(Exception):
    """A thing that gave no usable answer: why, in a few words."""


class Stuck(Exception):
    """A thing that did not answer in time."""


# ---------------------------------------------------------------------------------------------
# Side by side, each within its time.


def side_by_side(jobs):
    """Return what each of `jobs` (key -> (function, seconds)) told, or how it failed."""
    told, lock = {}, threading.Lock()
    began = time.monotonic()

    def one(key, read):
        try:
            found = {"state": "ok", "value": read()}
        except Absent as error:
            found = {"state": "absent", "error": short(error)}
        except Stuck as error:
            found = {"state": "stuck", "error": short(error)}
        except Exception as error:  # whatever a host has in store, it is a fact
            found = {"state": "failed", "error": short(error) or type(error).__name__}
        with lock:
            told[key] = found

    threads = []
    for key, (read, seconds) in jobs.items():
        thread = threading.Thread(target=one, args=(key, read), daemon=True)
        thread.start()
        threads.append((thread, seconds))
    for thread, seconds in threads:
        thread.join(max(0.0, began + seconds - time.monotonic()))
    with lock:
        return {
            key: told.get(key, {"state": "stuck", "error": "no answer in %d s" % seconds})
            for key, (_, seconds) in jobs.items()
        }


def short(text, most=SHORT):
    return str(text).strip()[:most]


# ---------------------------------------------------------------------------------------------
# Programs of the machine, with a deadline, a cap and a process group of their own.

CHILDREN = set()


def kill_group(pid):
    for target in (os.killpg, os.kill):
        try:
            target(pid, signal.SIGKILL)
        except OSError:
            pass


def leave(code):
    for pid in list(CHILDREN):
        kill_group(pid)
    os._exit(code)


LIBC = None
if LINUX:
    try:
        import ctypes

        LIBC = ctypes.CDLL(None)
    except (ImportError, OSError):
        LIBC = None


def _in_the_child():
    if LIBC is not None:
        LIBC.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


TOOL_PATH = os.pathsep.join(
    [
        os.environ.get("PATH") or os.defpath,
        "/usr/local/bin",
        "/usr/bin",
        "/bin",
        "/usr/sbin",
        "/opt/homebrew/bin",
        "/usr/local/cuda/bin",
    ]
)


class Ran:
    """What a program did: `code` is None where it was killed, and `why` says what for."""

    def __init__(self, code, out, err, why):
        self.code = code
        self.out = out
        self.err = err
        self.why = why

    def said(self):
        """Its first words that say something."""
        for data in (self.err, self.out):
            for line in data.decode("utf-8", "replace").splitlines():
                if line.strip():
                    return line.strip()[:SHORT]
        return "exit %s" % self.code


def run(argv, seconds=TOOL_SECONDS, env=None, most=TOOL_MOST):
    """Run a program to its end, or to the end of its time, and return what came of it.

    It raises Absent where there is none.
    """
    full = dict(os.environ, PATH=TOOL_PATH, LC_ALL="C") if env is None else env
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
            env=full,
            preexec_fn=_in_the_child,
        )
    except FileNotFoundError:
        raise Absent("there is no %s" % argv[0]) from None
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise Failed(getattr(error, "strerror", None) or error) from None
    CHILDREN.add(child.pid)
    held = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = list(held)
    try:
        why = _gather(child, held, seconds, most)
    finally:
        kill_group(child.pid)
        child.wait()
        CHILDREN.discard(child.pid)
        child.stdout.close()
        child.stderr.close()
    return Ran(None if why else child.returncode, bytes(held[out]), bytes(held[err]), why)


def _gather(child, held, seconds, most):
    """Read what a child says; return why it has to be killed, None where it ended by itself."""
    end = time.monotonic() + seconds
    waiting = set(held)
    while waiting:
        left = end - time.monotonic()
        if left <= 0:
            return "no answer in %d s" % seconds
        for fd in select.select(list(waiting), [], [], min(left, 1.0))[0]:
            data = os.read(fd, 65536)
            if not data:
                waiting.discard(fd)
            held[fd] += data
            if len(held[fd]) > most:
                del held[fd][most:]
                return "more than %d bytes of output" % most
    try:
        child.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "it does not end"
    return None


def killed(ran):
    """What a program that had to be killed is told as."""
    return (Failed if "bytes of output" in ran.why else Stuck)(ran.why)


def answer_of(argv, seconds=TOOL_SECONDS):
    """Return what a program printed; it raises Failed or Stuck where that is no answer."""
    ran = run(argv, seconds)
    if ran.code is None:
        raise killed(ran)
    if ran.code:
        raise Failed(ran.said())
    return ran.out.decode("utf-8", "replace")


def tool(name):
    found = shutil.which(name, path=TOOL_PATH)
    if not found:
        raise Absent("there is no %s" % name)
    return found


def at_home(path):
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path


# ---------------------------------------------------------------------------------------------
# The machine.


def read_host():
    try:
        load = list(os.getloadavg())
    except OSError:
        load = []
    try:
        cpus = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        cpus = os.cpu_count()
    return {
        "python": platform.python_version(),
        "platform": "%s %s %s" % (platform.system(), platform.release(), platform.machine()),
        "host": platform.node(),
        "user": user_of(os.getuid()),
        "home": os.path.expanduser("~"),
        "cpus": cpus,
        "load": load,
        "memory": read_memory(),
        "pip": has_module("pip") or has_module("ensurepip"),
        "has_route": has_route(),
    }


def user_of(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, AttributeError):
        return str(uid)


def has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def read_memory():
    try:
        with open("/proc/meminfo", "rb") as file:
            text = file.read(65536).decode("ascii", "replace")
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE))
        return {
            "total": int(found["MemTotal"]) * 1024,
            "available": int(found["MemAvailable"]) * 1024,
        }
    except (OSError, KeyError):
        return {}


def has_route():
    """Whether there is any way into a network: a route, or a proxy; None: unknown."""
    if proxy_of("https") or proxy_of("http"):
        return True
    try:
        with open("/proc/net/route", "rb") as file:
            rows = file.read(MIB).decode("ascii", "replace").splitlines()[1:]
        with open("/proc/net/ipv6_route", "rb") as file:
            sixes = file.read(MIB).decode("ascii", "replace").splitlines()
    except OSError:
        return None  # this is no Linux, or it has no IPv6
    return any(row.split()[:1] not in ([], ["lo"]) for row in rows) or any(
        row.split()[-1:] not in ([], ["lo"]) and not row.startswith("fe80") for row in sixes
    )


def proxy_of(scheme):
    for name in ("%s_proxy" % scheme, "%s_PROXY" % scheme.upper(), "all_proxy", "ALL_PROXY"):
        if os.environ.get(name):
            return os.environ[name]
    return None


def read_program(name):
    found = tool(name)
    for option in ("-V", "--version"):
        ran = run([found, option], 3.0)
        if ran.code == 0:
            return ran.said()[:80]
    return ""


# ---------------------------------------------------------------------------------------------
# GPUs: what nvidia-smi says, and who has reserved one.


def field(text, scale=1):
    try:
        value = float(text.strip().split()[0]) * scale
    except (ValueError, IndexError):
        return None
    return int(value) if abs(value) < 2.0**63 else None


def csv_of(found, what, names):
    query = "--query-%s=%s" % (what, ",".join(names))
    ran = run([found, query, "--format=csv,noheader,nounits"])
    if ran.code is None and isinstance(killed(ran), Stuck):
        raise killed(ran)
    lines = ran.out.decode("utf-8", "replace").splitlines()
    return ran, [[cell.strip() for cell in line.split(",")] for line in lines]


FIELDS = ("index", "uuid", "name", "memory.used", "memory.total", "mig.mode.current")


def read_gpus():
    found = tool("nvidia-smi")
    names = FIELDS
    ran, rows = csv_of(found, "gpu", names)
    if ran.code and b"not a valid field" in ran.out + ran.err:  # an older driver without MIG
        names = FIELDS[:-1]
        ran, rows = csv_of(found, "gpu", names)
    gpus = []
    for cells in rows:
        if len(cells) >= len(names) and WHOLE.match(cells[0]):
            rest = cells[2 - len(names) :]  # what follows the uuid; a name may have commas
            gpus.append(
                {
                    "index": int(cells[0]),
                    "uuid": cells[1] if cells[1].startswith("GPU-") else None,
                    "name": ", ".join(cells[2 : len(cells) - len(rest) + 1])[:100],
                    "memory_used": field(rest[1], MIB),
                    "memory_total": field(rest[2], MIB),
                    "mig": "enabled" if rest[3:] and rest[3].lower() == "enabled" else None,
                    "lost": any("lost" in cell.lower() for cell in cells[1:]),
                    "pids": [],
                }
            )
    if not gpus:
        if b"No devices" in ran.out + ran.err:
            return []
        raise Failed(ran.said() if ran.code is not None else ran.why)
    by_uuid = {gpu["uuid"]: gpu for gpu in gpus if gpu["uuid"]}
    for cells in csv_of(found, "compute-apps", ("gpu_uuid", "pid"))[1]:
        if len(cells) == 2 and WHOLE.match(cells[1]) and cells[0] in by_uuid:
            pids = by_uuid[cells[0]]["pids"]
            if len(pids) < 64:
                pids.append({"pid": int(cells[1])})
    return gpus


def owner_of(pid):
    try:
        return user_of(os.stat("/proc/%d" % pid).st_uid)
    except (OSError, OverflowError):
        return None


TURN = "turn.lock"
TURN_SECONDS = 2.0


def read_reservations(folders):
    """Where a run would reserve its GPUs, and which are held there.

    How reservations stand on a machine is told in `core/launch/preflight/gpu_reservations.py`.
    """
    for folder in folders:
        full = at_home(folder)
        is_ours = len(folders) > 1  # a link in a folder of everybody leads anywhere
        is_there = os.path.isdir(full) and not (is_ours and os.path.islink(full))
        if is_there and os.access(full, os.W_OK | os.X_OK):
            return {"folder": folder, "held": held_in(full)}
        if not os.path.lexists(full) and can_be_made(full):
            return {"folder": folder, "held": []}
    raise Failed("%s is no folder that can be written" % " and ".join(folders))


def can_be_made(path):
    near = os.path.dirname(path)
    while not os.path.exists(near) and os.path.dirname(near) != near:
        near = os.path.dirname(near)
    return os.path.isdir(near) and os.access(near, os.W_OK | os.X_OK)


def held_in(full):
    held = []
    turn = take_turn(os.path.join(full, TURN))
    try:
        for name in sorted(os.listdir(full))[:256]:
            if name.endswith(".lock") and name != TURN:
                told = reservation(os.path.join(full, name))
                if told is not None:
                    held.append(dict(told, name=name))
    finally:
        if turn is not None:
            os.close(turn)
    return held


def take_turn(path):
    """Keep those who pick GPUs waiting while we look; None: nobody ever picked one here."""
    fd = opened(path)
    end = time.monotonic() + TURN_SECONDS
    while fd is not None:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            break
        except OSError:
            if time.monotonic() > end:
                os.close(fd)
                raise Stuck("somebody keeps %s locked" % path) from None
            time.sleep(0.02)
    return fd


def opened(path):
    """A descriptor of a plain file; None where it is none, or can't be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def reservation(path):
    """What a held file says; None where nobody holds it."""
    fd = opened(path)
    if fd is None:
        return None
    try:
        is_held = False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            is_held = error.errno == errno.EWOULDBLOCK
        try:
            told = json.loads(os.read(fd, 4096).decode("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            told = None
    finally:
        os.close(fd)
    told = told if isinstance(told, dict) else {}
    pids = told.get("pids")
    rows = list(pids.items())[:64] if isinstance(pids, dict) else []
    if not is_held and not any(lives(pid, start) for pid, start in rows):
        return None
    at = told.get("at")
    return {
        "run": short(told.get("run") or "", 64),
        "operator": short(told.get("operator") or "", 64),
        "account": short(told.get("account") or "", 64),
        "at": at if isinstance(at, (int, float)) and not isinstance(at, bool) else None,
    }


def lives(pid, start):
    """Whether the process that a reservation names lives, and is no other one by now."""
    if not re.match(r"[1-9][0-9]{0,8}\Z", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another account's
    try:
        with open("/proc/%d/stat" % int(pid), "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot = file.read(8).decode("ascii")
        return fields[0] not in (b"Z", b"X") and "%s-%d" % (boot, int(fields[19])) == start
    except (OSError, IndexError, ValueError):
        return True


# ---------------------------------------------------------------------------------------------
# Docker.


def read_docker():
    found = tool("docker")
    ran = run([found, "info", "--format", "{{json .}}"])
    if ran.code is None:
        raise killed(ran)
    try:
        info = json.loads(ran.out.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        info = None
    if not isinstance(info, dict):
        raise Failed(ran.said())
    errors = info.get("ServerErrors")
    if errors or not info.get("ServerVersion"):
        raise Failed(errors[0] if isinstance(errors, list) and errors else ran.said())
    root = info.get("DockerRootDir")
    return {
        "version": info.get("ServerVersion"),
        "compose": read_compose(found),
        "running": info.get("ContainersRunning"),
        "used": containers_memory(found) if info.get("ContainersRunning") else 0,
        "memory": info.get("MemTotal"),
        "root": root if isinstance(root, str) else None,
    }


def read_compose(found):
    ran = run([found, "compose", "version", "--short"], 5.0)
    said = ran.out.decode("utf-8", "replace").strip()
    return said[:40] if ran.code == 0 and re.match(r"v?[0-9]", said) else None


def containers_memory(found):
    """Bytes that the running containers take together; None where Docker does not say."""
    ran = run([found, "stats", "--no-stream", "--format", "{{.MemUsage}}"])
    if ran.code != 0:
        return None
    sizes = [size_of(line) for line in ran.out.decode("utf-8", "replace").splitlines()]
    return sum(size for size in sizes if size is not None)


def size_of(text):
    """Bytes of a text like `12.3MiB`."""
    found = re.match(r"\s*([0-9.]{1,20})\s*([kKMGTP]?)(i?)B", text)
    if not found:
        return None
    try:
        step = 1024 if found.group(3) else 1000
        size = float(found.group(1)) * step ** " KMGTP".index((found.group(2) or " ").upper())
    except ValueError:
        return None
    return int(size) if size < 2.0**63 else None


# ---------------------------------------------------------------------------------------------
# Folders.

READ_ONLY, NO_EXEC = 1, 8  # of statvfs, on every system we know


def read_place(path):
    """What is known of a folder, whether it is there or not: of the nearest above it, then."""
    full = at_home(path)
    near = full
    while not os.path.exists(near) and os.path.dirname(near) != near:
        near = os.path.dirname(near)
    found = os.statvfs(near)
    return {
        "full": os.path.realpath(full),
        "near": near,
        "exists": os.path.exists(full),
        "is_folder": os.path.isdir(near),
        "is_writable": os.access(near, os.W_OK | os.X_OK),
        "disk": os.stat(near).st_dev,
        "total": found.f_blocks * found.f_frsize,
        "free": found.f_bavail * found.f_frsize,
        "has_files_left": found.f_files == 0 or found.f_favail > 0,
        "read_only": bool(found.f_flag & READ_ONLY),
        "no_exec": bool(found.f_flag & NO_EXEC),
    }


LOG_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^/]*\.(eval|json)\Z|[^/]*\.eval\Z")


def read_log_folder(path):
    """A folder for logs: the place, the eval-set that it holds, and logs without one."""
    told = read_place(path)
    told.update(eval_set=None, tasks=[], logs=0)
    full = told["full"]
    if not told["exists"] or not told["is_folder"]:
        return told
    eval_set = text_of_file(os.path.join(full, ".eval-set-id"), 200)
    try:
        known = json.loads(text_of_file(os.path.join(full, "eval-set.json"), 4 * MIB) or "null")
    except (ValueError, RecursionError):
        known = None
    if isinstance(known, dict):
        eval_set = eval_set or known.get("eval_set_id")
        rows = known.get("tasks")
        for row in rows[:1000] if isinstance(rows, list) else ():
            if isinstance(row, dict):
                told["tasks"].append([short(row.get("name")), short(row.get("model"))])
    told["eval_set"] = short(eval_set, 100) if eval_set else None
    seen, end = 0, time.monotonic() + FOLDER_SECONDS / 2
    for _, folders, files in os.walk(full):
        seen += len(files) + len(folders)
        told["logs"] += sum(1 for name in files if LOG_NAME.match(name))
        if seen > FILES_MOST or time.monotonic() > end:
            break
    return told


def text_of_file(path, most):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, most).decode("utf-8", "replace").strip()
    except OSError:
        return None
    finally:
        os.close(fd)


def read_folder_of_run(path):
    full = at_home(path)
    return {
        "exists": os.path.isdir(full),
        "is_started": os.path.isdir(os.path.join(full, "started")),
    }


# ---------------------------------------------------------------------------------------------
# Evals that run here, of every user whose command lines can be read.

VERBS = ("eval", "eval-set", "eval-retry")


def read_running():
    """Inspect processes that run evals, with the folders that they log into."""
    if not LINUX:
        raise Absent("only Linux tells of other processes")
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and len(found) < 500:
            row = running_eval(name)
            if row is not None:
                found.append(row)
    return found


def running_eval(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as file:
            data = file.read(256 * 1024)
    except OSError:
        return None
    if b"inspect" not in data:
        return None
    argv = [word.decode("utf-8", "replace") for word in data.rstrip(b"\0").split(b"\0")]
    if not is_eval(argv):
        return None
    cwd, env = None, {}
    try:
        cwd = os.readlink("/proc/%s/cwd" % pid)
        with open("/proc/%s/environ" % pid, "rb") as file:
            pairs = file.read(512 * 1024).decode("utf-8", "replace").split("\0")
        env = dict(pair.partition("=")[::2] for pair in pairs)
    except OSError:
        pass
    chosen = env.get("INSPECT_LOG_DIR") or "logs"
    for at, word in enumerate(argv):
        if word == "--log-dir" and at + 1 < len(argv):
            chosen = argv[at + 1]
        elif word.startswith("--log-dir="):
            chosen = word.partition("=")[2]
    if "://" not in chosen and not os.path.isabs(chosen):
        chosen = os.path.join(cwd, chosen) if cwd else None
    return {
        "pid": int(pid),
        "user": owner_of(int(pid)),
        "run": env.get("EVALROOM_RUN"),
        "log_dir": os.path.realpath(chosen) if chosen and "://" not in chosen else chosen,
    }


def is_eval(argv):
    rest = argv
    if re.match(r"(python|pypy)[0-9.]*\Z", os.path.basename(rest[0])):
        rest = rest[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            if rest[0] == "-c":
                return False
            rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
        if rest[:2] == ["-m", "inspect_ai"]:
            rest = ["inspect", *rest[2:]]
    if not rest or os.path.basename(rest[0]) != "inspect":
        return False
    for word in rest[1:]:
        if not word.startswith("-"):
            return word in VERBS and "--detach" not in rest
    return False


# ---------------------------------------------------------------------------------------------
# What is needed from a network, and what lies here already.

TOKENIZER = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
"""What Inspect counts the mock model's tokens with."""


def read_host_reached(address):
    """Return how `host:port` was reached: itself, or the proxy that stands before it."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    proxy = proxy_of("http" if port == "80" else "https")
    through = None
    local = host in ("localhost", "127.0.0.1", "::1")
    if proxy and not local and not spared(host):
        found = re.match(r"(?:[a-z0-9]+://)?(?:[^@/]*@)?([^:/]+)(?::([0-9]+))?", proxy)
        if found:
            through = host
            host, port = found.group(1), found.group(2) or "80"
    try:
        socket.create_connection((host, int(port)), HOST_SECONDS).close()
    except socket.timeout:
        raise Stuck("no answer in %d s" % HOST_SECONDS) from None
    except socket.gaierror:
        raise Failed("its name is not known there") from None
    except OSError as error:
        raise Failed(error.strerror or error) from None
    return "proxy" if through else "direct"


def spared(host):
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    ends = [each.strip().lstrip(".") for each in listed.split(",") if each.strip()]
    return any(host == each or host.endswith("." + each) or each == "*" for each in ends)


def read_caches(env, models):
    home = os.path.expanduser("~")
    cache = env.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    hub = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE")
    if not hub:
        hub = os.path.join(env.get("HF_HOME") or os.path.join(cache, "huggingface"), "hub")
    hub = at_home(hub)
    offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
    try:
        names = os.listdir(hub)
    except OSError:
        names = []
    return {
        "offline": [name for name in offline if env.get(name, "").lower() in TRUE],
        "hub": hub,
        "models": {each: has_model(hub, each) for each in models},
        "datasets": sum(1 for name in names if name.startswith("datasets--")),
        "tokenizer": has_tokenizer(env),
    }


TRUE = ("1", "on", "yes", "true")


def has_model(hub, name):
    if os.path.isdir(at_home(name)):
        return True
    folder = os.path.join(hub, "models--" + name.replace("/", "--"), "snapshots")
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def has_tokenizer(env):
    folder = env.get("TIKTOKEN_CACHE_DIR", env.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    name = hashlib.sha1(TOKENIZER.encode()).hexdigest()
    return bool(folder) and os.path.isfile(os.path.join(folder, name))


# ---------------------------------------------------------------------------------------------
# What that machine's own Inspect says, in the interpreter that will run it.

ASK = r"""
import json, os, sys
out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
os.dup2(2, 1)
asked = json.loads(sys.argv[1])
sys.argv = sys.argv[:1]

def end_with_parent():
    try:
        import ctypes
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    except Exception:
        pass  # no Linux

end_with_parent()

def tell(**told):
    out.write(json.dumps(told) + "\n")
    out.flush()

def said(error):
    return ("%s: %s" % (type(error).__name__, error)).strip()[:600]

tell(python="%d.%d.%d" % tuple(sys.version_info[:3]), path=sys.executable)
try:
    from importlib.metadata import PackageNotFoundError, entry_points, version
    from importlib.util import find_spec
except ImportError as error:
    tell(broken=said(error))
    os._exit(0)

def version_of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None

def package(name):  # what was installed by other means than pip has no version
    try:
        has_module = find_spec(name.replace("-", "_")) is not None
    except (ImportError, ValueError):
        has_module = False
    return version_of(name) or ("?" if has_module else None)

tell(inspect=version_of("inspect_ai"), packages={n: package(n) for n in asked["packages"]})
if version_of("inspect_ai") is None:
    os._exit(0)
try:
    import inspect_ai
except BaseException as error:
    tell(broken=said(error))
    os._exit(0)
try:
    from inspect_ai._cli.eval import eval_set_command
    tell(options=sorted({o for p in eval_set_command.params for o in (*p.opts, *p.secondary_opts)}))
except BaseException as error:
    tell(options=None)
tell(imported=True)

import ast, difflib, inspect, re, signal, time, traceback
from pathlib import Path
sys.dont_write_bytecode = True  # nothing is left beside a task's file
try:
    from inspect_ai._eval.loader import load_file_tasks
    from inspect_ai._util.registry import registry_find, registry_info, registry_lookup
except ImportError as error:
    for each in asked["tasks"]:
        tell(task=each, state="unknown", error=said(error))
    os._exit(0)

def near(name, package):  # tasks of other names that it may be
    try:
        found = registry_find(lambda info: info.type == "task")
        names = sorted(registry_info(each).name for each in found)
    except Exception:
        return []
    names = [each for each in names if each.rpartition("/")[0] == package]
    longer = [each for each in names if name.rpartition("/")[2] in each]
    return longer[:3] or difflib.get_close_matches(name, names, 3, 0.5) or names[:6]

def failure(error):
    rows = [f for f in traceback.extract_tb(error.__traceback__) if "<" not in f.filename[:1]]
    told = {"state": "fails", "error": said(error), "kind": type(error).__name__}
    told["module"] = getattr(error, "name", None) if isinstance(error, ImportError) else None
    own = [f for f in rows if os.sep + "inspect_ai" + os.sep not in f.filename]
    if own:
        told["place"] = "%s:%s" % (own[-1].filename, own[-1].lineno)
    return told

def load(name):
    path, at, short = name.rpartition("@")
    package = "" if at else name.partition("/")[0]
    if at and path.endswith((".py", ".ipynb")):
        path = os.path.expanduser(path)
        if not os.path.isabs(path):
            path = os.path.join(asked["folder"], path)
        if not os.path.isfile(path):
            return {"state": "no file", "error": path}
        load_file_tasks(Path(path).absolute())
        name = short
    else:
        points = [p for p in entry_points(group="inspect_ai") if p.name == package]
        if not points:
            return {"state": "no package", "module": package}
        for point in points:
            point.load()
    found = registry_lookup("task", name)
    if found is not None:
        return about(found)
    if at and path.endswith(".py"):  # Inspect passes over a file that it can't parse
        ast.parse(Path(path).read_bytes(), path)
    return {"state": "no task", "near": near(name, package)}

COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
LIMIT = re.compile(
    r"^\s*(?:mem_limit|memory):\s*[\"']?([0-9.]{1,20})\s*([kmgt]?)i?b?[\"']?\s*(?:#|$)",
    re.IGNORECASE | re.MULTILINE,
)

def about(task):
    told = {"state": "ok", "arguments": None, "sandbox": None, "memory": None}
    try:
        task = inspect.unwrap(task)
        taken = inspect.signature(task).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in taken):
            told["arguments"] = [p.name for p in taken]
        chosen = [p.default for p in taken if "sandbox" in p.name]
        chosen = [c[0] if isinstance(c, (tuple, list)) and c else c for c in chosen]
        text = inspect.getsource(task)
        chosen += re.findall(r"\bsandbox\s*=\s*[(\[]?\s*[\"']([a-z][a-z0-9_-]*)", text)
        told["sandbox"] = next((c for c in chosen if isinstance(c, str)), None)
        folder = os.path.dirname(inspect.getsourcefile(task) or "")
        for name in COMPOSE if folder else ():
            if os.path.isfile(os.path.join(folder, name)):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    sizes = LIMIT.findall(file.read(100000))
                units = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
                told["memory"] = int(sum(float(n) * units[u.lower()] for n, u in sizes)) or None
                break
    except Exception:
        pass
    return told

def told_of(name):
    try:
        return load(name)
    except BaseException as error:
        return failure(error)

def look(names):  # in a process of its own: what one imports is not there for the next
    pid = os.fork()
    if pid == 0:
        end_with_parent()
        for name in names:
            tell(task=name, **told_of(name))
        os._exit(0)
    end = time.monotonic() + asked["seconds"]
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
        time.sleep(0.01)
    if not done:
        error = "importing it was not done in %d s" % asked["seconds"]
        tell(tasks=names, state="slow", error=error)
    elif status:
        error = "importing it ends the interpreter (%d)" % status
        tell(tasks=names, state="fails", error=error)

groups = {}
for each in asked["tasks"]:  # those of one package are imported once
    key = each if "@" in each else each.partition("/")[0]
    groups.setdefault(key, []).append(each)
for names in groups.values():
    look(names)
os._exit(0)
"""


def read_inspect(given):
    """What the interpreter of a run says of itself, its Inspect, and the tasks."""
    asked = {
        "packages": given.get("packages") or [],
        "tasks": given.get("tasks") or [],
        "folder": at_home(given.get("directory") or "~"),
        "seconds": float(given.get("seconds") or USUAL_SECONDS) * 0.7,
    }
    words = [at_home(given["interpreter"][0]), *given["interpreter"][1:]]
    program = shutil.which(words[0])
    if not program and os.path.basename(words[0]) == "uv":  # ours is put there by the launch
        program = shutil.which("uv")
    if not program:
        raise Absent("there is no %s" % words[0])
    argv = [program, *words[1:], "-c", ASK, json.dumps(asked)]
    ran = run(argv, inspect_seconds(given) - 1.0, env=env_of_run(given))
    told = {"tasks": {}, "ended": ran.code == 0, "why": ran.why}
    lines = ran.out.decode("utf-8", "replace").splitlines()
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and isinstance(row.get("tasks"), list):
            for name in row.pop("tasks"):
                told["tasks"].setdefault(str(name), row)
        elif isinstance(row, dict) and "task" in row:
            told["tasks"][str(row.pop("task"))] = row
        elif isinstance(row, dict):
            told.update(row)
    if "python" not in told:
        raise killed(ran) if ran.code is None else Failed(ran.said())
    if ran.code != 0:
        told["error"] = ran.why or last_words(ran.err) or "exit %s" % ran.code
    return told


def last_words(data):
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    return next((line[:SHORT] for line in reversed(lines) if line), "")


def inspect_seconds(given):
    further = max(0, len(given.get("tasks") or []) - 1)
    return float(given.get("seconds") or USUAL_SECONDS) + min(30.0, further * MORE_SECONDS)


def env_of_run(given):
    """The variables that a run starts with, but for its secrets."""
    stay = [*(given.get("inherit") or []), *(given.get("variables") or {})]
    env = {k: v for k, v in os.environ.items() if not k.startswith("INSPECT_") or k in stay}
    env.update(given.get("variables") or {})
    path = given.get("python_path")
    if path:
        full = at_home(path)
        if not os.path.isabs(full):
            full = os.path.join(at_home(given.get("directory") or "~"), full)
        env["PYTHONPATH"] = os.pathsep.join([full, *filter(None, [env.get("PYTHONPATH")])])
    return env


def read_uv(path):
    """The uv that is there: ours, or another one."""
    own = at_home(path)
    found = own if os.access(own, os.X_OK) and os.path.isfile(own) else shutil.which("uv")
    if not found:
        raise Absent("there is no uv")
    return {"path": found, "version": answer_of([found, "--version"], 5.0).strip()[:80]}


# ---------------------------------------------------------------------------------------------


def survey(given):
    """Return every fact that is asked for: key -> its state, and its value or why there is none."""
    env = dict(os.environ, **(given.get("variables") or {}))
    jobs = {
        "machine": (read_host, 5.0),
        "docker": (read_docker, 3 * TOOL_SECONDS),
        "gpus": (read_gpus, 3 * TOOL_SECONDS),
        "running": (read_running, 6.0),
        "caches": (lambda: read_caches(env, given.get("models") or []), FOLDER_SECONDS),
        "uv": (lambda: read_uv(given.get("uv") or "uv"), 6.0),
        "places": (lambda: each_of(read_place, given.get("places"), FOLDER_SECONDS), 6.0),
        "logs": (lambda: each_of(read_log_folder, given.get("logs"), FOLDER_SECONDS), 6.0),
        "runs": (lambda: each_of(read_folder_of_run, given.get("runs"), FOLDER_SECONDS), 6.0),
        "programs": (lambda: each_of(read_program, given.get("programs"), 7.0), 8.0),
        "hosts": (lambda: each_of(read_host_reached, given.get("hosts"), 6.0), 8.0),
        "variables": (lambda: [n for n in given.get("names") or [] if os.environ.get(n)], 2.0),
    }
    folders = given.get("reservations")
    if folders and fcntl is not None:
        jobs["reservations"] = (lambda: read_reservations(folders), FOLDER_SECONDS)
    if given.get("interpreter"):
        jobs["inspect"] = (lambda: read_inspect(given), inspect_seconds(given))
    skipped = [name for name in given.get("skip") or [] if jobs.pop(name, None)]
    told = side_by_side(jobs)
    told.update((name, {"state": "stuck", "error": "it hung before"}) for name in skipped)
    return told


def each_of(read, keys, seconds):
    jobs = {key: ((lambda key=key: read(key)), seconds) for key in keys or []}
    return side_by_side(jobs)


def end_with_the_link():
    """End when whoever asked is gone: nothing runs on for nobody."""
    try:
        while sys.stdin.buffer.read1(65536):
            pass
    except (OSError, ValueError):
        pass
    leave(1)


def main():
    line = sys.stdin.buffer.readline()  # its buffer may hold more than the program that was read
    if not line:
        leave(1)
    threading.Thread(target=end_with_the_link, daemon=True).start()
    try:
        asked = json.loads(line.decode("utf-8"))
        if asked.get("verb") != "survey":
            answer = {"failed": "the survey has no verb %s" % short(asked.get("verb"), 40)}
        else:
            answer = survey(asked.get("given") or {})
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        answer = {"failed": "the survey was asked for what it can't read: %s" % short(error)}
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]
    leave(0)


if __name__ == "__main__":
    main()
