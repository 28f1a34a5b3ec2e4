"""What a run's script starts first: a few lines of Python 3.8 that become Inspect.

A shell can't set back an ignored SIGINT, and an eval that ignores it loses its control server
to an interrupt while it runs on. Inspect takes any option from `INSPECT_*` variables, so those
of the login go. Secrets come in by standard input or a file, never by an argument.
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
"""Its arguments: the `INSPECT_*` variables that stay (with commas), those that are secrets, where
these are read (`-`: one line of JSON on standard input; a file, which is removed; empty: there
are none), and the command."""
