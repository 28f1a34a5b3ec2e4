"""What reserves GPUs for a run, starts it on them, and holds them until its eval is gone.

Python 3.8 or newer, the standard library alone. It lies in the run's folder, and the run's
script starts it there with these arguments:

    HOW_MANY  FOLDER  keep|become  RUN  COMMAND...

FOLDER holds the reservations; empty means the usual folder. `core/launch/preflight/
gpu_reservations.py` says how a reservation is stored and what counts as one. COMMAND gets
EVALROOM_RUN, which the script leaves to us, and CUDA_VISIBLE_DEVICES.

`become` turns into COMMAND, which inherits the locks: they go with it. `keep` is for a COMMAND
that puts its eval into the background with every descriptor closed. A small process stays then:
it adopts what COMMAND leaves behind (Linux gives it the orphans of its children), and holds the
locks until that is gone. It has a session of its own, no terminal, none of the run's secrets
and no EVALROOM_RUN, so that nobody takes it for the eval. If somebody kills it, the eval's pid
and start still stand in the files.

Without an answer of nvidia-smi (or rocm-smi) nothing is reserved and nothing is started:
nobody knows then what is free.
"""

import errno
import fcntl
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

try:
    import ctypes
except ImportError:  # a Python without libffi
    ctypes = None

NO_GPUS = 69
SHARED = "/var/lock/evalroom"
OWN = "~/.evalroom/gpus"
TURN = "turn.lock"
TURN_SECONDS = 30.0
TOOL_SECONDS = 20.0
MOST = 4096
MANIFEST_MOST = 256 * 1024
TRIES = 20
TOOLS = ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/rocm/bin:/usr/local/cuda/bin"
SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER


class Refused(Exception):
    """Why the GPUs are not to be had, as a sentence."""


# -- GPUs, each as {index, uuid, why}: `why` is what keeps it from being given


def read_gpus():
    path = (os.environ.get("PATH") or os.defpath) + TOOLS
    nvidia, rocm = shutil.which("nvidia-smi", path=path), shutil.which("rocm-smi", path=path)
    gpus = read_nvidia(nvidia) if nvidia else []
    if not gpus and rocm:
        return "HIP_VISIBLE_DEVICES", read_rocm(rocm)
    if not nvidia:
        raise Refused("there is neither nvidia-smi nor rocm-smi here to say which GPUs there are")
    return "CUDA_VISIBLE_DEVICES", gpus


def asked(*words):
    """What a tool printed; it may hang for ever, also when it is killed."""
    name = os.path.basename(words[0])
    try:
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    except OSError as error:
        raise Refused("%s can't be run: %s" % (name, error.strerror)) from None
    try:
        out = child.communicate(timeout=TOOL_SECONDS)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        raise Refused(
            "%s gave no answer in %d s, so nobody knows which GPUs are free" % (name, TOOL_SECONDS)
        ) from None
    return child.returncode, out.decode("utf-8", "replace")


def read_nvidia(tool):
    names = "index,uuid,mig.mode.current"
    for query in (names, names.rpartition(",")[0]):  # an older driver has no MIG
        status, out = asked(tool, "--query-gpu=" + query, "--format=csv,noheader,nounits")
        if not (status and "not a valid field" in out):
            break
    gpus = []
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) < 2 or not re.match(r"[0-9]{1,4}\Z", cells[0]):
            continue
        gpu = {"index": int(cells[0]), "uuid": cells[1], "why": None}
        if not re.match(r"GPU-[0-9A-Za-z-]{1,80}\Z", cells[1]):
            gpu.update(uuid=None, why="is lost")
        elif cells[-1].lower() == "enabled":
            gpu["why"] = "is cut into MIG slices, which are not given"
        gpus.append(gpu)
    if not gpus and status and "no devices" not in out.lower():
        raise Refused("nvidia-smi says no GPU: %s" % " ".join(out.split())[:200])
    status, out = asked(tool, "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits")
    used = {}
    for line in () if status else out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 2:
            used.setdefault(cells[0], []).append(cells[1])
    for gpu in gpus:
        if gpu["uuid"] in used and gpu["why"] is None:
            gpu["why"] = "is used by pid " + ", ".join(used[gpu["uuid"]][:8])
    return sorted(gpus, key=lambda gpu: gpu["index"])


