"""Docker and GPUs: a run that needs more than there is gets the numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight.checks import CheckLevel
from core.launch.preflight.gpu_reservations import Reservation
from core.launch.preflight.survey_facts import (
    DockerFacts,
    ImageFacts,
    ReservationFacts,
    SurveyFacts,
    TaskFacts,
)
from core.model.machine import (
    GpuProcess,
    LinkState,
    LinkStatus,
    Machine,
    MachineFacts,
    Memory,
    ToolState,
)
from tests.support.specs import spec
from tests.support.surveys import (
    GIB,
    GIVEN,
    WELL,
    failed,
    found,
    gpus,
    judged,
    mine,
    of,
    texts,
    with_task,
    with_task_facts,
)

DOCKER_SPEC = of("inspect_evals/gdm_intercode_ctf") + GIVEN


def with_docker(**changes: Any) -> SurveyFacts:
    assert WELL.docker.value is not None
    facts = with_task_facts(WELL, "inspect_evals/gdm_intercode_ctf", TaskFacts(state="ok"))
    return replace(facts, docker=found(replace(WELL.docker.value, **changes)))


@pytest.mark.parametrize(
    ("docker", "says"),
    [
        (failed(ToolState.ABSENT),
         ("stop Docker: inspect_evals/gdm_intercode_ctf needs Docker, but Docker is not"
          " installed; install Docker on the machine")),
        (failed(ToolState.FAILED, "permission denied while trying to connect to the socket"),
         ("needs Docker, but Docker fails: permission denied while trying to connect to the socket;"
         " add the account to the machine's docker group")),
        (failed(ToolState.STUCK, "no answer in 8 s"), "Docker does not respond: no answer in 8 s"),
        (failed(ToolState.UNKNOWN), "warning Docker"),
        (found(DockerFacts(version="20.10.7", compose="2.29.1")),
         "stop Docker: Docker is 20.10.7, but Inspect needs 24.0.6 or newer"),
        (found(DockerFacts(version="27.1.1")), "stop Docker: Docker has no Compose"),
        (found(DockerFacts(version="27.1.1", compose="v2.3.3")),
         "stop Docker: Docker Compose is v2.3.3, but Inspect needs 2.21.0 or newer"),
    ],
)  # fmt: skip
def test_an_unusable_docker_is_reported_to_runs_that_need_it(docker: Any, says: str) -> None:
    facts = replace(with_docker(), docker=docker)
    [sentence] = texts(judged(spec("max_samples = 1", text=DOCKER_SPEC), facts))
    assert says in sentence
    assert texts(judged(spec(GIVEN), facts)) == []


@pytest.mark.parametrize(
    ("more", "task", "needs_it"),
    [
        ("", {"sandbox": "docker"}, True),
        ("", {"sandbox": "k8s"}, False),
        ("", {}, False),
        ('options = { sandbox = "docker:compose.yaml" }', {}, True),
        ('options = { sandbox = "local" }', {"sandbox": "docker"}, False),
        ('args = { sandbox_type = "k8s" }', {"sandbox": "docker"}, False),
        ("args = { sandbox_config = { a = 1 } }", {"sandbox": "docker"}, False),
    ],
)
def test_the_spec_or_else_the_task_decides_whether_docker_is_needed(
    more: str, task: Mapping[str, Any], needs_it: bool
) -> None:
    facts = replace(with_task(**task), docker=failed(ToolState.ABSENT))
    sentences = texts(judged(mine(more), facts))
    assert any("needs Docker" in each for each in sentences) is needs_it


@pytest.mark.parametrize(
    ("more", "free", "memory", "level", "says"),
    [
        ("", 32, None, "ok",
         "16 x 1.0 GiB = 16 GiB of memory at once (assuming 1 GiB each), 32 GiB free"),
        ("max_samples = 40\nmax_sandboxes = 40", 32, None, "warning",
         ("40 x 1.0 GiB = 40 GiB of memory at once (assuming 1 GiB each), but only 32 GiB"
         " free; set max_sandboxes = 32")),
        ("max_sandboxes = 40\nlimit = 3\nepochs = 2", 4, None, "warning", "6 x 1.0 GiB"),
        ("max_sandboxes = 10", 32, 4 * GIB, "warning",
         ("10 x 4.0 GiB = 40 GiB of memory at once (from its compose file), but only 32 GiB"
         " free; set max_sandboxes = 8")),
        ("max_sandboxes = 2", 32, 64 * GIB, "warning", "choose another machine"),
    ],
)  # fmt: skip
def test_containers_at_once_are_counted_against_free_memory(
    more: str, free: int, memory: int | None, level: str, says: str
) -> None:
    name = "inspect_evals/gdm_intercode_ctf"
    facts = with_task_facts(with_docker(), name, TaskFacts(state="ok", memory=memory))
    assert facts.host.value is not None
    host = replace(facts.host.value, memory=Memory(total=64 * GIB, available=free * GIB))
    checks = judged(spec(more, text=DOCKER_SPEC), replace(facts, host=found(host)))
    [sentence] = [each for each in texts(checks, *CheckLevel) if " containers: " in each]
    assert sentence.startswith(level)
    assert says in sentence


def test_sizes_of_containers_multiply_as_they_are_read() -> None:
    name = "inspect_evals/gdm_intercode_ctf"
    facts = with_task_facts(with_docker(), name, TaskFacts(state="ok", memory=1100 * 1024**2))
    checks = judged(spec("max_sandboxes = 16", text=DOCKER_SPEC), facts)
    [sentence] = [each for each in texts(checks, *CheckLevel) if " containers: " in each]
    assert (
        "16 x 1100 MiB = 17600 MiB of memory at once (from its compose file), 32768 MiB" in sentence
    )


@pytest.mark.parametrize(
    ("image", "has_proxy", "level", "says"),
    [
        (ImageFacts(there=True), False, "ok", "a/b:1 is there"),
        (ImageFacts(there=False, registry="r:443"), False, "warning", "the start pulls"),
        (ImageFacts(there=False, registry="r:443", error="no route"), False, "stop",
         "the image a/b:1 is not on the machine, and r:443 can't be reached: no route"),
        (ImageFacts(there=False, registry="r:443", error="no route"), True, "warning", "pulls it"),
    ],
)  # fmt: skip
def test_an_image_that_is_missing_is_pulled_or_stops(
    image: ImageFacts, level: str, says: str, *, has_proxy: bool
) -> None:
    name = "inspect_evals/gdm_intercode_ctf"
    facts = with_task_facts(with_docker(), name, TaskFacts(state="ok", images=("a/b:1",)))
    assert facts.docker.value is not None
    docker = found(replace(facts.docker.value, has_proxy=has_proxy))
    facts = replace(facts, images={"a/b:1": found(image)}, docker=docker)
    checks = judged(spec("max_sandboxes = 1", text=DOCKER_SPEC), facts)
    [sentence] = [each for each in texts(checks, *CheckLevel) if " images: " in each]
    assert sentence.startswith(level)
    assert says in sentence


HELD = ReservationFacts(
    folder="/var/lock/evalroom",
    held=(Reservation(name="GPU-1.lock", run="20260101-x", operator="Bo"),),
)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpus": failed(ToolState.ABSENT)}, "stop GPUs: gpus = 2, but nvidia-smi is not"),
        ({"gpus": failed(ToolState.FAILED, "no driver")}, "but nvidia-smi fails: no driver"),
        ({"gpus": failed(ToolState.STUCK, "x")}, "gpus = 2, but nvidia-smi is not responding"),
        ({"gpus": failed(ToolState.UNKNOWN)}, "warning GPUs: gpus = 2, but it is unknown"),
        ({"gpus": found(gpus(1))}, "gpus = 2, but the machine has 1; ask for fewer"),
        ({"gpus": found((replace(gpus(1)[0], pids=(GpuProcess(pid=42),)), *gpus(3)[1:])),
          "reservations": found(HELD)},
         ("stop GPUs: gpus = 2, but 1 of 3 are free: GPU 0 is used by pid 42, GPU 1 is reserved by"
         " run 20260101-x of Bo; wait, or set gpus = 1")),
        ({"gpus": found((replace(gpus(1)[0], memory_used=40 * GIB), *gpus(2)[1:]))},
         ("stop GPUs: gpus = 2, but 1 of 2 are free: GPU 0 is in use by processes that this"
          " account can't see (40 GiB in use)")),
        ({"gpus": found((replace(gpus(1)[0], memory_used=2 * GIB, memory_total=80 * GIB),
                         *gpus(2)[1:]))},
         "warning GPUs: 2 of 2 are free, but some have memory in use (GPU 0: 2.0 GiB)"),
        ({"gpus": replace(found(gpus(2)), error="nvidia-smi warns (exit 14)")},
         "warning GPUs: nvidia-smi warns (exit 14); check that GPU on the machine"),
        ({"reservations": failed(ToolState.FAILED, "/srv/x is not a folder")},
         "stop GPUs: GPUs can't be reserved: /srv/x is not a folder"),
        ({"reservations": found(ReservationFacts(folder="~/.evalroom/gpus", why="it is Bob's"))},
         "warning GPUs: other accounts don't see GPU reservations of this account: it is Bob's"),
    ],
)  # fmt: skip
def test_gpus_that_are_not_to_be_had_are_reported(changes: Mapping[str, Any], says: str) -> None:
    [sentence] = texts(judged(spec(GIVEN + "gpus = 2"), replace(WELL, **changes)))
    assert says in sentence
    assert texts(judged(spec(GIVEN), replace(WELL, **changes))) == []


def test_gpus_of_amd_are_those_that_the_probe_read() -> None:
    read = MachineFacts(at=0, gpu_tool="rocm-smi", gpu_state=ToolState.OK, gpus=gpus(4))
    link = LinkStatus(state=LinkState.UP, since=0)
    name = MachineName("local")
    machine = Machine(name=name, address="", kind="command", link=link, facts=read)
    facts = replace(WELL, gpus=failed(ToolState.ABSENT))
    asked = spec(GIVEN + "gpus = 4")
    assert texts(judged(asked, facts, Fleet(machines={name: machine}))) == []


def test_gpus_of_earlier_runs_of_the_same_launch_are_not_free() -> None:
    asked = spec(GIVEN + "gpus = 1")
    facts = replace(WELL, gpus=found(gpus(2)))
    assert texts(judged(asked, facts, held=("GPU-0.lock",))) == []
    [sentence] = texts(judged(asked, facts, held=("GPU-0.lock", "GPU-1.lock")))
    assert "0 of 2 are free: GPU 0 goes to another run of this launch" in sentence
