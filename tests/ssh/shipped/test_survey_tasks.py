"""What the Inspect of a host says of tasks, their files for docker, and its interpreter."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from core.launch.preflight import survey_request
from core.launch.preflight.checks import CheckLevel
from tests.support.docker_engine import IMAGE, DockerEngine, docker_group
from tests.support.login_surveys import checked_plans, survey_answer, troubles
from tests.support.shipped_answers import prints_answer
from tests.support.standins import DOCKER, Login, running_from
from tests.support.surveys import of, texts

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
    checked = await checked_plans(login, text, secrets=("MINE",))
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
    [checked] = await checked_plans(login, text)
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
    answer = await survey_answer(login, **given)
    assert answer["docker"]["state"] == "ok", answer["docker"]
    images = {name: row["value"] for name, row in answer["images"]["value"].items()}
    gone = {"there": False, "registry": "localhost:1", "error": "Connection refused"}
    assert images == {IMAGE: {"there": True}, "localhost:1/gone": gone}


async def test_a_file_for_docker_that_is_missing_is_reported(login: Login) -> None:
    file = login.folder / "mine.py"
    body = "    return Task(sandbox=('docker', 'compose-big.yaml'))\n"
    file.write_text(f"from inspect_ai import Task, task\n@task\ndef mine():\n{body}")
    login.tool("docker", DOCKER)
    [checked] = await checked_plans(login, of(f"{file}@mine") + f'python = "{sys.executable}"\n')
    [sentence] = [each for each in texts(checked.checks) if "images" in each]
    assert sentence.startswith(
        f"warning images: the file {login.folder}/compose-big.yaml, which the"
    )


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
        [checked] = await checked_plans(login, base + f'python = "{python}"\n')
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
    [checked] = await checked_plans(login, text)
    assert [each.message for each in checked.checks if each.name == "uv"] == [
        "uv 0.9.9 is installed",
        "Inspect 0.3.285 or a package is not cached: evalroom downloads it before the run starts",
    ]
    uv.write_text(UV + f'while [ "$1" != python ]; do shift; done; exec {login.quick_python()}\n')
    [checked] = await checked_plans(login, text)
    assert troubles(checked) == []
    assert "Inspect 0.3.285" in next(e.message for e in checked.checks if e.name == "Inspect")
