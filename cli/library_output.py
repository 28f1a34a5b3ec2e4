"""Log records and warnings of libraries are discarded: none may reach the terminal.

They would break the screen, and may hold raw text from a host. evalroom itself says what an
operator needs to know.
"""

import logging
import sys
import warnings

from cli.standard_files import open_what_is_closed


def begin() -> None:
    """Prepare this process: open closed standard files, silence libraries."""
    open_what_is_closed()
    silence_libraries()


def silence_libraries() -> None:
    """Discard log records and warnings of libraries.

    Python prints records that no handler takes; the root logger now takes and drops them all.
    With `-W` or PYTHONWARNINGS a developer still sees the warnings.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
