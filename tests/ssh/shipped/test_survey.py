"""A survey of this computer, over a real link, with a real Inspect and stand-in tools."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from core.config.model import MachineConfig
from core.errors import JobFailed
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight import survey_request
from core.launch.preflight.checks import CheckedPlan, CheckLevel
from core.launch.preflight.machine_choice import check_machine, choose_machines
from core.model.job import Job
from core.model.machine import MachineFacts, ToolState
from ssh import jobs
from tests.support.docker_engine import IMAGE, DockerEngine, docker_group
from tests.support.evals import short_folder
from tests.support.processes import wait_gone
from tests.support.programs import program_file
from tests.support.shipped_answers import prints_answer
from tests.support.small_disk import small_disk_at
from tests.support.specs import Home as AtHome
from tests.support.specs import plan, plans, spec
from tests.support.standins import DOCKER, NO_DAEMON, Login, running_from
from tests.support.surveys import of, preflight, said
from tests.support.waiting import wait_until

HERE = MachineConfig(name=MachineName("local"), link="command", python=sys.executable)


@pytest.fixture
def login() -> Iterator[Login]:
    with short_folder() as folder:
        yield Login(folder)


async def told(login: Login, **given: Any) -> Mapping[str, Any]:
    """The answer of a survey that is asked for this alone."""
    job = Job(program="survey", verb="survey", given=given)
    return await login.hands().work(HERE.name, job, deadline=50)


async def looked(
    login: Login, text: str, secrets: Sequence[str] = (), **how: Any
) -> tuple[CheckedPlan, ...]:
    """The preflight of each run of a spec."""
    made = [[each] for each in plans(spec(text=text), machine=HERE)]
    return await choose_machines(
        login.hands(), made, {HERE.name: HERE}, Fleet, secrets=secrets, deadline=50, **how
    )


def troubles(checked: CheckedPlan) -> list[str]:
    """The checks that are not ok, without those of load and network."""
    return [each for each in said(checked.checks) if not BUSY.match(each)]


BUSY = re.compile("warning (load|memory|network):")
TASKS = {
    "good": "@task\ndef good(a=1):\n    return Task()",
    "syntax": "@task\ndef syntax(:\n    return Task()",
    "raises": "raise RuntimeError('not today')\n@task\ndef raises():\n    return Task()",
    "keyed": "import os\nos.environ['MINE']\n@task\ndef keyed():\n    return Task()",
    "module": "import quite_absent.inner\n@task\ndef module():\n    return Task()",
    "boxed": "@task\ndef boxed():\n    return Task(sandbox=('docker', 'compose.yaml'))",
    "hangs": "import time\ntime.sleep(600)\n@task\ndef hangs():\n    return Task()",
    "dies": "import os\nos.abort()\n@task\ndef dies():\n    return Task()",
    "noisy": 'print(\'{"inspect": "9.9"}\' * 999)\n@task\ndef noisy():\n    return Task()',
}


def write_tasks(folder: Path) -> None:
    for name, text in TASKS.items():
        (folder / f"{name}.py").write_text(f"from inspect_ai import Task, task\n{text}\n")
    (folder / "compose.yaml").write_text(
        "services:\n  default:\n    mem_limit: 512m\n  other:\n    mem_limit: 1.5gb\n"
    )
    site = folder / "site-packages"  # where Inspect takes a module for one of a package
    about = site / "own_evals-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "own_evals.py").write_text(f"from inspect_ai import Task, task\n{TASKS['good']}\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own_evals\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[inspect_ai]\nown_evals = own_evals\n")


async def test_that_hosts_own_inspect_says_of_each_task_whether_it_can_be_imported(
    login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_request, "TASK_TIMEOUT_S", 4.0)  # and three for each further task
    folder = login.folder / "evals"
    folder.mkdir()
    write_tasks(folder)
    login.tool("docker", DOCKER)
    names = [*(f"{folder}/{name}.py@{name}" for name in TASKS), f"{folder}/good.py@god"]
    names += [f"{folder}/gone.py@gone", "quite_absent/task", "own_evals/good", "own_evals/goo"]
    text = (
        f"task = {json.dumps(names)}\n"
        + of("x").partition("\n")[2]
        + 'args = { zzz = 1 }\nsecrets = ["MINE"]\nmax_sandboxes = 2\n'
        + f'code = {{ directory = "{folder}/site-packages" }}\n'
    )
    checked = await looked(login, text, secrets=("MINE",))
    found = {each.plan.request.task.rpartition("/")[2]: troubles(each) for each in checked}
    where = str(folder)
    first = {name: (lines[0] if lines else "").replace(where, "F") for name, lines in found.items()}
    assert first["good.py@good"].startswith("warning task: F/good.py@good has no argument zzz")
    assert first["good.py@god"].startswith(
        "stop task: Inspect can't find the task F/good.py@god; similar names: good"
    )
    assert first["gone.py@gone"].startswith("stop task: the file F/gone.py does not exist")
    assert (
        "stop task: F/syntax.py@syntax can't be imported: SyntaxError" in first["syntax.py@syntax"]
    )
    assert "RuntimeError: not today (F/raises.py:2)" in first["raises.py@raises"]
    assert first["keyed.py@keyed"].startswith(
        "warning task: F/keyed.py@keyed can't be imported: Key"
    )
    assert first["hangs.py@hangs"].startswith(
        "warning task: unknown whether F/hangs.py@hangs can be imported: importing it took"
    )
    assert first["dies.py@dies"].startswith("stop task: F/dies.py@dies can't be imported: import")
    assert "lacks quite-absent, which F/module.py@module needs" in first["module.py@module"]
    assert "lacks quite-absent, which quite_absent/task needs" in first["task"]
    assert first["good"].startswith("warning task: own_evals/good has no argument zzz")
    assert first["goo"].startswith(
        "stop task: Inspect can't find the task own_evals/goo; similar names: own_evals/g"
    )
    assert first["noisy.py@noisy"].startswith("warning task: F/noisy.py@noisy has no argument")
    boxed = next(each for each in checked if each.plan.request.task.endswith("boxed"))
    [containers] = [each for each in boxed.checks if each.name == "containers"]
    assert "4.0 GiB of memory at once (from its compose file" in containers.message
    # Nothing is left: no compiled file beside a task, and no process.
    assert not list(folder.rglob("*.pyc"))
    assert not list(folder.rglob("__pycache__"))
    assert running_from(folder) == []


COMPOSE_BIG = """
services:
  default:
    image: img/there:1
    mem_limit: ${MEMORY:-3gb}
  side:
    image: localhost:1/img/gone:2
    deploy: {resources: {limits: {memory: 1073741824}, reservations: {memory: 9g}}, replicas: 2}
  # mem_limit: 99g
  built:
    build: .
