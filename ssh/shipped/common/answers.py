"""Answers: each is one line between two marks, so that other output can't be taken for it.

The desk reads them in `core/program_answers.py`. A script that another interpreter executes gets
ANSWER_LINE, and prints `ANSWER_LINE % (len(text), text)` with the text of its answer as JSON.
"""

import json
import os
import re

ANSWER_LINE = "\nevalroom-answer %d %s evalroom-end\n"
ANSWER_HEAD = re.compile(r"evalroom-answer ([0-9]{1,12}) ")
ANSWER_END = " evalroom-end"
MAX_OBJECTS = 2000


def answer_line(value):
    """Return the line that answers with a value."""
    text = json.dumps(value)
    return ANSWER_LINE % (len(text), text)


def write_answer(value):
    """Write the line to descriptor 1, whole."""
    data = answer_line(value).encode("ascii")
    while data:
        data = data[os.write(1, data) :]


def answers_in(text):
    """Return the values of all whole answers in the output of a script."""
    found = []
    for line in text.split("\n"):
        head = ANSWER_HEAD.search(line)
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
