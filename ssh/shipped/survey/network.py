"""The network: whether it is up, and whether hosts can be reached."""

import os
import re
import socket

from ssh.shipped.common.failures import Failed, Stuck
from ssh.shipped.common.proc import read_file
from ssh.shipped.common.units import MIB

CONNECT_TIMEOUT_S = 4.0


def has_route():
    """Whether there is a route or a proxy to any network; None: unknown."""
    if proxy_of("https") or proxy_of("http"):
        return True
    try:
        rows = read_file("/proc/net/route", MIB).decode("ascii", "replace").splitlines()[1:]
        sixes = read_file("/proc/net/ipv6_route", MIB).decode("ascii", "replace").splitlines()
    except OSError:
        return None  # not Linux, or without IPv6
    return any(row.split()[:1] not in ([], ["lo"]) for row in rows) or any(
        row.split()[-1:] not in ([], ["lo"]) and not row.startswith("fe80") for row in sixes
    )


def proxy_of(scheme):
    for name in ("%s_proxy" % scheme, "%s_PROXY" % scheme.upper(), "all_proxy", "ALL_PROXY"):
        if os.environ.get(name):
            return os.environ[name]
    return None


def is_without_proxy(host):
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    ends = [each.strip().lstrip(".") for each in listed.split(",") if each.strip()]
    return any(host == each or host.endswith("." + each) or each == "*" for each in ends)


def reach_host(address):
    """Connect to `host:port`; return `direct`, or `proxy` if this only connected to the proxy."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    proxy = proxy_of("http" if port == "80" else "https")
    through_proxy = False
    is_local = host in ("localhost", "127.0.0.1", "::1")
    if proxy and not is_local and not is_without_proxy(host):
        found = re.match(r"(?:[a-z0-9]+://)?(?:[^@/]*@)?([^:/]+)(?::([0-9]+))?", proxy)
        if found:
            through_proxy = True
            host, port = found.group(1), found.group(2) or "80"
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except socket.timeout:
        raise Stuck("no answer in %d s" % CONNECT_TIMEOUT_S) from None
    except socket.gaierror:
        raise Failed("its name does not resolve there") from None
    except OSError as error:
        raise Failed(error.strerror or error) from None
    return "proxy" if through_proxy else "direct"
