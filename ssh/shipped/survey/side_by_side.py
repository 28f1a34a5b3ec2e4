"""Reads several things at once, each with a time limit."""

import threading
import time

from ssh.shipped.common.failures import Absent, Stuck

MAX_TEXT = 300


class Warned:
    """A value with a warning about it."""

    def __init__(self, value, warning):
        self.value = value
        self.warning = warning


def side_by_side(readers):
    """Return for each key of `readers` (key -> (function, seconds)) its state and its value.

    The state is ok, absent, stuck or failed; unless it is ok, the value is an error message. A
    function that takes too long is abandoned in its thread.
    """
    results, lock = {}, threading.Lock()
    began = time.monotonic()

    def read_one(key, read):
        try:
            value = read()
            result = {"state": "ok", "value": value}
            if isinstance(value, Warned):
                result = {"state": "ok", "value": value.value, "error": short(value.warning)}
        except Absent as error:
            result = {"state": "absent", "error": short(error)}
        except Stuck as error:
            result = {"state": "stuck", "error": short(error)}
        except Exception as error:  # whatever a host has in store, it is a fact
            result = {"state": "failed", "error": short(error) or type(error).__name__}
        with lock:
            results[key] = result

    threads = []
    for key, (read, seconds) in readers.items():
        thread = threading.Thread(target=read_one, args=(key, read), daemon=True)
        thread.start()
        threads.append((thread, seconds))
    for thread, seconds in threads:
        thread.join(max(0.0, began + seconds - time.monotonic()))
    with lock:
        return {
            key: results.get(key, {"state": "stuck", "error": "no answer in %d s" % seconds})
            for key, (_, seconds) in readers.items()
        }


def each_of(read, keys, seconds):
    """Return `side_by_side` of `read(key)` for each key."""
    return side_by_side({key: ((lambda key=key: read(key)), seconds) for key in keys or []})


def short(text, most=MAX_TEXT):
    return str(text).strip()[:most]
