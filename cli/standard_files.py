"""Opens standard input, output and error where they were closed at the start."""

import os
import sys


def open_what_is_closed() -> None:
    """Open the null device for each standard descriptor that is closed.

    Otherwise the next opened file, such as the history, gets this descriptor's number, and a child
    process reads its input from that file or writes errors into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
