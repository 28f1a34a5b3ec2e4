"""Keeps one log script running for a while, so that the next read need not start Inspect."""

import json
import os
import select
import subprocess
import threading
import time

from ssh.shipped.common.children import CHILDREN, kill_group, reap_group
from ssh.shipped.common.failures import Absent, Failed, Stuck
from ssh.shipped.common.log_reading import LOG_SCRIPT, MAX_LOG_ANSWER_BYTES, run_log_script
from ssh.shipped.common.script_answers import answers_in, asked_env
from ssh.shipped.common.tools import start_tool, tool_variables

TAIL_BYTES = 256
ENDING = b"evalroom-end\n"


class ReaderGone(Exception):
    """The script has ended: it was idle, or something killed it."""


class WarmReader:
    """One log script at a time, for one interpreter and its variables; one thread runs it."""

    def __init__(self):
        self.child = None
        self.key = None
        self.lock = threading.Lock()

    def run(self, words, asked, timeout_s, env=None):
        """Read logs as `run_log_script` does."""
        if asked["what"] == "recover":  # it writes, so it gets a process of its own
            return run_log_script(words, asked, timeout_s, env)
        end = time.monotonic() + timeout_s
        with self.lock:
            was_warm = self.is_for(words, env)
            try:
                if not was_warm:
                    self.start(words, env, end)
                return self.ask(asked, end)
            except ReaderGone:
                self.stop()
                if not was_warm:
                    raise Failed("the log reader ended while it read") from None
            except Failed:
                self.stop()
                raise
            self.start(words, env, end)  # the warm one ended just then
            try:
                return self.ask(asked, end)
            except ReaderGone:
                self.stop()
                raise Failed("the log reader ended while it read") from None
            except Failed:
                self.stop()
                raise

    def is_for(self, words, env):
        return self.child is not None and self.key == key_of(words, env)

    def tidy(self):
        """Wait for a script that ended by itself."""
        if self.lock.acquire(False):
            try:
                if self.child is not None and self.child.poll() is not None:
                    self.stop()
            finally:
                self.lock.release()

    def start(self, words, env, end):
        self.stop()
        argv = [*words, "-c", LOG_SCRIPT, json.dumps({"what": "serve"})]
        given, nonce = asked_env(tool_variables() if env is None else env)
        self.child = start_tool(argv, given, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.set_blocking(self.child.stdin.fileno(), False)
        self.key = key_of(words, env)
        try:
            [answer, *_] = answers_in(self.output(nonce, end), nonce) or [{}]
        except ReaderGone:
            self.stop()
            raise Absent("%s has no usable Inspect" % words[0]) from None
        if "broken" in answer:
            self.stop()
            raise Absent("%s has no usable Inspect: %s" % (words[0], answer["broken"]))

    def ask(self, asked, end):
        nonce = os.urandom(16).hex()
        line = json.dumps(dict(asked, nonce=nonce)).encode("ascii") + b"\n"
        self.write(line, end)
        answers = answers_in(self.output(nonce, end), nonce)
        done = answers.pop()["done"] if answers and "done" in answers[-1] else 0
        why = "the log reader ended with status %d" % done if done else None
        if not answers and why is not None:
            raise Failed(why)
        return answers, why

    def write(self, line, end):
        """Write a request, which may be more than a pipe holds, to a script that may not read."""
        fd = self.child.stdin.fileno()
        while line:
            left = end - time.monotonic()
            if left <= 0:
                raise Stuck("no answer in time")
            if not select.select([], [fd], [], min(left, 5.0))[1]:
                continue
            try:
                line = line[os.write(fd, line) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ReaderGone from None

    def output(self, nonce, end):
        """Return what the script prints up to the line that ends its answer."""
        out, done = bytearray(), ("evalroom-answer %s " % nonce).encode("ascii")
        fd = self.child.stdout.fileno()
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise Stuck("no answer in time")
            if not select.select([fd], [], [], min(left, 5.0))[0]:
                continue
            data = os.read(fd, 65536)
            if not data:
                raise ReaderGone
            out += data
            if len(out) > MAX_LOG_ANSWER_BYTES:
                raise Failed("more than %d bytes of output" % MAX_LOG_ANSWER_BYTES)
            tail = bytes(out[-TAIL_BYTES:])
            if tail.endswith(ENDING) and is_last(tail, done):
                return out.decode("utf-8", "replace")

    def stop(self):
        child, self.child, self.key = self.child, None, None
        if child is None:
            return
        kill_group(child.pid)
        child.wait()
        reap_group(child.pid, time.monotonic())
        CHILDREN.discard(child.pid)
        child.stdin.close()
        child.stdout.close()


def key_of(words, env):
    return tuple(words), None if env is None else tuple(sorted(env.items()))


def is_last(tail, begin):
    """Whether the last answer in `tail` is the one that ends a request, or a start."""
    _, found, rest = tail.rpartition(begin)
    text = rest.partition(b" ")[2]
    return bool(found) and text.startswith((b'{"done": ', b'{"ready": ', b'{"broken": '))
