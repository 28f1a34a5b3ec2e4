"""Machines of their own on this computer: each has its processes, network, home and sshd.

Root's alone: each lives in namespaces of pids, mounts, network and host name, and is reached over
a lane of `tests/support/tun_network.py`. What runs in it goes with it.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.evals import EVALS, environment, takes_sigint
from tests.support.processes import children_of, command_of
from tests.support.sshd import SSHD, Sshd, prepare, require_sshd
from tests.support.tun_network import TunNetwork, tun_network
from tests.support.waiting import wait_until

PORT = 22


@dataclass
class FarEval:
    """An eval on a far machine.

    Attributes:
        number: Its own; its task has it in its label.
        machine: The name of its machine.
        folder: `logs` is its log folder; `out` and `err` are its output.
    """

    number: int
    machine: str
    folder: Path
    popen: subprocess.Popen[bytes] = field(repr=False)

    def has_ended(self) -> bool:
        """Whether its process ended."""
        return self.popen.poll() is not None

    def log(self) -> Path | None:
        """Its log; None while there is none."""
        return next(iter(sorted((self.folder / "logs").glob("*.eval"))), None)

    def end(self) -> None:
        """Leave it to the end of its machine."""
        self.popen.kill()
        self.popen.wait()

    def signal(self, sign: signal.Signals) -> None:
        """Send a signal to the eval itself."""
        inner = [pid for pid in children_of(self.popen.pid) if "inspect_ai" in command_of(pid)]
        for pid in inner:
            os.kill(pid, sign)


@dataclass
class FarMachine:
    """One machine.

    Attributes:
        name: Its host name, and its name in a config.
        folder: Its own; `home` in it is root's home there.
        sshd: Its keys and its log.
        pid: The process whose namespaces are the machine's.
    """

    name: str
    folder: Path
    sshd: Sshd
    pid: int

    @property
    def home(self) -> Path:
        """Root's home there."""
        return self.folder / "home"

    def known_hosts_line(self, address: str) -> str:
        """A known_hosts line that makes it known."""
        kind, key = (self.sshd.root / "host_ed25519.pub").read_text().split()[:2]
        return f"{address} {kind} {key}\n"

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one there."""
        return ["nsenter", "-p", "-m", "-n", "-u", "-t", str(self.pid), "--", *command]

    def reset(self) -> None:
        """End every connection to it; its sshd goes on."""
        for pid in self._below(self.pid):
            if command_of(pid).startswith("sshd: root"):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def probes(self) -> list[int]:
        """The probes that run there."""
        return [pid for pid in self._below(self.pid) if "evalroom-probe" in command_of(pid)]

    def start_eval(
        self, number: int, task: str, args: Mapping[str, object], options: Sequence[str] = ()
    ) -> FarEval:
        """Start an eval of `task` (a file of tests/evals) there; it is not awaited."""
        folder = self.folder / f"e{number}"
        shutil.copytree(EVALS, folder / "evals", ignore=shutil.ignore_patterns("__pycache__"))
        given = [word for name, value in args.items() for word in ("-T", f"{name}={value}")]
        command = self.inside([
            "env", f"--chdir={folder}", sys.executable, "-m", "inspect_ai", "eval",
            f"evals/{task}.py", *given, "--log-dir", str(folder / "logs"), "--json", *options,
        ])  # fmt: skip
        env = environment(self.home / ".local/share", {"HOME": str(self.home)})
        default = takes_sigint(signal.default_int_handler)
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err, default:
            popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                start_new_session=True,
            )  # fmt: skip
        return FarEval(number, self.name, folder, popen)

    def _below(self, pid: int) -> list[int]:
        found: list[int] = []
        for child in children_of(pid):
            found += [child, *self._below(child)]
        return found


@contextmanager
def far_machine(name: str, folder: Path) -> Generator[FarMachine, None, None]:
    """Yield a machine; its network leads nowhere yet."""
    home = folder / "home"
    home.mkdir(parents=True)
    sshd = prepare(folder / "sshd")
    config = sshd.root / "sshd_config"
    config.write_text(
        f"Port {PORT}\nHostKey {sshd.root / 'host_ed25519'}\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {sshd.root / 'authorized'}\nStrictModes no\nPermitRootLogin yes\n"
        f"SetEnv HOME={home} PATH={os.environ['PATH']}\nLogLevel VERBOSE\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    script = f"hostname {name} && {SSHD} -D -e -f {config} & wait"
    with (sshd.root / "sshd.log").open("ab") as log:
        init = subprocess.Popen(
            ["unshare", "-f", "-p", "-m", "-n", "-u", "--mount-proc", "--kill-child",
             "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        pid = wait_until(
            lambda: next(iter(children_of(init.pid)), None), f"{name} has an init", seen=sshd.log
        )
        wait_until(
            lambda: any(SSHD in command_of(child) for child in children_of(pid)),
            f"the sshd of {name} runs", seen=sshd.log,
        )  # fmt: skip
        yield FarMachine(name, folder, sshd, pid)
    finally:
        init.kill()
        init.wait()


@contextmanager
def far_machines(
    folder: Path, count: int
) -> Generator[tuple[list[FarMachine], TunNetwork], None, None]:
    """Yield machines m0, m1, ... in `folder`, and the network to them."""
    require_sshd()
    with ExitStack() as stack:
        machines = [
            stack.enter_context(far_machine(f"m{n}", folder / f"m{n}")) for n in range(count)
        ]
        network = stack.enter_context(tun_network([machine.pid for machine in machines]))
        yield machines, network
