"""uv comes to a machine: sent from here, else copied there, else by that machine's own pip."""

import asyncio
import hashlib
import os
import platform
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.errors import JobFailed, RequestFailed
from core.ids import MachineName
from core.launch.provision import fetch_client
from core.launch.provision.fetch_client import PIECE_BYTES, UvFile
from core.model.job import Job
from ssh.local_uv import local_uv
from tests.support.evals import short_folder
from tests.support.fetching import HERE, LocalWorker, small_disk

PRINTS_ITS_VERSION = b"#!/bin/sh\necho 'uv 0.9.1 (a test)'\nexit\n"


@pytest.fixture
def worker() -> Iterator[LocalWorker]:
    """An account whose pip finds nothing, and on whose PATH there is no uv."""
    with short_folder() as folder:
        home, usual = folder / "home", folder / "path"
        home.mkdir()
        usual.mkdir()
        (usual / "env").symlink_to("/usr/bin/env")
        yield LocalWorker(
            home, env={"PATH": str(usual), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": None}
        )


def made(content: bytes = PRINTS_ITS_VERSION, size: int = 5 * PIECE_BYTES // 2) -> UvFile:
    """A stand-in for uv on this computer: it only prints."""
    content = content.ljust(size, b"#")
    return UvFile(
        version="0.9.1",
        system=platform.system(),
        processor=platform.machine(),
        libc=platform.libc_ver()[0],
        size=size,
        sha256=hashlib.sha256(content).hexdigest(),
        read=lambda at, most: content[at : at + most],
    )


def nothing(_: str) -> None:
    return


def left(worker: LocalWorker) -> set[str]:
    """The files in the home now, by name and mode."""
    return {
        f"{path.relative_to(worker.home)} {path.stat().st_mode & 0o777:o}"
        for path in worker.home.rglob("*")
        if path.is_file()
    }


OWN = f".evalroom/bin/uv-{os.uname().sysname}-{os.uname().machine}"
ALL_THERE_IS = {".evalroom/bin/uv 755", f"{OWN} 755", ".evalroom/bin/uv.lock 600"}


async def test_evalrooms_own_uv_is_sent_once_and_runs_there(worker: LocalWorker) -> None:
    file = await asyncio.to_thread(local_uv)
    assert file is not None
    seen: list[str] = []
    got = await fetch_client.fetch_uv(worker, HERE, local_uv, seen.append)
    assert (got.version, got.was_there, got.how) == (file.version, False, "sent from here")
    assert seen[1:2] == ["sending uv to here: 8.0M of 37M"]
    assert (worker.home / OWN).stat().st_size == file.size
    assert left(worker) == ALL_THERE_IS
    again = await fetch_client.fetch_uv(worker, HERE, local_uv, seen.append)
    assert (again.version, again.was_there) == (file.version, True)


async def test_machines_of_two_platforms_share_a_home(worker: LocalWorker) -> None:
    tools = worker.home.parent / "arm"
    tools.mkdir()
    (tools / "uname").write_text("#!/bin/sh\n[ $1 = -s ] && echo Linux || echo riscv64\n")
    (tools / "uname").chmod(0o755)
    uv = worker.home / ".evalroom/bin/uv"
    await fetch_client.fetch_uv(worker, HERE, made, nothing)
    other = uv.with_name("uv-Linux-riscv64")
    other.write_text('#!/bin/sh\necho "other $*"\n')
    other.chmod(0o755)

    def version(path: str) -> str:
        words = [str(uv), "--version"]
        done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=True)
        return done.stdout

    usual = os.environ["PATH"]
    there = await asyncio.to_thread(version, f"{tools}:{usual}")
    here = await asyncio.to_thread(version, usual)
    assert (there, here) == ("other --version\n", "uv 0.9.1 (a test)\n")
    # A machine that finds only the uv of another platform gets its own beside it.
    uv.with_name(Path(OWN).name).unlink()
    got = await fetch_client.fetch_uv(worker, HERE, made, nothing)
    assert not got.was_there
    assert await asyncio.to_thread(version, usual) == "uv 0.9.1 (a test)\n"
    assert other.exists()


class Cut(LocalWorker):
    """A link that goes once this many jobs were done over it."""

    after = 0

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        if self.after == 0:
            raise RequestFailed("not sent: the link is down")
        self.after -= 1
        return await super().work(machine, job, deadline=deadline)


async def test_a_cut_transfer_goes_on_where_it_was(worker: LocalWorker) -> None:
    cut = Cut(worker.home, worker.env)
    cut.after = 3
    with pytest.raises(RequestFailed):
        await fetch_client.fetch_uv(cut, HERE, made, nothing)
    assert [job.given.get("at") for job in cut.jobs] == [None, 0, PIECE_BYTES]
    got = await fetch_client.fetch_uv(worker, HERE, made, nothing)
    assert [job.given.get("at") for job in worker.jobs] == [None, 2 * PIECE_BYTES]
    assert (got.version, got.how) == ("0.9.1", "sent from here")
    assert left(worker) == ALL_THERE_IS


async def test_two_at_once_send_it_together(worker: LocalWorker) -> None:
    both = await asyncio.gather(
        *(fetch_client.fetch_uv(worker, HERE, made, nothing) for _ in range(2))
    )
    assert {each.version for each in both} == {"0.9.1"}
    assert left(worker) == ALL_THERE_IS


async def test_an_older_one_is_replaced_and_a_newer_one_stays(worker: LocalWorker) -> None:
    there = worker.home / ".evalroom/bin/uv"
    there.parent.mkdir(parents=True)
    for version, stays in (("0.7.22", False), ("0.8.0", True), ("0.10.1", True)):
        there.write_text(f"#!/bin/sh\necho uv {version}\n")
        there.chmod(0o755)
        got = await fetch_client.fetch_uv(worker, HERE, lambda: made(size=100), nothing)
        assert (got.version, got.was_there) == (version if stays else "0.9.1", stays)


async def test_a_program_that_arrived_damaged_is_sent_again_and_never_run(
    worker: LocalWorker,
) -> None:
    file = made(size=1000)
    times: list[int] = []

    def read(at: int, most: int) -> bytes:
        times.append(at)
        return file.read(at, most) if len(times) > 1 else b"\0" * 1000

    broken = UvFile(
        version=file.version, system=file.system, processor=file.processor, libc=file.libc,
        size=file.size, sha256=file.sha256, read=read,
    )  # fmt: skip
    got = await fetch_client.fetch_uv(worker, HERE, lambda: broken, nothing)
    assert (got.how, times) == ("sent from here", [0, 0])

    (worker.home / ".evalroom/bin/uv").unlink()
    never = made(size=1000)
    wrong = UvFile(
        version=never.version, system=never.system, processor=never.processor, libc=never.libc,
        size=never.size, sha256="0" * 64, read=never.read,
    )  # fmt: skip
    with pytest.raises(JobFailed, match="was incomplete"):
        await fetch_client.fetch_uv(worker, HERE, lambda: wrong, nothing)


async def test_one_that_does_not_run_there_is_had_another_way(worker: LocalWorker) -> None:
    wheels = wheel(worker.home.parent, "0.12.0")
    worker.env = {**worker.env, "PIP_FIND_LINKS": str(wheels)}
    for offered in (made(b"#!/nowhere\n", 100), None):
        got = await fetch_client.fetch_uv(worker, HERE, partial(_offered, offered), nothing)
        assert (got.version, got.how) == ("0.12.0", "downloaded by that machine's pip")
        assert left(worker) >= ALL_THERE_IS
        assert not list((worker.home / ".evalroom/bin").glob("pip-*"))
        (worker.home / ".evalroom/bin/uv").unlink()


def _offered(file: UvFile | None) -> UvFile | None:
    return file


def wheel(folder: Path, version: str) -> Path:
    """Make a wheel of a uv that prints this version; return its folder."""
    wheels = folder / "wheels"
    wheels.mkdir()
    name = f"uv-{version}"
    files = {
        f"{name}.data/scripts/uv": f"#!/bin/sh\necho uv {version}\n",
        f"{name}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: uv\nVersion: {version}\n",
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{name}.dist-info/RECORD"
    files[record] = "".join(f"{each},,\n" for each in (*files, record))
    with zipfile.ZipFile(wheels / f"{name}-py3-none-any.whl", "w") as zipped:
        for path, text in files.items():
            info = zipfile.ZipInfo(path)
            info.external_attr = 0o755 << 16
            zipped.writestr(info, text)
    return wheels


@pytest.mark.slow
async def test_where_there_is_no_pip_a_venv_has_one(worker: LocalWorker) -> None:
    bare = worker.home.parent / "bare"
    words = [sys.executable, "-m", "venv", "--without-pip", str(bare)]
    await asyncio.to_thread(subprocess.run, words, check=True)
    worker.python = str(bare / "bin/python")
    worker.env = {**worker.env, "PIP_FIND_LINKS": str(wheel(worker.home.parent, "0.12.0"))}
    got = await fetch_client.fetch_uv(worker, HERE, lambda: None, nothing)
    assert got.how == "downloaded by that machine's pip"


async def test_another_platform_is_sent_nothing_and_a_uv_that_is_there_is_copied(
    worker: LocalWorker,
) -> None:
    file = await asyncio.to_thread(local_uv)
    assert file is not None
    here = worker.home / ".local/bin/uv"
    here.parent.mkdir(parents=True)
    here.write_bytes(file.read(0, file.size))
    here.chmod(0o755)
    other = UvFile(
        version="0.9.1", system="Linux", processor="riscv64", libc="glibc", size=1, sha256="0" * 64,
        read=file.read,
    )  # fmt: skip
    got = await fetch_client.fetch_uv(worker, HERE, lambda: other, nothing)
    assert (got.version, got.how) == (file.version, "copied from another folder on that machine")
    assert [job.verb for job in worker.jobs] == ["uv"]


async def test_where_no_way_leads_to_it_that_is_a_sentence(worker: LocalWorker) -> None:
    with pytest.raises(JobFailed, match=r"pip can't install uv: .*uv") as caught:
        await fetch_client.fetch_uv(worker, HERE, lambda: None, nothing)
    assert "name a `python` that has Inspect" in caught.value.advice
    assert left(worker) == {".evalroom/bin/uv.lock 600"}


async def test_a_full_disk_is_reported_and_its_space_is_freed(
    worker: LocalWorker,
) -> None:
    with small_disk(worker.home / ".evalroom") as small:
        with pytest.raises(JobFailed, match=r"no space is left for .*bin"):
            await fetch_client.fetch_uv(worker, HERE, made, nothing)
        free = os.statvfs(small)
        assert free.f_bfree > 0.9 * free.f_blocks
