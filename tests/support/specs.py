"""Specs and plans for tests."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.config.model import MachineConfig
from core.ids import MachineName
from core.launch.plan.matrix import expand
from core.launch.plan.run_plan import RunPlan, make_plan, run_id
from core.launch.spec.spec import Spec
from core.launch.spec.spec_reader import check_spec
from ssh.run_files import run_files
from tests.support.waiting import WAIT_S

EVALS = Path(__file__).parents[1] / "evals"
LOCAL = MachineConfig(name=MachineName("local"), link="command")

SMOKE = """\
task = "evalroom/smoke"
model = "mockllm/model"
machine = "local"
on_error = "continue"
args = { samples = 10, pass_rate = 0.7 }
"""


def spec(more: str = "", *sets: str, text: str = SMOKE) -> Spec:
    """Return the spec of a text that is right."""
    found, wrong = check_spec(text + more, "spec.toml", sets=sets)
    assert found is not None, [(each.message, each.advice) for each in wrong]
    return found


def plans(
    asked: Spec, *, machine: MachineConfig = LOCAL, own_python: str | None = sys.executable
) -> tuple[RunPlan, ...]:
    """Return the plans of a spec on one machine."""
    return tuple(
        make_plan(
            each,
            machine,
            run=run_id(time.time(), os.urandom(8)),
            built_in=run_files(),
            inspect_version="0.3.285",
            own_python=own_python,
        )
        for each in expand(asked, [machine])
    )


def plan(asked: Spec, *, machine: MachineConfig = LOCAL) -> RunPlan:
    """Return the one plan of a spec."""
    (one,) = plans(asked, machine=machine)
    return one


@dataclass(frozen=True, slots=True)
class Home:
    """A home on a machine, where plans are carried out by hand."""

    folder: Path

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        """The variables of a login there."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("INSPECT_", "COV_", "PYTEST_", "XDG_", "EVALROOM_"))
        }
        return {**kept, "HOME": str(self.folder), "NO_COLOR": "1", **more}

    def write(self, plan: RunPlan) -> Path:
        """Write a plan's files; return the run's folder."""
        folder = self.folder / plan.directory.removeprefix("~/")
        for path, content in plan.files.items():
            file = folder / path
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o600)
        return folder

    def hide(self, plan: RunPlan, secrets: Mapping[str, str]) -> Path:
        """Write the file that a plan's script reads its secrets from; return it."""
        file = self.folder / (plan.secrets_from or "").removeprefix("~/")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(json.dumps(dict(secrets)) + "\n")
        file.chmod(0o600)
        return file

    def start(
        self, plan: RunPlan, *, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Start a plan's run as hands would; SIGINT is ignored, as behind `nohup ... &`."""
        folder = self.write(plan)
        return subprocess.run(
            [shutil.which("dash") or "/bin/sh", plan.starts_with], cwd=folder,
            env=self.env(env or {}), input=stdin, capture_output=True, text=True, timeout=WAIT_S,
            check=False, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )  # fmt: skip
