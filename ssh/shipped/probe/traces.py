"""Reads the traces of all evals that the probe lists, and sends what lasts in them."""

import collections
import threading
import time
import traceback

from ssh.shipped.common.namespaces import HERE
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.probe.frames import compact
from ssh.shipped.probe.liveness import start_of
from ssh.shipped.probe.trace_file import TraceFile, open_trace

TRACES_EVERY_S = 2.0
WOKEN_WAIT_S = 0.2  # several changes of the list of processes are one
LASTING_S = 4.0  # what began later is not sent: most actions end at once
FIND_EVERY_S = 10.0  # between two searches for the trace of a process
SOUGHT_OFTEN_S = (
    60.0  # a process opens its trace soon after its start: until then, each poll searches it
)
MAX_TRACED_PROCESSES = 200
MAX_LASTING_ROWS = 1000
MAX_NEW_TIES = 500
UNSEEN_AFTER_S = 60.0


class Traces(threading.Thread):
    """A thread of its own: a trace may be on a disk that hangs."""

    def __init__(self, probe):
        super().__init__(name="traces", daemon=True)
        self.probe = probe
        self.files = {}  # process key -> TraceFile
        self.looked_at = {}  # process key -> when its trace was looked for
        self.ties = collections.OrderedDict()  # process key -> its sandboxes, also once it ended
        self.listed = set()  # process keys of which Docker listed a sandbox
        self.sent = {}  # process key -> the rows that were sent last

    def run(self):
        news = self.probe.processes.news
        while LINUX:
            if self.probe.polling:
                try:
                    self.poll()
                except Exception:  # whatever breaks, the next poll comes
                    traceback.print_exc()
            if news.wait(TRACES_EVERY_S):
                time.sleep(WOKEN_WAIT_S)
            news.clear()

    def poll(self):
        living = {
            process.key: process
            for process in self.probe.processes.all()[:MAX_TRACED_PROCESSES]
            if process.place == HERE and lives_still(process.key, process.started_at)
        }
        for key in [key for key in self.looked_at if key not in living]:
            self.drop(key)
            self.send(key, [])
            del self.looked_at[key], self.sent[key]
        for key, process in living.items():
            self.send(key, self.rows_of(process))

    def rows_of(self, process):
        """Return what lasts in the trace of a process; no rows: it has none, or it is odd."""
        found = self.files.get(process.key) or self.find(process)
        if found is None:
            return []
        try:
            found.poll()
            return found.lasting(time.time(), LASTING_S)
        except OSError:
            self.drop(process.key)
        except Exception:  # an odd trace must not hide those of other evals
            traceback.print_exc()
            self.drop(process.key)
        return []

    def has_begun(self, key):
        """Return whether a task of a process has begun, as far as its trace is known."""
        found = self.files.get(key)
        return found is not None and found.has_begun

    def find(self, process):
        now = time.monotonic()
        is_young = time.time() - (process.started_at or 0.0) < SOUGHT_OFTEN_S
        if not is_young and now - self.looked_at.get(process.key, -FIND_EVERY_S) < FIND_EVERY_S:
            return None
        self.looked_at[process.key] = now
        fd = open_trace(process.pid)
        if fd is None:
            return None
        ties = self.ties.setdefault(process.key, collections.OrderedDict())
        while len(self.ties) > MAX_TRACED_PROCESSES:
            self.ties.popitem(last=False)
        found = self.files[process.key] = TraceFile(fd, process.started_at, ties)
        return found

    def drop(self, key):
        found = self.files.pop(key, None)
        if found is not None:
            found.close()

    def send(self, key, rows):
        """Send the rows of a process if they changed; the first time also an empty list."""
        if rows == self.sent.get(key):
            return
        self.sent[key] = rows
        head = {"pid": key[0], "start": key[1], "at": time.time()}
        if len(rows) > MAX_LASTING_ROWS:
            head["left_out"] = len(rows) - MAX_LASTING_ROWS
            rows = rows[:MAX_LASTING_ROWS]
        self.probe.frames.state(("doing", key), "doing", head, compact(rows))

    def forget_removed(self, projects):
        """Forget the sandboxes that Docker no longer lists; so weeks of evals take no memory.

        Those that a living process made last may still be about to appear in the list.
        """
        for key, ties in list(self.ties.items()):
            lives = lives_still(key, None)
            known = list(ties)
            if not projects.isdisjoint(known):
                self.listed.add(key)
            for project in known[: len(known) - MAX_NEW_TIES] if lives else known:
                if project not in projects:
                    ties.pop(project, None)
            if not lives and not ties:
                self.ties.pop(key, None)
        self.listed &= set(self.ties)

    def unseen(self):
        """Return the keys of evals that have sandboxes and of which Docker never listed one."""
        until = time.monotonic() - UNSEEN_AFTER_S
        return [
            key
            for key, found in list(self.files.items())
            if key not in self.listed and any(at < until for at in list(found.up_since.values()))
        ]

    def holders(self):
        """Return project -> (pid, start, task, sample id, epoch, whether that process lives).

        A trace may name the sandbox of another eval: a living process comes before one that has
        ended, so no eval makes the sandboxes of a living one look left over.
        """
        found = {}
        for key, ties in list(self.ties.items()):
            lives = lives_still(key, None)
            for project, sample in list(ties.items()):
                if project not in found or (lives and not found[project][-1]):
                    found[project] = (*key, *sample, lives)
        return found


def lives_still(key, started_at):
    """Whether the process of a key (pid, start) lives, listed or not."""
    return start_of(key[0], started_at) == key[1]
