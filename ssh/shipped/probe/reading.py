"""Reads one fact of the machine periodically; a read may hang."""

import threading
import time

from ssh.shipped.common.failures import Absent, Stuck
from ssh.shipped.common.text import text_of

STUCK_AFTER_S = 8.0
TOOL_TIMEOUT_S = 20.0
SLOWDOWN = 6  # a stuck or absent thing is read so many times less often


class Reading(threading.Thread):
    """Calls `read` every `period` seconds, then `on_read`, in a thread of its own."""

    def __init__(self, name, period, read, on_read, is_polling):
        super().__init__(name=name, daemon=True)
        self.period = period
        self.read = read
        self.on_read = on_read
        self.is_polling = is_polling
        self.wake = threading.Event()
        self.value = None
        self.state = "unknown"
        self.error = None
        self.began = None
        self.since = None
        self.rounds = 0

    def run(self):
        while True:
            self.wake.clear()
            self.began = time.time()
            try:
                value = self.read()
                self.value, self.state, self.error, self.since = value, "ok", None, None
            except Absent as absent:
                self.value, self.state, self.since = None, "absent", None
                self.error = text_of(absent)
            except Stuck as stuck:  # the last value stays
                self.since = self.since or self.began
                self.state, self.error = "stuck", text_of(stuck)
            except Exception as failed:  # a tool may print anything; the next reading may do
                self.value, self.state, self.since = None, "failed", None
                self.error = text_of(failed)[:300]
            self.began = None
            self.rounds += 1
            self.on_read()
            slower = SLOWDOWN if self.state in ("stuck", "absent") else 1
            self.wake.wait(self.period * slower)
            while not self.is_polling():
                time.sleep(1.0)

    def standing(self):
        """Return (state, since, error); a read that takes too long counts as stuck."""
        began = self.began
        if began is not None and time.time() - began > STUCK_AFTER_S:
            return "stuck", self.since or began, "no answer for %d s" % (time.time() - began)
        return self.state, self.since, self.error
