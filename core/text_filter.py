"""The filter of tables and of the journal: words, or a regular expression."""

import re
from collections.abc import Callable


def text_filter(text: str) -> Callable[[str], bool] | None:
    """Return the test that a filter means; None: everything passes.

    Args:
        text: Words that must all be there, in any case; `/.../` a regular expression; `!` before
            either inverts it. A regular expression that does not compile yet (it is being typed)
            counts as plain text.

    Returns:
        Whether a text in lower case passes.
    """
    if not text.startswith("!"):
        return _test(text)
    test = _test(text[1:])
    return None if test is None else lambda search: not test(search)


def _test(text: str) -> Callable[[str], bool] | None:
    text = text.strip()
    if not text:
        return None
    if text.startswith("/"):
        source = text[1:-1] if len(text) > 1 and text.endswith("/") else text[1:]
        if not source:
            return None
        try:
            pattern = re.compile(source, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError):
            pass
        else:
            return lambda search: pattern.search(search) is not None
    words = text.lower().split()
    return lambda search: all(word in search for word in words)
