"""A keyring that asks: it gets no terminal, and holds nobody up."""

import sys
from pathlib import Path

import pytest

from core.errors import StorageError
from storage.os_keyring import OsKeyring
from tests.support.tmux import in_tmux
from tests.support.tree import ROOT

ASKS = """
import json, os, sys
request = json.loads(sys.stdin.readline())
try:
    terminal = os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print(json.dumps({"where": "none", "values": {"K": type(error).__name__}}))
else:
    os.write(terminal, b"Enter passphrase for key /home/ada/.ssh/id_ed25519: ")
    print(json.dumps({"where": "none", "values": {"K": "it asked"}}))
"""
READS = """
import asyncio, sys
from storage.os_keyring import OsKeyring
sys.stdout.write("terminal: %s\\n" % sys.stdin.isatty())
print(asyncio.run(OsKeyring(child=(sys.executable, {script!r})).get(["K"])))
input()
"""


def test_a_keyring_can_not_ask_on_the_operators_terminal(tmp_path: Path) -> None:
    script, reads = tmp_path / "asks.py", tmp_path / "reads.py"
    script.write_text(ASKS)
    reads.write_text(READS.format(script=str(script)))
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with in_tmux(tmp_path, [sys.executable, str(reads)], columns=90, lines=12, env=env) as tmux:
        screen = tmux.until("'K'")
        assert "terminal: True" in screen
        assert "OSError" in screen
        assert "passphrase" not in screen


async def test_a_keyring_that_waits_for_an_answer_is_given_up(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text("import time; time.sleep(600)\n")
    keyring = OsKeyring(child=(sys.executable, str(script)), timeout=0.3)
    with pytest.raises(StorageError, match="did not answer"):
        await keyring.get(["K"])
