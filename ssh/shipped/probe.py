"""evalroom's probe: looks at the Inspect evals of this machine while somebody is connected.

`evalroom` starts this program over SSH and talks to it through its standard input and output.
It is one file of standard-library Python (3.8 or newer). It installs nothing, writes no file,
opens no port, calls nobody, and ends within a minute after its desk went away.

What it does:
  - finds the Inspect processes of this user (their discovery files, /proc);
  - asks their control sockets what the desk wants to know (HTTP over a unix socket) and
    sends on what changed;
  - reads GPUs, memory, load, disks and Docker every few seconds.

The messages are described in docs/frames.md of evalroom. In short: a line of JSON, then as
many bytes as its `body` says.

Threads: the main one reads frames, one writes them, one ticks (the lease), one finds
processes, one looks at each eval process (one request in flight each), and each tool that
may hang (nvidia-smi, docker, a dead disk) has one of its own.
"""

import collections
import errno
import json
import math
import os
import platform
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import traceback
import warnings

try:
    import pwd
except ImportError:  # pragma: no cover - every machine we know has it
    pwd = None

VERSION = "1"
PROTOCOL = 1
LINUX = sys.platform.startswith("linux")

MAX_HEAD = 64 * 1024
MAX_PART = 1024 * 1024
MAX_ANSWER = 32 * 1024 * 1024
MAX_REQUESTS = 32
MAX_RECORD = 64 * 1024
MAX_ARGV = 8 * 1024

LEASE = 60.0  # seconds without a beat until the probe exits; half of it until it stops polling
BEAT = 5.0  # longest silence of ours, seconds
REUSE = 4.0  # the server closes idle connections at 5 s
CONNECT = 5.0
PATIENCE = 120.0  # longest wait for one answer, seconds
SHARE = 100.0  # a look costs an eval at most one part in a hundred of its time
SLOWEST = 60.0  # longest that kindness alone delays a look, seconds
ONCE = 3.0  # longest that one slow answer delays it: that may be the eval's own work
WAITING = 1.0  # an answer that takes longer is worth telling
KEEP_ENDED = 60.0
SCAN_PROC = 5.0
STUCK = 8.0  # a tool that takes longer is called stuck
TOOL_LIMIT = 20.0
MARK = "evalroom-probe"

PATH_OK = re.compile(r"/[!-~]*\Z")
METHODS = ("POST", "PATCH", "PUT", "DELETE")


# ---------------------------------------------------------------------------------------------
# Frames out: one thread writes; state is not queued, replies go first.


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode("ascii")


class Out:
    """Everything that goes to the desk.

    A state frame has a key; a newer one replaces an older one that still waits. So a slow
    pipe costs freshness and never memory.
    """

    def __init__(self, fd):
        self.fd = fd
        self.ready = threading.Condition()
        self.replies = collections.deque()
        self.slots = collections.OrderedDict()
        self.streams = 0
        self.closing = False

    def reply(self, kind, head, body=b""):
        with self.ready:
            self.replies.append((kind, head, body, None))
            self.ready.notify()

    def state(self, key, kind, head, body=b"", taken=None):
        """Keep the newest frame of `key`; `taken` is called once it is being written."""
        with self.ready:
            self.slots[key] = (kind, head, body, taken)
            self.ready.notify()

    def drop(self, key):
        with self.ready:
            self.slots.pop(key, None)

    def waits(self, key):
        with self.ready:
            return key in self.slots

    def run(self):
        large = None  # the parts of an answer that is being written; replies go between them
        try:
            while True:
                with self.ready:
                    while not (self.replies or self.slots or large):
                        if self.closing:
                            return
                        self.ready.wait()
                    frame = None
                    if self.replies:
                        frame = self.replies.popleft()
                    elif large is None:
                        frame = self.slots.popitem(last=False)[1]
                if frame is None:
                    part = next(large, None)
                    if part is None:
                        large = None
                    else:
                        self.write(part)
                elif large is None and len(frame[2]) > MAX_PART:
                    large = self.parts(frame)
                else:
                    for part in self.parts(frame):
                        self.write(part)
        except OSError:
            leave(0)

    def parts(self, frame):
        """The whole frames that one message becomes, each as pieces to write in a row."""
        kind, head, body, taken = frame
        if callable(head):
            head = head()
        if taken is not None:
            taken()
        count = max(1, -(-len(body) // MAX_PART))
        self.streams += 1
        view = memoryview(body)
        for part in range(count):
            piece = view[part * MAX_PART : (part + 1) * MAX_PART]
            full = {"v": PROTOCOL, "kind": kind}
            full.update(head)
            if count > 1:
                full.update(part=part, parts=count, stream=self.streams)
            full["body"] = len(piece)
            line = compact(full)
            if len(line) >= MAX_HEAD:
                error = "a head of %d bytes" % len(line)
                full = {"v": PROTOCOL, "kind": "refused", "id": head.get("id"), "about": kind}
                full.update(error=error, body=0)
                yield (compact(full) + b"\n",)
                return
            if len(piece) < 16384:
                yield (line + b"\n" + bytes(piece),)
            else:
                yield (line + b"\n", piece)

    def write(self, pieces):
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(self.fd, view[:65536]) :]


# ---------------------------------------------------------------------------------------------
# Leaving: children first, then at once, even while a write is blocked.

CHILDREN = set()


def kill_group(pid):
    for target in (os.killpg, os.kill):
        try:
            target(pid, signal.SIGKILL)
        except OSError:
            pass


def leave(code):
    for _ in range(3):
        try:
            for pid in list(CHILDREN):
                kill_group(pid)
            break
        except RuntimeError:  # the set changed while it was read
            continue
    os._exit(code)


# ---------------------------------------------------------------------------------------------
# Tools: children with a deadline, a cap and a process group of their own.


class ToolFailed(Exception):
    """A tool that gave no usable answer: why, in a few words."""


class ToolAbsent(ToolFailed):
    """There is no such tool here."""


class ToolHung(ToolFailed):
    """A tool that did not end in time and was killed."""


TOOL_PATH = os.pathsep.join(
    [
        os.environ.get("PATH") or os.defpath,
        "/usr/local/bin",
        "/usr/bin",
        "/bin",
        "/usr/sbin",
        "/opt/rocm/bin",
        "/opt/homebrew/bin",
        "/usr/local/cuda/bin",
    ]
)


def find_tool(name, path=TOOL_PATH):
    for folder in path.split(os.pathsep):
        full = os.path.join(folder or ".", name)
        if os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    return None


LIBC = None
if LINUX:
    try:
        import ctypes

        LIBC = ctypes.CDLL(None)
    except (ImportError, OSError):
        LIBC = None


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def _in_the_child():
    # Runs between fork and exec: the child dies with the thread that started it, and it can
    # be told to end although our own threads block that.
    if LIBC is not None:
        LIBC.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def run_tool(argv, limit=TOOL_LIMIT, cap=1024 * 1024, env=None):
    """Return (exit status, stdout, stderr) of a program, both cut at `cap` bytes.

    It raises ToolAbsent or ToolHung. It returns only once the program is really dead, so a
    program that even SIGKILL can't end holds its thread (and only that) for ever.
    """
    full = dict(os.environ if env is None else env, PATH=TOOL_PATH, LC_ALL="C")
    full.pop("PYTHONPATH", None)
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
            env=full,
            preexec_fn=_in_the_child,
        )
    except FileNotFoundError:
        raise ToolAbsent("there is no %s" % os.path.basename(argv[0])) from None
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolFailed(text_of(error)) from error
    CHILDREN.add(child.pid)
    try:
        return _collect(child, limit, cap)
    finally:
        kill_group(child.pid)
        child.wait()
        CHILDREN.discard(child.pid)
        child.stdout.close()
        child.stderr.close()


def _collect(child, limit, cap):
    end = time.monotonic() + limit
    held = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = list(held)
    open_fds = set(held)
    while open_fds:
        left = end - time.monotonic()
        if left <= 0:
            raise ToolHung("no answer in %d s" % limit)
        for fd in select.select(list(open_fds), [], [], min(left, 5.0))[0]:
            data = os.read(fd, 65536)
            if not data:
                open_fds.discard(fd)
            held[fd] += data
            if len(held[fd]) > cap:
                raise ToolFailed("more than %d bytes of output" % cap)
    try:
        code = child.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise ToolHung("it does not end") from None
    return code, bytes(held[out]), bytes(held[err])


def text_of(error):
    return str(error) or type(error).__name__


def words(data, limit=300):
    """The first line that says something, as text."""
    for line in data.decode("utf-8", "replace").splitlines():
        if line.strip():
            return line.strip()[:limit]
    return ""


