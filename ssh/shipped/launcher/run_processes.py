"""The processes of runs: the one that a run's start recorded, and those with its id."""

import os
import re
import socket
import struct

from ssh.shipped.common.namespaces import shares_our_pids
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, start_mark, stat_of
from ssh.shipped.common.script_answers import objects_in
from ssh.shipped.launcher.files import head_of
from ssh.shipped.launcher.manifests import manifest_of
from ssh.shipped.launcher.run_hosts import host_record

RUN_VARIABLE = re.compile(rb"(?:\A|\0)EVALROOM_RUN=([0-9a-z-]{1,64})(?:\0|\Z)")
MAX_ENVIRON_BYTES = 1024 * 1024
STAT_FILE = os.path.join("started", "stat")  # the start script copies it from /proc
MAX_STAT_BYTES = 4096
PEER = struct.Struct("3i")  # pid, uid, gid
PEER_TIMEOUT_S = 1.0
MAX_LEFT, MAX_COMMAND = 5, 200


def living_processes():
    """Return the running processes of runs, as {run: {pid: (parent pid, argv)}}."""
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
        run = RUN_VARIABLE.search(head_of("/proc/%s/environ" % name, MAX_ENVIRON_BYTES))
        stat = stat_of(int(name))
        if run is None or stat is None or stat[0] in "ZX" or not shares_our_pids(int(name)):
            continue
        argv = argv_of(int(name)) or []
        found.setdefault(run.group(1).decode("ascii"), {})[int(name)] = (stat[1], argv)
    return found


def eval_of(folder, pids, out):
    """Return the eval process of a run as (pid, start mark); (None, None): it does not run here.

    It is the process that the run's start recorded, whatever its environment and its command line
    say now; else the process at the other end of its control socket; else the one that has the
    run's id in its environment. Other systems than Linux have only the pid, and no start mark.

    Args:
        folder: The run's folder.
        pids: The living processes with the run's id, from `living_processes`.
        out: The output of its start, which anybody may have written.
    """
    record = last_record(out) or {}
    pid = record.get("pid")
    if type(pid) is not int:
        pid = None
    if not LINUX:
        return (pid, None) if pid is not None and is_alive(pid) else (None, None)
    recorded, mark = recorded_process(folder)
    if recorded is not None and start_mark(recorded) == mark and shares_our_pids(recorded):
        return recorded, mark
    if is_known_gone(folder, out):
        return None, None
    if pid not in pids:
        pid = peer_of(record.get("control"))
    if pid is None:
        evals = {each: parent for each, (parent, argv) in pids.items() if is_eval(argv)}
        tops = sorted(each for each, parent in evals.items() if parent not in evals)
        pid = tops[0] if tops else None
    mark = None if pid is None else start_mark(pid)
    return (None, None) if mark is None else (pid, mark)


def is_known_gone(folder, out):
    """Whether the eval process that a run's start recorded has ended.

    Then a process that looks like it is a child that it forked. A `uv` that was recorded in its
    place proves nothing: its child may live on.
    """
    recorded, mark = recorded_process(folder)
    if recorded is None or start_mark(recorded) == mark:
        return False
    if (last_record(out) or {}).get("pid") == recorded:
        return True
    words = manifest_of(folder).get("inspect")
    return isinstance(words, list) and words[-2:] == ["-m", "inspect_ai"]


def is_eval(argv):
    """Whether a command line runs an eval-set itself, and does not only start it detached."""
    return "eval-set" in argv and "--detach" not in argv


def recorded_process(folder):
    """Return the pid and the start mark that the run's start recorded; (None, None): it did not."""
    data = head_of(os.path.join(folder, STAT_FILE), MAX_STAT_BYTES)
    boot = host_record(folder)[2]
    fields = data[data.rfind(b")") + 2 :].split()
    try:
        return int(data.split()[0]), "%s-%d" % (boot[:8], int(fields[19]))
    except (IndexError, ValueError):
        return None, None


def peer_of(control):
    """Return the pid at the other end of a control socket; None: nobody, or another user's."""
    path = control.get("socket_path") if isinstance(control, dict) else None
    if not isinstance(path, str):
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(PEER_TIMEOUT_S)
        try:
            channel.connect(path)
            peer = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        except (OSError, ValueError):
            return None
    pid, uid, _ = PEER.unpack(peer)
    return pid if pid > 0 and uid == os.getuid() and shares_our_pids(pid) else None


def left_processes(pids):
    """Return the processes that outlive their eval, a few, each as [pid, command]."""
    rows = [
        [pid, " ".join([os.path.basename(word) for word in argv[:1]] + argv[1:3])[:MAX_COMMAND]]
        for pid, (_, argv) in sorted(pids.items())
    ]
    return rows[:MAX_LEFT]


def last_record(out):
    """Return the last record of Inspect's start in `out`; None: not in it."""
    found = [each for each in objects_in(out, "event") if each["event"] in ("launch", "done")]
    return found[-1] if found else None


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
