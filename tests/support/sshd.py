"""A real sshd on a loopback port, with users of its own and their login shells.

It runs in a mount namespace whose /etc is an overlay: the machine's own /etc is not touched.
It needs root (and Linux); without them the tests that use it are skipped.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pytest

from tests.support.processes import children_of, command_of
from tests.support.waiting import wait_until

SHELLS: Mapping[str, str] = {
    "alice": "/bin/bash",
    "bob": "/bin/bash",
    "dashy": "/bin/dash",
    "fishy": "/usr/bin/fish",
    "cshy": "/bin/csh",
    "tcshy": "/bin/tcsh",
    "noisy": "/bin/bash",
    "greedy": "/bin/bash",
    "nosh": "/usr/sbin/nologin",
}
FIRST_UID = 61_001
SUPER = "gina"
"""Another name of root, with a home of its own: she may read the interpreter of the tests."""
NOISY_RC = (
    'echo "*** WELCOME TO gpu-07 ***"\nprintf "\\033]0;title\\007"\nstty -a 2>/dev/null\n'
    'printf "no newline at the end"\n'
)
GREEDY_RC = "read -r taken\n"
SSHD = "/usr/sbin/sshd"


def require_sshd() -> None:
    """Skip where no sshd can run."""
    missing = [
        name
        for name, there in (
            ("sshd", Path(SSHD).exists()),
            ("root", os.geteuid() == 0),
            ("unshare", shutil.which("unshare") is not None),
        )
        if not there
    ]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here")


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def keygen(path: Path, passphrase: str = "", kind: str = "ed25519") -> Path:
    """Make a key pair at `path`."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", str(path)], check=True
    )
    return path


def fingerprint(path: Path) -> str:
    """Return the SHA256 fingerprint of a public key file, as ssh-keygen prints it."""
    done = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(path)], check=True, capture_output=True, text=True
    )
    return done.stdout.split()[1]


