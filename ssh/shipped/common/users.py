"""Names of accounts."""

try:
    import pwd
except ImportError:  # pragma: no cover - every machine we know has it
    pwd = None


def user_name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except (AttributeError, KeyError):
        return str(uid)
