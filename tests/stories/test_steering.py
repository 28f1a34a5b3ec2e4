"""The command that steers a sample, run in a real terminal on a real eval with an ACP server."""

import json
import shlex

import pytest

from core.ctl.acp import can_be_steered, steering_words
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.launch.engines.registry import engine_named
from core.model.process import Process, ProcessState
from tests.support.evals import short_folder
from tests.support.launches import end_all
from tests.support.processes import words_of
from tests.support.specs import EVALS, Home, plan, spec
from tests.support.tmux import in_tmux

TOOLS = f"""
task = "tools.py@tools"
model = "mockllm/model"
machine = "local"
on_error = "continue"
code = {{ directory = "{EVALS}" }}
args = {{ samples = 3, naps = 4_000, seconds = 0.5 }}
acp = true
"""


@pytest.mark.slow
def test_inspects_client_opens_on_the_one_sample_that_is_meant() -> None:
    with short_folder() as folder:
        home = Home(folder)
        asked = plan(spec(text=TOOLS))
        try:
            done = home.start(asked)
            printed = engine_named("detach").read(done.returncode, done.stdout, done.stderr)
            assert printed.pid is not None
            run = json.loads(done.stdout.splitlines()[-1])["run_id"]
            argv = words_of(printed.pid)
            key = ProcessKey(MachineName("local"), printed.pid, "x")
            process = Process(
                key=key, state=ProcessState.LIVE, since=0.0, run_id=run,
                data_dir=f"{folder}/.local/share", argv=tuple(argv), python=asked.python,
            )  # fmt: skip
            assert can_be_steered(process)
            words = steering_words(process, SampleKey(TaskKey(key, "t"), 2, 1), "tools")
            with in_tmux(
                folder, ["/bin/sh", "-c", shlex.join(words)], columns=120, lines=30,
                env=home.env({"TERM": "xterm-256color"}),
            ) as tmux:  # fmt: skip
                tmux.until("sample: 2/1")
                tmux.until("slept 0.5")
                tmux.keys("C-x")
                tmux.until_gone()
        finally:
            end_all([asked.run])
