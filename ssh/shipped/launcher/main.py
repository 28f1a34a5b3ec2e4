"""Reads the job, does it, and prints the answer."""

import json
import os
import sys

from ssh.shipped.common.answers import nonce_of, write_answer
from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.core_dumps import be_undumpable
from ssh.shipped.common.paths import set_home
from ssh.shipped.launcher.containers import remove_containers
from ssh.shipped.launcher.output import read_piece, run_command
from ssh.shipped.launcher.run_logs import read_examples, read_logs
from ssh.shipped.launcher.run_rows import list_runs, poll_runs
from ssh.shipped.launcher.run_start import bar_run, delete_secrets, place_run, start_run

VERBS = {
    "place": place_run,
    "start": start_run,
    "bar": bar_run,
    "sweep": delete_secrets,
    "poll": poll_runs,
    "list": list_runs,
    "logs": read_logs,
    "examples": read_examples,
    "read": read_piece,
    "words": run_command,
    "screen": run_command,  # a command that only reads: it prints a screen or lists sessions
    "remove containers": remove_containers,
}


def main():
    be_undumpable()
    os.umask(0o077)
    set_home()
    asked = json.loads(sys.stdin.readline())
    try:
        answer = VERBS[asked["verb"]](dict(asked["given"], secrets=asked["secrets"]))
    except CannotDo as cannot:
        answer = {"failed": str(cannot), "advice": cannot.advice}
    except OSError as error:
        answer = {"failed": "%s: %s" % (asked["verb"], error)}
    write_answer(answer, nonce_of(asked))


if __name__ == "__main__":
    main()
