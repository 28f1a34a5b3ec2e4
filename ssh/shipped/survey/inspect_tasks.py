"""The interpreter of a run, its Inspect, and the tasks that it can import."""

import json
import os
import shutil

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.script_answers import answers_in, asked_env
from ssh.shipped.common.text import last_line
from ssh.shipped.common.tools import run_tool
from ssh.shipped.survey.inspect_script import INSPECT_SCRIPT
from ssh.shipped.survey.programs import message_of

FIRST_TASK_TIMEOUT_S = 30.0
FURTHER_TASK_TIMEOUT_S = 3.0
MAX_FURTHER_TIMEOUT_S = 30.0


def read_inspect(given):
    """Return what the run's interpreter reports of itself, of its Inspect, and of each task."""
    asked = {
        "packages": given.get("packages") or [],
        "tasks": given.get("tasks") or [],
        "sandbox": given.get("sandbox"),
        "folder": at_home(given.get("directory") or "~"),
        "seconds": float(given.get("seconds") or FIRST_TASK_TIMEOUT_S) * 0.7,
    }
    words = [at_home(given["interpreter"][0]), *given["interpreter"][1:]]
    program = shutil.which(words[0])
    if not program and os.path.basename(words[0]) == "uv":  # the launch puts ours there later
        program = shutil.which("uv")
    if not program:
        raise Absent("%s was not found" % words[0])
    argv = [program, *words[1:], "-c", INSPECT_SCRIPT, json.dumps(asked)]
    env, nonce = asked_env(env_of_run(given))
    run = run_tool(argv, inspect_timeout(given) - 1.0, env=env)
    why = None if run.failure is None else str(run.failure)
    facts = {"tasks": {}, "ended": run.code == 0, "why": why}
    for row in answers_in(run.out.decode("utf-8", "replace"), nonce):
        if isinstance(row, dict) and isinstance(row.get("tasks"), list):
            for name in row.pop("tasks"):
                facts["tasks"].setdefault(str(name), row)
        elif isinstance(row, dict) and "task" in row:
            facts["tasks"][str(row.pop("task"))] = row
        elif isinstance(row, dict):
            facts.update(row)
    if "python" not in facts:
        raise run.failure or Failed(message_of(run))
    if run.code != 0:
        facts["error"] = why or last_line(run.err) or "exit %s" % run.code
    return facts


def inspect_timeout(given):
    """Return the seconds that `read_inspect` may take."""
    further = max(0, len(given.get("tasks") or []) - 1)
    more = min(MAX_FURTHER_TIMEOUT_S, further * FURTHER_TASK_TIMEOUT_S)
    return float(given.get("seconds") or FIRST_TASK_TIMEOUT_S) + more


def env_of_run(given):
    """Return the variables that a run starts with, without its secrets."""
    stay = [*(given.get("inherit") or []), *(given.get("variables") or {})]
    env = {k: v for k, v in os.environ.items() if not k.startswith("INSPECT_") or k in stay}
    env.update(given.get("variables") or {})
    path = given.get("python_path")
    if path:
        full = at_home(path)
        if not os.path.isabs(full):
            full = os.path.join(at_home(given.get("directory") or "~"), full)
        env["PYTHONPATH"] = os.pathsep.join([full, *filter(None, [env.get("PYTHONPATH")])])
    return env
