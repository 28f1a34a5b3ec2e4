"""Escape sequences for the terminal's title and clipboard."""

import base64
from collections.abc import Mapping

from core.text import Shown

_ESC = "\x1b"
_SCREEN_PART = 700
"""GNU screen forwards at most this many bytes of a string."""


def title_sequence(title: Shown) -> str:
    """Return the sequence that sets the terminal's title."""
    return f"{_ESC}]2;{title}\a"


KEEP_TITLE, RESTORE_TITLE = f"{_ESC}[22;2t", f"{_ESC}[23;2t"
"""Sequences that push and pop the title, on terminals that support it."""


def clipboard_sequences(
    text: str, environ: Mapping[str, str], limit: int
) -> tuple[str, ...] | None:
    """Return the sequences that copy `text` to the terminal's clipboard (OSC 52).

    Inside tmux it is sent twice: bare, for `set-clipboard on`, and wrapped, for
    `allow-passthrough on`. Inside GNU screen it is wrapped in pieces.

    Returns:
        None: the encoded text is longer than `limit` bytes.
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
