"""One Inspect process, as it is reported to the desk."""

import os

from ssh.shipped.common.inspect_commands import log_dir_word, runs_evals
from ssh.shipped.common.namespaces import (
    CONTAINED,
    HERE,
    inner_pids,
    pid_namespace,
    place_of,
)
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, environ_of, stat_of
from ssh.shipped.probe.container_names import container_of
from ssh.shipped.probe.discovery import VERBS
from ssh.shipped.probe.eval_client import EvalClient
from ssh.shipped.probe.interpreter import interpreter_of
from ssh.shipped.probe.liveness import start_time_of
from ssh.shipped.probe.log_variables import log_variables
from ssh.shipped.probe.oom_kills import kills_near
from ssh.shipped.probe.records import data_root
from ssh.shipped.probe.redaction import VARIABLE_NAME, redacted

SENT_FIELDS = ("pid", "start", "run_id", "started_at", "api_version", "socket_path", "data_dir")
SENT_FIELDS += ("found", "alive", "channel", "waiting_since", "took", "argv", "run", "variables")
SENT_FIELDS += ("cwd", "python", "ended_at", "unsignalled", "container")
SENT_FIELDS += ("is_stopped", "logs", "slow_polls", "killed")
RECORD_FIELDS = ("run_id", "started_at", "api_version", "socket_path", "control_dir", "data_dir")


class EvalProcess:
    """Its fields are explained in docs/frames.md."""

    def __init__(self, probe, pid, start, place=HERE):
        self.probe = probe
        self.pid = pid
        self.start = start
        self.key = (pid, start)
        self.run_id = self.started_at = self.born_at = self.api_version = None
        self.socket_path = self.control_dir = self.data_dir = None
        self.place = place
        self.found = "record"
        self.alive = True
        self.channel = "contained" if place == CONTAINED else "new"
        self.container = None  # identifies the container of a contained process
        self.waiting_since = None
        self.is_stopped = False  # by a signal, as far as it is known while it does not answer
        self.took = None
        self.slow_polls = []  # [{name, wait (s), took (s, its last answer)}]
        self.argv = self.cwd = self.python = None
        self.run = None
        self.variables = []
        self.ended_at = None
        self.ended_mono = None
        self.kills = None  # kills for lack of memory near it, when it was found
        self.killed = ""
        self.by_name = False  # its command line says that it is Inspect
        self.opted_out = False
        self.record_gone_at = None
        self.is_cut_off = False  # it listens at its socket, whose file was removed
        self.log_dir = None
        self.log_variables = {}
        self.root = None  # the data folder of its record
        self.traces = None  # the folder of its trace file, if it has no control server
        self.logs = []  # what its trace file names, once it has ended
        self.client = EvalClient(probe, self)
        if not self.is_contained:
            self.client.start()

    @property
    def is_contained(self):
        return self.place == CONTAINED

    def restart(self):
        """The process, a script, now runs another eval."""
        self.alive, self.ended_at = True, None
        watches = self.client.watches
        self.client = EvalClient(self.probe, self)
        self.client.watches = watches
        self.client.start()

    @property
    def unsignalled(self):
        """Return why this process gets no signal (`contained`, `script`); None: it may get one."""
        if self.is_contained:
            return "contained"
        return None if self.by_name or self.run else "script"

    def row(self):
        return {name: getattr(self, name) for name in SENT_FIELDS}

    def learn_record(self, record):
        self.is_cut_off = False
        news = self.socket_path != record["socket_path"] or self.run_id != record["run_id"]
        for name in RECORD_FIELDS:
            setattr(self, name, record[name])
        self.found = "record"
        self.root = os.path.join(record["data_dir"], "inspect_ai")
        if news:
            self.channel = "new"
            self.client.read_soon()

    def learn_proc(self):
        """Read its facts in /proc; follow no path that a process in a container names."""
        argv = argv_of(self.pid)
        if argv is None:
            return
        self.argv = redacted(argv)
        self.born_at = start_time_of(self.pid)
        if self.born_at is not None:
            self.started_at = self.born_at
        if self.is_contained:
            self.container = container_facts(self.pid)
            return
        env = environ_of(self.pid)
        self.by_name = self.by_name or runs_evals(argv, VERBS)
        self.run = env.get("EVALROOM_RUN", "")[:64] or None
        self.variables = sorted(name for name in env if VARIABLE_NAME.search(name))[:100]
        self.cwd = link_of(self.pid, "cwd")
        self.opted_out = has_no_control_server(argv, env)
        if self.place == HERE:
            self.traces = os.path.join(data_root(env), "traces")
            self.log_dir = log_dir_of(argv, self.cwd, env)
            self.log_variables = log_variables(env)
            self.kills = self.kills or kills_near(self.pid)
            self.python = interpreter_of(self.pid, argv, env, self.cwd)

    def why_unsignalled(self):
        """Return why it gets no signal, read again; None: it may get one.

        A process may have become another program, or entered a container, since it was found.
        """
        argv, env = argv_of(self.pid), environ_of(self.pid)
        if place_of(self.pid) == CONTAINED:
            return "contained"
        is_inspect = argv is not None and runs_evals(argv, VERBS)
        return None if is_inspect or is_of_run(env, self.run) else "script"

    def lose_socket(self):
        """Its eval goes on, but the file of its socket was removed: nobody can reach it."""
        self.record_gone_at = None
        self.waiting_since = None
        self.is_cut_off = True
        self.channel = "removed"

    def answered(self, channel, took):
        if channel == "refused" and self.is_cut_off:
            channel = "removed"
        changed = channel != self.channel or (
            self.waiting_since is not None and channel != "waiting"
        )
        self.took = round(took, 6)
        self.channel = channel
        if channel != "waiting":
            self.waiting_since, self.is_stopped = None, False
        if changed:
            self.probe.processes.changed()

    def pauses(self, slow_polls):
        """Note which polls wait long, because of their cost."""
        if not is_alike(slow_polls, self.slow_polls):
            self.slow_polls = slow_polls
            self.probe.processes.changed()

    def overdue(self, since):
        found = stat_of(self.pid) if LINUX else None
        is_stopped = found is not None and found[0] in "Tt"
        if self.waiting_since is None or self.channel != "waiting" or is_stopped != self.is_stopped:
            self.waiting_since = since
            self.channel = "waiting"
            self.is_stopped = is_stopped
            self.probe.processes.changed()

    def waits_no_more(self):
        """The request of another probe has ended."""
        if self.channel == "waiting":
            self.waiting_since, self.channel, self.is_stopped = None, "ok", False
            self.probe.processes.changed()


def is_alike(some, others):
    """Whether two lists of slow polls name the same ones, with nearly the same waits."""
    if [each["name"] for each in some] != [each["name"] for each in others]:
        return False
    waits = [(each["wait"], other["wait"]) for each, other in zip(some, others)]
    return all(one < 1.5 * other and other < 1.5 * one for one, other in waits)


def link_of(pid, name):
    try:
        return os.fsencode(os.readlink("/proc/%d/%s" % (pid, name))).decode("utf-8", "replace")
    except OSError:
        return None


def container_facts(pid):
    """Return what identifies the container of a process, and the process's pid in it."""
    engine, container = container_of(pid)
    inner = inner_pids(pid)
    return {
        "engine": engine,
        "id": container,
        "namespace": pid_namespace(pid),
        "pid": inner[-1] if inner else None,
    }


def is_of_run(env, run):
    return run is not None and env.get("EVALROOM_RUN", "")[:64] == run


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
