"""Reads logs with this machine's Inspect, with one start of Inspect at a time."""

import collections
import threading
import time

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.log_reading import read_with_first
from ssh.shipped.common.text import text_of
from ssh.shipped.probe.frames import compact
from ssh.shipped.probe.log_files import read_log_file
from ssh.shipped.probe.warm_reader import WarmReader


class LogReads(threading.Thread):
    def __init__(self, probe):
        super().__init__(name="logs", daemon=True)
        self.probe = probe
        self.wake = threading.Condition()
        self.queue = collections.deque()
        self.reader = WarmReader()

    def ask(self, request, pythons, asked, variables):
        """Queue a request: read the logs with the first of these interpreters that has Inspect.

        `variables` are added to those of a tool.
        """
        with self.wake:
            self.queue.append((request, pythons, asked, variables))
            self.wake.notify()

    def tick(self, now):
        self.reader.tidy()
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
            request, pythons, asked, variables = first
            at, begun = time.time(), time.monotonic()
            status, body, error = None, b"", None
            try:
                left = max(1.0, request.end - begun - 1.0)
                if asked.get("what") == "file":
                    body = read_log_file(asked["log"], asked["bytes"])
                else:
                    read = self.reader.run
                    answers, why = read_with_first(pythons, asked, left, variables, read)
                    body = compact({"answers": answers, "why": why})
                status = 0
            except Failed as failed:
                error = text_of(failed)
            took = time.monotonic() - begun
            self.probe.requests.answer(request, status, error, body, took, at)