# ---------------------------------------------------------------------------------------------
# HTTP/1.1 over a unix socket.


class NoAnswer(Exception):
    """A request that got no good answer.

    `kind` is one of: refused, no socket, reset, not allowed, unsafe, short answer, bad answer,
    too large, no answer. `unheard` means that not one byte came back.
    """

    def __init__(self, kind, unheard=False):
        super().__init__(kind)
        self.kind = kind
        self.unheard = unheard


class Connection:
    """One connection to an eval's control socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.used_at = time.monotonic()
        self.held = b""
        try:
            self.sock.settimeout(CONNECT)
            self.sock.connect(path)
        except OSError as error:
            self.sock.close()
            raise NoAnswer(kind_of(error), unheard=True) from error

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass

    def ask(self, method, path, limit=PATIENCE):
        """Return (status, body, whether the connection may be used again)."""
        self.end = time.monotonic() + limit
        self.held = b""
        request = "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n" % (
            method,
            path,
        )
        if method != "GET":
            request += "Content-Length: 0\r\nConnection: close\r\n"
        self.sock.settimeout(limit)
        try:
            self.sock.sendall((request + "\r\n").encode("ascii"))
            status, headers = self.head()
            body = self.body(status, headers)
        except socket.timeout:
            raise NoAnswer("no answer in %d s" % limit) from None
        except OSError as error:
            raise NoAnswer(kind_of(error), unheard=not self.held) from error
        self.used_at = time.monotonic()
        keep = headers.get("connection", "").lower() != "close" and "content-length" in headers
        return status, body, keep

    def more(self):
        left = self.end - time.monotonic()
        if left <= 0:
            raise socket.timeout()
        self.sock.settimeout(left)
        return self.sock.recv(262144)

    def head(self):
        data, before = b"", 0
        while True:
            at = data.find(b"\r\n\r\n")
            if at >= 0:
                lines = data[:at].decode("latin-1").split("\r\n")
                found = re.match(r"HTTP/1\.[01] (\d{3})", lines[0])
                if not found:
                    raise NoAnswer("bad answer")
                self.rest = data[at + 4 :]
                if found.group(1).startswith("1"):
                    before += at
                    if before > MAX_HEAD:
                        raise NoAnswer("bad answer")
                    data = self.rest
                    continue
                headers = {}
                for line in lines[1:]:
                    name, _, value = line.partition(":")
                    headers[name.strip().lower()] = value.strip()
                return int(found.group(1)), headers
            if len(data) > MAX_HEAD:
                raise NoAnswer("bad answer")
            piece = self.more()
            if not piece:
                raise NoAnswer("short answer" if data else "reset", unheard=not data)
            self.held = b"x"
            data += piece

    def body(self, status, headers):
        if status in (204, 304):
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self.chunks()
        size = headers.get("content-length")
        if size is not None and not re.match(r"[0-9]{1,18}\Z", size):
            raise NoAnswer("bad answer")
        wanted = None if size is None else int(size)
        if wanted is not None and wanted > MAX_ANSWER:
            raise NoAnswer("too large")
        body = bytearray(self.rest)
        while wanted is None or len(body) < wanted:
            if len(body) > MAX_ANSWER:
                raise NoAnswer("too large")
            piece = self.more()
            if not piece:
                if wanted is None:
                    break
                raise NoAnswer("short answer")
            body += piece
        return bytes(body if wanted is None else body[:wanted])

    def chunks(self):
        data, body = bytearray(self.rest), bytearray()
        while True:
            at = data.find(b"\r\n")
            while at < 0:
                if len(data) > 1024:
                    raise NoAnswer("bad answer")
                data += self.piece()
                at = data.find(b"\r\n")
            try:
                size = int(bytes(data[:at]).split(b";")[0], 16)
            except ValueError:
                raise NoAnswer("bad answer") from None
            if size < 0 or len(body) + size > MAX_ANSWER:
                raise NoAnswer("too large")
            del data[: at + 2]
            while len(data) < size + 2:
                data += self.piece()
            if size == 0:
                return bytes(body)
            body += data[:size]
            del data[: size + 2]

    def piece(self):
        piece = self.more()
        if not piece:
            raise NoAnswer("short answer")
        return piece


def kind_of(error):
    code = error.errno
    if code == errno.ECONNREFUSED:
        return "refused"
    if code in (errno.ENOENT, errno.ENOTDIR):
        return "no socket"
    if code in (errno.ECONNRESET, errno.EPIPE):
        return "reset"
    if code in (errno.EACCES, errno.EPERM):
        return "not allowed"
    if isinstance(error, socket.timeout) or code == errno.EAGAIN:
        return "no answer"
    return text_of(error)


def check_socket(path, control_dir):
    """Raise NoAnswer unless `path` is a socket of ours right inside `control_dir`."""
    try:
        if os.path.realpath(os.path.dirname(path)) != os.path.realpath(control_dir):
            raise NoAnswer("unsafe")
        found = os.lstat(path)
    except OSError as error:
        raise NoAnswer(kind_of(error)) from error
    except ValueError:  # no path at all: half of a surrogate pair, a NUL
        raise NoAnswer("unsafe") from None
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
        raise NoAnswer("unsafe")


# ---------------------------------------------------------------------------------------------
# Lookers: one thread per eval process, one request in flight.


class Watch:
    def __init__(self, head):
        self.name = head["name"]
        self.path = head["path"]
        self.every = max(0.2, float(head["every"]))
        self.as_of = head.get("as_of")
        self.due = 0.0
        self.asked = None  # when it was last begun
        self.last = None  # what the last answer was, without its clocks
        self.raw = None
        self.trouble = None
        self.took = None

    def filled(self):
        if "{as_of}" not in self.path:
            return self.path
        if self.as_of is not None:
            return self.path.replace("{as_of}", repr(self.as_of))
        base, _, query = self.path.partition("?")
        kept = [pair for pair in query.split("&") if "{as_of}" not in pair]
        return base + ("?" + "&".join(kept) if kept else "")


def kind_pause(took, before):
    """Seconds to leave an eval alone after a look that took `took` seconds.

    A hundred times as long as the look. A single slow answer proves little (the eval may just
    have been at work), so it counts in full only once the one before was slow too.
    """
    steady = took if before is None else min(took, before)
    limit = ONCE if before is None else max(ONCE, steady * SHARE)
    return min(SLOWEST, took * SHARE, limit)


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


class Looker(threading.Thread):
    """Asks one eval process; everything that it must know is set under `wake`."""

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
        self.free_at = 0.0  # kindness: no watch before this
        self.last_took = None

    # -- called by other threads

    def watch(self, head):
        fresh = Watch(head)
        with self.wake:
            old = self.watches.get(fresh.name)
            if old is not None:
                if old.path == fresh.path:
                    fresh.as_of = old.as_of if old.as_of is not None else fresh.as_of
                    fresh.last, fresh.raw, fresh.trouble = old.last, old.raw, old.trouble
                    fresh.took = old.took
                if old.asked is not None and old.path == fresh.path:
                    fresh.asked = old.asked
                    fresh.due = min(old.asked + fresh.every, max(old.due, time.monotonic()))
            self.watches[fresh.name] = fresh
            self.wake.notify()

    def unwatch(self, name):
        with self.wake:
            self.watches.pop(name, None)
        self.probe.out.drop(("answer", self.process.key, name))

    def request(self, request):
        with self.wake:
            self.requests.append(request)
            self.wake.notify()

    def stop(self):
        with self.wake:
            self.stopped = True
            self.wake.notify()

    def poke(self):
        """The socket may be another one now: look at once."""
        with self.wake:
            for watch in self.watches.values():
                watch.due = 0.0
            self.free_at = 0.0
            self.wake.notify()

    def look_soon(self):
        """Something was changed: look as soon as kindness allows."""
        with self.wake:
            for watch in self.watches.values():
                watch.due = 0.0
            self.wake.notify()

    def tick(self, now):
        """Answer the requests whose deadline passed; tell of an answer that is overdue."""
        late = []
        with self.wake:
            for request in list(self.requests):
                if now > request.end:
                    self.requests.remove(request)
                    late.append(
                        (request, "not sent: the process was busy for %d s" % request.seconds)
                    )
            asking = self.asking
            if asking is not None and not asking.done and now > asking.end:
                error = "no answer in %d s" % asking.seconds
                if asking.method != "GET":
                    error += "; it may have been applied"
                late.append((asking, error))
            if self.began is not None and now - self.began >= WAITING:
                self.process.overdue(time.time() - (now - self.began))
        for request, error in late:
            self.probe.answer(request, None, error, b"", request.seconds)

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
                    self.look(job)
            except Exception:  # one bad answer must not end the looking
                traceback.print_exc()
                time.sleep(1.0)
        self.hang_up()
        for request in list(self.requests):
            self.probe.answer(request, None, "not sent: the process is gone", b"", 0.0)

    def next_job(self):
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
                    idle = self.connection.used_at + REUSE - now
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
        """One request, one answer: (status, body). Only a read may use a connection again."""
        where = self.process.socket_path
        if not where:
            raise NoAnswer("no channel")
        check_socket(where, self.process.control_dir)
        kept = self.connection
        self.connection = None
        if kept is not None and (method != "GET" or time.monotonic() - kept.used_at > REUSE):
            kept.close()
            kept = None
        if kept is not None:
            try:
                return self.over(kept, method, path)
            except NoAnswer as error:
                if not (error.unheard and error.kind == "reset"):
                    raise
                # The server closed it in that very moment: a read may be asked again.
        fresh = Connection(where)
        if request is not None:
            request.sent = True
        return self.over(fresh, method, path)

    def over(self, connection, method, path):
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
        """(at, took, status, body, error) of one exchange, with the channel's state kept."""
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
        if error is None:
            channel = "ok"
        elif error in ("refused", "no socket", "reset", "not allowed", "unsafe", "no channel"):
            channel = "refused"
        elif error.startswith("no answer"):
            channel = "waiting"
        else:
            channel = "ok"
        self.free_at = time.monotonic() + kind_pause(took, self.last_took)
        self.last_took = took
        if error != "no channel":
            self.process.answered(channel, took)
        return at, took, status, body, error

    def carry_out(self, request):
        process = self.process
        if request.method != "GET" and start_of(process.pid, process.started_at) != process.start:
            # The socket's name holds the pid alone: what listens there now may be another eval.
            with self.wake:
                self.asking = None
            error = "not sent: pid %d is another process now" % process.pid
            self.probe.answer(request, None, error, b"", 0.0)
            return
        at, took, status, body, error = self.timed(request.method, request.path, request)
        with self.wake:
            self.asking = None
        if error is not None and request.method != "GET":
            if request.sent:
                error += "; it may have been applied"
            else:
                error = "not sent: " + error
        self.probe.answer(request, status, error, body, took, at)
        if request.method != "GET":
            self.look_soon()

    def look(self, watch):
        watch.asked = time.monotonic()
        path = watch.filled()
        at, took, status, body, error = self.timed("GET", path)
        pause = max(watch.every, kind_pause(took, watch.took))
        watch.took = took
        if error in ("refused", "no socket", "reset", "unsafe"):
            pause = max(pause, 3.0)
        with self.wake:
            watch.due = watch.asked + pause
            if self.watches.get(watch.name) is not watch:
                other = self.watches.get(watch.name)
                if other is None:
                    return
                if other.path != watch.path:
                    return
                watch = other
                watch.asked, watch.due = time.monotonic() - took, time.monotonic() - took + pause
        if error is None and status != 200:
            error = "http %d" % status
        if error is None and body.lstrip()[:1] not in (b"{", b"["):
            error = "bad answer"
        if error is not None:
            self.in_trouble(watch, at, error, status, body)
        else:
            self.heard(watch, at, took, status, body)

    def in_trouble(self, watch, at, error, status, body):
        if watch.trouble == error:
            return
        watch.trouble = error
        watch.last = watch.raw = None
        process = self.process
        head = {"pid": process.pid, "start": process.start, "name": watch.name, "at": at}
        head.update(error=error, status=status)
        key = ("answer", process.key, watch.name)
        self.probe.out.state(key, "trouble", head, body[:4096] if status else b"")

    def heard(self, watch, at, took, status, body):
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
            if as_of is not None and not probe.out.waits(key):
                watch.as_of = as_of
            probe.unchanged(process.key, watch.name, at, took)
            return

        def taken():
            if as_of is not None:
                watch.as_of = as_of

        head = {"pid": process.pid, "start": process.start, "name": watch.name}
        head.update(at=at, took=round(took, 6), status=status)
        probe.out.state(key, "answer", head, body, taken)


