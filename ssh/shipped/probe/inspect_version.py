"""The Inspect version of the interpreter that runs the probe."""

import sys

from ssh.shipped.common.answers import ANSWER_LINE, NONCE_VARIABLE
from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.script_answers import answers_in, asked_env
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tools import run_to_end, tool_variables
from ssh.shipped.probe.reading import TOOL_TIMEOUT_S

PRINT_VERSION = """
import importlib.metadata as metadata, json, os
try:
    text = json.dumps(metadata.version("inspect_ai"))
except metadata.PackageNotFoundError:
    text = "null"
print(%r %% (os.environ[%r], len(text), text))
""" % (ANSWER_LINE, NONCE_VARIABLE)


def read_inspect_version():
    env, nonce = asked_env(tool_variables())
    run = run_to_end([sys.executable, "-c", PRINT_VERSION], TOOL_TIMEOUT_S, env=env)
    found = answers_in(run.out.decode("utf-8", "replace"), nonce)
    if run.code or not found:
        raise Failed(first_line(run.err) or "exit %d" % run.code)
    if not isinstance(found[0], str):
        raise Absent("this Python has no inspect_ai")
    return found[0][:60]
