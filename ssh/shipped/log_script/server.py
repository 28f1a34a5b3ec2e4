"""Serves several requests with one import of Inspect, each in a process of its own."""

import json
import os
import select

from ssh.shipped.common.answers import nonce_of

IDLE_S = 60.0
MAX_REQUEST_BYTES = 1024 * 1024


def serve(carry_out, be_kind, write):
    """Carry out the requests on standard input, one line each, until it ends or IDLE_S pass.

    Each runs in a fork, whose memory goes with it. After its answers comes {"done": STATUS}.
    """
    waiting = b""
    while True:
        while b"\n" not in waiting:
            if not select.select([0], [], [], IDLE_S)[0] or len(waiting) > MAX_REQUEST_BYTES:
                return
            data = os.read(0, 65536)
            if not data:
                return
            waiting += data
        line, _, waiting = waiting.partition(b"\n")
        asked = json.loads(line.decode("utf-8"))
        nonce = nonce_of(asked)
        pid = os.fork()
        if pid == 0:
            try:
                be_kind()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                carry_out(asked, nonce)
            finally:
                os._exit(0)
        status = os.waitpid(pid, 0)[1]
        write({"done": status}, nonce)
