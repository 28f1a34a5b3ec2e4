"""Reads the answers of a script that another interpreter executes, and of foreign programs."""

import json
import os
import re

from ssh.shipped.common.answers import NONCE_VARIABLE

ANSWER_HEAD = "evalroom-answer %s ([0-9]{1,12}) "
ANSWER_END = " evalroom-end"
MAX_OBJECTS = 2000


def asked_env(env):
    """Return these variables with a new nonce for a script, and the nonce."""
    nonce = os.urandom(16).hex()
    return dict(env, **{NONCE_VARIABLE: nonce}), nonce


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
