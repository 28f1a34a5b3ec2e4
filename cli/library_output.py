"""Discards log records and warnings of libraries, so that none reaches the terminal.

They would break the screen, and may hold raw text from a host. evalroom itself reports what an
operator needs to know.
"""

import logging
import sys
import warnings

from cli.core_dumps import forbid_core_dumps
from cli.standard_files import open_what_is_closed


def begin() -> None:
    """Prepare this process: no core dumps, open closed standard files, silence libraries."""
    forbid_core_dumps()
    open_what_is_closed()
    silence_libraries()


def silence_libraries() -> None:
    """Discard log records and warnings of libraries.

    Python prints records that no handler takes; a handler of the root logger drops them all.
    With `-W` or PYTHONWARNINGS a developer still sees the warnings.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
