"""Two hundred machines as two hundred real links to one real sshd; the far side is simulated."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

from tests.bench.rooms import home_env, key_delays, room, until_shown
from tests.bench.rows import Result, percentile
from tests.support.sim.machines import simulator
from tests.support.sshd import Sshd, running
from tests.support.tree import ROOT
from tests.support.usage import Meter, resident_mib

MACHINES = 200
ADDRESSES = tuple(f"127.0.0.{n}" for n in range(1, 4))
"""Links of one address are opened a few at a time. More addresses would open more at once than
two cores can serve: every far side is served by them too."""

USER = "sim"


def measure(folder: Path, quick: bool) -> list[Result]:
    """Watch 1,000 tasks and 20,000 running samples, 1% of them changing each second."""
    machines = 20 if quick else MACHINES
    listens = "".join(f"ListenAddress {address}\n" for address in ADDRESSES[1:])
    options = f"MaxStartups 500\nMaxSessions 20\n{listens}"
    with simulator(folder) as sim, running(folder / "sshd", options) as sshd:
        for path in (folder, sim.python):
            path.chmod(0o755)
        known_hosts = folder / "known_hosts"
        _add_user(sshd)
        key = sshd.known_hosts_line().partition(" ")[2]
        names = ",".join(f"[{address}]:{sshd.port}" for address in ADDRESSES)
        known_hosts.write_text(f"{names} {key}")
        config = (
            "".join(
                f'[[machines]]\nname = "m{n:03d}"\nhost = "{ADDRESSES[n % len(ADDRESSES)]}"\n'
                f'port = {sshd.port}\nuser = "{USER}"\nidentity = "{sshd.key}"\n'
                f'known_hosts = "{known_hosts}"\n'
                f'python = "{sim.python}"\n'
                for n in range(machines)
            )
            + _EVERY_TWO_SECONDS
        )
        return [*_drawn(folder, config, machines, quick), *_lag(folder, config, quick)]


def _add_user(sshd: Sshd) -> None:
    """Add a login that may run what root may, with an empty home.

    The rc files of whoever measures would be measured too: two hundred logins that ask a version
    manager at once took minutes.
    """
    sshd.home(USER).mkdir()
    for name, line in (
        ("passwd", f"{USER}:x:0:0::/home/{USER}:/bin/bash"),
        ("shadow", f"{USER}:*:19000:0:99999:7:::"),
    ):
        with (sshd.root / "up" / name).open("a") as file:
            file.write(f"{line}\n")


_EVERY_TWO_SECONDS = "\n".join(
    [
        "[watch.cadences]",
        *(
            f'"{phase}" = {{ tasks = 2, samples = 2 }}'
            for phase in ("spin-up", "ramping", "steady", "near-the-end", "trouble")
        ),
        "",
    ]
)


def _drawn(folder: Path, config: str, machines: int, quick: bool) -> list[Result]:
    with room(folder, config) as terminal:
        up = until_shown(terminal, rf"\b{machines * 5} running\b", 300)
        terminal.drain(15)
        meter = Meter(terminal.process.pid)
        terminal.drain(10 if quick else 30)
        share = meter.share()
        memory = resident_mib(terminal.process.pid)
        keys = list(itertools.islice(itertools.cycle("jjkjjk"), 12 if quick else 40))
        delays = key_delays(terminal, keys)
    load = f"{machines} machines, {machines * 5} tasks, {machines * 100} running samples"
    return [
        Result(what=f"{load}: all linked after", value=up, unit="s"),
        Result(what="the same: of a core", value=share * 100, unit="%", goal=30.0),
        Result(what="the same: memory", value=memory, unit="MB", goal=400.0),
        Result(
            what="the same: key press to its first bytes, p95",
            value=percentile(delays, 0.95) * 1000,
            unit="ms",
            goal=50.0,
        ),
    ]


def _lag(folder: Path, config: str, quick: bool) -> list[Result]:
    """How late a sample's change is known, by the headless twin over the same links."""
    file = folder / "config.toml"
    file.write_text(config)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.bench.lateness", str(file)),
            *("--for", "15" if quick else "40"),
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=home_env(folder),
    )
    late = json.loads(done.stdout)
    return [
        Result(
            what="the same: a sample's change until it is folded in, p95 (polls every 2 s)",
            value=late["p95"],
            unit="s",
            goal=3.0,
        )
    ]
