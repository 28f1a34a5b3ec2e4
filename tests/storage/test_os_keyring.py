"""The keyring of the computer, the real one too: it may hang, ask, or break."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import StorageError
from storage.os_keyring import OsKeyring
from tests.support.commands import Home
from tests.support.processes import lives
from tests.support.waiting import WAIT_S, until, wait_until

SAYS = "import sys; sys.stderr.write('Traceback\\nkeyring.errors.KeyringLocked: {}.'); sys.exit(1)"


async def test_one_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    child = ("/bin/sh", "-c", f"sleep 600 & echo $! >{pids}; wait")
    timeout = 0.3
    asking = asyncio.create_task(OsKeyring(child, timeout=timeout).set("A_KEY", "sk-1"))
    await until(lambda: asking.done() or _is_written(pids), "it is asked; the loop goes on")
    with pytest.raises(StorageError, match="did not answer within 0 s: is it locked") as caught:
        await asking
    assert "null.Keyring" in caught.value.advice
    while not _is_written(pids):  # its time was over before it had started anything
        timeout *= 2
        with pytest.raises(StorageError, match="did not answer"):
            await OsKeyring(child, timeout=timeout).set("A_KEY", "sk-1")
    pid = int(pids.read_text())
    wait_until(lambda: not lives(pid), "what it started is ended too")


def _is_written(pids: Path) -> bool:
    return pids.exists() and pids.read_text().endswith("\n")


async def test_a_failure_of_the_keyring_is_reported_without_the_value() -> None:
    child = (sys.executable, "-c", SAYS.format("no room for sk-12345 and more"))
    with pytest.raises(StorageError) as caught:
        await OsKeyring(child).set("A_KEY", "line\nsk-12345")
    expected = "can't use the keyring: KeyringLocked: no room for *** and more"
    assert caught.value.message == expected


@pytest.mark.parametrize(
    "backend", ["keyring.backends.fail.Keyring", "keyring.backends.null.Keyring"]
)
async def test_a_backend_that_stores_nothing_is_not_a_keyring(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", backend)
    keyring = OsKeyring()
    assert await keyring.where() is None
    assert await keyring.set("A_KEY", "sk-1") is False
    with pytest.raises(StorageError, match="not available"):
        await keyring.get(["A_KEY"])


IN_A_SESSION = """
printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf 'one\\ntwo' | {evalroom} secrets set A_KEY --json
{evalroom} secrets list --json
{python} -c 'import asyncio; from storage.os_keyring import OsKeyring as K
print(asyncio.run(K().get(["A_KEY", "B_KEY"])))'
{evalroom} secrets delete A_KEY --yes --json
{python} -c 'import asyncio; from storage.os_keyring import OsKeyring as K
print(asyncio.run(K().get(["A_KEY"])), asyncio.run(K().where()))'
"""


def test_a_real_keyring_keeps_it(tmp_path: Path) -> None:
    for program in ("dbus-run-session", "gnome-keyring-daemon"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    home = Home(tmp_path)
    file = home.folder / ".local/share/evalroom/secrets.json"
    script = IN_A_SESSION.format(evalroom=f"{sys.executable} -m cli.main", python=sys.executable)
    env = {key: value for key, value in home.env.items() if key != "PYTHON_KEYRING_BACKEND"}
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-c", script], env=env, cwd=home.folder, timeout=WAIT_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        '{"name":"A_KEY","kept_in":"keyring"}',
        f'{{"secrets":[{{"name":"A_KEY","kept_in":"keyring"}}],"file":"{file}"}}',
        "{'A_KEY': 'one\\ntwo'}",
        '{"name":"A_KEY","deleted":true}',
        "{} SecretService",
    ], done.stderr
    assert "two" not in file.read_text()