FIRST_AS_OF = re.compile(rb'\s*\{\s*"as_of"\s*:\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*[,}]')


def top_as_of(body):
    """The `as_of` of an envelope. Where it comes first, as Inspect writes it, nothing is parsed."""
    first = FIRST_AS_OF.match(body)
    if first:
        return float(first.group(1))
    try:
        found = json.loads(body.decode("utf-8", "replace"))
        value = found.get("as_of")
    except (ValueError, RecursionError, AttributeError):
        return None
    return number(value)


def clocks_pattern(names):
    """A pattern that finds the named members of JSON text.

    A quote inside a JSON string is always escaped, so `"name":` can only be a member's name.
    A text longer than any time is none, and is not searched for its end: `re` would keep a
    hundred bytes for each of its characters.
    """
    if not names:
        return None
    scalar = rb'(?:"(?:[^"\\]|\\.){0,100}"|[-+.0-9eE]+|null|NaN|-?Infinity)'
    alternatives = b"|".join(re.escape(name.encode("utf-8")) for name in names)
    return re.compile(rb'"(?:' + alternatives + rb')"\s*:\s*' + scalar)


def without_clocks(pattern, body):
    """(length, hash) of an answer without what `pattern` finds; nothing of it is copied whole."""
    mark = at = length = 0
    for found in pattern.finditer(body):
        length += found.start() - at
        mark = hash((mark, body[at : found.start()]))
        at = found.end()
    return length + len(body) - at, hash((mark, body[at:]))


# ---------------------------------------------------------------------------------------------
# Processes.


class Process:
    """One Inspect process, as the desk is told about it."""

    def __init__(self, probe, pid, start):
        self.probe = probe
        self.pid = pid
        self.start = start
        self.key = (pid, start)
        self.run_id = self.started_at = self.api_version = None
        self.socket_path = self.control_dir = self.data_dir = None
        self.found = "record"
        self.alive = True
        self.channel = "new"
        self.waiting_since = None
        self.took = None
        self.argv = self.cwd = self.python = None
        self.run = None
        self.variables = []
        self.ended_at = None
        self.ended_mono = None
        self.by_name = False  # its command line says that it is Inspect
        self.off = False
        self.record_gone = None
        self.log_dir = None
        self.root = None  # the data folder where its record is
        self.looker = Looker(probe, self)
        self.looker.start()

    def begin_anew(self):
        """A script that ran one eval runs another one."""
        self.alive, self.ended_at = True, None
        watches = self.looker.watches
        self.looker = Looker(self.probe, self)
        self.looker.watches = watches
        self.looker.start()

    def shown(self):
        return {
            "pid": self.pid,
            "start": self.start,
            "run_id": self.run_id,
            "started_at": self.started_at,
            "api_version": self.api_version,
            "socket_path": self.socket_path,
            "data_dir": self.data_dir,
            "found": self.found,
            "alive": self.alive,
            "channel": self.channel,
            "waiting_since": self.waiting_since,
            "took": self.took,
            "argv": self.argv,
            "run": self.run,
            "variables": self.variables,
            "cwd": self.cwd,
            "python": self.python,
            "ended_at": self.ended_at,
        }

    def answered(self, channel, took):
        changed = channel != self.channel or (
            self.waiting_since is not None and channel != "waiting"
        )
        self.took = round(took, 6)
        self.channel = channel
        if channel != "waiting":
            self.waiting_since = None
        if changed:
            self.probe.processes_changed()

    def overdue(self, since):
        if self.waiting_since is None or self.channel != "waiting":
            self.waiting_since = since
            self.channel = "waiting"
            self.probe.processes_changed()


def read_file(path, limit=MAX_RECORD):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        out = b""
        while len(out) < limit:
            data = os.read(fd, limit - len(out))
            if not data:
                break
            out += data
        return out
    finally:
        os.close(fd)


