"""The processes that the desk knows, and the thread that finds them."""

import collections
import os
import threading
import time
import traceback

from ssh.shipped.common.namespaces import CONTAINED, HERE
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.probe.dead_evals import DeadEvals, logs_left
from ssh.shipped.probe.discovery import Discovery
from ssh.shipped.probe.eval_process import EvalProcess
from ssh.shipped.probe.frames import compact
from ssh.shipped.probe.liveness import start_of
from ssh.shipped.probe.oom_kills import oom_kill_of
from ssh.shipped.probe.peers import is_held

KEEP_ENDED_S = 60.0
NEW_S = 30.0  # so long a process without a record counts as new
LONGEST_START_S = 3600.0  # so long too, while none of its tasks has begun: it loads data or a model
RECORD_GONE_S = 2.0
MAX_LOG_READERS = 1000
MAX_PROCESSES = 2000  # an account can start any number of processes; those that came first stay


class ProcessList(threading.Thread):
    def __init__(self, probe):
        super().__init__(name="finder", daemon=True)
        self.probe = probe
        self.by_key = {}
        # key -> (interpreter or None, variables for its logs), also of ended processes
        self.log_readers = collections.OrderedDict()
        self.lock = threading.Lock()
        self.news = threading.Event()  # the list has changed
        self.last_sent = None
        self.discovery = None
        self.dead_evals = DeadEvals()
        self.dead = []  # the rows of evals that died before this probe saw them
        self.left_out = 0  # how many processes the list has no room for
        self.every = 1.0

    def prepare(self, data_dir, every):
        self.discovery = Discovery(data_dir)
        self.every = every

    def all(self):
        return list(self.by_key.values())

    def addressed(self, head):
        """Return the process that a frame addresses; None: it is not known."""
        return self.by_key.get((head["pid"], head["start"]))

    def changed(self):
        """Send the list if anything but `took` changed."""
        with self.lock:
            rows = [process.row() for process in self.all()] + self.dead
            bare = compact([{k: v for k, v in row.items() if k != "took"} for row in rows])
            if (bare, self.left_out) == self.last_sent:
                return
            self.last_sent = (bare, self.left_out)
            self.news.set()
            head = {"at": time.time(), "left_out": self.left_out}
            self.probe.frames.state("processes", "processes", head, compact(rows))

    def run(self):
        while True:
            if self.probe.polling:
                try:
                    self.update(self.discovery.find())
                except Exception:  # one odd process must not hide the others for good
                    traceback.print_exc()
            time.sleep(self.every)

    def update(self, found):
        now = time.time()
        self.left_out = 0
        for key, each in found.items():
            process = self.by_key.get(key)
            if process is not None and process.is_contained != (each.place == CONTAINED):
                process.client.stop()
                process = None
            if key not in self.by_key and len(self.by_key) >= MAX_PROCESSES:
                self.left_out += 1
                continue
            process = process or self.add(key, each)
            process.by_name = process.by_name or each.by_name
            if process.ended_at is not None:
                process.restart()
            if process.is_contained:
                continue
            if each.is_cut_off:
                if process.socket_path is None:
                    process.learn_record(each.record)
                process.lose_socket()
            elif each.record is not None:
                process.learn_record(each.record)
            elif process.socket_path is None:
                process.channel = self.channel_without_record(process, now)
            elif is_cut_off(process):
                process.lose_socket()
        for key, process in list(self.by_key.items()):
            if key in found:
                process.record_gone_at = None
            else:
                self.missing(process, now)
        self.dead = self.find_dead()
        self.changed()

    def channel_without_record(self, process, now):
        """Return the channel of a process that never had a record.

        Inspect starts the control server once the tasks are loaded, which may take very long.
        """
        if process.opted_out:
            return "off"
        rest = self.probe.second_part
        has_begun = rest is not None and rest.traces.has_begun(process.key)
        longest = NEW_S if has_begun else LONGEST_START_S
        return "new" if now - (process.started_at or now) < longest else "none"

    def data_roots(self):
        """Return the data folders that are known, such as ~/.local/share/inspect_ai."""
        own = {self.discovery.root} if self.discovery is not None else set()
        return own | {each.root for each in self.all() if each.root}

    def find_dead(self):
        """Return the rows of the evals that died in the data folders that are known."""
        folders = {each.log_dir for each in self.all() if each.log_dir}
        return self.dead_evals.rows(self.data_roots(), folders)

    def add(self, key, each):
        process = EvalProcess(self.probe, *key, each.place)
        process.found = "running" if each.record is None else "record"
        process.by_name = each.by_name
        process.learn_proc()
        if process.python or process.log_variables:
            self.log_readers[key] = process.python, process.log_variables
            while len(self.log_readers) > MAX_LOG_READERS:
                self.log_readers.popitem(last=False)
        self.by_key[key] = process
        return process

    def missing(self, process, now):
        """Handle a process that is no longer found: dead, or alive without its record."""
        if process.ended_at is None:
            if start_of(process.pid, process.started_at) == process.start:
                if process.by_name or process.is_contained:
                    return
                if is_cut_off(process):
                    process.lose_socket()
                    return
                # A script goes on after its eval: its server ended, so that eval is over.
                process.record_gone_at = process.record_gone_at or time.monotonic()
                if time.monotonic() - process.record_gone_at < RECORD_GONE_S:
                    return
            process.alive, process.ended_at = False, now
            if process.traces:
                process.logs = logs_left(process.traces, process.pid, process.born_at)
            if LINUX and process.place == HERE:
                process.killed = oom_kill_of(process.pid, process.kills)
            process.ended_mono = time.monotonic()
            process.waiting_since = None
            process.client.stop()
        elif time.monotonic() - process.ended_mono > KEEP_ENDED_S:
            self.by_key.pop(process.key, None)


def is_cut_off(process):
    """Whether a process listens at a socket whose file was removed, as Inspect's clean-up does."""
    path = process.socket_path
    return bool(path) and not os.path.lexists(path) and is_held(process.pid, path)
