"""Inspect and the packages of a run, in uv's cache."""

import re

from ssh.shipped.common.answers import ANSWER_LINE, NONCE_VARIABLE
from ssh.shipped.common.cannot_do import CannotDo, no_space
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.script_answers import answers_in, asked_env
from ssh.shipped.fetch.job import HOME, eval_env, until_of
from ssh.shipped.fetch.programs import one_line, run

PRINT_VERSION = """
import importlib.metadata as metadata, json, os
text = json.dumps(metadata.version("inspect-ai"))
print(%r %% (os.environ[%r], len(text), text))
""" % (ANSWER_LINE, NONCE_VARIABLE)


def fetch_packages(given):
    """Fill uv's cache with everything that a run imports; return Inspect's version."""
    until, (env, nonce) = until_of(given), asked_env(eval_env(given))
    offline = [at_home(word) for word in given["offline"]]
    known = run([*offline, "-I", "-c", PRINT_VERSION], until, env, HOME)
    found = answers_in(known.out, nonce)
    if known.status == 0 and found:
        return {"version": found[0], "how": "there"}
    online = [at_home(word) for word in given["online"]]
    done = run([*online, "--version"], until, env, HOME)
    if done.status != 0:
        raise why_no_packages(done.err or done.out)
    known = run([*offline, "-I", "-c", PRINT_VERSION], until, env, HOME)
    found = answers_in(known.out, nonce)
    # Without a cache that stays, each start would fetch all of it again.
    if known.status != 0 or not found:
        raise why_no_packages(known.err)
    return {"version": found[0], "how": "fetched"}


def why_no_packages(message):
    if "No space left" in message or "os error 28" in message or "Disk quota" in message:
        return no_space("uv's cache")
    if re.search(r"error sending request|dns error|Failed to fetch|network was disabled", message):
        return CannotDo(
            "uv can't reach the package index: %s" % one_line(message),
            "check the network of that machine; UV_DEFAULT_INDEX in env names a mirror",
        )
    return CannotDo(
        "uv can't create the run's environment: %s" % one_line(message),
        "check `packages`, `inspect` and `python` in the spec",
    )
