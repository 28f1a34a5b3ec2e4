"""Who wrote a spec: the owner of its file."""

import os
import pwd
from pathlib import Path


def author_of(path: Path) -> str:
    """Return the name of the account that owns a file; empty: this account, or unknown.

    Root's files count as those of someone else, except for root.
    """
    try:
        uid = path.stat().st_uid
    except OSError:
        return ""
    if uid == os.geteuid():
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
