"""Secrets: where they are stored, who can read them, and what is refused."""
# ruff: noqa: ASYNC240 - files of a test

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import SecretMissing, StorageError, UsageWrong
from storage.os_keyring import OsKeyring
from storage.secret_file import StoredSecrets, change_secrets, read_secrets
from storage.secrets import Secrets
from tests.support.tree import ROOT

VALUE = "sk-never-to-be-seen\nünï"


class StandIn(OsKeyring):
    """A keyring in memory; without a name there is none."""

    def __init__(self, name: str | None = "SecretService") -> None:
        super().__init__()
        self.name = name
        self.held: dict[str, str] = {}

    async def where(self) -> str | None:
        return self.name

    async def get(self, names: Collection[str]) -> Mapping[str, str]:
        if self.name is None:
            raise StorageError("the keyring that holds the secret is not available")
        return {name: self.held[name] for name in names if name in self.held}

    async def set(self, name: str, value: str) -> bool:
        if self.name is not None:
            self.held[name] = value
        return self.name is not None

    async def delete(self, name: str) -> None:
        del self.held[name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "share" / "evalroom" / "secrets.json"


@pytest.fixture
def secrets(file: Path) -> Secrets:
    """An operator's without a keyring."""
    return Secrets(file, StandIn(None))


async def test_a_secret_is_kept_for_its_owner_alone_and_found_by_its_name(
    secrets: Secrets, file: Path
) -> None:
    assert await secrets.names() == {}
    assert await secrets.set("B_KEY", VALUE) == "file"
    await secrets.set("A_KEY", "first")
    await secrets.set("A_KEY", "second")
    assert list((await secrets.names()).items()) == [("A_KEY", "file"), ("B_KEY", "file")]
    assert await secrets.open(["A_KEY", "B_KEY"]) == {"A_KEY": "second", "B_KEY": VALUE}
    assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert VALUE not in repr(read_secrets(file))
    await secrets.delete("A_KEY")
    with pytest.raises(SecretMissing) as caught:
        await secrets.open(["A_KEY", "B_KEY", "C_KEY"])
    assert caught.value.message == "no value is stored for the secret A_KEY, C_KEY"
    assert caught.value.advice == "store it: evalroom secrets set A_KEY"
    with pytest.raises(SecretMissing):
        await secrets.delete("A_KEY")


async def test_with_a_keyring_the_file_holds_names_alone(file: Path) -> None:
    keyring = StandIn()
    secrets = Secrets(file, keyring)
    assert await secrets.set("A_KEY", VALUE) == "keyring"
    assert b"never" not in file.read_bytes()
    assert await secrets.names() == {"A_KEY": "keyring"}
    assert await secrets.open(["A_KEY"]) == {"A_KEY": VALUE}

    keyring.name = None  # another login, where nobody opened it
    with pytest.raises(StorageError, match="not available"):
        await secrets.open(["A_KEY"])
    assert await secrets.set("A_KEY", "other") == "file"
    assert await secrets.open(["A_KEY"]) == {"A_KEY": "other"}

    keyring.name = "SecretService"
    assert await secrets.set("A_KEY", VALUE) == "keyring"
    assert b"other" not in file.read_bytes()
    keyring.held.clear()  # deleted in another program
    with pytest.raises(SecretMissing):
        await secrets.open(["A_KEY"])


@pytest.mark.parametrize("name", ["", "A-B", "A=sk-1", "1A", "A B", "Ä", "A" * 129, "A\n"])
async def test_a_name_is_a_variables_and_a_wrong_one_is_not_repeated(
    secrets: Secrets, name: str
) -> None:
    with pytest.raises(UsageWrong) as caught:
        await secrets.set(name, "x")
    assert "sk-1" not in f"{caught.value.message} {caught.value.advice}"


@pytest.mark.parametrize(
    "value", ["", "sk-\0", "sk-\ud800", "sk-" * 30_000], ids=("empty", "NUL", "no text", "long")
)
async def test_a_value_that_no_variable_can_hold_is_refused(secrets: Secrets, value: str) -> None:
    with pytest.raises(UsageWrong) as caught:
        await secrets.set("A_KEY", value)
    assert "sk-" not in f"{caught.value.message} {caught.value.advice}"
    assert await secrets.names() == {}


async def test_a_file_that_others_may_have_read_is_refused(secrets: Secrets, file: Path) -> None:
    await secrets.set("A_KEY", VALUE)
    file.chmod(0o640)
    for wish in (secrets.open(["A_KEY"]), secrets.names(), secrets.set("A_KEY", "new")):
        with pytest.raises(StorageError, match=r"other users can read .*\(mode 0640\)"):
            await wish
    file.chmod(0o600)
    assert await secrets.open(["A_KEY"]) == {"A_KEY": VALUE}
    if os.geteuid() == 0:
        os.chown(file, 65534, -1)
        with pytest.raises(StorageError, match="belongs to another user"):
            await secrets.names()


async def test_no_link_is_followed_and_no_pipe_waited_for(secrets: Secrets, file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True)
    elsewhere = file.parent.parent / "elsewhere"
    elsewhere.write_text("{}")
    file.symlink_to(elsewhere)
    with pytest.raises(StorageError, match="symbolic link"):
        await secrets.set("A_KEY", VALUE)
    assert elsewhere.read_text() == "{}"
    file.unlink()
    os.mkfifo(file, 0o600)
    with pytest.raises(StorageError, match="is not a regular file"):
        await secrets.names()


@pytest.mark.parametrize(
    "content", [b"", b'{"v": 1, "values": {"A": ["sk-1"]}', b'{"v": 9, "values": {}}', b"\xff"]
)
async def test_a_broken_file_is_reported_without_its_content(
    secrets: Secrets, file: Path, content: bytes
) -> None:
    file.parent.mkdir(mode=0o700, parents=True)
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(StorageError) as caught:
        await secrets.set("A_KEY", VALUE)
    assert "is damaged, or of another evalroom version" in caught.value.message
    assert "sk-1" not in caught.value.message
    assert file.read_bytes() == content


def test_writers_at_the_same_time_lose_nothing(file: Path) -> None:
    def write(who: int) -> None:
        for number in range(5):
            name = f"KEY_{who}_{number}"

            def change(kept: StoredSecrets, name: str = name) -> StoredSecrets:
                return replace(kept, values={**kept.values, name: VALUE})

            change_secrets(file, change)

    writers = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert len(read_secrets(file).values) == 20


def test_the_leftovers_of_a_killed_writer_go_with_the_next(file: Path) -> None:
    killed = (
        "import os, signal\nfrom pathlib import Path\nfrom storage import secret_file as s\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "Path.replace = die\n"
        f"path = Path({str(file)!r})\n"
        "s.change_secrets(path, lambda kept: s.StoredSecrets(values={'A': 'sk-1'}))\n"
    )
    subprocess.run([sys.executable, "-c", killed], check=False, cwd=ROOT)
    assert not file.exists()
    (left,) = file.parent.glob(".*")
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    change_secrets(file, lambda kept: kept)
    assert not left.exists()
