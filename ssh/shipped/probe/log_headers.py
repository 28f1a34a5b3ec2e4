"""Reads headers of logs with this machine's Inspect, one at a time."""

import collections
import threading
import time

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.text import last_line, text_of
from ssh.shipped.common.tools import run_to_end
from ssh.shipped.probe.frames import MAX_ANSWER_BYTES


class LogHeaders(threading.Thread):
    def __init__(self, probe):
        super().__init__(name="headers", daemon=True)
        self.probe = probe
        self.wake = threading.Condition()
        self.queue = collections.deque()

    def ask(self, request, python):
        with self.wake:
            self.queue.append((request, python))
            self.wake.notify()

    def tick(self, now):
        late = []
        with self.wake:
            for entry in list(self.queue):
                if now > entry[0].end:
                    self.queue.remove(entry)
                    late.append(entry[0])
        for request in late:
            error = "other logs were being read"
            self.probe.requests.answer(request, None, error, b"", request.seconds)

    def run(self):
        while True:
            with self.wake:
                while not self.queue:
                    self.wake.wait()
                # An operator who waits gives up before the desk's own reading does.
                first = min(self.queue, key=lambda entry: entry[0].end)
                self.queue.remove(first)
                request, python = first
            at, begun = time.time(), time.monotonic()
            status, body, error = None, b"", None
            argv = [python, "-m", "inspect_ai", "log", "dump", "--header-only", "--", request.path]
            try:
                run = run_to_end(argv, max(1.0, request.end - begun), MAX_ANSWER_BYTES)
                status, body = run.code, run.out
                if status:
                    error = last_line(run.err) or "exit %d" % status
                    body = b""
            except Failed as failed:
                error = text_of(failed)
            took = time.monotonic() - begun
            self.probe.requests.answer(request, status, error, body, took, at)