"""
DOCKERFILE = (
    "FROM base/gone AS first\nFROM --platform=x first\nCOPY --from=first a b\nFROM scratch\n"
)
IMAGES = """
case "$1 $2" in
"image inspect") [ "$6" = img/there:1 ] || { echo "Error: No such image: $6" >&2; exit 1; } ;;
esac
"""


@pytest.mark.parametrize(
    ("sandbox", "more"),
    [
        ("('docker', 'compose-big.yaml')", ""),
        ("SandboxEnvironmentSpec(type='docker', config='compose-big.yaml')", ""),
        ("('docker', str(Path(__file__).parent / 'compose-big.yaml'))", ""),
        ("'docker'", 'options = { sandbox = "docker:compose-big.yaml" }\n'),
    ],
)
async def test_the_file_that_a_task_names_for_docker_is_the_one_that_is_read(
    login: Login, sandbox: str, more: str
) -> None:
    folder = login.folder / "evals"
    folder.mkdir()
    head = "from pathlib import Path\nfrom inspect_ai import Task, task\n"
    head += "from inspect_ai.util import SandboxEnvironmentSpec\n"
    (folder / "big.py").write_text(f"{head}@task\ndef big():\n    return Task(sandbox={sandbox})\n")
    (folder / "compose.yaml").write_text("services: {default: {mem_limit: 512m}}\n")
    (folder / "compose-big.yaml").write_text(COMPOSE_BIG)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    login.tool("docker", DOCKER + IMAGES)
    text = of(f"{folder}/big.py@big") + f'python = "{sys.executable}"\nmax_sandboxes = 2\n{more}'
    [checked] = await looked(login, text)
    [containers] = [each for each in checked.checks if each.name == "containers"]
    # 3 GiB, twice 1 GiB, and 1 GiB for the service that has no limit.
    assert containers.message.startswith("2 x 6.0 GiB = 12 GiB of memory at once (from its")
    images = {each.message: each for each in checked.checks if each.name == "images"}
    assert "img/there:1 is there" in images
    [gone] = [each for each in images if "localhost:1/img/gone:2" in each]
    assert "is not on the machine, and localhost:1 can't be reached: Connection refused" in gone
    assert images[gone].level is CheckLevel.STOP
    assert [each for each in images if "the image base/gone is not on the machine" in each]
    assert len(images) == 3


@docker_group
@pytest.mark.slow
async def test_a_real_engine_says_which_images_it_has(
    login: Login, docker_engine: DockerEngine
) -> None:
    file = login.folder / "mine.py"
    body = "    return Task(sandbox=('docker', 'two.yaml'))\n"
    file.write_text(f"from inspect_ai import Task, task\n@task\ndef mine():\n{body}")
    services = f"{{a: {{image: '{IMAGE}'}}, b: {{image: 'localhost:1/gone'}}}}"
    (login.folder / "two.yaml").write_text(f"services: {services}\n")
    login.env["DOCKER_HOST"] = docker_engine.host
    given = {"tasks": [f"{file}@mine"], "interpreter": [sys.executable]}
    answer = await told(login, **given)
    assert answer["docker"]["state"] == "ok", answer["docker"]
    images = {name: row["value"] for name, row in answer["images"]["value"].items()}
    gone = {"there": False, "registry": "localhost:1", "error": "Connection refused"}
    assert images == {IMAGE: {"there": True}, "localhost:1/gone": gone}


async def test_a_file_for_docker_that_is_missing_is_reported(login: Login) -> None:
    file = login.folder / "mine.py"
    body = "    return Task(sandbox=('docker', 'compose-big.yaml'))\n"
    file.write_text(f"from inspect_ai import Task, task\n@task\ndef mine():\n{body}")
    login.tool("docker", DOCKER)
    [checked] = await looked(login, of(f"{file}@mine") + f'python = "{sys.executable}"\n')
    [told] = [each for each in said(checked.checks) if "images" in each]
    assert told.startswith(f"warning images: the file {login.folder}/compose-big.yaml, which the")


async def test_a_hanging_task_and_a_bad_interpreter_are_reported(
    login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_request, "TASK_TIMEOUT_S", 2.0)
    facts: dict[str, Any] = {"python": "3.11.0", "inspect": "0.3.285", "packages": {}}
    answer = prints_answer({**facts, "imported": True, "options": None})
    noise = 'printf "\\033[?1034h"; echo \'{"python": "0.0"}\''
    slow = login.tool("slow", f"{noise}; {answer}; sleep 600")
    base = of("/x/t.py@t")
    for python, says in (
        (str(slow), "warning task: unknown whether /x/t.py@t can be imported: no answer"),
        ("/nowhere/python3", "stop python: /nowhere/python3 does not exist on the machine; set `p"),
        (str(login.tool("broken", "echo no such library >&2; exit 127")),
         "does not run: no such library"),
        (str(login.tool("garbage", "head -c 3000000 /dev/zero")), "does not run"),
    ):  # fmt: skip
        [checked] = await looked(login, base + f'python = "{python}"\n')
        lines = troubles(checked)
        assert any(says in each for each in lines), (python, lines)
    assert running_from(login.tools) == []


UV = "#!/bin/sh\n[ $1 = --version ] && echo uv 0.9.9 && exit\n"


async def test_uv_runs_inspect_as_far_as_its_cache_goes(login: Login) -> None:
    there = login.home / ".evalroom" / "bin"
    there.mkdir(parents=True)
    uv = there / "uv"
    uv.write_text(f"{UV}echo 'error: No solution found' >&2; exit 1\n")
    uv.chmod(0o755)
    text = of("evalroom/smoke") + 'inspect = "0.3.285"\n'
    [checked] = await looked(login, text)
    assert [each.message for each in checked.checks if each.name == "uv"] == [
        "uv 0.9.9 is installed",
        "Inspect 0.3.285 or a package is not cached: evalroom downloads it before the run starts",
    ]
    uv.write_text(UV + f'while [ "$1" != python ]; do shift; done; exec {login.quick_python()}\n')
    [checked] = await looked(login, text)
    assert troubles(checked) == []
    assert "Inspect 0.3.285" in next(e.message for e in checked.checks if e.name == "Inspect")


NVIDIA = """
case "$1" in
  --query-gpu=*) printf '0, GPU-aa, NVIDIA H100, 4, 81559, 0, Disabled\\n1, GPU-bb, NVIDIA H100, 9, 81559, 0, Disabled\\n';;
  --query-compute-apps=*) echo 'GPU-aa, 4242';;
