"""The needs of a spec are fetched ahead: its task is really created; Docker is a stand-in."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.provision.preparation import ItemKind, PreparedItem, Preparer, prepare_items
from tests.support.evals import short_folder
from tests.support.fetching import LocalWorker, path_without
from tests.support.repositories import repository
from tests.support.specs import plan, plans, spec

FAR = MachineConfig(name=MachineName("local"), host="x")
TASK = """
import os
from pathlib import Path
from helping import COUNT
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model

@task
def boxed(fail: bool = False, key: str = "none") -> Task:
    get_model()
    if fail:
        raise RuntimeError("no data for " + os.environ["HF_TOKEN"])
    Path(os.environ["DATA"]).write_text(os.environ.get("HF_TOKEN", "") + key)
    boxes = [("docker", "box/Dockerfile"),
             ("docker", str(Path(__file__).parent / "other-compose.yaml")), None]
    rows = [Sample(input="x", sandbox=boxes[n % 3]) for n in range(COUNT)]
    return Task(dataset=rows, sandbox=("docker", "compose.yaml"))
"""
DOCKER = """#!{python}
import json, os, sys
words = sys.argv[1:]
with open({calls!r}, "a") as file:
    file.write(json.dumps([os.path.basename(w) if w.startswith("/") else w for w in words]) + "\\n")
if "inspect" in words:
    sys.exit(words[-1] != "there:1")
if "config" in words:
    own = {{"image": "away:1"}} if "other-compose.yaml" in words[2] else {{"image": "there:1"}}
    print(json.dumps({{"services": {{"a": own, "b": {{"image": "there:1"}}}}}}))
if "pull" in words and {fails!r} in words[2]:
    sys.exit("denied: requested access to the resource is denied")
"""


@pytest.fixture
def worker() -> Iterator[LocalWorker]:
    with short_folder() as folder:
        (folder / "home").mkdir()
        yield LocalWorker(folder / "home")


def docker(worker: LocalWorker, fails: str = "nothing") -> Path:
    """Put a stand-in for Docker on the PATH; return the file with its arguments."""
    folder, calls = worker.home.parent / "bin", worker.home.parent / "docker-calls"
    folder.mkdir()
    text = DOCKER.format(python=sys.executable, calls=str(calls), fails=fails)
    (folder / "docker").write_text(text)
    (folder / "docker").chmod(0o755)
    worker.env = {"PATH": f"{folder}:{path_without(worker.home.parent, 'docker')}"}
    return calls


def boxed(worker: LocalWorker, **args: object) -> RunPlan:
    """The plan of a task that lies in a repository, with an interpreter that is given."""
    source = worker.home.parent / "code"
    if not source.exists():
        files = dict.fromkeys(("compose.yaml", "other-compose.yaml", "box/Dockerfile"), "x")
        inner = {f"evals/{name}": text for name, text in files.items()}
        repository(source, {**inner, "evals/boxed.py": TASK, "helping.py": "COUNT = 3\n"})
    text = json.dumps(
        {"task": "evals/boxed.py@boxed", "model": "mockllm/model", "machine": "local",
         "on_error": "stop", "args": args, "python": sys.executable, "secrets": ["HF_TOKEN"],
         "code": {"repository": str(source)},
         "env": {"DATA": str(worker.home / "data"), "https_proxy": "http://127.0.0.1:1",
                 "TIKTOKEN_CACHE_DIR": str(worker.home / "tokens"), "HF_HUB_OFFLINE": "1"}}
    )  # fmt: skip
    return plan(spec(text=text))


async def prepared(worker: LocalWorker, asked: Sequence[RunPlan]) -> dict[ItemKind, PreparedItem]:
    seen: list[PreparedItem] = []
    preparing = Preparer(
        worker=worker, secrets={"HF_TOKEN": "hf_secret-value"}, uv=lambda: None,
        on_progress=lambda _: None, on_item=seen.append,
    )  # fmt: skip
    done = await preparing.run(asked)
    assert list(done) == seen
    return {each.item.what: each for each in done}


async def test_code_data_tokens_and_images_come_and_nothing_else_stays(worker: LocalWorker) -> None:
    calls = docker(worker)
    done = await prepared(worker, [boxed(worker, key="x")])
    assert {what: each.state for what, each in done.items()} == {
        ItemKind.CODE: "done", ItemKind.DATA: "done", ItemKind.TOKENIZER: "failed",
        ItemKind.IMAGES: "done",
    }  # fmt: skip
    assert (worker.home / "data").read_text() == "hf_secret-valuex"
    assert done[ItemKind.DATA].message.startswith("the task was created with 3 samples")
    assert "tokenizer's file can't be fetched" in done[ItemKind.TOKENIZER].message
    assert done[ItemKind.IMAGES].message == "3 images"
    asked = [json.loads(line) for line in calls.read_text().splitlines()]
    assert [words for words in asked if not {"inspect", "config"} & set(words)] == [
        ["build", "-q", "-f", "Dockerfile", "box"],
        ["compose", "-f", "other-compose.yaml", "pull", "-q", "--ignore-buildable"],
    ]
    assert not list((worker.home / ".evalroom/prepare").iterdir())


@pytest.mark.slow
async def test_a_failed_download_is_a_sentence_and_the_others_still_come(
    worker: LocalWorker,
) -> None:
    docker(worker, fails="other-compose.yaml")
    done = await prepared(worker, [boxed(worker)])
    start = "1 of 3 failed: "
    assert (done[ItemKind.IMAGES].state, done[ItemKind.IMAGES].message[: len(start)]) == (
        "failed",
        start,
    )
    assert "denied" in done[ItemKind.IMAGES].message

    done = await prepared(worker, [boxed(worker, fail=True)])
    assert "the task can't be created there: " in done[ItemKind.DATA].message
    assert "no data for [hidden]" in done[ItemKind.DATA].message
    assert (done[ItemKind.CODE].state, done[ItemKind.IMAGES].state) == ("done", "skipped")
    assert done[ItemKind.IMAGES].message == "it needs data, which failed"


async def test_an_item_that_needs_a_failed_one_is_left_out(worker: LocalWorker) -> None:
    worker.env = {"PATH": path_without(worker.home.parent, "docker", "git")}
    done = await prepared(worker, [boxed(worker)])
    states = [done[each].state for each in (ItemKind.CODE, ItemKind.DATA, ItemKind.IMAGES)]
    assert states == ["failed", "skipped", "skipped"]


def test_the_needs_of_a_spec_are_known_before_anything_is_fetched() -> None:
    def whats(more: str = "", *sets: str, machine: MachineConfig = FAR) -> list[str]:
        return [each.what for each in prepare_items([plan(spec(more, *sets), machine=machine)])]

    here = MachineConfig(name=MachineName("local"), link="command")
    assert whats(machine=here) == []
    assert whats() == ["uv", "packages"]
    gpqa = whats("", "task=inspect_evals/gpqa_diamond", "args={}")
    assert gpqa == ["uv", "packages", "data", "tokenizer", "images"]
    assert whats("", "task=a/b", "args={}", "model=vllm/x/y")[2:] == ["data", "images", "weights"]
    both = spec("packages = ['x>=1']", "task=['a/b','a/c']", "args={}", "model=openai/x")
    listed = prepare_items(plans(both, machine=FAR))
    assert [(each.what, each.name) for each in listed] == [
        ("uv", "0.8.0 or newer"), ("packages", "inspect-ai==0.3.285, x>=1"), ("data", "a/b"),
        ("images", "a/b"), ("data", "a/c"), ("images", "a/c"),
    ]  # fmt: skip
