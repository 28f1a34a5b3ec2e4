"""A login where tools are what a test says: shell scripts that stand in for docker and others."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.fetching import LocalWorker
from tests.support.processes import with_words
from tests.support.shipped_answers import prints_answer
from tests.support.surveys import of


@dataclass
class Login:
    """An account on this computer.

    Attributes:
        folder: Its home and its tools lie in it.
        env: Its further variables; None: one is not set.
    """

    folder: Path
    env: dict[str, str | None] = field(default_factory=dict[str, str | None])

    @property
    def home(self) -> Path:
        """Its home."""
        return self.folder / "home"

    @property
    def tools(self) -> Path:
        """Where its tools are."""
        return self.folder / "tools"

    def tool(self, name: str, script: str) -> Path:
        """Put a shell script in the place of a tool; return it."""
        self.tools.mkdir(exist_ok=True)
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def quick_python(self) -> Path:
        """An interpreter whose Inspect answers at once, and works."""
        facts: dict[str, Any] = {
            "python": "3.11.0",
            "inspect": "0.3.285",
            "packages": {},
            "imported": True,
        }
        return self.tool("python-well", prints_answer(facts))

    def quick(self, task: str = "evalroom/smoke") -> str:
        """The text of a spec that this interpreter runs."""
        return of(task) + f'python = "{self.quick_python()}"\n'

    def worker(self) -> LocalWorker:
        """What does jobs there, over a real link."""
        self.home.mkdir(exist_ok=True)
        path = f"{self.tools}:{os.environ['PATH']}"
        return LocalWorker(self.home, env={"PATH": path, "HF_HUB_OFFLINE": None, **self.env})


NVIDIA = """
case "$1" in
  --query-gpu=*) printf '0, GPU-aa, NVIDIA H100, 4, 81559, 0, Disabled\\n1, GPU-bb, NVIDIA H100, 9, 81559, 0, Disabled\\n';;
  --query-compute-apps=*) echo 'GPU-aa, 4242';;
esac
"""  # noqa: E501 - as the tool gives it
DOCKER = r"""
case "$1" in
  info) echo '{"ServerVersion":"27.1.1","ContainersRunning":2,"MemTotal":67109998592,"DockerRootDir":"/x"}';;
  compose) echo 2.29.1;;
  stats) printf '12.5MiB / 1GiB\n1GiB / 4GiB\n';;
esac
"""  # noqa: E501 - as the tool gives it
"""A Docker that answers."""
NO_DAEMON = r"""
echo '{"ServerErrors":["permission denied while trying to connect to the Docker daemon socket"]}'
exit 1
"""


def running_from(folder: Path) -> list[int]:
    """The pids of what runs from this folder: it stands in their command lines."""
    return with_words(str(folder))
