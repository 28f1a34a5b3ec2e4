"""Fixtures that several folders of tests share: real evals that are only read."""

import os

# No test asks, or writes to, the keyring of who runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

pytest_plugins = ["tests.support.evals", "tests.support.ctl", "tests.support.rest"]

_LONGEST_ID = 60


def pytest_make_parametrize_id(config: object, val: object, argname: str) -> str | None:
    """Keep the names of tests short: values of a megabyte are tried too."""
    del config, argname
    if isinstance(val, str | bytes) and len(val) > _LONGEST_ID:
        return f"{val[:20]!a}, {len(val)} long"
    return None
