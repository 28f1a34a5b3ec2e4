"""What libraries log and warn of goes nowhere: no byte of it may reach the terminal.

A line of theirs would tear the screen, and may hold what a host sent, as it sent it. What an
operator needs to know, evalroom says in its own words.
"""

import logging
import sys
import warnings

from cli.standard_files import open_what_is_closed


def begin() -> None:
    """Make a program of its own ready: its standard files are there, its libraries silent."""
    open_what_is_closed()
    silence_libraries()


def silence_libraries() -> None:
    """Take the way to standard error from log records and warnings of libraries.

    Python prints a warning that no handler takes; now the root takes them all and keeps none.
    With `-W` or PYTHONWARNINGS a developer sees the warnings all the same.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
