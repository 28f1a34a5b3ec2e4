"""Command lines of Inspect."""

import os
import re

PYTHON_NAME = re.compile(
    r"(python|pypy|graalpy)([0-9]+(\.[0-9]+)*[a-z]{0,3})?(-(dbg|debug|intel64|arm64|nogil))?\Z",
    re.IGNORECASE,
)
MODULES = {
    "inspect_ai": "inspect",
    "inspect_ai.__main__": "inspect",
    "inspect_ai._cli": "inspect",
    "inspect_ai._cli.main": "inspect",
    "inspect_flow": "flow",
    "inspect_flow.__main__": "flow",
    "inspect_flow._cli.main": "flow",
}


def is_python(path):
    """Whether a file is a Python interpreter by its name."""
    return PYTHON_NAME.match(os.path.basename(path)) is not None


def program_words(argv):
    """Return the program that a command line runs (`inspect`, `flow`, a name), and its arguments.

    For an interpreter this is its module or script; empty for code in the command line.
    """
    if not argv:
        return []
    if not is_python(argv[0]):
        return [program_name(argv[0]), *argv[1:]]
    rest = list(argv[1:])
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--check-hash-based-pycs":
            rest = rest[1:]
        if word.startswith("--"):
            continue
        # Options of one letter may share a word (-Im), also with the value of the last (-Wignore).
        found = re.search(r"[cmWX]", word)
        if found is None:
            continue
        value = word[found.end() :] or (rest.pop(0) if rest else "")
        if found.group() == "c":
            return []
        if found.group() == "m":
            return [MODULES.get(value, ""), *rest]
    return [program_name(rest[0]), *rest[1:]] if rest else []


def program_name(path):
    """Return `inspect` or `flow` for a file of theirs, else the file's own name."""
    for module, program in MODULES.items():
        if ("/" + path).endswith(("/%s.py" % module.replace(".", "/"), "/" + module)):
            return program
    return os.path.basename(path)


def runs_evals(argv, verbs):
    """Whether a command line runs Inspect with one of `verbs` (program -> its verbs)."""
    program, *rest = program_words(argv) or [""]
    known = verbs.get(program)
    if not known:
        return False
    for word in rest:
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
