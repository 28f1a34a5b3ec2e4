"""Stands where a machine's Python stands, and joins the link to the simulator's socket.

    relay.py SOCKET -u -I -c BOOT ARGUMENTS...

It runs the very hand-shake of a real start (BOOT); only the program that then would be run is
replaced by copying bytes to and from SOCKET.
"""

import builtins
import io
import os
import socket
import sys
import threading
from typing import cast

real_exec = builtins.exec


def _join(*_: object) -> None:
    far = socket.socket(socket.AF_UNIX)
    far.connect(sys.argv[1])

    def back() -> None:
        while data := far.recv(65536):
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]
        os._exit(0)

    threading.Thread(target=back, daemon=True).start()
    near = cast("io.BufferedReader", sys.stdin.buffer)  # the boot has read ahead of it
    while data := near.read1(65536):
        far.sendall(data)
    os._exit(0)


def main() -> None:
    """Shake hands, then copy until either side ends."""
    boot = sys.argv[sys.argv.index("-c") + 1]
    builtins.exec = _join  # type: ignore[assignment]
    real_exec(boot, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
