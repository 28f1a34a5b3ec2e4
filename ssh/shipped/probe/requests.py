"""Requests of the desk; each gets one answer."""

import re
import threading
import time

MAX_REQUESTS = 32
PATH = re.compile(r"/[!-~]*\Z")


def checked_path(path):
    if not PATH.match(path):
        raise ValueError("not a path")
    return path


class Request:
    def __init__(self, head, method):
        self.id = head["id"]
        self.method = method
        self.path = head["path"]
        self.asked = time.time()
        self.seconds = min(300.0, max(0.1, float(head.get("deadline") or 15.0)))
        self.end = time.monotonic() + self.seconds
        self.sent = False
        self.done = False


class Requests:
    """The requests that have no answer yet."""

    def __init__(self, frames):
        self.frames = frames
        self.lock = threading.Lock()
        self.outstanding = set()

    def admit(self, request_id):
        """Whether one more request may be added."""
        with self.lock:
            if len(self.outstanding) >= MAX_REQUESTS:
                return False
            self.outstanding.add(request_id)
            return True

    def forget(self, request_id):
        with self.lock:
            self.outstanding.discard(request_id)

    def answer(self, request, status, error, body, took, at=None):
        with self.lock:
            if request.done:
                return
            request.done = True
            self.outstanding.discard(request.id)
        head = {"id": request.id, "at": at if at is not None else request.asked}
        head.update(took=round(took, 6), status=status, error=error)
        self.frames.reply("reply", head, body)
