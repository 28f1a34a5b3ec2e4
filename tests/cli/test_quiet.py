"""Log lines and warnings of libraries never reach the terminal."""

import os
import subprocess
import sys

from tests.support.commands import Home
from tests.support.terminal import Terminal

NOISY = """
import asyncio, logging, sys, threading, warnings
from cli import main as program

def noise():
    for name in ("asyncssh", "asyncio", "aiosqlite", ""):
        logging.getLogger(name).warning("NOISE of a library \\x1b[31m")
        logging.getLogger(name).error("NOISE of a library", exc_info=ValueError("NOISE"))
    warnings.warn("NOISE of a library", RuntimeWarning)

def go_on():
    while not over.wait(0.01):
        noise()

def run(work, before=asyncio.run):
    noise()
    others.start()
    try:
        return before(work)
    finally:
        over.set()
        others.join()
        noise()

over, others = threading.Event(), threading.Thread(target=go_on)
asyncio.run = run
sys.exit(program.main())
"""
COMMAND = [sys.executable, "-c", NOISY]


def test_nothing_that_a_library_logs_is_written_to_the_terminal(home: Home) -> None:
    home.watch_here(home.folder / "d")
    terminal = Terminal(COMMAND, env=home.env, cwd=home.folder)
    try:
        terminal.until("here")
        terminal.until("up")
        terminal.type("q")
        terminal.until("stay")
        terminal.type("\r")
        assert terminal.wait_end() == 0
    finally:
        terminal.close()
    assert b"NOISE" not in terminal.output


def test_nothing_that_a_library_logs_is_among_what_a_command_prints(home: Home) -> None:
    home.watch_here(home.folder / "d")
    ran = subprocess.run(
        [*COMMAND, "status", "--json"],
        env={**os.environ, **home.env},
        cwd=home.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith('{"as_of"')
    assert ran.stderr == ""
