"""Runs the log script with an interpreter of this machine that has Inspect."""

import itertools
import json
import sys

from ssh.shipped.common.embedded import embedded_program
from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.interpreters import is_trusted_python
from ssh.shipped.common.other_inspects import other_inspects
from ssh.shipped.common.script_answers import answers_in, asked_env
from ssh.shipped.common.text import last_line, text_of
from ssh.shipped.common.tools import run_tool, tool_variables

NO_INSPECT = "evalroom knows no Python with Inspect on this machine"
LOG_SCRIPT = embedded_program("log_script")
MAX_LOG_ANSWER_BYTES = 24 * 1024 * 1024


def run_log_script(words, asked, timeout_s, env=None):
    """Return the script's answers, and why they may be incomplete (None: they are complete).

    Args:
        words: The interpreter, or the words that start it.
        asked: {"what": "summaries", "logs": [...], "errored": N, "others": N, "bytes": N}, or
            {"what": "sample", "log": ..., "id": ..., "epoch": ..., "view": ..., ...}.
        timeout_s: Seconds for all logs together.
        env: The variables; None: those of a tool.

    Raises Failed if the script could not read any log with this interpreter.
    """
    argv = [*words, "-c", LOG_SCRIPT, json.dumps(asked)]
    env, nonce = asked_env(tool_variables() if env is None else env)
    run = run_tool(argv, timeout_s, MAX_LOG_ANSWER_BYTES, env=env)
    answers = answers_in(run.out.decode("utf-8", "replace"), nonce)
    for answer in answers:
        if "broken" in answer:
            raise Absent("%s has no usable Inspect: %s" % (words[0], answer["broken"]))
    if run.failure is not None:
        why = text_of(run.failure)
    elif run.code:
        why = last_line(run.err) or "exit %d" % run.code
    else:
        why = None
    if not answers and why is not None:
        raise Failed(why)
    return answers, why


def read_with_first(pythons, asked, timeout_s, variables=None, run=run_log_script):
    """Read logs by `run` with the first interpreter that has a usable Inspect.

    These are tried first, then others of this machine.

    `variables` are added to those of a tool: XDG_DATA_HOME, where the logs' evals keep the buffers
    of samples, and those with which a log at a URL is reached.

    Raises Failed if none has one, or if its script fails.
    """
    env = dict(tool_variables(), **variables) if variables else None
    trusted = [each for each in pythons if each == sys.executable or is_trusted_python(each)]
    given = [[python] for python in trusted]
    others = (words for words in other_inspects() if words not in given)
    for words in itertools.chain(given, others):
        try:
            return run(words, asked, timeout_s, env)
        except Absent:
            continue
    raise Absent(NO_INSPECT)
