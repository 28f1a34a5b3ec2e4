"""Reads pieces of a run's files, and runs short commands of an engine."""

import base64
import os
import subprocess

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.paths import at_home
from ssh.shipped.launcher.files import TAIL_BYTES, open_file

MAX_PIECE_BYTES = 64 * 1024
COMMAND_TIMEOUT_S = 10


def read_piece(given):
    """Return a piece of a file from `start` on; without `start`, the end of the file."""
    path = os.path.join(at_home(given["directory"]), at_home(given["file"]))
    most = min(MAX_PIECE_BYTES, given.get("most", MAX_PIECE_BYTES))
    try:
        with open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            start = given.get("start")
            begin = max(0, size - most) if start is None else min(max(0, start), size)
            file.seek(begin)
            data = file.read(most)
    except OSError as error:
        raise CannotDo("%s can't be read: %s" % (path, error.strerror)) from error
    return {
        "data": base64.b64encode(data).decode("ascii"),
        "end": begin + len(data),
        "size": max(size, begin + len(data)),
    }


def run_command(given):
    """Run one short command of an engine (such as tmux) and return its output."""
    words = [at_home(word) for word in given["words"]]
    env = {n: v for n, v in os.environ.items() if n not in ("TMUX", "TMUX_PANE")}
    try:
        done = subprocess.run(
            words,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=given.get("wait", COMMAND_TIMEOUT_S),
        )
    except subprocess.TimeoutExpired as error:
        raise CannotDo("%s does not answer" % words[0]) from error
    except OSError as error:
        raise CannotDo("%s can't be run: %s" % (words[0], error.strerror)) from error
    return {
        "status": done.returncode,
        "out": done.stdout[-MAX_PIECE_BYTES:].decode("utf-8", "replace"),
        "err": done.stderr[-TAIL_BYTES:].decode("utf-8", "replace"),
    }
