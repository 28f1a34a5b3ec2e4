"""Reads and writes frames from and to the desk."""

import collections
import json
import os
import threading

from ssh.shipped.common.children import leave

PROTOCOL = 1
MAX_HEAD_BYTES = 64 * 1024
MAX_PART_BYTES = 1024 * 1024
MAX_ANSWER_BYTES = 32 * 1024 * 1024
WHOLE_BELOW_BYTES = 16384  # a smaller body is written together with its head


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode("ascii")


class FrameWriter:
    """Writes all frames to the desk; replies go before state frames.

    A state frame has a key; a newer one replaces an older one that still waits. So a slow
    pipe costs freshness and never memory.
    """

    def __init__(self, fd):
        self.fd = fd
        self.ready = threading.Condition()
        self.replies = collections.deque()
        self.states = collections.OrderedDict()
        self.streams = 0
        self.closing = False

    def reply(self, kind, head, body=b""):
        with self.ready:
            self.replies.append((kind, head, body, None))
            self.ready.notify()

    def state(self, key, kind, head, body=b"", on_write=None):
        """Queue the newest frame of `key`; calls `on_write` when it is about to be written."""
        with self.ready:
            self.states[key] = (kind, head, body, on_write)
            self.ready.notify()

    def drop(self, key):
        with self.ready:
            self.states.pop(key, None)

    def waits(self, key):
        with self.ready:
            return key in self.states

    def close(self):
        with self.ready:
            self.closing = True
            self.ready.notify()

    def run(self):
        large = None  # the parts of an answer that is being written; replies go between them
        try:
            while True:
                with self.ready:
                    while not (self.replies or self.states or large):
                        if self.closing:
                            return
                        self.ready.wait()
                    frame = None
                    if self.replies:
                        frame = self.replies.popleft()
                    elif large is None:
                        frame = self.states.popitem(last=False)[1]
                if frame is None:
                    part = next(large, None)
                    if part is None:
                        large = None
                    else:
                        self.write(part)
                elif large is None and len(frame[2]) > MAX_PART_BYTES:
                    large = self.parts(frame)
                else:
                    for part in self.parts(frame):
                        self.write(part)
        except OSError:
            leave(0)

    def parts(self, frame):
        """Yield the whole frames of one message, each as pieces to write in a row."""
        kind, head, body, on_write = frame
        if callable(head):
            head = head()
        if on_write is not None:
            on_write()
        count = max(1, -(-len(body) // MAX_PART_BYTES))
        self.streams += 1
        stream = self.streams  # a reply between two parts counts on
        view = memoryview(body)
        for part in range(count):
            piece = view[part * MAX_PART_BYTES : (part + 1) * MAX_PART_BYTES]
            full = {"v": PROTOCOL, "kind": kind}
            full.update(head)
            if count > 1:
                full.update(part=part, parts=count, stream=stream)
            full["body"] = len(piece)
            line = compact(full)
            if len(line) >= MAX_HEAD_BYTES:
                error = "a head of %d bytes" % len(line)
                full = {"v": PROTOCOL, "kind": "refused", "id": head.get("id"), "about": kind}
                full.update(error=error, body=0)
                yield (compact(full) + b"\n",)
                return
            if len(piece) < WHOLE_BELOW_BYTES:
                yield (line + b"\n" + bytes(piece),)
            else:
                yield (line + b"\n", piece)

    def write(self, pieces):
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(self.fd, view[:65536]) :]


def read_frames(source, on_broken):
    """Yield (head, body) of the desk's frames; an error calls `on_broken`, which never returns."""
    data = b""
    while True:
        end = data.find(b"\n")
        if end < 0:
            if len(data) > MAX_HEAD_BYTES:
                on_broken("broken frame: a head without an end")
            more = source.read1(65536)
            if not more:
                return
            data += more
            continue
        try:
            head = json.loads(data[:end].decode("utf-8"))
            size = head["body"]
            ok = head["v"] == PROTOCOL and isinstance(head["kind"], str)
            ok = ok and isinstance(size, int) and 0 <= size <= MAX_PART_BYTES
        except (ValueError, KeyError, TypeError, RecursionError):
            ok = False
        if not ok:
            on_broken("broken frame")
        data = data[end + 1 :]
        while len(data) < size:
            more = source.read1(65536)
            if not more:
                return
            data += more
        body, data = data[:size], data[size:]
        yield head, body