esac
"""  # noqa: E501 - as the tool gives it


async def test_tools_that_answer_are_summed_up(login: Login) -> None:
    login.tool("docker", DOCKER)
    login.tool("nvidia-smi", NVIDIA)
    python = str(login.quick_python())
    checks = {e.name: e for e in await check_machine(login.hands(), HERE, Fleet(), python=python)}
    assert checks["GPUs"].message == "1 of 2 are free (NVIDIA H100)"
    assert checks["Docker"].message == (
        "Docker 27.1.1, Compose 2.29.1; 2 containers running using 1.0 GiB"
    )
    assert checks["Inspect"].message.startswith("Inspect 0.3.")
    assert all(each.level is not CheckLevel.STOP for each in checks.values())


@pytest.mark.parametrize(
    ("name", "script", "state", "says"),
    [
        ("docker", "sleep 600", "stuck", "no answer"),
        ("docker", "head -c 100000 /dev/urandom", "failed", ""),
        ("docker", NO_DAEMON, "failed", "permission denied"),
        ("docker", "echo '[1]'", "failed", "[1]"),
        ("nvidia-smi", "sleep 600", "stuck", "no answer"),
        ("nvidia-smi", "yes", "failed", "bytes of output"),
        ("nvidia-smi", "echo NVIDIA-SMI has failed; exit 9", "failed", "NVIDIA-SMI has failed"),
        ("nvidia-smi", "echo No devices were found; exit 6", "ok", ""),
    ],
)
async def test_a_tool_that_hangs_fails_or_prints_garbage_is_a_fact(
    login: Login, monkeypatch: pytest.MonkeyPatch, *, name: str, script: str, state: str, says: str
) -> None:
    quick = jobs.job_source(Job(program="survey", verb="survey")).replace(
        b"TOOL_TIMEOUT_S = 8.0", b"TOOL_TIMEOUT_S = 1.0"
    )

    def source(job: Job) -> bytes:
        assert job.program == "survey"
        return quick

    monkeypatch.setattr(jobs, "job_source", source)
    login.tool(name, script)
    answer = await told(login)
    part = answer["docker" if name == "docker" else "gpus"]
    assert part["state"] == state, part
    assert says in part.get("error", "")
    assert answer["machine"]["state"] == "ok"
    assert running_from(login.tools) == []


@pytest.mark.parametrize("bound", [None, "1"])
async def test_rows_of_nvidia_smi_count_beside_its_warning(
    login: Login, monkeypatch: pytest.MonkeyPatch, bound: str | None
) -> None:
    note = "WARNING: infoROM is corrupted at gpu 0000:3B:00.0"
    login.tool("nvidia-smi", f"{NVIDIA}\necho '{note}'\nexit 14")
    if bound is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", bound)
    python = str(login.quick_python())
    checks = await check_machine(login.hands(), HERE, Fleet(), python=python)
    [warned, counted] = [each.message for each in checks if each.name == "GPUs"]
    assert warned == f"nvidia-smi warns (exit 14, the infoROM is corrupted): {note}"
    assert counted == "1 of 2 are free (NVIDIA H100)"
    first = (await told(login))["gpus"]["value"][0]
    assert first["pids"] == [{"pid": 4242}]
    by_login = "is hidden by the login's CUDA_VISIBLE_DEVICES=1"
    assert first.get("blocked") == (None if bound is None else by_login)


async def test_without_an_answer_about_processes_no_gpu_is_free(login: Login) -> None:
    login.tool("nvidia-smi", NVIDIA.replace("echo 'GPU-aa, 4242'", "echo oops; exit 255"))
    python = str(login.quick_python())
    checks = {e.name: e for e in await check_machine(login.hands(), HERE, Fleet(), python=python)}
    assert checks["GPUs"].message == "0 of 2 are free (NVIDIA H100)"
    [why] = {each["blocked"] for each in (await told(login))["gpus"]["value"]}
    assert why == "may be in use: nvidia-smi does not list the processes: oops"


async def test_a_tool_that_hung_for_the_probe_is_not_started_again(login: Login) -> None:
    mark = login.folder / "started"
    login.tool("docker", f"touch {mark}; sleep 600")
    known = replace(
        MachineFacts(at=0.0), docker=replace(MachineFacts(at=0.0).docker, state=ToolState.STUCK)
    )
    job = survey_request.survey_job([], HERE, known, python="/nowhere/python3")
    answer = await login.hands().work(HERE.name, job, deadline=50)
    assert answer["docker"] == {"state": "stuck", "error": "it hung before"}
    assert not mark.exists()


async def test_a_log_folder_is_reported_with_what_is_in_it(login: Login) -> None:
    logs = login.folder / "logs"
    (logs / "sub").mkdir(parents=True)
    (logs / ".eval-set-id").write_text("abc123")
    (logs / "sub" / "2026-01-01T00-00-00_t_x.eval").write_text("")
    tasks = [{"name": "gpqa", "model": "openai/x", "task_id": "1"}, "no task"]
    (logs / "eval-set.json").write_text(json.dumps({"eval_set_id": "abc123", "tasks": tasks}))
    (login.folder / "file").write_text("")
    answer = await told(login, logs=[str(logs), f"{login.folder}/file", f"{login.folder}/no/where"])
    value = {path: each["value"] for path, each in answer["logs"]["value"].items()}
    held = value[str(logs)]
    assert (held["eval_set"], held["tasks"], held["logs"]) == (
        "abc123", [["gpqa", "openai/x"]], 1,
    )  # fmt: skip
    assert not value[f"{login.folder}/file"]["is_folder"]
    away = value[f"{login.folder}/no/where"]
    assert (away["exists"], away["near"]) == (False, str(login.folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root takes a network away")
async def test_that_there_is_no_network_at_all_is_a_fact(login: Login) -> None:
    hands = login.hands()
    job = Job(program="survey", verb="survey", given={"hosts": ["192.0.2.1:443"]})
    hands.has_network = False
    answer = await hands.work(HERE.name, job, deadline=50)
    assert answer["machine"]["value"]["has_route"] is False
    assert answer["hosts"]["value"]["192.0.2.1:443"]["state"] == "failed"


async def test_a_full_disk_is_reported(login: Login) -> None:
    with small_disk_at(login.folder / "disk") as disk:
        (disk / "full").write_bytes(b"x" * 480_000)
        text = login.quick() + f'log_dir = "{disk}/logs"\n'
        [checked] = await looked(login, text)
    assert any(
        each.startswith("stop disk: the disk of logs is full: only 0 MiB free")
        for each in said(checked.checks)
    )


@contextmanager
def going(words: Sequence[str], folder: Path) -> Generator[int]:
    """A program that runs within the block; its pid."""
    child = subprocess.Popen(words, cwd=folder, start_new_session=True)
    try:
        yield child.pid
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


async def test_an_eval_of_anybody_in_the_same_log_folder_is_found(login: Login) -> None:
    """Its command line is what tells it, as that of a real one does."""
    logs = login.folder / "logs"
    (login.folder / "inspect").write_text("import time\ntime.sleep(600)\n")
    words = [sys.executable, "inspect", "eval-set", "t.py", "--log-dir", "logs", "--json"]
    with going(words, login.folder) as pid:
        text = login.quick() + f'log_dir = "{logs}"\n'
        [checked] = await looked(login, text)
    [line] = troubles(checked)
    assert f"the eval with pid {pid} of " in line
    assert f"is logging into {logs}; wait until it ends" in line


@pytest.mark.slow
async def test_a_log_folder_of_a_real_eval_set_is_known_again(login: Login) -> None:
    logs = login.folder / "logs"
    asked = of("evalroom/smoke") + f'log_dir = "{logs}"\n'
    login.home.mkdir()
    started = AtHome(login.home).start(plan(spec(text=asked)))
    assert started.returncode == 0, started.stderr
    wait_until(lambda: '"success"' in header_status(logs), "its log is final", 60)
    wait_until(lambda: not running_from(logs), "it is gone")
    [same] = await looked(login, asked)
    [line] = troubles(same)
    assert line.startswith(
        f"warning log folder: {logs} contains an eval-set of the same task and model"
    )
    [other] = await looked(login, asked.replace("evalroom/smoke", "evalroom/arithmetic"))
    [line] = troubles(other)
    said_so = "contains another eval-set: evalroom/smoke with mockllm/model (1 log); choose another"
    assert line.startswith(f"stop log folder: {logs} {said_so}")


def header_status(logs: Path) -> str:
    """The status of the one log of a folder, as Inspect says it."""
    for log in list_eval_logs(str(logs)):
        return f'"{read_eval_log(log, header_only=True).status}"'
    return ""


async def test_reserved_gpus_are_reported_with_their_holders(login: Login) -> None:
    login.tool("nvidia-smi", NVIDIA.replace("echo 'GPU-aa, 4242'", ":"))
    locks = login.folder / "locks"
    locks.mkdir()
    about: dict[str, Any] = {"run": "20260101-x", "operator": "Ada", "pids": {}}
    (locks / "GPU-aa.lock").write_text(json.dumps(about))
    (locks / "GPU-bb.lock").write_text("")
    (locks / "turn.lock").write_text("")
    machine = replace(HERE, gpu_locks=str(locks))
    text = login.quick() + "gpus = 2\n"
    made = plan(spec(text=text), machine=machine)
    with (locks / "GPU-aa.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        checks = await preflight(login.hands(), made, machine, Fleet(), secrets=(), deadline=50)
    [line] = [each for each in said(checks) if not BUSY.match(each)]
    assert "1 of 2 are free: GPU 0 is reserved by run 20260101-x of Ada; wait" in line
    checks = await preflight(login.hands(), made, machine, Fleet(), secrets=(), deadline=50)
    assert not [each for each in said(checks) if not BUSY.match(each)]


async def test_cached_files_and_set_variables_are_reported_by_names(login: Login) -> None:
    hub = login.home / "hf" / "hub"
    (hub / "models--org--m" / "snapshots" / "1").mkdir(parents=True)
    (hub / "datasets--org--d").mkdir()
    login.env = {"HF_HOME": str(login.home / "hf"), "HF_HUB_OFFLINE": "1", "A_KEY": "sk-hidden"}
    answer = await told(
        login, models=["org/m", "org/no"], names=["A_KEY", "NO_KEY"], programs=["tmux", "nope"],
        hosts=["localhost:1"],
    )  # fmt: skip
    caches = answer["caches"]["value"]
    assert (caches["offline"], caches["datasets"]) == (["HF_HUB_OFFLINE"], 1)
    assert caches["models"] == {"org/m": True, "org/no": False}
    assert answer["variables"]["value"] == ["A_KEY"]
    assert answer["programs"]["value"]["tmux"]["value"].startswith("tmux ")
    assert answer["programs"]["value"]["nope"]["state"] == "absent"
    assert answer["hosts"]["value"]["localhost:1"]["state"] == "failed"
    assert "sk-hidden" not in json.dumps(answer)


def test_a_survey_whose_link_is_cut_ends_with_all_that_it_started(login: Login) -> None:
    import os

    login.tool("docker", "sleep 600")
    env = {**os.environ, "PATH": f"{login.tools}:{os.environ['PATH']}"}
    # Its tools have all the time of the world: it is the cut that ends them.
    patient = login.folder / "patient.py"
    text = program_file("survey").read_text()
    assert "TOOL_TIMEOUT_S = 8.0" in text
    patient.write_text(text.replace("TOOL_TIMEOUT_S = 8.0", "TOOL_TIMEOUT_S = 600.0"))
    child = subprocess.Popen([sys.executable, "-I", str(patient)], stdin=subprocess.PIPE, env=env)
    assert child.stdin is not None
    child.stdin.write(b'{"verb": "survey", "given": {}}\n')
    child.stdin.flush()
    wait_until(lambda: running_from(login.tools), "docker is asked")
    child.stdin.close()
    child.wait(40)
    wait_gone(lambda: running_from(login.tools), "its tools are")


async def test_a_request_that_is_not_a_question_is_refused_in_a_sentence(login: Login) -> None:
    job = Job(program="survey", verb="dance")
    with pytest.raises(JobFailed, match="no verb dance"):
        await login.hands().work(HERE.name, job, deadline=50)
