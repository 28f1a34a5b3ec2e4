"""What a spec needs is fetched to a machine while there is a network, for runs later without.

What a task reads can't be known from its text: it is made there, as Inspect makes it at its
start, and so fetches its own data and tells its sandboxes. Nothing of it is run.
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
"""The folder there in which tasks are made; nothing of it stays."""
TASK_TIMEOUT_S, TOKENIZER_TIMEOUT_S, IMAGES_TIMEOUT_S = 3600.0, 300.0, 7200.0
"""Seconds that each may take."""
_MAX_CHARS = 400


class ItemKind(StrEnum):
    """A kind of thing that is fetched."""

    UV = "uv"
    PACKAGES = "packages"
    CODE = "code"
    DATA = "data"
    TOKENIZER = "tokenizer"
    IMAGES = "images"
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class PrepareItem:
    """One thing that is fetched.

    Attributes:
        name: Which of its kind.
        where: Where it is kept there.
        how: By which way it comes.
    """

    what: ItemKind
    name: Shown
    where: Shown
    how: Shown


PrepareState = Literal["done", "there", "failed", "skipped", "by hand"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedItem:
    """What became of an item.

    Attributes:
        state: `there`: nothing had to be fetched; `skipped`: what it needs failed; `by hand`:
            it is yours to fetch.
        said: A sentence without its end.
        advice: What to do; empty where there is nothing to do.
    """

    item: PrepareItem
    state: PrepareState
    said: Shown
    advice: Shown = field(default_factory=lambda: shown(""))


def prepare_items(plans: Sequence[RunPlan]) -> tuple[PrepareItem, ...]:
    """Return what is fetched for plans of one machine, each once, in its order."""
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
        add(ItemKind.UV, least, UV_PATH, "from here if the platform is the same, else by pip there")
        add(ItemKind.PACKAGES, ", ".join(_requirements(plan)), "uv's cache there", "by uv")
    if spec.task[0] in BUILT_IN_TASKS:
        return found
    task, code = spec.task[0], spec.code
    if code is not None and code.repository is not None:
        how = "by git, for this alone: every launch fetches it anew, and needs a network for that"
        add(ItemKind.CODE, code.repository, f"{PREPARE_FOLDER}, then gone", how)
    add(
        ItemKind.DATA, task, "the caches of the task's own", "the task is made there: its code runs"
    )
    provider = provider_of(spec.model[0])
    if provider is not None and provider.name == "mockllm":
        where = "TIKTOKEN_CACHE_DIR, else a temporary folder there"
        add(
            ItemKind.TOKENIZER,
            "o200k_base of tiktoken",
            where,
            "by tiktoken, as the mock model does",
        )
    add(ItemKind.IMAGES, f"those of {task}", "Docker there", "by docker pull and build")
    if provider is not None and provider.loads_weights and spec.base_url is None:
        add(ItemKind.WEIGHTS, spec.model[0], "your model cache there", "by you")
    return found


def _requirements(plan: RunPlan) -> tuple[str, ...]:
    words = plan.inspect_words
    return tuple(word for before, word in pairwise(words) if before in {"--from", "--with"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Fetches.

    Attributes:
        worker: Has jobs done.
        secrets: Values of the operator's secrets, by their names, as far as specs name them.
        uv: Finds evalroom's own uv.
        say: Hears how far it is.
        tell: Hears of each item once it is done.
    """

    worker: Worker
    secrets: Mapping[str, str]
    uv: FindLocalUv
    say: OnProgress
    tell: Callable[[PreparedItem], None]

    async def run(self, plans: Sequence[RunPlan]) -> tuple[PreparedItem, ...]:
        """Fetch what plans of one machine need; what fails keeps nothing else from coming."""
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
            self.say(f"{item.what}: {item.name}")
            lacking = _lacking(item, done, plan)
            told: PreparedItem
            if lacking:
                told = _prepared(item, "skipped", f"the {lacking} it needs are not there")
            elif item.what is ItemKind.DATA:
                told, sandboxes = await self._data(item, plan, folder)
            elif item.what is ItemKind.IMAGES:
                told = await self._told(item, self._images(item, plan, sandboxes))
            else:
                told = await self._told(item, self._fetch(item, plan, folder))
            done[item] = told
            self.tell(told)

    async def _told(self, item: PrepareItem, work: Awaitable[PreparedItem]) -> PreparedItem:
        try:
            return await work
        except (JobFailed, RequestFailed) as error:
            return _prepared(item, "failed", error.message, error.advice)

    async def _fetch(self, item: PrepareItem, plan: RunPlan, folder: str) -> PreparedItem:
        match item.what:
            case ItemKind.UV:
                return _of(
                    item, await fetch_client.fetch_uv(self.worker, plan.machine, self.uv, self.say)
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
                said = "the weights of a model are not fetched"
                return _prepared(item, "by hand", said, f"run there: {how}")

    async def _tokenizer(self, item: PrepareItem, plan: RunPlan) -> PreparedItem:
        answer = await self._do(plan, "tokenizer", {}, TOKENIZER_TIMEOUT_S)
        where = text(answer, "path") or "its cache"
        advice = ""
        if answer.get("kept") is not True:
            advice = (
                "that folder is emptied at a restart: env = { TIKTOKEN_CACHE_DIR = ... } keeps it"
            )
        state: PrepareState = "there" if answer.get("how") == "there" else "done"
        return _prepared(item, state, f"in {where}", advice)

    async def _data(
        self, item: PrepareItem, plan: RunPlan, folder: str
    ) -> tuple[PreparedItem, Mapping[str, Any]]:
        """Make the task there; return also what it tells of its sandboxes."""
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
        said = f"the task was made with {samples}: what it reads then is there"
        return _prepared(item, "done", said), answer

    async def _images(
        self, item: PrepareItem, plan: RunPlan, told: Mapping[str, Any]
    ) -> PreparedItem:
        kinds = texts(told, "sandboxes")
        files, images = texts(told, "files"), texts(told, "images")
        if not files and not images:
            other = ", ".join(each for each in kinds if each != "docker")
            return _prepared(
                item, "there", f"its sandbox is {other}, not Docker" if other else "it has none"
            )
        answer = await self._do(
            plan, "images", {"files": files, "images": images}, IMAGES_TIMEOUT_S
        )
        rows = objects(answer, "images")
        failed = [row for row in rows if text(row, "how") == "failed"]
        if failed:
            first = f"{text(failed[0], 'what')}: {text(failed[0], 'said')}"
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
            self.say(f"{folder} on {plan.machine} is still there: {error.message}")


_NEEDS: Mapping[ItemKind, tuple[ItemKind, ...]] = {
    ItemKind.PACKAGES: (ItemKind.UV,),
    ItemKind.DATA: (ItemKind.UV, ItemKind.PACKAGES, ItemKind.CODE),
    ItemKind.TOKENIZER: (ItemKind.UV, ItemKind.PACKAGES),
    ItemKind.IMAGES: (ItemKind.DATA,),
}


def _lacking(item: PrepareItem, done: Mapping[PrepareItem, PreparedItem], plan: RunPlan) -> str:
    """Return what an item needs and is not there, in words; empty: nothing."""
    needs = _NEEDS.get(item.what, ())
    return " and ".join(
        each.what
        for each in _items(plan)
        if each.what in needs and each in done and done[each].state in {"failed", "skipped"}
    )


def _of(item: PrepareItem, got: fetch_client.FetchResult) -> PreparedItem:
    said = f"{got.version}: {got.how}"
    return _prepared(item, "there" if got.was_there else "done", said, got.note)


def _prepared(item: PrepareItem, state: PrepareState, said: str, advice: str = "") -> PreparedItem:
    return PreparedItem(item=item, state=state, said=shown(said, 600), advice=shown(advice, 300))
