"""The interpreters of this machine that may have Inspect, and the environment of a run."""

import os
import shutil
import sys

from ssh.shipped.common.paths import at_home
from ssh.shipped.launcher.manifests import manifest_of

UV = "~/.evalroom/bin/uv"
MAX_OTHER_RUNS = 20
CODE_FOLDER = "code"


def inspects_of(folder, manifest):
    """Return the words that start an interpreter with Inspect: the run's own first."""
    found = [python_words(manifest)]
    if os.access(at_home(UV), os.X_OK):
        found.append([at_home(UV), "tool", "run", "--offline", "--from", "inspect-ai", "python"])
    base = os.path.dirname(folder)
    try:
        others = sorted(os.listdir(base), reverse=True)[:MAX_OTHER_RUNS]
    except OSError:
        others = []
    found += [python_words(manifest_of(os.path.join(base, name))) for name in others]
    found += [[sys.executable], [shutil.which("python3") or ""]]
    chosen = []
    for words in found:
        if words and words[0] and words not in chosen:
            chosen.append(words)
    return chosen


def python_words(manifest):
    """Return the words that start the interpreter of a run's Inspect; empty: not recorded."""
    words = manifest.get("inspect")
    if not words or not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        return []
    words = [at_home(word) for word in words]
    return words[:-2] if words[-2:] == ["-m", "inspect_ai"] else [*words[:-1], "python"]


def env_of(folder, manifest):
    """Return the environment of a run, without its secrets; it may name uv's cache."""
    env = {n: v for n, v in os.environ.items() if not n.startswith("INSPECT_")}
    spec, data_dir = manifest.get("spec"), manifest.get("data_dir")
    given = spec.get("env") if isinstance(spec, dict) else None
    if isinstance(given, dict):
        env.update((n, v) for n, v in given.items() if isinstance(v, str))
    if data_dir and isinstance(data_dir, str):
        env["XDG_DATA_HOME"] = at_home(data_dir)
    code = spec.get("code") if isinstance(spec, dict) else None
    if isinstance(code, dict):
        named = code.get("directory")
        place = os.path.join(folder, at_home(named if isinstance(named, str) else CODE_FOLDER))
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [place, env.get("PYTHONPATH")]))
    return env
