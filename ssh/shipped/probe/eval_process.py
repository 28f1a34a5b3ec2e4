"""One Inspect process, as it is reported to the desk."""

import os

from ssh.shipped.common.inspect_commands import log_dir_word
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, environ_of
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.probe.eval_client import EvalClient
from ssh.shipped.probe.liveness import start_time_of
from ssh.shipped.probe.redaction import VARIABLE_NAME, redacted

SENT_FIELDS = ("pid", "start", "run_id", "started_at", "api_version", "socket_path", "data_dir")
SENT_FIELDS += ("found", "alive", "channel", "waiting_since", "took", "argv", "run", "variables")
SENT_FIELDS += ("cwd", "python", "ended_at")
RECORD_FIELDS = ("run_id", "started_at", "api_version", "socket_path", "control_dir", "data_dir")


class EvalProcess:
    """Its fields are explained in docs/frames.md."""

    def __init__(self, probe, pid, start):
        self.probe = probe
        self.pid = pid
        self.start = start
        self.key = (pid, start)
        self.run_id = self.started_at = self.api_version = None
        self.socket_path = self.control_dir = self.data_dir = None
        self.found = "record"
        self.alive = True
        self.channel = "new"
        self.waiting_since = None
        self.took = None
        self.argv = self.cwd = self.python = None
        self.run = None
        self.variables = []
        self.ended_at = None
        self.ended_mono = None
        self.by_name = False  # its command line says that it is Inspect
        self.opted_out = False
        self.record_gone_at = None
        self.log_dir = None
        self.root = None  # the data folder of its record
        self.client = EvalClient(probe, self)
        self.client.start()

    def begin_anew(self):
        """The process, a script, now runs another eval."""
        self.alive, self.ended_at = True, None
        watches = self.client.watches
        self.client = EvalClient(self.probe, self)
        self.client.watches = watches
        self.client.start()

    def row(self):
        return {name: getattr(self, name) for name in SENT_FIELDS}

    def learn_record(self, record):
        news = self.socket_path != record["socket_path"] or self.run_id != record["run_id"]
        for name in RECORD_FIELDS:
            setattr(self, name, record[name])
        self.found = "record"
        self.root = os.path.join(record["data_dir"], "inspect_ai")
        if news:
            self.channel = "new"
            self.client.read_now()

    def learn_proc(self):
        """Read its facts in /proc."""
        argv = argv_of(self.pid) if LINUX else None
        if argv is None:
            return
        env = environ_of(self.pid)
        self.argv = redacted(argv)
        self.run = env.get("EVALROOM_RUN", "")[:64] or None
        self.variables = sorted(name for name in env if VARIABLE_NAME.search(name))[:100]
        self.cwd = link_of(self.pid, "cwd")
        self.python = python_of(self.pid, argv, env)
        self.log_dir = log_dir_of(argv, self.cwd, env)
        self.opted_out = has_no_control_server(argv, env)
        started_at = start_time_of(self.pid)
        if started_at is not None:
            self.started_at = started_at

    def answered(self, channel, took):
        changed = channel != self.channel or (
            self.waiting_since is not None and channel != "waiting"
        )
        self.took = round(took, 6)
        self.channel = channel
        if channel != "waiting":
            self.waiting_since = None
        if changed:
            self.probe.processes.changed()

    def overdue(self, since):
        if self.waiting_since is None or self.channel != "waiting":
            self.waiting_since = since
            self.channel = "waiting"
            self.probe.processes.changed()


def link_of(pid, name):
    try:
        return os.fsencode(os.readlink("/proc/%d/%s" % (pid, name))).decode("utf-8", "replace")
    except OSError:
        return None


def python_of(pid, argv, env):
    """Return the interpreter's path as given: resolving it would leave its virtual env."""
    first = argv[0] if argv else ""
    if "python" in os.path.basename(first) or "pypy" in os.path.basename(first):
        if os.path.isabs(first) and os.access(first, os.X_OK):
            return first
        if "/" not in first:
            found = find_tool(first, env.get("PATH") or os.defpath)
            if found:
                return found
        else:
            found = os.path.join(link_of(pid, "cwd") or "/", first)
            if os.access(found, os.X_OK):
                return found
    return link_of(pid, "exe")


def log_dir_of(argv, cwd, env):
    chosen = log_dir_word(argv, env)
    if "://" in chosen:
        return None
    return os.path.join(cwd, chosen) if cwd or os.path.isabs(chosen) else None


def has_no_control_server(argv, env):
    words = [word.lower() for word in argv]
    chosen = env.get("INSPECT_EVAL_CTL_SERVER", "").lower()
    for at, word in enumerate(words):
        if word.startswith("--ctl-server="):
            chosen = word.partition("=")[2]
        elif word == "--ctl-server" and at + 1 < len(words):
            chosen = words[at + 1]
        elif word == "--no-ctl-server":
            chosen = "false"
    return chosen in ("false", "0", "no", "off")
