"""The answers of the shipped programs, written and read by their own code, with types."""
# pyright: standard
# The shipped programs have no types.

from typing import Any

from ssh.shipped.common import answers


def answer_line(value: object) -> str:
    """The line with which a shipped program answers."""
    line: str = answers.answer_line(value)
    return line


def answers_in(text: str) -> list[Any]:
    """The answers that a shipped program finds in the output of a script."""
    found: list[Any] = answers.answers_in(text)
    return found


def objects_found(text: str, key: str) -> list[Any]:
    """The objects that a shipped program finds in the output of another program."""
    found: list[Any] = answers.objects_in(text, key)
    return found
