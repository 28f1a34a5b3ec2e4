"""How keys are written for people."""

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
    """Return how a key is written for people."""
    if key in _NAMED:
        return _NAMED[key]
    if key.startswith("ctrl+"):
        return "^" + key[5:]
    return key.upper() if key.startswith("f") and key[1:].isdigit() else key


def labels(keys: str) -> str:
    """Return how the keys of one binding are written for people."""
    return " ".join(label(key) for key in keys.split(","))
