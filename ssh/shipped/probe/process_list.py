"""The processes that the desk knows, and the thread that finds them."""

import collections
import threading
import time
import traceback

from ssh.shipped.probe.discovery import Discovery
from ssh.shipped.probe.eval_process import EvalProcess
from ssh.shipped.probe.frames import compact
from ssh.shipped.probe.liveness import start_of

KEEP_ENDED_S = 60.0
NEW_S = 30.0  # so long a process without a record counts as new
RECORD_GONE_S = 2.0
MAX_PYTHONS = 1000


class ProcessList(threading.Thread):
    def __init__(self, probe):
        super().__init__(name="finder", daemon=True)
        self.probe = probe
        self.by_key = {}
        self.pythons = collections.OrderedDict()  # pid -> interpreter, also of ended processes
        self.lock = threading.Lock()
        self.last_sent = None
        self.discovery = None
        self.every = 1.0

    def prepare(self, data_dir, every):
        self.discovery = Discovery(self.by_key, data_dir)
        self.every = every

    def all(self):
        return list(self.by_key.values())

    def addressed(self, head):
        """Return the process that a frame addresses, None: there is none."""
        return self.by_key.get((head["pid"], head["start"]))

    def changed(self):
        """Send the list if anything but `took` changed."""
        with self.lock:
            rows = [process.row() for process in self.all()]
            bare = compact([{k: v for k, v in row.items() if k != "took"} for row in rows])
            if bare == self.last_sent:
                return
            self.last_sent = bare
            self.probe.frames.state("processes", "processes", {"at": time.time()}, compact(rows))

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
        for key, (record, how, by_name) in found.items():
            process = self.by_key.get(key) or self.add(key, how, by_name)
            process.by_name = process.by_name or by_name
            if process.ended_at is not None:
                process.begin_anew()
            if record is not None:
                process.learn_record(record)
            elif process.socket_path is None:
                age = now - (process.started_at or now)
                process.channel = "off" if process.opted_out else "new" if age < NEW_S else "none"
        for key, process in list(self.by_key.items()):
            if key in found:
                process.record_gone_at = None
            else:
                self.missing(process, now)
        self.changed()

    def add(self, key, how, by_name):
        process = EvalProcess(self.probe, *key)
        process.found, process.by_name = how, by_name
        process.learn_proc()
        if process.python:
            self.pythons[process.pid] = process.python
            while len(self.pythons) > MAX_PYTHONS:
                self.pythons.popitem(last=False)
        self.by_key[key] = process
        return process

    def missing(self, process, now):
        """Handle a process that is no longer found: dead, or alive without its record."""
        if process.ended_at is None:
            if start_of(process.pid, process.started_at) == process.start:
                if process.by_name:
                    return
                # A script goes on after its eval: its record went, so that eval is over.
                process.record_gone_at = process.record_gone_at or time.monotonic()
                if time.monotonic() - process.record_gone_at < RECORD_GONE_S:
                    return
            process.alive, process.ended_at = False, now
            process.ended_mono = time.monotonic()
            process.waiting_since = None
            process.client.stop()
        elif time.monotonic() - process.ended_mono > KEEP_ENDED_S:
            self.by_key.pop(process.key, None)
