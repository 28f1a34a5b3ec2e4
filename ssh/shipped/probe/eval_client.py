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
from ssh.shipped.probe.requests import Request
from ssh.shipped.probe.watches import Watch, fair_pause

REUSE_S = 4.0  # the server closes idle connections at 5 s
WAITING_AFTER_S = 1.0  # an answer that takes longer makes the channel `waiting`
MIN_PAUSE_UNREACHED_S = 3.0
MAX_TROUBLE_BYTES = 4096
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
        self.began = None  # since when something is in flight
        self.stopped = False
        self.connection = None
        self.free_at = 0.0  # no watch is read before this
        self.last_took = None

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
        """Read all watches immediately, because the socket may be a new one."""
        with self.wake:
            self.free_at = 0.0
        self.read_soon()

    def read_soon(self):
        """Read all watches as soon as the pause allows, because something was changed."""
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
            if self.began is not None and now - self.began >= WAITING_AFTER_S:
                self.process.overdue(time.time() - (now - self.began))
        for request, error in late:
            self.probe.requests.answer(request, None, error, b"", request.seconds)

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
        for request in list(self.requests):
            error = "not sent: the process is gone"
            self.probe.requests.answer(request, None, error, b"", 0.0)

    def next_job(self):
        """Wait for the next Request or Watch; None: this client was stopped."""
        with self.wake:
            while not self.stopped:
                now = time.monotonic()
                while self.requests:
                    request = self.requests.popleft()
                    if not request.done:
                        self.asking = request
                        return request
                wait = None
                if self.probe.polling and self.process.socket_path:
                    chosen = None
                    for watch in self.watches.values():
                        due = watch.due if watch.asked is None else max(watch.due, self.free_at)
                        if chosen is None or due < chosen[0]:
                            chosen = (due, watch)
                    if chosen is not None:
                        if chosen[0] <= now:
                            return chosen[1]
                        wait = chosen[0] - now
                if self.connection is not None:
                    idle = self.connection.used_at + REUSE_S - now
                    if idle <= 0:
                        self.hang_up()
                    else:
                        wait = idle if wait is None else min(wait, idle)
                self.wake.wait(wait)
            return None

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
        at, begun = time.time(), time.monotonic()
        self.began = begun
        status, body, error = None, b"", None
        try:
            status, body = self.exchange(method, path, request)
        except NoAnswer as caught:
            error = caught.kind
        finally:
            with self.wake:
                self.began = None
        took = time.monotonic() - begun
        if error in NO_CONNECTION:
            channel = "refused"
        elif error is not None and error.startswith("no answer"):
            channel = "waiting"
        else:
            channel = "ok"
        self.free_at = time.monotonic() + fair_pause(took, self.last_took)
        self.last_took = took
        if error != "no channel":
            self.process.answered(channel, took)
        return at, took, status, body, error

    def carry_out(self, request):
        process, answer = self.process, self.probe.requests.answer
        if request.method != "GET" and start_of(process.pid, process.started_at) != process.start:
            # The socket's name holds the pid alone: what listens there now may be another eval.
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
        watch.asked = time.monotonic()
        path = watch.filled_path()
        at, took, status, body, error = self.timed("GET", path)
        pause = max(watch.every, fair_pause(took, watch.took))
        watch.took = took
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
        if error is None and status != 200:
            error = "http %d" % status
        if error is None and body.lstrip()[:1] not in (b"{", b"["):
            error = "bad answer"
        if error is not None:
            self.report_trouble(watch, at, error, status, body)
        else:
            self.report_answer(watch, at, took, status, body)

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
