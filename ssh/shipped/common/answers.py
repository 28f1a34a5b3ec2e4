"""Answers: each is one line between two marks, so that other output can't be taken for it.

Each request has a nonce, which the line repeats: no text that was written before can hold it. The
desk reads the lines in `core/program_answers.py`. A script that another interpreter executes takes
its nonce from the environment (`asked_env`), so that no list of processes shows it, and prints
`ANSWER_LINE % (nonce, len(text), text)` with the text of its answer as JSON.
"""

import json
import os
import re

ANSWER_LINE = "\nevalroom-answer %s %d %s evalroom-end\n"
ANSWER_HEAD = "evalroom-answer %s ([0-9]{1,12}) "
ANSWER_END = " evalroom-end"
NONCE_VARIABLE = "EVALROOM_ANSWER"
NO_NONCE = "-"  # of a program that a person runs
MAX_OBJECTS = 2000


def asked_env(env):
    """Return these variables with a new nonce for a script, and the nonce."""
    nonce = os.urandom(16).hex()
    return dict(env, **{NONCE_VARIABLE: nonce}), nonce


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


def answers_in(text, nonce):
    """Return the values of all whole answers with this nonce in the output of a script."""
    found, begin = [], re.compile(ANSWER_HEAD % re.escape(nonce))
    for line in text.split("\n"):
        head = begin.search(line)
        end = head.end() + int(head.group(1)) if head else 0
        if head and line.startswith(ANSWER_END, end):
            try:
                found.append(json.loads(line[head.end() : end]))
            except (ValueError, RecursionError):
                pass
    return found


def objects_in(text, key):
    """Return the whole JSON objects with this key in the output of a foreign program."""
    decoder, found = json.JSONDecoder(strict=False), []
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if key in value:
                found.append(value)
        at = text.find("{", end)
    return found
