"""Fixtures that several folders of tests share: real evals that are only read."""

import os

# No test asks, or writes to, the keyring of who runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

pytest_plugins = ["tests.support.evals", "tests.support.ctl", "tests.support.rest"]
