"""Removes the secrets of the job from texts."""

HIDDEN = "[hidden]"
MIN_SECRET_LENGTH = 4  # a shorter one would blot out ordinary words
SECRETS = {}  # variable -> value; filled once the job is read


def without_secrets(value):
    """Return an answer without the secrets: a program may have printed them."""
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    if isinstance(value, str):
        for secret in sorted(SECRETS.values(), key=len, reverse=True):
            if len(secret) >= MIN_SECRET_LENGTH:
                value = value.replace(secret, HIDDEN)
    return value