def boot_id():
    try:
        return read_file("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
    except (OSError, ValueError):
        return ""


def boot_time():
    try:
        found = re.search(rb"^btime (\d+)", read_file("/proc/stat", 1024 * 1024), re.MULTILINE)
        return float(found.group(1)) if found else None
    except OSError:
        return None


BOOT = boot_id()
TICKS = float(os.sysconf("SC_CLK_TCK")) if LINUX else 100.0


def stat_of(pid):
    """(state letter, parent pid, start ticks) of a process on Linux; None when there is none."""
    try:
        data = read_file("/proc/%d/stat" % pid, 4096)
    except OSError:
        return None
    fields = data[data.rfind(b")") + 2 :].split()
    try:
        return fields[0].decode("ascii"), int(fields[1]), int(fields[19])
    except (IndexError, ValueError):
        return None


def start_of(pid, started_at):
    """What tells a reused pid apart; None when there is no such living process."""
    if LINUX:
        found = stat_of(pid)
        if found is None or found[0] in "ZX":
            return None
        return "%s-%d" % (BOOT[:8], found[2])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "r-%s" % started_at


RUNS = {
    "inspect": ("eval", "eval-set", "eval-retry", "score"),
    "flow": ("run",),
}


def runs_evals(argv):
    """Whether a command line is one of Inspect that runs evals."""
    if not argv:
        return False
    rest = argv
    if re.match(r"(python|pypy)[0-9.]*\Z", os.path.basename(rest[0])):
        rest = rest[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            if rest[0] == "-c":
                return False
            rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
        if rest and rest[0] == "-m":
            module = rest[1] if len(rest) > 1 else ""
            rest = [{"inspect_ai": "inspect", "inspect_flow": "flow"}.get(module, ""), *rest[2:]]
    if not rest:
        return False
    verbs = RUNS.get(os.path.basename(rest[0]))
    if not verbs:
        return False
    for word in rest[1:]:
        if not word.startswith("-"):
            return word in verbs and "--detach" not in rest
    return False


NEEDED_NAME = re.compile(
    r"^(INSPECT_|HF_|XDG_DATA_HOME\Z|CUDA_VISIBLE_DEVICES\Z|[A-Z0-9_]{1,40}_(API_KEY|BASE_URL|TOKEN)\Z"
    r"|(AWS|AZURE|GOOGLE|OPENAI|ANTHROPIC|VLLM|OLLAMA)_[A-Z0-9_]{1,40}\Z)"
)
"""Names of variables that an eval may have read at its start; their values are never told."""
SECRET_NAME = re.compile(
    r"(^|[-_.])(key|token|pwd|bearer)\Z"
    r"|(api|access|secret|private|auth)[-_]?(key|token)s?\Z|secret|passw|passphrase|credential",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(
    r"(sk-|hf_|ghp_|gho_|github_pat_|glpat-|xox[abpr]-|AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_\-.]{8,}"
)
URL_SECRET = re.compile(r"(//[^/:@\s]*:)[^@/\s]+@")


def blanked(argv):
    """The command line without what may be a secret, capped."""
    out, hide, size = [], None, 0
    for word in argv:
        if hide == "value":
            word, hide = "***", None
        elif hide == "pair":
            word, hide = word.partition("=")[0] + ("=***" if "=" in word else ""), None
        elif word in ("-M", "--env", "--model-args"):
            hide = "pair"
        elif re.match(r"-M.", word) and not word.startswith("--"):
            word = word.partition("=")[0] + "=***"
        elif word.startswith(("--env=", "--model-args=")):
            option, _, pair = word.partition("=")
            word = option + "=" + pair.partition("=")[0] + "=***"
        else:
            name, equals, _ = word.partition("=")
            if SECRET_NAME.search(name.lstrip("-")):
                if equals:
                    word = name + "=***"
                elif word.startswith("-"):
                    hide = "value"
            word = SECRET_VALUE.sub("***", word)
            word = URL_SECRET.sub(r"\1***@", word)
        size += len(word.encode("utf-8", "replace")) + 1
        if size > MAX_ARGV:
            out.append("...")
            break
        out.append(word)
    return out


def data_root(env):
    """The folder that Inspect would use with these variables (its own rule, platformdirs')."""
    chosen = env.get("XDG_DATA_HOME", "")
    home = env.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "inspect_ai")
    if os.path.isabs(chosen):
        return os.path.join(chosen, "inspect_ai")
    return os.path.join(home, ".local", "share", "inspect_ai")


def environ_of(pid):
    try:
        data = read_file("/proc/%d/environ" % pid, 512 * 1024)
    except OSError:
        return {}
    env = {}
    for pair in data.split(b"\0"):
        name, equals, value = pair.partition(b"=")
        if equals:
            env[name.decode("utf-8", "replace")] = os.fsdecode(value)
    return env


def argv_of(pid):
    try:
        data = read_file("/proc/%d/cmdline" % pid, 256 * 1024)
    except OSError:
        return None
    if not data:
        return None
    return [word.decode("utf-8", "replace") for word in data.rstrip(b"\0").split(b"\0")]


def link_of(pid, name):
    try:
        return os.fsencode(os.readlink("/proc/%d/%s" % (pid, name))).decode("utf-8", "replace")
    except OSError:
        return None


def python_of(pid, argv, env):
    """The interpreter as the process names it: its real path would lose its virtual env."""
    first = argv[0] if argv else ""
    if "python" in os.path.basename(first) or "pypy" in os.path.basename(first):
        if os.path.isabs(first) and os.access(first, os.X_OK):
            return first
        if "/" not in first:
            found = find_tool(first, env.get("PATH") or os.defpath)
            if found:
                return found
        else:
            found = os.path.join(link_of(pid, "cwd") or "/", first)
            if os.access(found, os.X_OK):
                return found
    return link_of(pid, "exe")


def log_dir_of(argv, cwd, env):
    for at, word in enumerate(argv or ()):
        chosen = None
        if word == "--log-dir" and at + 1 < len(argv):
            chosen = argv[at + 1]
        elif word.startswith("--log-dir="):
            chosen = word.partition("=")[2]
        if chosen:
            break
    else:
        chosen = env.get("INSPECT_LOG_DIR") or "logs"
    if "://" in chosen:
        return None
    return os.path.join(cwd, chosen) if cwd or os.path.isabs(chosen) else None


def number(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return value if math.isfinite(value) else None
        except OverflowError:
            return None
    return None


class Finder:
    """Finds the Inspect processes of this user."""

    def __init__(self, probe, data_dir):
        self.probe = probe
        self.given = os.path.join(os.path.expanduser(data_dir), "inspect_ai") if data_dir else None
        self.root = self.given or data_root(os.environ)
        self.cache = {}  # folder -> path -> (what stat said, record), of the files there now
        self.seen = {}  # pid -> (start ticks, first seen, looked at, verdict)
        self.scanned = -1e9
        self.roots = {}  # pid -> (looked at, data folder), of processes without a record
        self.named = {}  # pid -> start, of processes that are Inspect by their command line
        self.uid = os.getuid()

    def records(self, root):
        """The readable records of one data folder: pid -> record."""
        folder = os.path.join(root, "control")
        found = {}
        try:
            names = os.listdir(folder)
        except (OSError, ValueError):
            self.cache.pop(folder, None)
            return found
        before, here = self.cache.get(folder, {}), {}
        if len(self.cache) > 100:
            self.cache.clear()
        self.cache[folder] = here
        for name in names:
            if not name.endswith(".json") or name.startswith("."):
                continue
            record = self.record(os.path.join(folder, name), before, here)
            if record is not None:
                found[record["pid"]] = dict(
                    record, control_dir=folder, data_dir=os.path.dirname(root)
                )
        return found

    def record(self, path, before, here):
        try:
            now = os.lstat(path)
        except OSError:
            return None
        mark = (now.st_ino, now.st_size, now.st_mtime_ns)
        kept = before.get(path)
        if kept is not None and kept[0] == mark:
            here[path] = kept
            return kept[1]
        record = None
        if stat.S_ISREG(now.st_mode) and now.st_uid == self.uid and now.st_size <= MAX_RECORD:
            try:
                record = self.checked(json.loads(read_file(path).decode("utf-8")))
            except (OSError, ValueError, RecursionError):
                record = None
        here[path] = (mark, record)
        return record

    @staticmethod
    def checked(record):
        if not isinstance(record, dict):
            return None
        pid, path = record.get("pid"), record.get("socket_path")
        if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < 2**31:
            return None
        if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
            return None
        os.fsencode(path)  # raises a ValueError where it can't be a path
        run_id = record.get("run_id")
        version = record.get("api_version", 0)
        return {
            "pid": pid,
            "socket_path": path,
            "started_at": number(record.get("started_at")),
            "run_id": run_id[:200] if isinstance(run_id, str) else None,
            "api_version": version if isinstance(version, int) and abs(version) < 2**31 else 0,
        }

    def is_another(self, record):
        """Whether the living process of that pid is younger than the record: a reused pid."""
        if not LINUX or record["started_at"] is None:
            return False
        found, booted = stat_of(record["pid"]), boot_time()
        if found is None or booted is None:
            return False
        if booted + found[2] / TICKS <= record["started_at"] + 10.0:
            return False
        # Clocks get corrected: only a socket that nobody of that pid answers proves it.
        try:
            check_socket(record["socket_path"], record["control_dir"])
            probe = Connection(record["socket_path"])
        except NoAnswer:
            return True
        try:
            peer = probe.sock.getsockopt(socket.SOL_SOCKET, 17, 12)  # SO_PEERCRED
            return int.from_bytes(peer[:4], sys.byteorder) != record["pid"]
        except OSError:
            return False
        finally:
            probe.close()

    def running(self):
        """pids of this user's processes that are Inspect by their command line (Linux)."""
        now = time.monotonic()
        if not LINUX or now - self.scanned < SCAN_PROC:
            return self.named
        self.scanned = now
        named, parents, seen = {}, {}, {}
        try:
            names = os.listdir("/proc")
        except OSError:
            return self.named
        for name in names:
            if not name.isdigit():
                continue
            pid = int(name)
            first, looked, verdict = self.seen.get(pid, (now, -1e9, None))
            # A young process may still exec something else; an old one rarely does.
            if now - looked > (0.0 if now - first < 15.0 else 30.0) or verdict:
                verdict = self.verdict(pid)
                looked = now
            seen[pid] = (first, looked, verdict)
            if verdict:
                parents[pid] = verdict[1]
                named[pid] = verdict[0]
        self.seen = seen
        # What an eval forks has its command line too; it is no eval of its own.
        self.named = {pid: start for pid, start in named.items() if parents[pid] not in named}
        return self.named

    def verdict(self, pid):
        try:
            if os.stat("/proc/%d" % pid).st_uid != self.uid:
                return None
        except OSError:
            return None
        argv = argv_of(pid)
        if not argv or not runs_evals(argv):
            return None
        found = stat_of(pid)
        if found is None or found[0] in "ZX":
            return None
        return "%s-%d" % (BOOT[:8], found[2]), found[1]

    def control_sockets(self):
        """Bound control sockets of this host by pid, from /proc/net/unix."""
        found = {}
        try:
            data = read_file("/proc/net/unix", 8 * 1024 * 1024)
        except OSError:
            return found
        for match in re.finditer(rb"(/\S*/inspect_ai)/control/(\d+)\.sock$", data, re.MULTILINE):
            found[int(match.group(2))] = os.fsdecode(match.group(1))
        return found

    def look(self):
        """What there is now: key -> (record or None, found, whether it is Inspect by name)."""
        found = {}
        records = self.records(self.root)
        for pid, record in records.items():
            start = start_of(pid, record["started_at"])
            if start is None:
                continue
            known = self.probe.processes.get((pid, start))
            if known is None and self.is_another(record):
                continue
            found[(pid, start)] = (record, "record", False)
        sockets = None
        if len(self.roots) > 1000:
            self.roots.clear()
        for pid, start in self.running().items():
            key = (pid, start)
            if key in found:
                found[key] = (found[key][0], "record", True)
                continue
            if start_of(pid, None) != start:
                continue
            known = self.probe.processes.get(key)
            root = known.root if known is not None and known.root else None
            record = None
            if root is None:
                now = time.monotonic()
                looked, root = self.roots.get(pid, (-1e9, None))
                if now - looked > 2.0:
                    if sockets is None:
                        sockets = self.control_sockets()
                    root = sockets.get(pid) or data_root(environ_of(pid))
                    self.roots[pid] = (now, root)
            if root != self.root:
                record = self.records(root).get(pid)
            if self.given is not None and os.path.realpath(root) != os.path.realpath(self.given):
                continue
            found[key] = (record, "running", True)
        return found


# ---------------------------------------------------------------------------------------------
# Facts of the machine.


class Reading(threading.Thread):
    """Reads one thing that may hang, again and again, in a thread of its own."""

    def __init__(self, name, period, read, told):
        super().__init__(name=name, daemon=True)
        self.period = period
        self.read = read
        self.told = told
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
            except ToolAbsent as absent:
                self.value, self.state, self.error, self.since = (
                    None,
                    "absent",
                    text_of(absent),
                    None,
                )
            except ToolHung as hung:
                self.since = self.since or self.began
                self.state, self.error = "stuck", text_of(hung)
            except Exception as failed:  # a tool may print anything; the next reading may do
                self.value, self.state, self.since = None, "failed", None
                self.error = text_of(failed)[:300]
            self.began = None
            self.rounds += 1
            self.told()
            slow = 6 if self.state in ("stuck", "absent") else 1
            self.wake.wait(self.period * slow)
            while not PROBE.polling:
                time.sleep(1.0)

    def standing(self):
        """(state, since, error) now; a read that takes too long is stuck already."""
        began = self.began
        if began is not None and time.time() - began > STUCK:
            return "stuck", self.since or began, "no answer for %d s" % (time.time() - began)
        return self.state, self.since, self.error


MIB = 1024 * 1024


WHOLE = re.compile(r"[0-9]{1,18}\Z")


def field(text, scale=1):
    """A number of nvidia-smi's csv; [N/A], [Unknown Error] and the like are None."""
    try:
        value = float(text.strip().split()[0])
    except (ValueError, IndexError):
        return None
    if not abs(value * scale) < 2.0**63:  # also not-a-number
        return None
    return int(value * scale) if scale != 1 else value


NVIDIA = ("index", "uuid", "name", "utilization.gpu", "memory.used", "memory.total")
NVIDIA += ("temperature.gpu", "power.draw", "power.limit", "mig.mode.current")


def read_gpus():
    nvidia, rocm = find_tool("nvidia-smi"), find_tool("rocm-smi")
    if nvidia:
        gpus = read_nvidia(nvidia)
        if gpus or not rocm:
            return "nvidia-smi", gpus
    if rocm:
        return "rocm-smi", read_rocm(rocm)
    raise ToolAbsent("there is neither nvidia-smi nor rocm-smi")


def read_nvidia(tool):
    names = NVIDIA
    code, out, err = nvidia_csv(tool, "gpu", names)
    if code and b"not a valid field" in out + err:  # an older driver without MIG
        names = NVIDIA[:-1]
        code, out, err = nvidia_csv(tool, "gpu", names)
    gpus, lost = [], []
    for line in out.decode("utf-8", "replace").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) >= len(names) and WHOLE.match(cells[0]):
            if len(cells) > len(names):  # a name with a comma
                extra = len(cells) - len(names)
                cells[2 : 3 + extra] = [", ".join(cells[2 : 3 + extra])]
            gpus.append(nvidia_row(cells))
        elif "lost" in line.lower() or "unable to determine the device handle" in line.lower():
            lost.append(line.strip())
    for line in err.decode("utf-8", "replace").splitlines():
        if "lost" in line.lower() or "unable to determine the device handle" in line.lower():
            lost.append(line.strip())
    for line in sorted(set(lost)):
        used = {gpu["index"] for gpu in gpus}
        index = next(number for number in range(len(used) + 1) if number not in used)
        bus = re.search(r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])", line)
        row = blank_gpu(index)
        row.update(name="GPU at %s" % bus.group(1) if bus else "GPU", lost=True)
        gpus.append(row)
    if not gpus:
        if b"No devices" in out + err:
            return []
        raise ToolFailed(
            words(err) if code and err.strip() else words(out, 120) or "exit %d" % code
        )
    gpus.sort(key=lambda gpu: gpu["index"])
    if any(gpu["mig"] for gpu in gpus):
        gpus = with_slices(tool, gpus)
    if any(not gpu["lost"] for gpu in gpus):
        with_pids(tool, gpus)
    return gpus


def nvidia_csv(tool, what, names):
    query = "--query-%s=%s" % (what, ",".join(names))
    return run_tool([tool, query, "--format=csv,noheader,nounits"])


def blank_gpu(index):
    row = dict.fromkeys(
        (
            "uuid",
            "utilisation",
            "memory_used",
            "memory_total",
            "temperature",
            "power",
            "power_limit",
        )
    )
    row.update(index=index, name="", mig=None, pids=[], lost=False)
    return row


def nvidia_row(cells):
    row = blank_gpu(int(cells[0]))
    row.update(
        uuid=cells[1] if cells[1].startswith("GPU") else None,
        name=cells[2][:200],
        utilisation=field(cells[3]),
        memory_used=field(cells[4], MIB),
        memory_total=field(cells[5], MIB),
        temperature=field(cells[6]),
        power=field(cells[7]),
        power_limit=field(cells[8]),
        mig="enabled" if len(cells) > 9 and cells[9].lower() == "enabled" else None,
        lost=any("lost" in cell.lower() for cell in cells[1:]),
    )
    return row


def with_slices(tool, gpus):
    """MIG: each slice as a row after its GPU, named by `nvidia-smi -L`."""
    code, out, _ = run_tool([tool, "-L"])
    if code:
        return gpus
    slices = collections.defaultdict(list)
    current = None
    for line in out.decode("utf-8", "replace").splitlines():
        top = re.match(r"GPU ([0-9]{1,18}):", line)
        if top:
            current = int(top.group(1))
        part = re.match(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)", line)
        if part and current is not None:
            row = blank_gpu(current)
            row.update(name="MIG " + part.group(1), mig=part.group(1), uuid=part.group(2))
            slices[current].append(row)
    out = []
    for gpu in gpus:
        out.append(gpu)
        out.extend(slices.get(gpu["index"], ()) if gpu["mig"] else ())
    return out


def with_pids(tool, gpus):
    try:
        code, out, _ = nvidia_csv(tool, "compute-apps", ("gpu_uuid", "pid", "used_memory"))
    except ToolFailed:
        return
    if code:
        return
    by_uuid = {gpu["uuid"]: gpu for gpu in gpus if gpu["uuid"]}
    for line in out.decode("utf-8", "replace").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 3 and WHOLE.match(cells[1]) and cells[0] in by_uuid:
            pids = by_uuid[cells[0]]["pids"]
            if len(pids) < 256:
                pids.append({"pid": int(cells[1]), "memory": field(cells[2], MIB)})


def rocm_json(tool, *options):
    code, out, err = run_tool([tool, *options, "--json"])
    text = out.decode("utf-8", "replace")
    at = text.find("{")
    if at < 0:
        raise ToolFailed(words(err) or words(out, 120) or "exit %d" % code)
    try:
        found = json.JSONDecoder().raw_decode(text[at:])[0]
    except (ValueError, RecursionError):
        raise ToolFailed("rocm-smi gave no JSON: " + words(out, 120)) from None
    return found


def read_rocm(tool):
    cards = rocm_json(
        tool, "--showproductname", "--showuniqueid", "--showuse", "--showmeminfo", "vram",
        "--showtemp", "--showpower", "--showmaxpower",
    )  # fmt: skip
    gpus = []
    for name, card in sorted(cards.items()):
        found = re.match(r"card([0-9]{1,18})\Z", name)
        if not found or not isinstance(card, dict):
            continue
        row = blank_gpu(int(found.group(1)))

        def pick(pattern, card=card):
            for key in card:
                if re.search(pattern, key, re.IGNORECASE):
                    return str(card[key])
            return ""

        row.update(
            uuid=pick(r"unique id") or None,
            name=(pick(r"card series") or pick(r"device name") or pick(r"card model"))[:200],
            utilisation=field(pick(r"GPU use \(%\)")),
            memory_used=field(pick(r"VRAM Total Used Memory \(B\)")),
            memory_total=field(pick(r"VRAM Total Memory \(B\)")),
            temperature=field(
                pick(r"temperature.*junction") or pick(r"temperature.*edge") or pick(r"temperature")
            ),
            power=field(pick(r"(average|current).*package power") or pick(r"^power")),
            power_limit=field(pick(r"max.*package power")),
        )
        for key in ("memory_used", "memory_total"):
            row[key] = int(row[key]) if row[key] is not None else None
        gpus.append(row)
    if not gpus:
        raise ToolFailed("rocm-smi names no card")
    gpus.sort(key=lambda gpu: gpu["index"])
    rocm_pids(tool, gpus)
    return gpus


def rocm_pids(tool, gpus):
    try:
        names = rocm_json(tool, "--showpids").get("system", {})
        where = rocm_json(tool, "--showpidgpus").get("system", {})
    except (ToolFailed, AttributeError):
        return
    by_index = {gpu["index"]: gpu for gpu in gpus}
    memory = {}
    for key, value in names.items():
        found = re.match(r"PID\s*([0-9]{1,18})\b", key)
        cells = [cell.strip() for cell in str(value).split(",")]
        if found:
            memory[int(found.group(1))] = (
                int(cells[2]) if len(cells) > 2 and WHOLE.match(cells[2]) else None
            )
    for key, value in where.items():
        found = re.match(r"PID\s*([0-9]{1,18})\b", key)
        cards = [int(card) for card in re.findall(r"\b[0-9]{1,18}\b", str(value))]
        for card in cards if found else ():
            if card in by_index:
                used = memory.get(int(found.group(1)))
                share = used if len(cards) == 1 else None
                by_index[card]["pids"].append({"pid": int(found.group(1)), "memory": share})


def size_of(text):
    """Bytes of a text like `12.3MiB`."""
    found = re.match(r"\s*([0-9.]+)\s*([kKMGTP]?)(i?)B", text)
    if not found:
        return None
    step = 1024 if found.group(3) else 1000
    power = " KMGTP".index((found.group(2) or " ").upper())
    try:
        size = float(found.group(1)) * step**power
    except ValueError:
        return None
    return int(size) if size < 2.0**63 else None


def json_lines(data, limit=500):
    rows = []
    for line in data.decode("utf-8", "replace").splitlines()[:limit]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


class DockerReader:
    """Docker's running containers; their memory every third time, since it costs seconds."""

    def __init__(self):
        self.round = 0
        self.memory = {}

    def __call__(self):
        tool = find_tool("docker")
        if not tool:
            raise ToolAbsent("there is no docker")
        code, out, err = run_tool([tool, "version", "--format", "{{.Server.Version}}"])
        if code:
            raise ToolFailed(words(err) or words(out) or "docker version: exit %d" % code)
        version = words(out, 60)
        code, out, err = run_tool([tool, "ps", "--no-trunc", "--format", "{{json .}}"])
        if code:
            raise ToolFailed(words(err) or "docker ps: exit %d" % code)
        rows = json_lines(out)
        if rows and self.round % 3 == 0:
            code, out, _ = run_tool([tool, "stats", "--no-stream", "--format", "{{json .}}"])
            self.memory = {}
            for row in json_lines(out) if not code else ():
                used = size_of(str(row.get("MemUsage", "")).partition("/")[0])
                self.memory[str(row.get("ID") or row.get("Container") or "")[:12]] = used
        self.round += 1
        containers = []
        for row in rows:
            short = str(row.get("ID", ""))[:12]
            containers.append(
                {
                    "id": short,
                    "name": str(row.get("Names", ""))[:200],
                    "image": str(row.get("Image", ""))[:300],
                    "status": str(row.get("Status", ""))[:100],
                    "memory": self.memory.get(short),
                }
            )
        return {"version": version, "containers": containers}


ASK_VERSION = (
    "import importlib.metadata as m\n"
    "try: print(m.version('inspect_ai'))\n"
    "except m.PackageNotFoundError: print('absent')"
)


def read_inspect():
    code, out, err = run_tool([sys.executable, "-c", ASK_VERSION])
    if code:
        raise ToolFailed(words(err) or "exit %d" % code)
    version = words(out, 60)
    if version == "absent":
        raise ToolAbsent("this Python has no inspect_ai")
    return version


class DiskReader:
    def __init__(self, probe):
        self.probe = probe

    def __call__(self):
        wanted = collections.OrderedDict()
        wanted[os.path.expanduser("~")] = "home"
        for process in list(self.probe.processes.values()):
            if process.log_dir and process.alive and len(wanted) < 9:
                wanted.setdefault(process.log_dir, "logs")
        disks = []
        for path, what in wanted.items():
            try:
                found = os.statvfs(path)
            except OSError:
                continue
            disks.append(
                {
                    "path": path,
                    "what": what,
                    "total": found.f_blocks * found.f_frsize,
                    "free": found.f_bavail * found.f_frsize,
                }
            )
        return disks


def read_memory():
    total = available = None
    try:
        text = read_file("/proc/meminfo").decode("ascii", "replace")
        for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE):
            if name == "MemTotal":
                total = int(value) * 1024
            elif name == "MemAvailable":
                available = int(value) * 1024
    except OSError:
        try:
            total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            pass
    return {"total": total, "available": available}