def read_rocm(tool):
    cards, pids = rocm_json(tool, "--showuniqueid"), rocm_json(tool, "--showpidgpus")
    used = {}
    for key, value in (pids.get("system") or {}).items():
        for index in re.findall(r"\b[0-9]{1,4}\b", str(value)) if key.startswith("PID") else ():
            used.setdefault(int(index), []).append(key[3:].strip())
    found = (re.match(r"card([0-9]{1,4})\Z", name) for name in cards)
    indexes = sorted(int(each.group(1)) for each in found if each)
    if not indexes:
        raise Refused("rocm-smi names no GPU")
    return [
        {
            "index": index,
            "uuid": None,  # HIP takes indexes
            "why": "is used by pid " + ", ".join(used[index][:8]) if index in used else None,
        }
        for index in indexes
    ]


def rocm_json(tool, option):
    out = asked(tool, option, "--json")[1]
    try:
        found = json.JSONDecoder().raw_decode(out[max(0, out.find("{")) :])[0]
    except (ValueError, RecursionError):
        raise Refused("rocm-smi gave no JSON: %s" % " ".join(out.split())[:200]) from None
    return found if isinstance(found, dict) else {}


# -- processes


def start_of(pid):
    """What tells a reused pid apart, as the probe has it; empty: it is dead, None: hidden."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read(MOST).rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot = file.read(8).decode("ascii")
        return "" if fields[0] in (b"Z", b"X") else "%s-%d" % (boot, int(fields[19]))
    except (OSError, IndexError, ValueError):
        return None


def lives(pid, start):
    if not re.match(r"[1-9][0-9]{0,8}\Z", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another account's
    now = start_of(int(pid))
    return now is None or now == start


def orphans():
    """The children of this process."""
    mine, found = os.getpid(), set()
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%d/stat" % int(name), "rb") as file:
                if int(file.read(MOST).rpartition(b")")[2].split()[1]) == mine:
                    found.add(int(name))
        except (OSError, IndexError, ValueError):
            continue
    return found


# -- reservations


def lock_folder(given):
    """The folder of the reservations, made where it is not there."""
    for folder in (given,) if given else (SHARED, OWN):
        folder, is_own = os.path.expanduser(folder), folder == OWN
        try:
            if is_own:
                os.makedirs(folder, 0o700, exist_ok=True)
            else:
                for_all(os.mkdir, folder, 0o1777)
        except OSError as error:
            if error.errno != errno.EEXIST and given:
                raise Refused("%s can't be made: %s" % (folder, error.strerror)) from None
        # A link in a folder of everybody leads anywhere; one that the config names is meant.
        is_folder = os.path.isdir(folder) and (given or not os.path.islink(folder))
        if is_folder and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise Refused("GPUs can't be reserved: %s is no folder that can be written" % folder)


def for_all(make, *given):
    """Make something with the mode that is given, whatever the umask."""
    before = os.umask(0)
    try:
        return make(*given)
    finally:
        os.umask(before)


def opened(path):
    """Return a descriptor of a file that everybody may lock, whoever made it."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for _ in range(TRIES):
        try:
            # Not O_CREAT at once: Linux refuses that for another's file in a folder of everybody.
            fd = os.open(path, flags)
        except FileNotFoundError:
            try:
                fd = for_all(os.open, path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no file")
    raise OSError(errno.EAGAIN, "it comes and goes")


def locked(path):
    """Return a descriptor with the lock; None: somebody else has it."""
    for _ in range(TRIES):
        fd = opened(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.lstat(path)):
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except FileNotFoundError:
            pass
        os.close(fd)  # another file took its place
    raise OSError(errno.EAGAIN, "it comes and goes")


def turn(folder):
    """Wait until nobody else picks GPUs: else two that want several each get some of them."""
    path, end = os.path.join(folder, TURN), time.monotonic() + TURN_SECONDS
    while True:
        try:
            fd = locked(path)
        except OSError as error:
            raise Refused("GPUs can't be reserved: %s: %s" % (path, error.strerror)) from None
        if fd is not None:
            return fd
        if time.monotonic() > end:
            raise Refused("GPUs can't be reserved: somebody keeps %s locked" % path)
        time.sleep(0.05)


def told(path, most=MOST):
    """The object in a file that may hold anything."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = json.loads(os.read(fd, most).decode("utf-8"))
        finally:
            os.close(fd)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def reserved(path):
    """Return (descriptor, None), or (None, what keeps this GPU from being given)."""
    try:
        fd = locked(path)
    except OSError as error:
        return None, "can't be reserved: %s: %s" % (path, error.strerror)
    about = told(path)
    pids = about.get("pids")
    pids = pids if isinstance(pids, dict) else {}
    if fd is not None and not any(lives(pid, start) for pid, start in list(pids.items())[:64]):
        return fd, None
    if fd is not None:
        os.close(fd)  # its holder was killed, and its eval lives
    of = about.get("operator") or about.get("account")
    run = about.get("run")
    return None, "is reserved" + (
        " by run %s of %s" % (str(run)[:64], str(of)[:64]) if run and of else ""
    )


def lock_path(folder, gpu):
    return os.path.join(folder, "%s.lock" % (gpu["uuid"] or "index-%d" % gpu["index"]))


def take(folder, gpus, wanted):
    """Lock so many of these GPUs and return [(gpu, descriptor)]; all of them or none."""
    taken, others = [], []
    for gpu in gpus:
        if len(taken) == wanted:
            break
        fd, why = reserved(lock_path(folder, gpu))
        if fd is not None and gpu["why"]:
            os.close(fd)
            fd, why = None, gpu["why"]
        if fd is None:
            others.append("GPU %d %s" % (gpu["index"], why))
        else:
            taken.append((gpu, fd))
    if len(taken) < wanted:
        for _, fd in taken:
            os.close(fd)
        counts = (wanted, "" if wanted == 1 else "s", len(taken), len(gpus))
        raise Refused("; ".join(["%d GPU%s asked for, %d of %d free" % counts, *others]))
    return taken


def write(taken, about, pids):
    """Say in the files who has them."""
    alive = {str(pid): start_of(pid) for pid in pids}
    for gpu, fd in taken:
        said = dict(about, gpu=gpu["index"], uuid=gpu["uuid"], pids=alive)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(said).encode("ascii"), 0)


def about_us(run):
    try:
        account = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        account = str(os.getuid())
    said = told("run.json", MANIFEST_MOST)
    return {
        "v": 1,
        "run": run,
        "operator": str(said.get("operator") or "")[:100],
        "account": account[:100],
        "host": socket.gethostname()[:100],
        "at": time.time(),
    }


# -- the run


def become(command, env, taken):
    for _, fd in taken:
        os.set_inheritable(fd, True)
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        sys.exit("evalroom: %s can't be started: %s" % (command[0], error.strerror))


def keep(command, env, taken, about):
    """Start the command, return its exit status, and leave a holder behind."""
    reads, writes = os.pipe()
    if os.fork():
        os.close(writes)
        status = os.read(reads, 16)
        if not status:
            sys.exit("evalroom: what holds the GPUs ended before the run had started")
        return int(status)
    try:
        os.close(reads)
        os.setsid()
        if ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0:
            hold(command, env, taken, about, writes)
    finally:
        os._exit(0)


def hold(command, env, taken, about, writes):
    try:
        child = subprocess.Popen(command, env=env)
    except OSError as error:
        sys.stderr.write("evalroom: %s can't be started: %s\n" % (command[0], error.strerror))
        sys.stderr.flush()
        os.write(writes, b"127")
        return
    let_go({writes, *(fd for _, fd in taken)})
    try_to(write, taken, about, [child.pid])
    status = child.wait()
    left = orphans()
    try_to(write, taken, about, left)
    try_to(os.write, writes, b"%d" % (status if status >= 0 else 128 - status))
    try_to(os.close, writes)
    while left:
        left.discard(os.wait()[0])
    for _, fd in taken:
        try_to(os.ftruncate, fd, 0)


def let_go(needed):
    """Keep no file of others open: neither a link's channel nor a terminal."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (int(name) for name in os.listdir("/proc/self/fd")):
        if fd < 3:
            os.dup2(null, fd)
        elif fd not in needed and fd != null:
            try_to(os.close, fd)
    os.chdir("/")


def try_to(do, *given):
    try:
        do(*given)
    except OSError:
        pass  # a full disk, or a starter that is gone: the locks hold all the same


def main():
    wanted, folder, way, run, command = int(sys.argv[1]), *sys.argv[2:5], sys.argv[5:]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # one that is ignored leaves nothing to wait for
    try:
        if not sys.platform.startswith("linux"):
            raise Refused("GPUs are reserved on Linux alone")
        if way == "keep" and ctypes is None:
            raise Refused("GPUs can't be reserved: the machine's python has no ctypes")
        variable, gpus = read_gpus()
        folder = lock_folder(folder)
        mine = turn(folder)
        about = about_us(run)
        taken = take(folder, gpus, wanted)
        write(taken, about, [os.getpid()])
        os.close(mine)
    except (Refused, OSError) as error:
        sys.stderr.write("evalroom: %s\n" % error)
        return NO_GPUS
    given = ",".join(gpu["uuid"] or str(gpu["index"]) for gpu, _ in taken)
    env = {**os.environ, "EVALROOM_RUN": run, variable: given, "CUDA_VISIBLE_DEVICES": given}
    return become(command, env, taken) if way == "become" else keep(command, env, taken, about)


if __name__ == "__main__":
    sys.exit(main())
