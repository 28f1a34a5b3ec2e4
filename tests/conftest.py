"""Fixtures that several folders of tests share: real evals that are only read."""

pytest_plugins = ["tests.support.evals", "tests.support.ctl", "tests.support.rest"]
