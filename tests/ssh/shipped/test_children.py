# pyright: standard
"""Children of a shipped program end with it, also one whose start is under way."""

import subprocess
import sys
from pathlib import Path

from tests.support.processes import wait_gone, with_words
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S, wait_until

LEAVING_WHILE_ONE_STARTS = """
import subprocess, sys, threading, time
from ssh.shipped.common import children

is_leaving = threading.Event()
real = subprocess.Popen
class Slow(real):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        print("started", flush=True)
        is_leaving.wait()
        time.sleep(0.3)  # the program runs, and its pid is not noted yet

subprocess.Popen = Slow
threading.Thread(target=children.start_child, args=(sys.argv[1:],), daemon=True).start()
sys.stdin.readline()
is_leaving.set()
children.leave(0)
"""


def test_a_child_that_is_being_started_is_killed_with_its_own_children(tmp_path: Path) -> None:
    mark = f"sleep-{tmp_path.name}"
    (tmp_path / mark).symlink_to("/bin/sleep")
    tool = f"{tmp_path}/{mark} 50 & exec {tmp_path}/{mark} 51"
    program = subprocess.Popen(
        [sys.executable, "-c", LEAVING_WHILE_ONE_STARTS, "/bin/sh", "-c", tool],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    with program:
        assert program.stdout.readline() == "started\n"
        wait_until(lambda: len(with_words(f"{mark} 5")) > 2, "the tool and its child run")
        program.communicate("\n", timeout=WAIT_S)
    wait_gone(lambda: with_words(mark), "the tool and its child are")