@dataclass
class Sshd:
    """A running sshd.

    Attributes:
        root: Its folder: host keys, user keys, homes, log.
        key: A private key that every user accepts.
        is_inside: Whether it runs in the namespaces of the test: its only user is then root, with
            root's own home, and its probes see the test's own evals as theirs.
    """

    root: Path
    port: int = field(default_factory=free_port)
    options: str = ""
    is_inside: bool = False
    host_keys: tuple[str, ...] = ("host_ed25519",)
    process: subprocess.Popen[bytes] | None = None

    @property
    def key(self) -> Path:
        """A private key that every user accepts."""
        return self.root / "user_key"

    @property
    def locked_key(self) -> Path:
        """Another one, with the passphrase `open sesame`."""
        return self.root / "locked_key"

    def home(self, user: str) -> Path:
        """The home folder of `user`, seen from outside."""
        return self.root / "home" / user

    def known_hosts_line(self, key: str = "host_ed25519") -> str:
        """A known_hosts line that makes this sshd known."""
        public = (self.root / f"{key}.pub").read_text().split()
        return f"[127.0.0.1]:{self.port} {public[0]} {public[1]}\n"

    def start(self) -> None:
        """Start it (again); returns once it listens."""
        config = self.root / "sshd_config"
        keys = "".join(f"HostKey {self.root / name}\n" for name in self.host_keys)
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\n{keys}"
            f"{self.options}\n"  # the first word for a thing counts
            f"PidFile {self.root / 'sshd.pid'}\nAuthorizedKeysFile {self.root / 'authorized'}\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\n"
            "StrictModes no\nPermitRootLogin yes\nLogLevel VERBOSE\nMaxStartups 100\n"
            "Subsystem sftp internal-sftp\nAcceptEnv EVALROOM_TEST_*\n"
            f"SetEnv PATH={os.environ['PATH']}\n"
        )
        Path("/run/sshd").mkdir(exist_ok=True)
        script = (
            f"mount -t overlay overlay -o lowerdir=/etc,upperdir={self.root / 'up'},"
            f"workdir={self.root / 'wk'} /etc && "
            "mount -t tmpfs tmpfs /home && "
            f"mount --bind {self.root / 'home'} /home && "
            f"exec {SSHD} -D -e -f {config}"
        )
        words = ["unshare", "-m", "sh", "-c", script]
        if self.is_inside:
            words = [SSHD, "-D", "-e", "-f", str(config)]
        with (self.root / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        process = self.process

        def listens() -> bool:
            assert process.poll() is None, f"sshd ended: {self.log()[-2000:]}"
            with socket.socket() as sock:
                return sock.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(listens, "sshd listens", every=0.02, seen=lambda: self.log()[-2000:])

    def set_password(self, user: str, password: str) -> None:
        """Give `user` a password."""
        done = subprocess.run(
            ["openssl", "passwd", "-6", password], check=True, capture_output=True, text=True
        )
        shadow = self.root / "up" / "shadow"
        lines = shadow.read_text().splitlines()
        new = [
            f"{user}:{done.stdout.strip()}:19000:0:99999:7:::"
            if line.startswith(f"{user}:")
            else line
            for line in lines
        ]
        shadow.write_text("\n".join(new) + "\n")

    def stop(self) -> None:
        """Stop its listener and every session of it."""
        self.signal_sessions(signal.SIGKILL)
        self.stop_listener()

    def stop_listener(self) -> None:
        """Stop its listener; sessions live on."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def sessions(self) -> list[int]:
        """The pids of its session processes (`sshd: user ...`)."""
        listener = self.process.pid if self.process is not None else -1
        found: list[int] = []
        pending = [listener]
        while pending:
            for child in children_of(pending.pop()):
                if command_of(child).startswith("sshd"):
                    found.append(child)
                    pending.append(child)
        return found

    def signal_sessions(self, sign: signal.Signals) -> int:
        """Send `sign` to every session process; return how many."""
        pids = self.sessions()
        for pid in pids:
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                continue
        return len(pids)

    def log(self) -> str:
        """What it wrote."""
        return (self.root / "sshd.log").read_text(errors="replace")


@lru_cache(maxsize=1)
def _keys() -> Path:
    """Make the keys once; making an RSA key takes seconds."""
    folder = Path(tempfile.mkdtemp(prefix="evalroom-keys-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("host_ed25519", "other_ed25519", "user_key"):
        keygen(folder / name)
    keygen(folder / "host_rsa", kind="rsa")
    keygen(folder / "locked_key", "open sesame")
    return folder


def prepare(root: Path) -> Sshd:
    """Lay out keys, homes and the overlay of an sshd in `root`; it does not run yet."""
    for name in ("up", "wk", "home"):
        (root / name).mkdir(parents=True)
    for folder in (root, *root.parents):
        if folder == Path("/tmp"):
            break
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o011)
    for key in _keys().iterdir():
        shutil.copy(key, root / key.name)
    accepted = (root / "user_key.pub").read_text() + (root / "locked_key.pub").read_text()
    (root / "authorized").write_text(accepted)
    (root / "authorized").chmod(0o644)
    for name in ("passwd", "shadow", "group"):
        shutil.copy(Path("/etc") / name, root / "up" / name)
    with (root / "up" / "passwd").open("a") as passwd, (root / "up" / "shadow").open("a") as shadow:
        for uid, (user, shell) in enumerate(SHELLS.items(), FIRST_UID):
            home = root / "home" / user
            home.mkdir()
            passwd.write(f"{user}:x:{uid}:{uid}::/home/{user}:{shell}\n")
            shadow.write(f"{user}:*:19000:0:99999:7:::\n")
            (home / ".bashrc").write_text({"noisy": NOISY_RC, "greedy": GREEDY_RC}.get(user, ""))
            for path in (home, home / ".bashrc"):
                os.chown(path, uid, uid)
        (root / "home" / SUPER).mkdir()
        passwd.write(f"{SUPER}:x:0:0::/home/{SUPER}:/bin/bash\n")
        shadow.write(f"{SUPER}:*:19000:0:99999:7:::\n")
    (root / "up" / "shadow").chmod(0o600)
    return Sshd(root)


@contextmanager
def prepared() -> Generator[Sshd, None, None]:
    """Yield an sshd that does not run yet, in a folder that its users may pass through.

    pytest's own folders won't do: each new session of pytest closes them to other users.
    """
    require_sshd()
    root = Path(tempfile.mkdtemp(prefix="evalroom-sshd-"))
    sshd = prepare(root)
    try:
        yield sshd
    finally:
        sshd.stop()
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def running(
    root: Path | None = None, options: str = "", *, is_inside: bool = False
) -> Generator[Sshd, None, None]:
    """Yield a running sshd; stop it and its sessions afterwards.

    Args:
        root: Where its files are kept; None: in a folder of its own that goes with it.
        options: More lines for its config.
        is_inside: See `Sshd.is_inside`.
    """
    require_sshd()
    with prepared() if root is None else nullcontext(prepare(root)) as sshd:
        sshd.options, sshd.is_inside = options, is_inside
        sshd.start()
        try:
            yield sshd
        finally:
            sshd.stop()
