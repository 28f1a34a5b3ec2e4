"""Starts the probe on the standard input and output."""

import os
import signal
import sys
import threading
import warnings

from ssh.shipped.common.children import adopt_orphans, leave
from ssh.shipped.common.core_dumps import limit_core_dumps
from ssh.shipped.common.paths import set_home
from ssh.shipped.probe.probe import Probe

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
THREAD_STACK_BYTES = 256 * 1024
SWITCH_INTERVAL_S = 0.02


def await_end():
    signal.sigwait(ENDING_SIGNALS)
    leave(0)


def main():
    limit_core_dumps()
    adopt_orphans()
    set_home()
    own = os.dup(1)  # nothing but frames goes there; what else is printed goes to stderr
    os.dup2(2, 1)
    try:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
    except (AttributeError, ValueError):
        pass
    warnings.simplefilter("ignore")
    threading.stack_size(THREAD_STACK_BYTES)
    # A handler would run only once the main thread stops reading, and a signal may reach any
    # other thread: so all threads block these, and one waits for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    threading.Thread(target=await_end, name="signals", daemon=True).start()
    try:
        Probe(sys.stdin.buffer, own).run()
    finally:
        leave(1)


if __name__ == "__main__":
    main()