class Facts(threading.Thread):
    """Puts the readings together and sends them."""

    def __init__(self, probe, every):
        super().__init__(name="facts", daemon=True)
        self.probe = probe
        self.every = max(1.0, every)
        self.wake = threading.Condition()
        self.asked = []
        self.gpus = Reading("gpus", self.every, read_gpus, self.told)
        self.docker = Reading("docker", self.every, DockerReader(), self.told)
        self.inspect = Reading("inspect", max(300.0, self.every), read_inspect, self.told)
        self.disks = Reading("disks", self.every, DiskReader(probe), self.told)
        self.readings = (self.gpus, self.docker, self.inspect, self.disks)

    def told(self):
        with self.wake:
            self.wake.notify()

    def ask(self, request_id):
        with self.wake:
            self.asked.append((request_id, time.monotonic(), [r.rounds for r in self.readings]))
            self.wake.notify()
        for reading in self.readings:
            reading.wake.set()

    def run(self):
        for reading in self.readings:
            reading.start()
        sent_at, seen = time.monotonic(), 0
        while True:
            with self.wake:
                pause = max(0.05, sent_at + self.every - time.monotonic())
                self.wake.wait(0.25 if self.asked else min(self.every, pause))
                asked, self.asked = self.asked, []
            now = time.monotonic()
            for entry in asked:
                request_id, since, rounds = entry
                read = all(r.rounds > before for r, before in zip(self.readings, rounds))  # noqa: B905 - Python 3.8
                if read or now - since > 5.0:
                    self.probe.forget(request_id)
                    self.probe.out.reply(
                        "facts", {"at": time.time(), "id": request_id}, self.read()
                    )
                else:
                    with self.wake:
                        self.asked.append(entry)
            # The first facts go as they come; later ones once a period.
            known = sum(1 for reading in self.readings if reading.rounds)
            if self.probe.polling and (known > seen or now - sent_at >= self.every * 0.9):
                seen, sent_at = known, now
                head = {"at": time.time(), "id": None}
                self.probe.out.state("facts", "facts", head, self.read())

    def read(self):
        gpu_state, gpu_since, gpu_error = self.gpus.standing()
        docker_state, docker_since, docker_error = self.docker.standing()
        inspect_state, _, inspect_error = self.inspect.standing()
        tool, gpus = self.gpus.value or (None, [])
        docker = self.docker.value or {"version": None, "containers": []}
        try:
            load = [round(value, 2) for value in os.getloadavg()]
        except OSError:
            load = []
        return compact(
            {
                "at": round(time.time(), 1),
                "host": platform.node(),
                "platform": PLATFORM,
                "cpus": os.cpu_count(),
                "load": load,
                "memory": read_memory(),
                "disks": self.disks.value or [],
                "gpus": gpus,
                "gpu_tool": tool,
                "gpu_state": gpu_state,
                "gpu_since": gpu_since,
                "gpu_error": gpu_error,
                "docker": {
                    "state": docker_state,
                    "since": docker_since,
                    "error": docker_error,
                    "version": docker["version"],
                    "containers": docker["containers"],
                },
                "inspect": {
                    "state": inspect_state,
                    "version": self.inspect.value,
                    "python": sys.executable,
                    "error": inspect_error,
                },
                "clock": time.time(),
            }
        )


