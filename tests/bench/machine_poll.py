"""One poll of a machine against `ssh HOST inspect ctl task list --json`."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from core.ports import Received
from ssh.factory import connection_for
from tests.bench.rows import Result, percentile
from tests.support.sshd import Sshd, running
from tests.support.tree import ROOT
from tests.support.usage import cpu_seconds

POLLS = 300


def measure(folder: Path, quick: bool) -> list[Result]:
    """Poll one eval of a hundred samples both ways, over the same sshd."""
    words = [
        sys.executable,
        "-m",
        "tests.support.sim.eval_server",
        str(folder / "d"),
        "--samples",
        "100",
    ]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"serving\n"
        with running(folder / "sshd") as sshd:
            theirs = [_theirs(folder, sshd) for _ in range(3 if quick else 5)]
            ours = asyncio.run(_ours(folder, sshd))
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    their_wall = percentile([wall for wall, _ in theirs], 0.5)
    their_cpu = percentile([cpu for _, cpu in theirs], 0.5)
    our_wall, our_cpu = ours
    return [
        Result(what="`ssh HOST inspect ctl task list --json`: wall", value=their_wall, unit="s"),
        Result(what="the same: CPU of the host", value=their_cpu, unit="s"),
        Result(what="one poll of ours: wall", value=our_wall * 1000, unit="ms"),
        Result(what="one poll of ours: CPU of the host", value=our_cpu * 1000, unit="ms"),
        Result(
            what="times less wall time", value=their_wall / our_wall, unit="x", goal=100,
            better="above",
        ),
        Result(
            what="times less CPU of the host", value=their_cpu / our_cpu, unit="x", goal=500,
            better="above",
        ),
    ]  # fmt: skip


def _theirs(folder: Path, sshd: Sshd) -> tuple[float, float]:
    """Return (wall, host CPU) seconds of one call; the host's program measures itself."""
    measured = (
        "import json,resource,subprocess,sys;"
        "subprocess.run([sys.executable,'-m','inspect_ai._cli.main','ctl','task','list','--json'],"
        "stdout=subprocess.DEVNULL,check=True);"
        "u=resource.getrusage(resource.RUSAGE_CHILDREN);print(u.ru_utime+u.ru_stime)"
    )
    known_hosts = folder / "kh"
    known_hosts.write_text(sshd.known_hosts_line())
    began = time.monotonic()
    done = subprocess.run(
        [
            *("ssh", "-F", "none", "-i", str(sshd.key), "-p", str(sshd.port)),
            *("-o", f"UserKnownHostsFile={known_hosts}", "root@127.0.0.1"),
            f'XDG_DATA_HOME={folder / "d"} {sys.executable} -c "{measured}"',
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return time.monotonic() - began, float(done.stdout.split()[-1])


async def _ours(folder: Path, sshd: Sshd) -> tuple[float, float]:
    known_hosts = folder / "kh"
    connection = connection_for(
        MachineConfig(
            name=MachineName("host"),
            host="127.0.0.1",
            port=sshd.port,
            user="root",
            identity=str(sshd.key),
            known_hosts=str(known_hosts),
            python=sys.executable,
            data_dir=str(folder / "d"),
        ),
        known_hosts=folder / "own",
        read_only=True,
        ask=None,
    )
    place: dict[str, object] = {}
    listed = asyncio.Event()
    probe = 0

    def receive(received: Received) -> None:
        nonlocal probe
        if isinstance(received, Frame) and received.kind == "hello":
            probe = received.head["pid"]
        if isinstance(received, Frame) and received.kind == "processes":
            for process in json.loads(received.body):
                place.update(pid=process["pid"], start=process["start"])
                listed.set()

    running_connection = asyncio.create_task(connection.run(receive))
    try:
        async with asyncio.timeout(20):
            await listed.wait()
        poll = Frame("get", {**place, "path": "/tasks"})
        await connection.request(poll, deadline=5)
        walls: list[float] = []
        cpu = cpu_seconds(probe)
        for _ in range(POLLS):
            began = time.monotonic()
            await connection.request(poll, deadline=5)
            walls.append(time.monotonic() - began)
        spent = cpu_seconds(probe) - cpu
    finally:
        running_connection.cancel()
        await asyncio.gather(running_connection, return_exceptions=True)
    # A tick of the kernel's clock is the smallest difference that can be measured.
    least = 1 / os.sysconf("SC_CLK_TCK")
    return percentile(walls, 0.5), max(spent, least) / POLLS
