"""Inspect's trace file of one eval: what has begun in it and not ended.

Each line is JSON. An action writes a line when it begins (`enter`) and one when it ends, with one
`trace_id`. Those of a sample bear its task, id and epoch.
"""

import collections
import json
import os
import stat
import time

from ssh.shipped.common.proc import environ_of
from ssh.shipped.probe.changes import number
from ssh.shipped.probe.commands_in_traces import described

MAX_POLL_BYTES = 2 * 1024 * 1024
MAX_BACKLOG_BYTES = 16 * 1024 * 1024  # of a longer trace, only the end is read
MAX_TRACE_LINE_BYTES = 1024 * 1024
MAX_OPEN_ACTIONS = 2000
MAX_TIES = 2000
MAX_ID_CHARACTERS = 500
MAX_EPOCH = 2**31
START_SLACK_S = 2.0
AROUND = ("Run Task", "Subtask", "Tool Call")  # actions that hold others


class Action:
    """An action that has begun. `what`, `words`: what it does, in words that may be shown."""

    def __init__(self, name, what, words, since, sample, project):
        self.name = name
        self.what = what
        self.words = words
        self.since = since
        self.sample = sample  # (task, sample id, epoch), or None
        self.project = project  # the sandbox that its command names; may be empty


class TraceFile:
    """Reads the trace of a process that has it open; a bounded number of bytes per poll."""

    def __init__(self, fd, started_at, ties):
        self.fd = fd
        self.started_at = started_at or 0.0
        self.open = collections.OrderedDict()  # trace id -> Action, oldest first
        self.ties = ties  # project -> the sample that made it
        self.up_since = {}  # project -> when it was seen to be up, monotonic; it was not taken down
        self.rest = b""
        self.at = max(0, os.fstat(fd).st_size - MAX_BACKLOG_BYTES)
        self.skips = self.at > 0  # the line in which it begins is not whole
        self.has_begun = self.at > 0  # a task has run, so a control server could have started

    def close(self):
        os.close(self.fd)

    def poll(self):
        """Read on. Raises OSError."""
        size = os.fstat(self.fd).st_size
        if size < self.at or size - self.at > MAX_BACKLOG_BYTES:
            self.forget()  # it was cut, or grows faster than it is read
            self.at = max(0, size - MAX_POLL_BYTES)
            self.rest, self.skips = b"", self.at > 0
        data = os.pread(self.fd, MAX_POLL_BYTES, self.at)
        self.at += len(data)
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            if self.skips:
                self.skips = False
            else:
                self.take(line)
        if len(self.rest) > MAX_TRACE_LINE_BYTES:
            self.forget()
            self.rest, self.skips = b"", True

    def forget(self):
        """A part of the trace is not known: what began before it may have ended there."""
        self.open.clear()
        self.up_since.clear()

    def take(self, line):
        if b'"trace_id"' not in line and line.endswith(b"}"):
            return
        try:
            row = json.loads(line.decode("utf-8", "replace"))
            key, event = str(row["trace_id"])[:100], row["event"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self.forget()  # a line that a full disk cut
            return
        if event != "enter":
            ended = self.open.pop(key, None)
            if ended is not None and ended.what == "docker compose up" and event == "exit":
                self.up_since[ended.project] = time.monotonic()
            return
        since = number(row.get("start_time"))
        if since is not None and since >= self.started_at - START_SLACK_S:
            self.enter(key, str(row.get("action"))[:60], str(row.get("detail")), since, row)

    def enter(self, key, name, detail, since, row):
        self.has_begun = self.has_begun or name == "Run Task"
        sample, project = sample_of_line(row), ""
        what, words = name, ""
        if name == "Subprocess":
            what, words, project = described(detail)
        elif name == "Tool Call":
            words = function_of(detail)
        if project and sample:
            self.ties[project] = sample
            while len(self.ties) > MAX_TIES:
                oldest = next(iter(self.ties))
                self.up_since.pop(oldest, None)
                del self.ties[oldest]
        if what == "docker compose down":
            self.up_since.pop(project, None)
        if len(self.open) < MAX_OPEN_ACTIONS:
            self.open[key] = Action(name, what, words, since, sample, project)

    def lasting(self, now, seconds):
        """Return rows of what each sample, and the eval itself, has done for so long.

        A row is the oldest action that holds no other, and how many of them there are. In a tool
        call it has no words: an agent may have written them.
        """
        groups = {}
        for each in self.open.values():
            groups.setdefault(each.sample, []).append(each)
        rows = []
        for sample, actions in groups.items():
            inner = [each for each in actions if each.name not in AROUND]
            tools = [each for each in actions if each.name == "Tool Call"]
            chosen = inner or tools
            if not chosen or now - chosen[0].since < seconds:
                continue
            first = chosen[0]
            is_told = not tools or first.since < tools[0].since or first.name == "Tool Call"
            words = first.words if is_told else ""
            number = sum(each.what == first.what for each in chosen)
            row = {"action": first.name, "what": first.what, "words": words}
            row.update(since=first.since, count=number)
            if sample:
                row.update(task=sample[0], sample_id=sample[1], epoch=sample[2])
            rows.append(row)
        return rows


def sample_of_line(row):
    """Return (task, sample id, epoch) of a line; None: it is not about a sample."""
    task, sample_id, epoch = row.get("task"), row.get("sample_id"), row.get("epoch")
    if not isinstance(sample_id, (str, int)) or isinstance(sample_id, bool):
        return None
    if not isinstance(epoch, int) or abs(epoch) >= MAX_EPOCH:
        return None
    if not isinstance(task, str) or max(len(task), len(str(sample_id))) > MAX_ID_CHARACTERS:
        return None
    return task, sample_id, epoch


def function_of(call):
    """Return the name of the function of a tool call; empty: it is not plain."""
    name = call.partition("(")[0]
    return name if name.isidentifier() and len(name) <= 60 else ""


def open_trace(pid):
    """Return a descriptor of the trace file that a process has open; None: it has none.

    Only the file that Inspect names by the pid counts: several processes may share another one.
    """
    folder, wanted = "/proc/%d/fd" % pid, "/inspect_ai/traces/trace-%d.log" % pid
    try:
        if environ_of(pid).get("INSPECT_TRACE_FILE"):
            return None
        for name in os.listdir(folder)[:1000]:
            path = os.readlink("%s/%s" % (folder, name))
            if not path.endswith((wanted, wanted + " (deleted)")):
                continue
            fd = os.open("%s/%s" % (folder, name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
            os.close(fd)
    except OSError:
        pass  # it ended, or belongs to another account
    return None