PLATFORM = "%s %s %s" % (platform.system(), platform.release(), platform.machine())


# ---------------------------------------------------------------------------------------------
# Log headers: that host's own Inspect, one at a time.


class Headers(threading.Thread):
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
            self.probe.answer(request, None, "other logs were being read", b"", request.seconds)

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
                limit = max(1.0, request.end - begun)
                status, body, err = run_tool(argv, limit=limit, cap=MAX_ANSWER)
                if status:
                    error = last_words(err) or "exit %d" % status
                    body = b""
            except ToolFailed as failed:
                error = text_of(failed)
            self.probe.answer(request, status, error, body, time.monotonic() - begun, at)


def last_words(data):
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


# ---------------------------------------------------------------------------------------------
# The probe.


class Probe:
    def __init__(self, source, out):
        self.source = source
        self.out = out
        self.processes = {}
        self.pythons = collections.OrderedDict()
        self.lock = threading.Lock()
        self.looks = {}
        self.outstanding = set()
        self.polling = True
        self.started = False
        self.read_only = True
        self.lease = LEASE
        self.beat_at = time.monotonic()
        self.clocks = None
        self.finder = None
        self.facts = None
        self.headers = None
        self.rescan = threading.Event()
        self.last_processes = None
        self.discover_every = 1.0

    # -- what other threads tell

    def processes_changed(self):
        with self.lock:
            rows = [process.shown() for process in self.processes.values()]
            bare = compact([{k: v for k, v in row.items() if k != "took"} for row in rows])
            if bare == self.last_processes:
                return
            self.last_processes = bare
            self.out.state("processes", "processes", {"at": time.time()}, compact(rows))

    def unchanged(self, key, name, at, took):
        with self.lock:
            self.looks[(key[0], key[1], name)] = (round(at, 3), round(took, 6))

    def beat(self):
        with self.lock:
            chosen = list(self.looks.items())[:300]
            for key, _ in chosen:
                del self.looks[key]
        looks = [[key[0], key[1], key[2], at, took] for key, (at, took) in chosen]
        return {"at": time.time(), "looks": looks}

    def answer(self, request, status, error, body, took, at=None):
        with self.lock:
            if request.done:
                return
            request.done = True
            self.outstanding.discard(request.id)
        head = {"id": request.id, "at": at if at is not None else request.asked}
        head.update(took=round(took, 6), status=status, error=error)
        self.out.reply("reply", head, body)

    def forget(self, request_id):
        with self.lock:
            self.outstanding.discard(request_id)

    # -- the lease

    def tick(self):
        beaten = time.monotonic()
        while True:
            time.sleep(0.5)
            now = time.monotonic()
            silent = now - self.beat_at
            if silent > self.lease:
                leave(0)
            if self.polling != (silent <= self.lease / 2):
                self.polling = not self.polling
                for process in list(self.processes.values()):
                    process.looker.poke()
            if not self.started:
                continue
            try:
                for process in list(self.processes.values()):
                    process.looker.tick(now)
                self.headers.tick(now)
            except Exception:  # whatever breaks, the lease goes on
                traceback.print_exc()
            if now - beaten >= (1.0 if self.looks else BEAT):
                beaten = now
                self.out.state("beat", "beat", self.beat)

    # -- finding processes

    def discover(self):
        while True:
            self.rescan.clear()
            if self.polling:
                try:
                    self.update(self.finder.look())
                except Exception:
                    traceback.print_exc()
            self.rescan.wait(self.discover_every)

    def update(self, found):
        now = time.time()
        for key, (record, how, by_name) in found.items():
            process = self.processes.get(key)
            if process is None:
                process = Process(self, *key)
                self.describe(process, how, by_name)
                self.processes[key] = process
            process.by_name = process.by_name or by_name
            if process.ended_at is not None:
                process.begin_anew()
            if record is not None:
                self.learn(process, record)
            elif process.socket_path is None:
                age = now - (process.started_at or now)
                process.channel = "off" if process.off else ("new" if age < 30.0 else "none")
        for key, process in list(self.processes.items()):
            if key in found:
                process.record_gone = None
                continue
            self.missing(process, now)
        self.processes_changed()

    def learn(self, process, record):
        news = process.socket_path != record["socket_path"] or process.run_id != record["run_id"]
        for name in (
            "run_id",
            "started_at",
            "api_version",
            "socket_path",
            "control_dir",
            "data_dir",
        ):
            setattr(process, name, record[name])
        process.found = "record"
        process.root = os.path.join(record["data_dir"], "inspect_ai")
        if news:
            process.channel = "new"
            process.looker.poke()

    def missing(self, process, now):
        """A process that is no longer found: dead, or alive without its record."""
        if process.ended_at is None:
            if start_of(process.pid, process.started_at) == process.start:
                if process.by_name:
                    return
                # A script goes on after its eval: its record went, so that eval is over.
                process.record_gone = process.record_gone or time.monotonic()
                if time.monotonic() - process.record_gone < 2.0:
                    return
            process.alive, process.ended_at = False, now
            process.ended_mono = time.monotonic()
            process.waiting_since = None
            process.looker.stop()
        elif time.monotonic() - process.ended_mono > KEEP_ENDED:
            self.processes.pop(process.key, None)

    def describe(self, process, how, by_name):
        process.found, process.by_name = how, by_name
        argv = argv_of(process.pid) if LINUX else None
        if argv is None:
            return
        env = environ_of(process.pid)
        process.argv = blanked(argv)
        process.run = env.get("EVALROOM_RUN", "")[:64] or None
        process.variables = sorted(name for name in env if NEEDED_NAME.search(name))[:100]
        process.cwd = link_of(process.pid, "cwd")
        process.python = python_of(process.pid, argv, env)
        process.log_dir = log_dir_of(argv, process.cwd, env)
        said = [word.lower() for word in argv]
        chosen = env.get("INSPECT_EVAL_CTL_SERVER", "").lower()
        for at, word in enumerate(said):
            if word.startswith("--ctl-server="):
                chosen = word.partition("=")[2]
            elif word == "--ctl-server" and at + 1 < len(said):
                chosen = said[at + 1]
            elif word == "--no-ctl-server":
                chosen = "false"
        process.off = chosen in ("false", "0", "no", "off")
        found, booted = stat_of(process.pid), boot_time()
        if found is not None and booted is not None:
            process.started_at = booted + found[2] / TICKS
        if process.python:
            self.pythons[process.pid] = process.python
            while len(self.pythons) > 1000:
                self.pythons.popitem(last=False)

    # -- frames in

    def run(self):
        held = b""
        while True:
            end = held.find(b"\n")
            if end < 0:
                if len(held) > MAX_HEAD:
                    self.bye("broken frame: a head without an end")
                data = self.source.read1(65536)
                if not data:
                    leave(0)
                held += data
                continue
            try:
                head = json.loads(held[:end].decode("utf-8"))
                size = head["body"]
                ok = head["v"] == PROTOCOL and isinstance(head["kind"], str)
                ok = ok and isinstance(size, int) and 0 <= size <= MAX_PART
            except (ValueError, KeyError, TypeError, RecursionError):
                ok = False
            if not ok:
                self.bye("broken frame")
            held = held[end + 1 :]
            while len(held) < size:
                data = self.source.read1(65536)
                if not data:
                    leave(0)
                held += data
            held = held[size:]
            self.beat_at = time.monotonic()
            try:
                self.take(head)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                self.refuse(
                    head, "a %s frame that is not right: %s" % (head["kind"], text_of(error))
                )

    def take(self, head):
        kind = head["kind"]
        if kind == "start":
            self.start(head)
        elif kind == "stop":
            self.bye("stopped")
        elif kind == "beat":
            pass
        elif not self.started:
            self.refuse(head, "not started")
        elif kind in ("watch", "unwatch"):
            self.aim(kind, head)
        elif kind in ("get", "send", "signal", "header", "facts"):
            self.ask(kind, head)
        else:
            self.refuse(head, "unknown kind")

    def refuse(self, head, error):
        self.out.reply("refused", {"id": head.get("id"), "about": head["kind"], "error": error})

    def bye(self, reason):
        self.out.reply("bye", {"reason": reason})
        with self.out.ready:
            self.out.closing = True
            self.out.ready.notify()
        WRITER.join(1.0)
        leave(0)

    def start(self, head):
        if self.started:
            self.refuse(head, "started already")
            return
        self.read_only = head.get("read_only") is not False
        lease = number(head.get("lease"))
        if lease is not None:  # a desk may ask for a shorter life, never for a longer one
            self.lease = min(LEASE, max(1.0, lease))
        self.clocks = clocks_pattern([str(name) for name in head.get("clocks") or ()])
        self.discover_every = max(0.2, number(head.get("discover_every")) or 1.0)
        self.finder = Finder(self, head.get("data_dir"))
        self.facts = Facts(self, number(head.get("facts_every")) or 10.0)
        self.headers = Headers(self)
        self.out.reply(
            "hello",
            {
                "probe": VERSION,
                "pid": os.getpid(),
                "python": sys.version.split()[0],
                "executable": sys.executable,
                "host": platform.node(),
                "platform": PLATFORM,
                "user": user_name(),
                "boot_id": BOOT,
                "at": time.time(),
                "read_only": self.read_only,
            },
        )
        self.started = True
        desk = str(head.get("desk") or "")
        threading.Thread(target=end_former, args=(desk,), daemon=True).start()
        threading.Thread(target=self.discover, name="finder", daemon=True).start()
        self.headers.start()
        self.facts.start()

    def process_of(self, head):
        return self.processes.get((head["pid"], head["start"]))

    def aim(self, kind, head):
        process = self.process_of(head)
        if process is None:
            if kind == "watch":
                self.refuse(head, "no such process")
            return
        if kind == "unwatch":
            process.looker.unwatch(head["name"])
        else:
            if not PATH_OK.match(head["path"]):
                raise ValueError("a path that is none")
            process.looker.watch(head)

    def ask(self, kind, head):
        with self.lock:
            if len(self.outstanding) >= MAX_REQUESTS:
                full = True
            else:
                full = False
                self.outstanding.add(head["id"])
        if full:
            self.refuse(head, "too many requests are out")
            return
        try:
            self.ask_one(kind, head)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            self.forget(head["id"])
            raise

    def ask_one(self, kind, head):
        if kind == "facts":
            self.facts.ask(head["id"])
            return
        if kind == "header":
            request = Request(dict(head, path=head["location"]), "header")
            if not isinstance(request.path, str) or "\0" in request.path:
                raise ValueError("a location that is none")
            self.headers.ask(request, self.pythons.get(head.get("pid")) or sys.executable)
            return
        if kind == "signal":
            self.signal(head)
            return
        method = "GET" if kind == "get" else head["method"]
        if not PATH_OK.match(head["path"]):
            raise ValueError("a path that is none")
        if kind == "send":
            if self.read_only:
                self.forget(head["id"])
                self.refuse(head, "read-only")
                return
            if method not in METHODS:
                raise ValueError("a method that is none")
        request = Request(head, method)
        process = self.process_of(head)
        if process is None or not process.alive:
            self.answer(request, None, "not sent: no such process", b"", 0.0)
            return
        process.looker.request(request)

    def signal(self, head):
        """Send one of two signals to an eval, only if it is still the process that was meant."""
        request = Request(dict(head, path=head["signal"]), "signal")
        if self.read_only:
            self.forget(head["id"])
            self.refuse(head, "read-only")
            return
        sign = SIGNALS[head["signal"]]
        process = self.process_of(head)
        if process is None or not process.alive:
            self.answer(request, None, "not sent: no such process", b"", 0.0)
            return
        error = send_signal(process.pid, sign, process.start, process.started_at)
        self.answer(request, None if error else 0, error, b"", 0.0)
        process.looker.look_soon()


