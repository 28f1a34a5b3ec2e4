"""Downloads what the runs of a spec need to a machine, for later runs without a network.

The text of a task does not show which data it needs. So the task is created on the machine, as
Inspect does at the start of a run: it then downloads its data, and reports its sandboxes. No sample
runs.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal

from core.ctl.decode import count, objects, text, texts
from core.errors import JobFailed, RequestFailed
from core.format import plural
from core.launch.plan.eval_set_args import CODE_FOLDER, task_word
from core.launch.plan.run_plan import UV_PATH, RunPlan
from core.launch.progress import OnProgress
from core.launch.provision import fetch_client
from core.launch.provision.fetch_client import FindLocalUv
from core.launch.spec.model_providers import provider_of
from core.launch.spec.spec import BUILT_IN_TASKS
from core.launch.spec.yaml_quote import plain
from core.model.job import Worker
from core.text import Shown, shown

PREPARE_FOLDER = "~/.evalroom/prepare"
"""The folder on the machine in which tasks are created; it is deleted afterwards."""
TASK_TIMEOUT_S, TOKENIZER_TIMEOUT_S, IMAGES_TIMEOUT_S = 3600.0, 300.0, 7200.0
"""Timeouts, seconds."""
_MAX_CHARS = 400


class ItemKind(StrEnum):
    """What is fetched."""

    UV = "uv"
    PACKAGES = "packages"
    CODE = "code"
    DATA = "data"
    TOKENIZER = "tokenizer"
    IMAGES = "images"
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class PrepareItem:
    """One thing to fetch.

    Attributes:
        what: Its kind.
        name: Its name.
        where: Where it is stored on the machine.
        how: How it is fetched.
    """

    what: ItemKind
    name: Shown
    where: Shown
    how: Shown


PrepareState = Literal["done", "there", "failed", "skipped", "by hand"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedItem:
    """The result of one item.

    Attributes:
        item: The item.
        state: `there`: already on the machine; `skipped`: something that it needs failed;
            `by hand`: the operator has to fetch it.
        message: What happened, one sentence without its full stop.
        advice: What to do; empty: nothing.
    """

    item: PrepareItem
    state: PrepareState
    message: Shown
    advice: Shown = field(default_factory=lambda: shown(""))


def prepare_items(plans: Sequence[RunPlan]) -> tuple[PrepareItem, ...]:
    """Return what the plans of one machine need, each item once, in the order of the work."""
    return tuple(dict.fromkeys(item for plan in plans for item in _items(plan)))


def _items(plan: RunPlan) -> list[PrepareItem]:
    spec, found = plan.spec, list[PrepareItem]()

    def add(what: ItemKind, name: str, where: str, how: str) -> None:
        found.append(
            PrepareItem(
                what, shown(name, _MAX_CHARS), shown(where, _MAX_CHARS), shown(how, _MAX_CHARS)
            )
        )

    if plan.python is None:
        least = f"{fetch_client.MIN_UV_VERSION} or newer"
        add(
            ItemKind.UV,
            least,
            UV_PATH,
            "from this computer if the platforms match, else by pip",
        )
        add(ItemKind.PACKAGES, ", ".join(_requirements(plan)), "uv's cache", "by uv")
    if spec.task[0] in BUILT_IN_TASKS:
        return found
    task, code = spec.task[0], spec.code
    if code is not None and code.repository is not None:
        how = "by git, only to create the task: each launch needs a network to check it out again"
        add(ItemKind.CODE, code.repository, f"{PREPARE_FOLDER}, deleted afterwards", how)
    add(ItemKind.DATA, task, "the task's own caches", "by creating the task, which runs its code")
    provider = provider_of(spec.model[0])
    if provider is not None and provider.name == "mockllm":
        where = "TIKTOKEN_CACHE_DIR, else a temporary folder"
        add(
            ItemKind.TOKENIZER,
            "o200k_base of tiktoken",
            where,
            "by tiktoken, as the mock model does",
        )
    add(ItemKind.IMAGES, task, "Docker", "by docker pull and docker build")
    if provider is not None and provider.loads_weights and spec.base_url is None:
        add(ItemKind.WEIGHTS, spec.model[0], "the model cache", "by hand")
    return found


def _requirements(plan: RunPlan) -> tuple[str, ...]:
    words = plan.inspect_words
    return tuple(word for before, word in pairwise(words) if before in {"--from", "--with"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Fetches the items of plans.

    Attributes:
        worker: Does jobs on machines.
        secrets: Values of the secrets that the specs name, by name.
        uv: Finds evalroom's own uv.
        on_progress: Gets a line of text at each step.
        on_item: Gets each item when it is done.
    """

    worker: Worker
    secrets: Mapping[str, str]
    uv: FindLocalUv
    on_progress: OnProgress
    on_item: Callable[[PreparedItem], None]

    async def run(self, plans: Sequence[RunPlan]) -> tuple[PreparedItem, ...]:
        """Fetch what the plans of one machine need; continue when an item fails."""
        done: dict[PrepareItem, PreparedItem] = {}
        folder = f"{PREPARE_FOLDER}/{plans[0].run}"
        try:
            for plan in plans:
                await self._prepare(plan, folder, done)
        finally:
            if any(item.what is ItemKind.DATA for item in done):
                await self._clear(plans[0], folder)
        return tuple(done.values())

    async def _prepare(
        self, plan: RunPlan, folder: str, done: dict[PrepareItem, PreparedItem]
    ) -> None:
        sandboxes: Mapping[str, Any] = {}
        for item in _items(plan):
            if item in done:
                continue
            self.on_progress(f"{item.what}: {item.name}")
            lacking = _lacking(item, done, plan)
            result: PreparedItem
            if lacking:
                result = _prepared(item, "skipped", f"it needs {lacking}, which failed")
            elif item.what is ItemKind.DATA:
                result, sandboxes = await self._data(item, plan, folder)
            elif item.what is ItemKind.IMAGES:
                result = await self._result_of(item, self._images(item, plan, sandboxes))
            else:
                result = await self._result_of(item, self._fetch(item, plan, folder))
            done[item] = result
            self.on_item(result)

    async def _result_of(self, item: PrepareItem, work: Awaitable[PreparedItem]) -> PreparedItem:
        try:
            return await work
        except (JobFailed, RequestFailed) as error:
            return _prepared(item, "failed", error.message, error.advice)

    async def _fetch(self, item: PrepareItem, plan: RunPlan, folder: str) -> PreparedItem:
        match item.what:
            case ItemKind.UV:
                return _of(
                    item,
                    await fetch_client.fetch_uv(
                        self.worker, plan.machine, self.uv, self.on_progress
                    ),
                )
            case ItemKind.PACKAGES:
                return _of(item, await fetch_client.fetch_packages(self.worker, plan))
            case ItemKind.CODE:
                code = plan.spec.code
                name = None if code is None else code.token
                token = None if name is None else self.secrets.get(name)
                got = await fetch_client.fetch_code(
                    self.worker, plan, token=token, directory=folder
                )
                return _of(item, got)
            case ItemKind.TOKENIZER:
                return await self._tokenizer(item, plan)
            case _:
                how = f"hf download {plan.spec.model[0].partition('/')[2]}"
                text = "evalroom does not fetch the weights of a model"
                return _prepared(item, "by hand", text, f"run on the machine: {how}")

    async def _tokenizer(self, item: PrepareItem, plan: RunPlan) -> PreparedItem:
        answer = await self._do(plan, "tokenizer", {}, TOKENIZER_TIMEOUT_S)
        where = text(answer, "path") or "its cache"
        advice = ""
        if answer.get("kept") is not True:
            advice = (
                "a restart empties that folder: set env = { TIKTOKEN_CACHE_DIR = ... } to keep it"
            )
        state: PrepareState = "there" if answer.get("how") == "there" else "done"
        return _prepared(item, state, f"in {where}", advice)

    async def _data(
        self, item: PrepareItem, plan: RunPlan, folder: str
    ) -> tuple[PreparedItem, Mapping[str, Any]]:
        """Create the task on the machine; return the result, and the answer with its sandboxes."""
        spec = plan.spec
        code = spec.code
        given = {
            "directory": folder,
            "task": task_word(spec),
            "args": plain(spec.args),
            "sandbox": spec.options.get("sandbox"),
            "python_path": None if code is None else code.directory or CODE_FOLDER,
        }
        values = {v: self.secrets[n] for v, n in plan.secrets.items() if n in self.secrets}
        try:
            answer = await self._do(plan, "task", given, TASK_TIMEOUT_S, secrets=values)
        except (JobFailed, RequestFailed) as error:
            return _prepared(item, "failed", error.message, error.advice), {}
        samples = plural(count(answer, "samples") or 0, "sample")
        text = f"the task was created with {samples}, and its data is on the machine"
        return _prepared(item, "done", text), answer

    async def _images(
        self, item: PrepareItem, plan: RunPlan, task_data: Mapping[str, Any]
    ) -> PreparedItem:
        kinds = texts(task_data, "sandboxes")
        files, images = texts(task_data, "files"), texts(task_data, "images")
        if not files and not images:
            other = ", ".join(each for each in kinds if each != "docker")
            return _prepared(
                item,
                "there",
                f"the task's sandbox is {other}, not Docker"
                if other
                else "the task uses no images",
            )
        answer = await self._do(
            plan, "images", {"files": files, "images": images}, IMAGES_TIMEOUT_S
        )
        rows = objects(answer, "images")
        failed = [row for row in rows if text(row, "how") == "failed"]
        if failed:
            first = f"{text(failed[0], 'what')}: {text(failed[0], 'message')}"
            return _prepared(item, "failed", f"{len(failed)} of {len(rows)} failed: {first}")
        is_there = all(text(row, "how") == "there" for row in rows)
        return _prepared(item, "there" if is_there else "done", plural(len(rows), "image"))

    async def _do(
        self,
        plan: RunPlan,
        verb: str,
        given: Mapping[str, Any],
        seconds: float,
        *,
        secrets: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        asked = {
            "python": list(plan.python_words),
            **fetch_client.environment(plan),
            **given,
        }
        return await fetch_client.run_fetch(
            self.worker, plan.machine, verb, asked, seconds=seconds, secrets=secrets
        )

    async def _clear(self, plan: RunPlan, folder: str) -> None:
        try:
            await fetch_client.run_fetch(
                self.worker, plan.machine, "clear", {"directory": folder}, seconds=60
            )
        except RequestFailed as error:
            self.on_progress(f"can't delete {folder} on {plan.machine}: {error.message}")


_NEEDS: Mapping[ItemKind, tuple[ItemKind, ...]] = {
    ItemKind.PACKAGES: (ItemKind.UV,),
    ItemKind.DATA: (ItemKind.UV, ItemKind.PACKAGES, ItemKind.CODE),
    ItemKind.TOKENIZER: (ItemKind.UV, ItemKind.PACKAGES),
    ItemKind.IMAGES: (ItemKind.DATA,),
}


def _lacking(item: PrepareItem, done: Mapping[PrepareItem, PreparedItem], plan: RunPlan) -> str:
    """Return the failed items that an item needs, in words; empty: none."""
    needs = _NEEDS.get(item.what, ())
    return " and ".join(
        each.what
        for each in _items(plan)
        if each.what in needs and each in done and done[each].state in {"failed", "skipped"}
    )


def _of(item: PrepareItem, got: fetch_client.FetchResult) -> PreparedItem:
    text = f"{got.version}: {got.how}"
    return _prepared(item, "there" if got.was_there else "done", text, got.note)


def _prepared(item: PrepareItem, state: PrepareState, text: str, advice: str = "") -> PreparedItem:
    return PreparedItem(item=item, state=state, message=shown(text, 600), advice=shown(advice, 300))
