"""The one escaping rule for names within a TARGET: `%` and two hex digits stand for a byte.

`escaped` writes a name so that it can be typed back as one word of a shell without quotes.
"""

import re
from urllib.parse import unquote_to_bytes

from core.text import shown

_PLAIN = frozenset("-._+=,@/:")
"""The characters that stay as they are, beside letters and digits of any script."""
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def escaped(name: str) -> str:
    """Return `name` with everything but letters, digits and `-._+=,@/:` as `%XX`.

    The result is harmless to show, and holds no `#`, no blank and no character of a shell.
    """
    return "".join(char if _stays(char) else _escape(char) for char in name)


def marked_as_text(name: str) -> str:
    """Return `name` escaped so that it can't be taken for a number: `%317` for the text `17`."""
    return _escape(name[0]) + escaped(name[1:])


def unescaped(word: str) -> str | None:
    """Return the name that an escaped word stands for; None: it is not an escaped word."""
    if "%" in _ESCAPE.sub("", word):
        return None
    try:
        return unquote_to_bytes(word.encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )
    except UnicodeDecodeError:
        return None


def readings(word: str) -> tuple[str, ...]:
    """Return the names that a typed word may stand for: as it is, and with its escapes resolved."""
    resolved = unescaped(word)
    return (word,) if resolved is None or resolved == word else (word, resolved)


def _stays(char: str) -> bool:
    # Some letters are invisible: `shown` knows them.
    return char in _PLAIN or (char.isalnum() and shown(char) == char)


def _escape(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
