"""Carries out the desk's frames, and exits when no frames come."""

import os
import platform
import sys
import threading
import time
import traceback

from ssh.shipped.common.children import leave, reap_orphans
from ssh.shipped.common.namespaces import pid_namespace
from ssh.shipped.common.platforms import PLATFORM
from ssh.shipped.common.proc import BOOT_ID
from ssh.shipped.common.text import text_of
from ssh.shipped.common.users import user_name
from ssh.shipped.probe.arrival import SECOND_PARTS, Arrival, wanted_packing
from ssh.shipped.probe.changes import clocks_pattern, number
from ssh.shipped.probe.frames import FrameWriter, read_frames
from ssh.shipped.probe.process_list import ProcessList
from ssh.shipped.probe.requests import Request, Requests, checked_path
from ssh.shipped.probe.signals import SIGNALS, UNSIGNALLED, end_former_probe, send_signal
from ssh.shipped.probe.turns import prune

VERSION = "1"
LEASE_S = 60.0  # without a frame for so long the probe exits; polling stops at half of it
TICK_S = 0.5
BEAT_S = 5.0  # the longest silence of the probe
BEAT_WITH_READS_S = 1.0
MAX_READS_PER_BEAT = 300
CHANGING_KINDS = ("send", "signal", "recover")
CHANGING_METHODS = ("POST", "PATCH", "PUT", "DELETE")
WRONG_FRAME = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


