"""Fixtures that several folders of tests share: real evals that are only read."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.evals", "tests.support.ctl", "tests.support.rest"]

settings.register_profile(
    "steady",
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)  # a slow machine is no fault, and events are large
settings.load_profile("steady")
