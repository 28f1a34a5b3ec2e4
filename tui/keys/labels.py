"""Keys as people write them: `^d`, `PgDn`."""

_NAMED = {
    "slash": "/",
    "question_mark": "?",
    "exclamation_mark": "!",
    "colon": ":",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "up": "Up",
    "down": "Down",
}


def label(key: str) -> str:
    """Return a key as people write it: `^d` for `ctrl+d`."""
    if key in _NAMED:
        return _NAMED[key]
    if key.startswith("ctrl+"):
        return "^" + key[5:]
    return key.upper() if key.startswith("f") and key[1:].isdigit() else key


def labels(keys: str) -> str:
    """Return the keys of one binding as people write them, separated by blanks."""
    return " ".join(label(key) for key in keys.split(","))
