"""A Python that starts as it should, and then answers as a test wants, in place of the probe."""

import sys
from pathlib import Path

from ssh.handshake import CHUNK_BYTES

_SCRIPT = '''#!{python} -I
import os, re, sys, time, json
first, second = re.search(r'n="(\\w+)"\\+"(\\w+)"', " ".join(sys.argv)).groups()
print("ready " + first + second, flush=True)
size = int(sys.stdin.buffer.readline().split()[1])
sys.stdin.buffer.read(size)
for _ in range(0, size, {chunk}):
    print("got " + first + second, flush=True)

def out(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def frame(kind, rest="", body=b""):
    head = '{{"v":1,"kind":"%s","body":%d%s}}' % (kind, len(body), rest)
    out(head.encode() + b"\\n" + body)

def heads():
    """The heads of what the desk sends."""
    while True:
        head = json.loads(sys.stdin.buffer.readline())
        sys.stdin.buffer.read(head["body"])
        yield head

{does}
'''


def lying_python(folder: Path, does: str) -> str:
    """Write an interpreter that does this once it was sent the probe; return its path.

    `does` may use `out(bytes)`, `frame(kind, rest_of_head, body)` and `heads()`.
    """
    path = folder / "python3"
    path.write_text(_SCRIPT.format(python=sys.executable, does=does, chunk=CHUNK_BYTES))
    path.chmod(0o755)
    return str(path)
