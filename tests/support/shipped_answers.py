"""The answers of the shipped programs, written and read by their own code, with types."""
# pyright: standard
# The shipped programs have no types.

from typing import Any

from ssh.shipped.common import answers, script_answers

NONCE: str = answers.NO_NONCE
"""The nonce of a request without one."""


def answer_line(value: object, nonce: str = NONCE) -> str:
    """The line with which a shipped program answers."""
    line: str = answers.answer_line(value, nonce)
    return line


def prints_answer(value: object) -> str:
    """The shell words with which a stand-in for a script answers: the nonce is in a variable."""
    before, after = answer_line(value, "NONCE").split("NONCE", 1)
    return f"printf '%s%s%s' '{before}' \"${answers.NONCE_VARIABLE}\" '{after}'"


def answers_in(text: str, nonce: str = NONCE) -> list[Any]:
    """The answers that a shipped program finds in the output of a script."""
    found: list[Any] = script_answers.answers_in(text, nonce)
    return found


def objects_found(text: str, key: str) -> list[Any]:
    """The objects that a shipped program finds in the output of another program."""
    found: list[Any] = script_answers.objects_in(text, key)
    return found
