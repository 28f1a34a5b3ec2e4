"""A few lines of Python 3.8 that prepare the environment and then become Inspect.

They reset SIGINT, which a shell can't do: an eval that ignores it would lose its control server
at an interrupt and run on. They clear the login's `INSPECT_*` variables, because Inspect reads
options from them. They read secrets from standard input or a file, never from an argument.
"""

BOOTSTRAP = """\
import json, os, signal, sys
keep, names, source = sys.argv[1].split(","), sys.argv[2].split(","), sys.argv[3]
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
for name in [n for n in os.environ if n.startswith("INSPECT_") and n not in keep]:
    del os.environ[name]
if source:
    with open(0 if source == "-" else source, closefd=source != "-", encoding="utf-8") as file:
        given = json.loads(file.readline() or "{}")
    if source != "-":
        os.unlink(source)
    missing = [n for n in names if n not in given]
    if missing:
        sys.exit("evalroom: no secret was given for " + ", ".join(missing))
    os.environ.update((n, given[n]) for n in names)
if source == "-" or not sys.stdin.isatty():
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
try:
    os.execvp(sys.argv[4], sys.argv[4:])
except OSError as error:
    sys.exit("evalroom: %s can't be started: %s" % (sys.argv[4], error.strerror))
"""
"""Arguments: the `INSPECT_*` variables to keep and the secret variables, both separated by commas;
where the secrets are (`-`: one line of JSON on standard input; a path: a file, then deleted;
empty: none); then the command."""
