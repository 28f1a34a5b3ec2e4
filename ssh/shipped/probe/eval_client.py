"""Talks to one eval process, in its own thread, one request at a time."""

import collections
import threading
import time
import traceback

from ssh.shipped.probe.changes import top_as_of, without_clocks
from ssh.shipped.probe.control_socket import (
    OTHER_PROCESS,
    UNSAFE,
    Connection,
    NoAnswer,
    checked_socket,
)
from ssh.shipped.probe.liveness import start_of
from ssh.shipped.probe.read_costs import QUICK_S, read_kind
from ssh.shipped.probe.requests import Request
from ssh.shipped.probe.turns import Turns
from ssh.shipped.probe.watches import Watch

REUSE_S = 4.0  # the server closes idle connections at 5 s
WAITING_AFTER_S = 1.0  # an answer that takes longer makes the channel `waiting`
OVERDUE_AFTER_S = 120.0  # a read that takes longer is trouble; it is waited for all the same
MIN_PAUSE_UNREACHED_S = 3.0
TURN_RETRY_S = 0.2
MIN_REPORTED_PAUSE_S = 2.0  # a longer pause before a first read is reported to the desk as trouble
SHOWN_WAIT_S = 10.0  # a longer wait between two reads is reported, with its cause
SHOWN_FACTOR = 3.0  # if it is so many times as long as the period
MAX_SLOW_POLLS = 10
MAX_TROUBLE_BYTES = 4096
UNSENT = ("refused", "no socket", "not allowed", "no channel", "no answer", *UNSAFE)
NO_CONNECTION = ("refused", "no socket", "reset", "not allowed", "no channel", *UNSAFE)


