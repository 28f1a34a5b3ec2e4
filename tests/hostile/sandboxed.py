"""A sandboxed agent: a process in namespaces of its own that claims to be an eval of its host.

It has a command line, a record, a control socket and a run's id, as an eval of the host has. With a
real container and an interpreter of its own, `tests/ssh/shipped/test_probe_in_docker.py` tries it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support.namespaces import ContainedEval, contained_eval

RUN = "20260101-000000-abcdefgh"


@contextmanager
def sandboxed_agent(data_dir: Path) -> Generator[ContainedEval, None, None]:
    """Run an agent for the block; it writes into the data folder that a probe looks at."""
    with contained_eval(data_dir, run=RUN, verb="eval") as agent:
        yield agent
