"""Short texts from errors and from the output of programs."""


def text_of(error):
    return str(error) or type(error).__name__


def first_line(data, limit=300):
    """Return the first line that is not blank."""
    for line in data.decode("utf-8", "replace").splitlines():
        if line.strip():
            return line.strip()[:limit]
    return ""


def last_line(data, limit=300):
    """Return the last line that is not blank."""
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:limit] if lines else ""
