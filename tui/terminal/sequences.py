"""What is written to a terminal beside text: its title, and its clipboard."""

import base64
from collections.abc import Mapping

from core.text import Shown

_ESC = "\x1b"
_SCREEN_PART = 700
"""GNU screen passes on no longer string than this, bytes."""


def title_sequence(title: Shown) -> str:
    """Return what sets the terminal's title."""
    return f"{_ESC}]2;{title}\a"


KEEP_TITLE, RESTORE_TITLE = f"{_ESC}[22;2t", f"{_ESC}[23;2t"
"""The terminal keeps its title, and takes it back, where it knows how."""


def clipboard_sequences(
    text: str, environ: Mapping[str, str], limit: int
) -> tuple[str, ...] | None:
    """Return what asks the terminal to take `text` into its clipboard (OSC 52).

    Inside tmux it goes out bare, for `set-clipboard on`, and wrapped, for `allow-passthrough
    on`; inside GNU screen wrapped in pieces.

    Returns:
        None: it is longer than `limit` bytes once encoded, and nothing is to be sent.
    """
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    if len(encoded) > limit:
        return None
    bare = f"{_ESC}]52;c;{encoded}\a"
    if environ.get("TMUX"):
        return (bare, f"{_ESC}Ptmux;{bare.replace(_ESC, _ESC * 2)}{_ESC}\\")
    if environ.get("STY"):
        pieces = [bare[at : at + _SCREEN_PART] for at in range(0, len(bare), _SCREEN_PART)]
        return tuple(f"{_ESC}P{piece}{_ESC}\\" for piece in pieces)
    return (bare,)
