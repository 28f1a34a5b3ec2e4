"""Reads the job, prints the answer, and exits when the link ends."""

import json
import sys
import threading

from ssh.shipped.common.answers import NO_NONCE, nonce_of, write_answer
from ssh.shipped.common.children import adopt_orphans, leave
from ssh.shipped.common.core_dumps import limit_core_dumps
from ssh.shipped.common.paths import set_home
from ssh.shipped.survey.session import look_for_child
from ssh.shipped.survey.side_by_side import short
from ssh.shipped.survey.survey import survey


def leave_with_the_link():
    """Exit at the end of the input: no one waits for the answer any more."""
    try:
        while sys.stdin.buffer.read1(65536):
            pass
    except (OSError, ValueError):
        pass
    leave(1)


def main():
    limit_core_dumps()
    adopt_orphans()
    set_home()
    line = sys.stdin.buffer.readline()  # its buffer may hold more than the program that was read
    if not line:
        leave(1)
    threading.Thread(target=leave_with_the_link, daemon=True).start()
    nonce = NO_NONCE
    try:
        asked = json.loads(line.decode("utf-8"))
        nonce = nonce_of(asked)
        if asked.get("verb") == "child":
            answer = look_for_child(asked.get("given") or {})
        elif asked.get("verb") != "survey":
            answer = {"failed": "the survey has no verb %s" % short(asked.get("verb"), 40)}
        else:
            answer = survey(asked.get("given") or {})
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        answer = {"failed": "the survey can't read its request: %s" % short(error)}
    write_answer(answer, nonce)
    leave(0)


if __name__ == "__main__":
    main()
