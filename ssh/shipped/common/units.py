"""Parses numbers that tools print as text."""

import re

MIB = 1024 * 1024
WHOLE_NUMBER = re.compile(r"[0-9]{1,18}\Z")


def csv_number(text, scale=1):
    """Return a number from nvidia-smi's CSV; None for [N/A], [Unknown Error] and the like."""
    try:
        value = float(text.strip().split()[0])
    except (ValueError, IndexError):
        return None
    if not abs(value * scale) < 2.0**63:  # also not-a-number
        return None
    return int(value * scale) if scale != 1 else value


def size_in_bytes(text):
    """Return the bytes of a text like `12.3MiB`."""
    found = re.match(r"\s*([0-9.]{1,20})\s*([kKMGTP]?)(i?)B", text)
    if not found:
        return None
    step = 1024 if found.group(3) else 1000
    power = " KMGTP".index((found.group(2) or " ").upper())
    try:
        size = float(found.group(1)) * step**power
    except ValueError:
        return None
    return int(size) if size < 2.0**63 else None