class EvalClient(threading.Thread):
    """Reads and changes one eval. Other threads set its fields under `wake`."""

    def __init__(self, probe, process):
        super().__init__(daemon=True)
        self.probe = probe
        self.process = process
        self.wake = threading.Condition()
        self.watches = {}
        self.requests = collections.deque()
        self.asking = None  # the request in flight
        self.reading = None  # (watch, when) of a read in flight
        self.began = None  # since when something is in flight
        self.blocked = None  # since when a request of another probe is in flight
        self.stopped = False
        self.connection = None
        self.turns = Turns(process.pid, process.start)
        self.turn_at = 0.0  # when to try again to get the turn
        self.known_kinds = set()  # the kinds of reads that this probe has had an answer to

    # -- called by other threads

    def watch(self, head):
        fresh = Watch(head)
        with self.wake:
            old = self.watches.get(fresh.name)
            if old is not None:
                fresh.take_over(old, time.monotonic())
            self.watches[fresh.name] = fresh
            self.wake.notify()

    def unwatch(self, name):
        with self.wake:
            self.watches.pop(name, None)
        self.probe.frames.drop(("answer", self.process.key, name))

    def request(self, request):
        with self.wake:
            self.requests.append(request)
            self.wake.notify()

    def stop(self):
        with self.wake:
            self.stopped = True
            self.wake.notify()

    def read_now(self):
        """Read all watches once, without a pause, because someone asked for it."""
        with self.wake:
            for watch in self.watches.values():
                watch.is_hurried = True
            self.wake.notify()

    def read_soon(self):
        """Read all watches as soon as their pauses allow, because something was changed."""
        with self.wake:
            for watch in self.watches.values():
                watch.due = 0.0
            self.wake.notify()

    def tick(self, now):
        """Answer requests whose deadline has passed; report an overdue answer of the eval."""
        late = []
        with self.wake:
            for request in list(self.requests):
                if now > request.end:
                    self.requests.remove(request)
                    error = "not sent: the process was busy for %d s" % request.seconds
                    late.append((request, error))
            asking = self.asking
            if asking is not None and not asking.done and now > asking.end:
                late.append((asking, "no answer in %d s" % asking.seconds))
            began = self.began if self.began is not None else self.blocked
            if began is not None and now - began >= WAITING_AFTER_S:
                self.process.overdue(time.time() - (now - began))
            reading = self.reading if self.began is not None else None
            is_overdue = reading is not None and now - began > OVERDUE_AFTER_S
        for request, error in late:
            self.probe.requests.answer(request, None, error, b"", request.seconds)
        if is_overdue:
            error = "no answer in %d s" % OVERDUE_AFTER_S
            self.report_trouble(*reading, error, None, b"")

    # -- its own thread

    def run(self):
        while True:
            job = self.next_job()
            if job is None:
                break
            try:
                if isinstance(job, Request):
                    self.carry_out(job)
                else:
                    self.read(job)
            except Exception:  # one bad answer must not end this thread
                traceback.print_exc()
                time.sleep(1.0)
        self.hang_up()
        if self.process.alive:
            self.turns.close()
        else:
            self.turns.forget()
        for request in list(self.requests):
            error = "not sent: the process is gone"
            self.probe.requests.answer(request, None, error, b"", 0.0)

    def next_job(self):
        """Wait for the next Request or Watch and for the turn; None: this client was stopped."""
        while True:
            if not self.wait_for_job():
                return None
            if not self.take_turn():
                continue
            with self.wake:
                job, due = self.choose()  # again: others may have read meanwhile
                if job is not None and due <= time.monotonic() and not self.stopped:
                    if isinstance(job, Request):
                        self.requests.popleft()
                        self.asking = job
                    return job
            self.turns.release()

    def wait_for_job(self):
        """Wait until something is due; return False if this client was stopped."""
        with self.wake:
            while not self.stopped:
                job, due = self.choose()
                now = time.monotonic()
                wait = None
                if job is not None:
                    wait = max(due, self.turn_at) - now
                    if wait <= 0:
                        return True
                if self.connection is not None:
                    idle = self.connection.used_at + REUSE_S - now
                    if idle <= 0:
                        self.hang_up()
                    else:
                        wait = idle if wait is None else min(wait, idle)
                self.wake.wait(wait)
            return False

    def choose(self):
        """Return (the next Request or Watch, when it is due); (None, 0.0) without one."""
        while self.requests:
            if not self.requests[0].done:
                return self.requests[0], 0.0
            self.requests.popleft()
        if not self.probe.polling or not self.process.socket_path:
            return None, 0.0
        chosen = None
        for watch in self.watches.values():
            due = 0.0 if watch.is_hurried else max(watch.due, self.paused_until(watch))
            if chosen is None or (due, watch.due) < chosen[:2]:
                chosen = (due, watch.due, watch)
        return (None, 0.0) if chosen is None else (chosen[2], chosen[0])

    def paused_until(self, watch):
        costs, kind = self.turns.costs, watch.kind
        due = costs.due(kind, is_first=kind not in self.known_kinds)
        wait, usual = due - time.monotonic(), costs.usual(kind)
        if watch.asked is None and wait > MIN_REPORTED_PAUSE_S and usual > QUICK_S:
            if watch.trouble is None:
                error = "not read now: its reads take %d s; the next one is in %d min"
                error %= (round(usual), max(1, round(wait / 60)))
                self.report_trouble(watch, time.time(), error, None, b"")
        return due

    def take_turn(self):
        """Return whether nothing else is in flight at this eval; no other probe asks it then."""
        blocked = self.turns.take(self.process.socket_path or "")
        if blocked is None:
            if self.blocked is not None:
                with self.wake:
                    self.blocked = None
                self.process.waits_no_more()
            return True
        self.hang_up()
        self.turn_at = time.monotonic() + TURN_RETRY_S
        with self.wake:
            self.blocked = blocked or self.blocked or time.monotonic()
        return False

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def exchange(self, method, path, request=None):
        """Send one request and return (status, body). Only a read may reuse a connection."""
        where = self.process.socket_path
        if not where:
            raise NoAnswer("no channel")
        where = checked_socket(where, self.process.control_dir)
        kept = self.connection
        self.connection = None
        if kept is not None and (method != "GET" or time.monotonic() - kept.used_at > REUSE_S):
            kept.close()
            kept = None
        if kept is not None:
            try:
                return self.exchange_over(kept, method, path)
            except NoAnswer as error:
                if not (error.unheard and error.kind == "reset"):
                    raise
                # The server closed it in that very moment: a read may be sent again.
        fresh = Connection(where)
        if not is_peer(fresh, self.process.pid):
            fresh.close()
            raise NoAnswer(OTHER_PROCESS)
        if request is not None:
            request.sent = True
        return self.exchange_over(fresh, method, path)

    def exchange_over(self, connection, method, path):
        keep = False
        try:
            status, body, keep = connection.ask(method, path)
            return status, body
        finally:
            if keep and method == "GET":
                self.connection = connection
            else:
                connection.close()

    def timed(self, method, path, request=None):
        """Return (at, took, status, body, error) of one exchange; keep the channel's state."""
        at, begun, kind = time.time(), time.monotonic(), read_kind(method, path)
        self.turns.begin(kind)
        self.began = begun
        status, body, error = None, b"", None
        try:
            status, body = self.exchange(method, path, request)
        except NoAnswer as caught:
            error = caught.kind
        finally:
            with self.wake:
                self.began = self.reading = None
            took = time.monotonic() - begun
            if error in UNSENT:
                self.turns.cancel()
            else:
                self.turns.end(kind, took)
                self.known_kinds.add(kind)
        if error in NO_CONNECTION:
            channel = "refused"
        elif error is not None and error.startswith("no answer"):
            channel = "waiting"
        else:
            channel = "ok"
        if error != "no channel":
            self.process.answered(channel, took)
        return at, took, status, body, error

    def carry_out(self, request):
        process, answer = self.process, self.probe.requests.answer
        if request.method != "GET" and start_of(process.pid, process.started_at) != process.start:
            # The socket's name holds the pid alone: what listens there now may be another eval.
            self.turns.release()
            with self.wake:
                self.asking = None
            error = "not sent: pid %d is another process now" % process.pid
            answer(request, None, error, b"", 0.0)
            return
        at, took, status, body, error = self.timed(request.method, request.path, request)
        with self.wake:
            self.asking = None
        if error is not None and request.method != "GET" and not request.sent:
            error = "not sent: " + error
        answer(request, status, error, body, took, at)
        if request.method != "GET":
            self.read_soon()

    def read(self, watch):
        path = watch.filled_path()
        with self.wake:
            watch.is_hurried = False
            watch.asked = time.monotonic()
            self.reading = (watch, time.time())
        at, took, status, body, error = self.timed("GET", path)
        pause = watch.every
        if error in NO_CONNECTION:
            pause = max(pause, MIN_PAUSE_UNREACHED_S)
        with self.wake:
            watch.due = watch.asked + pause
            if self.watches.get(watch.name) is not watch:  # it was replaced meanwhile
                other = self.watches.get(watch.name)
                if other is None or other.path != watch.path:
                    return
                watch = other
                watch.asked, watch.due = time.monotonic() - took, time.monotonic() - took + pause
        self.report_waits(watch, took)
        if error is None and status != 200:
            error = "http %d" % status
        if error is None and body.lstrip()[:1] not in (b"{", b"["):
            error = "bad answer"
        if error is not None:
            self.report_trouble(watch, at, error, status, body)
        else:
            self.report_answer(watch, at, took, status, body)

    def report_waits(self, watch, took):
        """Report the polls that wait long, because answers of the eval cost it much."""
        kind = watch.kind
        due = self.turns.costs.due(kind, is_first=kind not in self.known_kinds)
        watch.took, watch.wait = took, due - time.monotonic()
        with self.wake:
            slow = [
                {"name": each.name, "wait": round(each.wait), "took": round(each.took, 1)}
                for each in self.watches.values()
                if each.wait > max(SHOWN_WAIT_S, SHOWN_FACTOR * each.every)
            ]
        slow = sorted(slow, key=lambda each: -each["wait"])[:MAX_SLOW_POLLS]
        self.process.pauses(sorted(slow, key=lambda each: each["name"]))

    def report_trouble(self, watch, at, error, status, body):
        if watch.trouble == error:
            return
        watch.trouble = error
        watch.last = watch.raw = None
        process = self.process
        head = {"pid": process.pid, "start": process.start, "name": watch.name, "at": at}
        head.update(error=error, status=status)
        body = body[:MAX_TROUBLE_BYTES] if status else b""
        self.probe.frames.state(("answer", process.key, watch.name), "trouble", head, body)

    def report_answer(self, watch, at, took, status, body):
        process, probe = self.process, self.probe
        key = ("answer", process.key, watch.name)
        watch.trouble = None
        raw = (len(body), hash(body))
        as_of = None
        if raw == watch.raw:
            same = True
        else:
            last = without_clocks(probe.clocks, body) if probe.clocks is not None else raw
            same = last == watch.last
            watch.raw, watch.last = raw, last
            if "{as_of}" in watch.path:
                as_of = top_as_of(body)
        if same:
            # Rows of an answer that still waits to be written must not be passed over.
            if as_of is not None and not probe.frames.waits(key):
                watch.as_of = as_of
            probe.unchanged(process.key, watch.name, at, took)
            return

        def keep_as_of():
            if as_of is not None:
                watch.as_of = as_of

        head = {"pid": process.pid, "start": process.start, "name": watch.name}
        head.update(at=at, took=round(took, 6), status=status)
        probe.frames.state(key, "answer", head, body, keep_as_of)


def is_peer(connection, pid):
    """Whether the process with this pid listens at the other end."""
    try:
        return connection.peer()[0] == pid
    except OSError:
        return False
