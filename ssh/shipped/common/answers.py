"""Answers: each is one line between two marks, so that other output can't be taken for it.

Each request has a nonce, which the line repeats: no text that was written before can hold it. The
desk reads the lines in `core/program_answers.py`. A script that another interpreter executes takes
its nonce from the environment (`script_answers.asked_env`), so that no list of processes shows it,
and prints `ANSWER_LINE % (nonce, len(text), text)` with the text of its answer as JSON.
"""

import json
import os
import re

ANSWER_LINE = "\nevalroom-answer %s %d %s evalroom-end\n"
NONCE_VARIABLE = "EVALROOM_ANSWER"
NO_NONCE = "-"  # of a program that a person runs


def nonce_of(asked):
    """Return the nonce of a request."""
    nonce = asked.get("nonce")
    return nonce if isinstance(nonce, str) and re.match("[0-9a-f]{8,64}\\Z", nonce) else NO_NONCE


def answer_line(value, nonce):
    """Return the line that answers with a value."""
    text = json.dumps(value)
    return ANSWER_LINE % (nonce, len(text), text)


def write_answer(value, nonce):
    """Write the line to descriptor 1, whole."""
    data = answer_line(value, nonce).encode("ascii")
    while data:
        data = data[os.write(1, data) :]
