"""Signals to evals, and to a former probe of the same desk."""

import os
import signal
import time

from ssh.shipped.common.namespaces import HERE, place_of
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, stat_of
from ssh.shipped.common.text import text_of
from ssh.shipped.probe.liveness import start_of

SIGNALS = {"INT": signal.SIGINT, "KILL": signal.SIGKILL}
UNSIGNALLED = {
    "contained": "it runs in a container, which evalroom does not reach from here",
    "script": "its command line does not say that it is an Inspect eval",
}
MARK = "evalroom-probe"


def send_signal(process, sign):
    """Return why a signal was not sent; None: it was.

    A reused pid gets no signal, nor does a process that is no longer Inspect on this machine.
    """
    pid = process.pid
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
        if start_of(pid, process.started_at) != process.start:
            return other
        why = process.why_unsignalled()
        if why is not None:
            return "not sent: " + UNSIGNALLED[why]
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


def is_ours(pid):
    """Whether a process runs as this user, and in no container other than this program's."""
    try:
        return os.stat("/proc/%d" % pid).st_uid == os.getuid() and place_of(pid) == HERE
    except OSError:
        return False


def end_former_probe(desk):
    """End an older probe of the same desk, which a lost connection left behind."""
    if not desk or not LINUX:
        return
    own = stat_of(os.getpid())
    former = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        argv = argv_of(int(name))
        if argv is None or argv[-2:] != [MARK, desk] or not is_ours(int(name)):
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
