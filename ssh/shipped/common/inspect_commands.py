"""Command lines of Inspect."""

import os
import re

MODULES = {"inspect_ai": "inspect", "inspect_flow": "flow"}


def runs_evals(argv, verbs):
    """Whether a command line runs Inspect with one of `verbs` (program -> its verbs)."""
    if not argv:
        return False
    rest = argv
    if re.match(r"(python|pypy)[0-9.]*\Z", os.path.basename(rest[0])):
        rest = rest[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            if rest[0] == "-c":
                return False
            rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
        if rest and rest[0] == "-m":
            rest = [MODULES.get(rest[1] if len(rest) > 1 else "", ""), *rest[2:]]
    known = verbs.get(os.path.basename(rest[0])) if rest else None
    if not known:
        return False
    for word in rest[1:]:
        if not word.startswith("-"):
            return word in known and "--detach" not in rest
    return False


def log_dir_word(argv, env):
    """Return the log folder that the command line of an eval names."""
    chosen = env.get("INSPECT_LOG_DIR") or "logs"
    for at, word in enumerate(argv):
        if word == "--log-dir" and at + 1 < len(argv):
            chosen = argv[at + 1] or chosen
        elif word.startswith("--log-dir="):
            chosen = word.partition("=")[2] or chosen
    return chosen
