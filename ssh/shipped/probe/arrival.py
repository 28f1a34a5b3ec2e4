"""The arrival of the second part of this program, which the desk sends after the `hello`."""

import threading
import time
import traceback
import zlib

from ssh.shipped.common.children import leave
from ssh.shipped.probe.requests import Request

try:
    import bz2
except ImportError:
    bz2 = None

SECOND_PARTS = []  # the class `SecondPart`, which that part of the program adds itself
NOT_ARRIVED = "not sent: the second part of evalroom's probe has not arrived on this machine yet"


def wanted_packing():
    """Return how the desk is to pack the second part; None: it is here already."""
    if SECOND_PARTS:
        return None
    return "bz2" if bz2 is not None else "zlib"


class Arrival:
    """Joins the pieces of the second part, and holds the requests that need it."""

    def __init__(self, requests):
        self.requests = requests
        self.packed = bytearray()
        self.lock = threading.Lock()
        self.held = []  # (head, Request)

    def add(self, head, piece):
        """Add a piece; return whether the second part is whole. Then it has run."""
        self.packed += piece
        if len(self.packed) < head["size"]:
            return False
        try:
            unpacked = (bz2 if self.packed[:3] == b"BZh" else zlib).decompress(self.packed)
            exec(compile(unpacked, "evalroom", "exec"), globals())
        except BaseException:  # such as a missing part of the standard library
            traceback.print_exc()
            leave(1)
        self.packed = bytearray()
        return True

    def ask(self, kind, head):
        """Keep a request until the second part is here."""
        request = Request(dict(head, path=""), kind)
        with self.lock:
            self.held.append((head, request))

    def release(self):
        """Return the heads of the requests that were held; their deadlines are what is left."""
        now = time.monotonic()
        with self.lock:
            held, self.held = self.held, []
        return [dict(head, deadline=request.end - now) for head, request in held]

    def tick(self, now):
        """Answer the requests whose deadline has passed."""
        with self.lock:
            late = [each for each in self.held if now > each[1].end]
            self.held = [each for each in self.held if now <= each[1].end]
        for _, request in late:
            self.requests.answer(request, None, NOT_ARRIVED, b"", request.seconds)
