"""A secret on its way: from the keyboard into the environment of the eval, and nowhere else."""

import subprocess
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.commands import EVALROOM, Home, machine
from tests.support.evals import short_folder
from tests.support.launches import alive, end_all
from tests.support.processes import environ_of

pytestmark = pytest.mark.xdist_group("launches")
GIVEN = "sk-canary-that-the-spec-names"
KEPT = "sk-canary-that-no-spec-names"
SPEC = """\
task = "evalroom/smoke"
model = "mockllm/model"
machine = "local"
on_error = "continue"
args = { samples = 3, pass_rate = 1.0 }
secrets = { SOME_API_KEY = "STORED" }
keep = true
"""


class Spy:
    """Looks at every process of this computer that is new, again and again.

    Attributes:
        seen: What was found where it must not be.
        holders: The runs in whose processes' environment the given secret was.
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.holders: set[str] = set()
        self.over = threading.Event()
        self._before = {entry.name for entry in Path("/proc").iterdir()}

    def run(self) -> None:
        while not self.over.wait(0.02):
            self.look()

    def look(self) -> None:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and entry.name not in self._before:
                with suppress(OSError):
                    self._process(entry)

    def _process(self, entry: Path) -> None:
        words, environ = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        if b"sk-canary" in words or KEPT.encode() in environ:
            self.seen.add(f"{words!r}")
        if GIVEN.encode() in environ:
            run = [v for v in environ.split(b"\0") if v.startswith(b"EVALROOM_RUN=")]
            self.holders |= {each.decode().partition("=")[2] for each in run} or {f"{words!r}"}


@contextmanager
def _spying() -> Generator[Spy]:
    spy = Spy()
    thread = threading.Thread(target=spy.run)
    thread.start()
    try:
        yield spy
    finally:
        spy.over.set()
        thread.join()


def _holding(folder: Path) -> list[Path]:
    found = [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    return [file for file in found if b"sk-canary" in file.read_bytes()]


@pytest.fixture
def operator() -> Iterator[Home]:
    """An operator at this computer, who has entered two secrets."""
    with short_folder() as folder:
        home = Home(folder)
        home.configure(machine("local"))
        (folder / "s.toml").write_text(SPEC)
        for name, value in (("STORED", GIVEN), ("OTHER", KEPT)):
            subprocess.run(
                [*EVALROOM, "secrets", "set", name], env=home.env, cwd=folder, input=value.encode(),
                check=True, capture_output=True,
            )  # fmt: skip
        try:
            yield home
        finally:
            tmux = ["tmux", "-L", "evalroom", "kill-server"]
            subprocess.run(tmux, env=_in(home), check=False, capture_output=True)


def _in(home: Home) -> dict[str, str]:
    return {**home.env, "TMUX_TMPDIR": str(home.folder)}


@pytest.mark.parametrize("engine", ["detach", pytest.param("tmux", marks=pytest.mark.slow)])
def test_a_secret_is_in_the_environment_of_its_eval_alone(operator: Home, engine: str) -> None:
    store = operator.folder / ".local" / "share" / "evalroom" / "secrets.json"
    asked = ("launch", "s.toml", "--set", f"engine={engine}", "--json")
    printed = [operator.run(*asked, "--dry-run")]
    assert printed[0].json["plans"][0]["secrets"] == {"SOME_API_KEY": "STORED"}
    run = ""
    try:
        with _spying() as spy:
            record = ("--record", str(operator.folder / "recorded.jsonl"))
            printed.append(launched := operator.run(*record, *asked, "--yes", env=_in(operator)))
            assert launched.status == 0, launched.err
            run = launched.json["run_id"]
            printed += [operator.run(*words) for words in (("runs", "--json"), ("run", run),
                                                        ("output", run), ("journal",))]  # fmt: skip
        spy.look()
        assert spy.holders == {run}
        assert not spy.seen
        [eval_, *_] = alive(run)
        assert environ_of(eval_)["SOME_API_KEY"] == GIVEN
        assert _holding(operator.folder) == [store]
        if engine == "tmux":
            for words in (["show-environment", "-g"], ["capture-pane", "-p", "-S", "-"]):
                found = subprocess.run(
                    ["tmux", "-L", "evalroom", *words], env=_in(operator), check=True,
                    capture_output=True, text=True,
                )  # fmt: skip
                assert "sk-canary" not in found.stdout
    finally:
        end_all([run] if run else [])
    assert "sk-canary" not in "".join(each.out + each.err for each in printed)


def test_a_launch_that_fails_says_nothing_of_its_secret_and_leaves_none(operator: Home) -> None:
    (operator.folder / "none.toml").write_text(SPEC.replace("STORED", "FORGOTTEN"))
    forgotten = operator.run("launch", "none.toml", "--yes")
    assert forgotten.status != 0
    assert "FORGOTTEN" in forgotten.out + forgotten.err
    failed = operator.run(
        "launch", "s.toml", "--yes", "--set", "model=nope/x", "--set", "keep=false",
        "--set", "python=/bin/false",
    )  # fmt: skip
    assert failed.status != 0
    assert "sk-canary" not in forgotten.out + forgotten.err + failed.out + failed.err
    store = operator.folder / ".local" / "share" / "evalroom" / "secrets.json"
    assert _holding(operator.folder) == [store]
