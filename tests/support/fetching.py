"""Jobs done on this computer, in a home of its own, by the program that does them everywhere."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.ids import MachineName
from core.model.job import Job
from ssh.jobs import do_job
from ssh.links.command_link import CommandLink

HERE = MachineName("here")


@dataclass
class LocalWorker:
    """Fulfils `core.model.job.Worker`.

    Attributes:
        home: The account's home.
        env: Further variables of the login; None: the variable is not set.
        python: What runs the program.
        has_network: Whether what is done reaches anything; root alone can take that away.
        jobs: What was done.
    """

    home: Path
    env: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    python: str = sys.executable
    has_network: bool = True
    jobs: list[Job] = field(default_factory=list[Job])

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        self.jobs.append(job)
        env: dict[str, str | None] = {"HOME": str(self.home), "UV_CACHE_DIR": None, **self.env}
        words = [word for name, value in env.items() if value is None for word in ("-u", name)]
        words += [f"{name}={value}" for name, value in env.items() if value is not None]
        cut_off = () if self.has_network else ("unshare", "-n")
        link = CommandLink(machine, (*cut_off, "env", *words))
        try:
            return await do_job(machine, link, job, python=self.python, deadline=deadline)
        finally:
            await link.close()


def path_without(folder: Path, *programs: str) -> str:
    """Return a PATH on which these programs are not."""
    shadow = folder / f"path-without-{'-'.join(programs)}"
    shadow.mkdir(exist_ok=True)
    for each in os.environ["PATH"].split(":"):
        if Path(each).is_dir():
            for file in Path(each).iterdir():
                link = shadow / file.name
                if file.name not in programs and not link.is_symlink():
                    link.symlink_to(file)
    return str(shadow)


@contextmanager
def small_disk(folder: Path, size: str = "2m") -> Generator[Path]:
    """Have a folder be a small disk of its own; root alone can."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