SIGNALS = {"INT": signal.SIGINT, "KILL": signal.SIGKILL}


def send_signal(pid, sign, start, started_at):
    """Why a signal was not sent; None: it was. A pid that another process took gets none."""
    other = "not sent: pid %d is another process now" % pid
    descriptor = None
    try:
        if hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal"):
            try:
                descriptor = os.pidfd_open(pid)  # held: the pid can't be reused from here on
            except ProcessLookupError:
                return other
            except OSError:  # a kernel or a sandbox without it
                descriptor = None
        if start_of(pid, started_at) != start:
            return other
        if descriptor is not None:
            signal.pidfd_send_signal(descriptor, sign)
        else:
            os.kill(pid, sign)
    except ProcessLookupError:
        return other
    except OSError as error:
        return "not sent: %s" % text_of(error)
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return None


def user_name():
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except (AttributeError, KeyError):
        return str(os.getuid())


def end_former(desk):
    """End an older probe of the same desk: one that a dead connection left behind."""
    if not desk or not LINUX:
        return
    own = stat_of(os.getpid())
    former = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        argv = argv_of(int(name))
        if argv is None or argv[-2:] != [MARK, desk]:
            continue
        found = stat_of(int(name))
        if found is not None and own is not None and found[2] <= own[2]:
            former.append((int(name), found[2]))
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid, start in former:
            found = stat_of(pid)
            if found is not None and found[2] == start and found[0] not in "ZX":
                try:
                    os.kill(pid, sign)
                except OSError:
                    pass
        if former and sign == signal.SIGTERM:
            time.sleep(1.0)


def await_end():
    signal.sigwait(ENDING)
    leave(0)


PROBE = None
WRITER = None


def main():
    global PROBE, WRITER
    own = os.dup(1)  # nothing but frames goes there; what else is printed goes to stderr
    os.dup2(2, 1)
    try:
        sys.setswitchinterval(0.02)
    except (AttributeError, ValueError):
        pass
    warnings.simplefilter("ignore")
    threading.stack_size(256 * 1024)
    # A handler would run only once the main thread stops reading, and a signal may reach any
    # other thread: so all threads block these, and one waits for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    threading.Thread(target=await_end, name="signals", daemon=True).start()
    out = Out(own)
    PROBE = Probe(sys.stdin.buffer, out)
    WRITER = threading.Thread(target=out.run, name="writer", daemon=True)
    WRITER.start()
    threading.Thread(target=PROBE.tick, name="tick", daemon=True).start()
    try:
        PROBE.run()
    finally:
        leave(1)


if __name__ == "__main__":
    main()
