"""Model servers of this machine (vLLM, SGLang, Ollama), asked on the loopback for their health."""

import http.client
import os
import re
import time

from ssh.shipped.common.failures import Absent
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import age_of, argv_of, environ_of, start_mark, stat_of

SERVER_KINDS = (
    # words of a command line, kind, its usual port, the path of its health
    (re.compile(r"(^| )vllm serve( |$)|vllm\.entrypoints\.\S*api_server"), "vllm", 8000, "/health"),
    (re.compile(r"sglang\.launch_server|(^| )sglang serve( |$)"), "sglang", 30000, "/health"),
    (re.compile(r"(^| )ollama serve( |$)"), "ollama", 11434, "/api/version"),
)
MODEL_OPTIONS = ("--served-model-name", "--model", "--model-path", "serve")
WAITING = re.compile(
    rb"^(?:vllm:num_requests_waiting|sglang:num_queue_reqs)(?:\{.*\})? (\S+)", re.MULTILINE
)
MAX_SERVERS = 16
MAX_BYTES = 512 * 1024
TIMEOUT_S = 2.0


def read_model_servers():
    if not LINUX:
        raise Absent("there is no /proc")
    found = {}
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        argv = argv_of(pid)
        text = " ".join(os.path.basename(word) for word in (argv or [])[:8])
        known = next((each for each in SERVER_KINDS if each[0].search(text)), None)
        stat = stat_of(pid) if known else None
        if stat and stat[1] not in found and len(found) < MAX_SERVERS and is_in_our_network(pid):
            found[pid] = row_of(pid, argv, *known[1:])
    return list(found.values())


def is_in_our_network(pid):
    try:
        return os.readlink("/proc/%d/ns/net" % pid) == os.readlink("/proc/self/ns/net")
    except OSError:
        return True  # another account's: it is asked at the port that it names


def row_of(pid, argv, kind, port, path):
    named = value_of(argv, ("--port",))
    if kind == "ollama":
        named = environ_of(pid).get("OLLAMA_HOST", "").rpartition(":")[2]
    if named.isdigit() and 0 < int(named) < 65536:
        port = int(named)
    health, _ = answer_of(port, path)
    waiting = None
    if health == "ok" and kind != "ollama":
        told = WAITING.findall(answer_of(port, "/metrics")[1])
        waiting = whole_sum(told) if told else None
    age = age_of(start_mark(pid) or "")
    return {
        "pid": pid,
        "kind": kind,
        "port": port,
        "health": health,
        "waiting": waiting,
        "model": "" if kind == "ollama" else value_of(argv, MODEL_OPTIONS)[:200],
        "started_at": None if age is None else round(time.time() - age, 1),
    }


def whole_sum(numbers):
    try:
        return min(10**9, max(0, int(sum(float(each) for each in numbers))))
    except (ValueError, OverflowError):
        return None


def value_of(argv, names):
    """Return the value of the first of these options in a command line; empty: it has none."""
    for name in names:
        for at, word in enumerate(argv):
            if word.startswith(name + "="):
                return word.partition("=")[2]
            if word == name and not (argv[at + 1 : at + 2] or ["-"])[0].startswith("-"):
                return argv[at + 1]
    return ""


def answer_of(port, path):
    """Return (health, body) of a GET at our own loopback; redirects are not followed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read(MAX_BYTES)
        return "ok" if answer.status == 200 else "status %d" % answer.status, body
    except ConnectionRefusedError:
        return "refused", b""
    except (OSError, http.client.HTTPException, ValueError):
        return "silent", b""
    finally:
        connection.close()
