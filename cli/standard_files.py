"""Standard input, output and error are there, also where whoever started evalroom closed them."""

import os
import sys


def open_what_is_closed() -> None:
    """Put the null device where a standard descriptor is closed.

    Else the next file that is opened, the history say, gets its number, and a child reads it
    as its input or writes its errors into it.
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