class Probe:
    def __init__(self, source, fd):
        self.source = source
        self.frames = FrameWriter(fd)
        self.requests = Requests(self.frames)
        self.processes = ProcessList(self)
        self.arrival = Arrival(self.requests)
        self.second_part = None
        self.writer = threading.Thread(target=self.frames.run, name="writer", daemon=True)
        self.lock = threading.Lock()
        self.unchanged_reads = {}
        self.polling = True
        self.started = False
        self.read_only = True
        self.lease = LEASE_S
        self.heard_at = time.monotonic()
        self.clocks = None
        self.start_head = None

    # -- the lease

    def unchanged(self, key, name, at, took):
        """A watch gave the same answer as before: the next beat reports it."""
        with self.lock:
            self.unchanged_reads[(key[0], key[1], name)] = (round(at, 3), round(took, 6))

    def beat(self):
        with self.lock:
            chosen = list(self.unchanged_reads.items())[:MAX_READS_PER_BEAT]
            for key, _ in chosen:
                del self.unchanged_reads[key]
        polls = [[key[0], key[1], key[2], at, took] for key, (at, took) in chosen]
        return {"at": time.time(), "polls": polls}

    def tick(self):
        beat_at = time.monotonic()
        while True:
            time.sleep(TICK_S)
            reap_orphans()
            now = time.monotonic()
            silent = now - self.heard_at
            if silent > self.lease:
                leave(0)
            if self.polling != (silent <= self.lease / 2):
                self.polling = not self.polling
                for process in self.processes.all():
                    process.client.read_soon()
            if not self.started:
                continue
            try:
                for process in self.processes.all():
                    process.client.tick(now)
                (self.second_part or self.arrival).tick(now)
            except Exception:  # whatever breaks, the lease goes on
                traceback.print_exc()
            if now - beat_at >= (BEAT_WITH_READS_S if self.unchanged_reads else BEAT_S):
                beat_at = now
                self.frames.state("beat", "beat", self.beat)

    # -- frames in

    def run(self):
        """Carry out frames until the input ends; it never returns."""
        self.writer.start()
        threading.Thread(target=self.tick, name="tick", daemon=True).start()
        for head, body in read_frames(self.source, self.bye):
            self.heard_at = time.monotonic()
            self.take(head, body)
        leave(0)

    def take(self, head, body=b""):
        try:
            self.carry_out(head, body)
        except WRONG_FRAME as error:
            self.refuse(head, "invalid %s frame: %s" % (head["kind"], text_of(error)))

    def carry_out(self, head, body):
        kind = head["kind"]
        if kind == "start":
            self.start(head)
        elif kind == "stop":
            self.bye("stopped")
        elif kind == "beat":
            pass
        elif not self.started:
            self.refuse(head, "not started")
        elif kind == "program":
            self.add_program(head, body)
        elif kind == "watch":
            self.watch(head)
        elif kind == "unwatch":
            process = self.processes.addressed(head)
            if process is not None:
                process.client.unwatch(head["name"])
        elif kind == "poll":
            process = self.processes.addressed(head)
            if process is not None:
                process.client.read_now()
        elif kind in ("get", "send", "signal", "logs", "recover", "facts"):
            self.ask(kind, head)
        else:
            self.refuse(head, "unknown kind")

    def refuse(self, head, error):
        self.frames.reply("refused", {"id": head.get("id"), "about": head["kind"], "error": error})

    def bye(self, reason):
        self.frames.reply("bye", {"reason": reason})
        self.frames.close()
        self.writer.join(1.0)
        leave(0)

    def start(self, head):
        if self.started:
            self.refuse(head, "started already")
            return
        self.read_only = head.get("read_only") is not False
        lease = number(head.get("lease"))
        if lease is not None:  # a desk may want a shorter life, never a longer one
            self.lease = min(LEASE_S, max(1.0, lease))
        self.clocks = clocks_pattern([str(name) for name in head.get("clocks") or ()])
        every = max(0.2, number(head.get("discover_every")) or 1.0)
        self.processes.prepare(head.get("data_dir"), every)
        self.start_head = head
        self.frames.reply(
            "hello",
            {
                "probe": VERSION,
                "pid": os.getpid(),
                "python": sys.version.split()[0],
                "executable": sys.executable,
                "host": platform.node(),
                "platform": PLATFORM,
                "user": user_name(os.getuid()),
                "boot_id": BOOT_ID,
                "namespace": pid_namespace("self"),
                "second_part": wanted_packing(),
                "at": time.time(),
            },
        )
        self.started = True
        prune()
        desk = str(head.get("desk") or "")
        threading.Thread(target=end_former_probe, args=(desk,), daemon=True).start()
        self.processes.start()
        if SECOND_PARTS:
            self.start_second_part()

    def add_program(self, head, piece):
        """Take a piece of the second part; start it once it is whole."""
        at, begun = time.time(), time.monotonic()
        if self.second_part is not None:
            self.refuse(head, "the second part is here already")
            return
        is_whole = self.arrival.add(head, piece)
        answer = {"id": head["id"], "at": at, "took": time.monotonic() - begun}
        self.frames.reply("reply", dict(answer, status=0, error=None))
        if is_whole:
            self.start_second_part()

    def start_second_part(self):
        self.second_part = SECOND_PARTS[0](self, self.start_head)
        for head in self.arrival.release():
            self.requests.forget(head["id"])
            self.take(head)

    def watch(self, head):
        process = self.processes.addressed(head)
        if process is None:
            self.refuse(head, "no such process")
            return
        checked_path(head["path"])
        process.client.watch(head)

    def ask(self, kind, head):
        if not self.requests.admit(head["id"]):
            self.refuse(head, "too many requests are outstanding")
            return
        try:
            if kind in CHANGING_KINDS and self.read_only:
                self.requests.forget(head["id"])
                self.refuse(head, "read-only")
            elif kind in ("facts", "logs", "recover"):
                (self.second_part or self.arrival).ask(kind, head)
            elif kind == "signal":
                self.signal(head)
            else:
                self.request(kind, head)
        except WRONG_FRAME:
            self.requests.forget(head["id"])
            raise

    def request(self, kind, head):
        method = "GET" if kind == "get" else head["method"]
        checked_path(head["path"])
        if kind == "send" and method not in CHANGING_METHODS:
            raise ValueError("not a method that changes something")
        request = Request(head, method)
        process = self.living(request, head)
        if process is not None:
            process.client.request(request)

    def signal(self, head):
        """Send SIGINT or SIGKILL to an eval, only if it is still the intended process."""
        request = Request(dict(head, path=head["signal"]), "signal")
        sign = SIGNALS[head["signal"]]
        process = self.living(request, head)
        if process is None:
            return
        error = send_signal(process, sign)
        self.requests.answer(request, None if error else 0, error, b"", 0.0)
        process.client.read_soon()

    def living(self, request, head):
        """Return the addressed process; None: it is gone, and this has answered the request."""
        process = self.processes.addressed(head)
        if process is not None and process.is_contained:
            self.requests.answer(request, None, "not sent: " + UNSIGNALLED["contained"], b"", 0.0)
            return None
        if process is not None and process.alive:
            return process
        self.requests.answer(request, None, "not sent: no such process", b"", 0.0)
        return None
