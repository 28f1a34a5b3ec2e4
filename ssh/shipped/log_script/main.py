"""The entry of the log script: carries out what it was asked for."""

import importlib
import json
import os
import resource
import signal
import sys

from ssh.shipped.common.answers import NO_NONCE, NONCE_VARIABLE, answer_line
from ssh.shipped.common.process_controls import LIBC, PR_SET_PDEATHSIG
from ssh.shipped.log_script.recovery import recovery_answer
from ssh.shipped.log_script.sample_views import sample_answer
from ssh.shipped.log_script.server import serve
from ssh.shipped.log_script.summaries import log_row
from ssh.shipped.log_script.texts import failure_text

NICENESS = 10
MAX_MEMORY_BYTES = 4 * 1024 * 1024 * 1024


def be_kind():
    """End with the parent, and run at a low priority."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    try:
        os.nice(NICENESS)
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    except (OSError, ValueError):
        pass


def write(value, out, nonce):
    """Write one answer; return its size in bytes."""
    data = answer_line(value, nonce).encode("ascii")
    left = data
    while left:
        left = left[os.write(out, left) :]
    return len(data)


def main():
    nonce = os.environ.pop(NONCE_VARIABLE, NO_NONCE)
    asked = json.loads(sys.argv[1])
    sys.argv = sys.argv[:1]
    out = os.dup(1)
    os.dup2(2, 1)  # what libraries print goes to standard error
    be_kind()
    try:
        inspect_log = importlib.import_module("inspect_ai.log")
    except BaseException as error:
        write({"broken": failure_text(error)}, out, nonce)
        os._exit(0)
    if asked["what"] == "serve":
        write({"ready": True}, out, nonce)
        serve(
            lambda given, mark: carry_out(inspect_log, given, out, mark),
            be_kind,
            lambda value, mark: write(value, out, mark),
        )
    else:
        carry_out(inspect_log, asked, out, nonce)
    os._exit(0)  # a library's thread must not hold the interpreter


def carry_out(inspect_log, asked, out, nonce):
    """Write the answers to one request."""
    if asked["what"] == "sample":
        answer = sample_answer(inspect_log, asked)
        write(dict(answer, body=json.dumps(answer["body"], default=str)), out, nonce)
        return
    if asked["what"] == "recover":
        answer = recovery_answer(inspect_log, asked["log"], asked.get("schemes"))
        write(dict(answer, body=json.dumps(answer["body"])), out, nonce)
        return
    left = asked["bytes"]
    for path in asked["logs"]:
        row = log_row(inspect_log, path, asked, left)
        left -= write(row, out, nonce)


if __name__ == "__main__":
    main()
