"""What a survey says of tools that answer, hang, fail or print garbage."""

from dataclasses import replace

import pytest

from core.fleet import Fleet
from core.launch.preflight import survey_request
from core.launch.preflight.checks import CheckLevel
from core.launch.preflight.machine_choice import check_machine
from core.model.job import Job
from core.model.machine import MachineFacts, ToolState
from ssh import jobs
from tests.support.login_surveys import HERE, survey_answer
from tests.support.standins import DOCKER, NO_DAEMON, NVIDIA, Login, running_from
from tests.support.waiting import WAIT_S


async def test_tools_that_answer_are_summed_up(login: Login) -> None:
    login.tool("docker", DOCKER)
    login.tool("nvidia-smi", NVIDIA)
    python = str(login.quick_python())
    checks = {e.name: e for e in await check_machine(login.worker(), HERE, Fleet(), python=python)}
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
        b"TOOL_TIMEOUT_S = 8.0", b"TOOL_TIMEOUT_S = %d.0" % (1 if state == "stuck" else 40)
    )

    def source(job: Job) -> bytes:
        assert job.program == "survey"
        return quick

    monkeypatch.setattr(jobs, "job_source", source)
    login.tool(name, script)
    answer = await survey_answer(login)
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
    checks = await check_machine(login.worker(), HERE, Fleet(), python=python)
    [warned, counted] = [each.message for each in checks if each.name == "GPUs"]
    assert warned == f"nvidia-smi warns (exit 14, the infoROM is corrupted): {note}"
    assert counted == "1 of 2 are free (NVIDIA H100)"
    first = (await survey_answer(login))["gpus"]["value"][0]
    assert first["pids"] == [{"pid": 4242}]
    by_login = "is hidden by the login's CUDA_VISIBLE_DEVICES=1"
    assert first.get("blocked") == (None if bound is None else by_login)


async def test_without_an_answer_about_processes_no_gpu_is_free(login: Login) -> None:
    login.tool("nvidia-smi", NVIDIA.replace("echo 'GPU-aa, 4242'", "echo oops; exit 255"))
    python = str(login.quick_python())
    checks = {e.name: e for e in await check_machine(login.worker(), HERE, Fleet(), python=python)}
    assert checks["GPUs"].message == "0 of 2 are free (NVIDIA H100)"
    [why] = {each["blocked"] for each in (await survey_answer(login))["gpus"]["value"]}
    assert why == "may be in use: nvidia-smi does not list the processes: oops"


async def test_a_number_of_the_login_frees_no_gpu_where_gpus_differ(
    login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    login.tool("nvidia-smi", NVIDIA.replace("1, GPU-bb, NVIDIA H100", "1, GPU-bb, NVIDIA A100, 40"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    rows = (await survey_answer(login))["gpus"]["value"]
    assert [each["name"] for each in rows] == ["NVIDIA H100", "NVIDIA A100, 40"]
    [why] = {each["blocked"] for each in rows}
    assert why.startswith("may be hidden by the login's CUDA_VISIBLE_DEVICES=1, which counts")


async def test_a_tool_that_hung_for_the_probe_is_not_started_again(login: Login) -> None:
    mark = login.folder / "started"
    login.tool("docker", f"touch {mark}; sleep 600")
    known = replace(
        MachineFacts(at=0.0), docker=replace(MachineFacts(at=0.0).docker, state=ToolState.STUCK)
    )
    job = survey_request.survey_job([], HERE, known, python="/nowhere/python3")
    answer = await login.worker().work(HERE.name, job, deadline=WAIT_S)
    assert answer["docker"] == {"state": "stuck", "error": "it hung before"}
    assert not mark.exists()
