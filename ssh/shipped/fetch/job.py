"""The settings of each job: its folders, its time limit, its environment."""

import os
import time

from ssh.shipped.common.paths import at_home

HOME = os.path.expanduser("~")
OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def until_of(given):
    """Return the job's deadline, monotonic seconds."""
    return time.monotonic() + given["seconds"]


def eval_env(given, **more):
    """Return the environment of the run's eval, so that caches are where the eval looks."""
    stay = given.get("inherit", ())
    env = {n: v for n, v in os.environ.items() if not n.startswith("INSPECT_") or n in stay}
    for name, value in given.get("env", {}).items():
        env[name] = at_home(value) if name == "XDG_DATA_HOME" else value
    for name in (*OFFLINE_VARIABLES, "EVALROOM_RUN"):
        env.pop(name, None)
    return dict(env, NO_COLOR="1", **more)
