"""Reads of a process on demand: its tasks, a sample's details, its config, its throughput.

Each takes a `ReadFunction` (for instance `Room.read`) and returns the decoded answer.

All raise:
    NotThere: No such task or sample, or it has not started.
    Unsupported: This Inspect does not have the route.
    RequestFailed: Any other failure (`TooLarge`, `TooBusy`, a timeout, a lost link).
    AnswerMalformed: The answer does not have the expected form.
"""

from collections.abc import Awaitable, Callable, Sequence

from core.ctl import routes
from core.ctl.answer_errors import good_body
from core.ctl.config_envelopes import config_view, throughput
from core.ctl.envelopes import SampleRows, TaskRows, sample_rows, task_rows
from core.ctl.event_cursor import EventFollower, next_reads, take_page
from core.ctl.sample_details import event_page, messages, sample_detail, store
from core.errors import RequestFailed
from core.ids import ProcessKey, SampleKey, TaskKey
from core.model.feature import Feature
from core.model.knobs import ConfigView, Throughput
from core.model.sample_detail import EventPage, Messages, SampleDetail, Store
from core.ports import Reply
from core.text import shown

ReadFunction = Callable[[ProcessKey, str], Awaitable[Reply]]
"""GETs a path of a process's control channel."""

EVENTS_PER_PAGE = 500
"""Events that the server scans for one page."""
EVENTS_PER_REREAD = 100
"""The same in `follow_events`, which reads pages with pending events again and again."""
MAX_PAGES = 2_000
"""Pages that one call of `follow_events` reads."""
MAX_PATH_CHARACTERS = 16_384
"""Characters of the longest path that is sent: it has to fit into the head of a frame."""


async def _ask(
    read: ReadFunction, process: ProcessKey, path: str, what: str, feature: Feature | None = None
) -> bytes:
    if len(path) > MAX_PATH_CHARACTERS:
        raise RequestFailed(f"{what}: its name is too long for a request")
    return good_body(await read(process, path), what, feature)


def _named(sample: SampleKey) -> str:
    return f"sample {shown(sample.sample_id, 60)}/{sample.epoch}"


async def read_tasks(read: ReadFunction, process: ProcessKey) -> TaskRows:
    """Return the task rows of a process."""
    return task_rows(await _ask(read, process, routes.TASKS, "the task list", "tasks"))


async def read_samples(
    read: ReadFunction,
    task: TaskKey,
    eval_id: str,
    *,
    status: Sequence[str] = (),
    limit: int | None = None,
    all_rows: bool = False,
    errors: bool = False,
) -> SampleRows:
    """Return sample rows of an attempt; with `errors`, only those with an error or a retry."""
    path = routes.samples(
        eval_id, status=status, limit=limit, all_rows=True if all_rows else None, errors=errors
    )
    return sample_rows(await _ask(read, task.process, path, "the samples", "samples"))


async def read_sample(
    read: ReadFunction, sample: SampleKey, eval_id: str, *, content: bool = False
) -> SampleDetail:
    """Return one sample and its errors; the text of the errors only with `content`."""
    path = routes.sample(eval_id, sample.sample_id, sample.epoch, content=content or None)
    body = await _ask(read, sample.task.process, path, _named(sample), "sample")
    return sample_detail(body, content=content)


async def read_events(
    read: ReadFunction,
    sample: SampleKey,
    eval_id: str,
    *,
    since: str | None = None,
    tail: int | None = None,
    types: str | None = None,
    limit: int | None = EVENTS_PER_PAGE,
    content: bool = False,
) -> EventPage:
    """Return one page of events; the agent's text only with `content`."""
    path = routes.events(
        eval_id,
        sample.sample_id,
        sample.epoch,
        since=since,
        tail=tail,
        types=types,
        limit=limit,
        content=content or None,
    )
    body = await _ask(read, sample.task.process, path, f"the events of {_named(sample)}", "events")
    return event_page(body, content=content)


async def follow_events(
    read: ReadFunction,
    sample: SampleKey,
    eval_id: str,
    following: EventFollower,
    *,
    types: str | None = None,
    content: bool = False,
) -> EventFollower:
    """Read all new events, and again those that were pending, and return the result.

    Call it again from time to time until the result is `done`. To read content after metadata,
    start with a new `EventFollower`.
    """
    for start in next_reads(following)[:-1]:
        page = await read_events(
            read,
            sample,
            eval_id,
            since=start,
            types=types,
            limit=EVENTS_PER_REREAD,
            content=content,
        )
        restarts = following.restarts
        following = take_page(following, start, page)
        if following.restarts != restarts:
            break  # the other cursors belong to an earlier try of the sample
    for _ in range(MAX_PAGES):
        start = following.since
        page = await read_events(
            read,
            sample,
            eval_id,
            since=start,
            types=types,
            limit=EVENTS_PER_REREAD,
            content=content,
        )
        following = take_page(following, start, page)
        if following.done or page.done or page.next is None or following.since == start:
            break
    return following


async def read_messages(
    read: ReadFunction,
    sample: SampleKey,
    eval_id: str,
    *,
    tail: int | None = None,
    content: bool = False,
) -> Messages:
    """Return a sample's messages; their text only with `content`."""
    path = routes.messages(
        eval_id, sample.sample_id, sample.epoch, tail=tail, content=content or None
    )
    body = await _ask(
        read, sample.task.process, path, f"the messages of {_named(sample)}", "messages"
    )
    return messages(body, content=content)


async def read_store(
    read: ReadFunction,
    sample: SampleKey,
    eval_id: str,
    *,
    keys: Sequence[str] = (),
    content: bool = False,
) -> Store:
    """Return a sample's store; its values only with `content`."""
    path = routes.store(eval_id, sample.sample_id, sample.epoch, keys=keys, content=content or None)
    body = await _ask(read, sample.task.process, path, f"the store of {_named(sample)}", "store")
    return store(body, content=content)


async def read_task_config(read: ReadFunction, task: TaskKey) -> ConfigView:
    """Return the config of a task and of its process."""
    body = await _ask(
        read, task.process, routes.task_config(task.task_id), "the task's config", "task config"
    )
    return config_view(body)


async def read_throughput(read: ReadFunction, process: ProcessKey, window: int = 60) -> Throughput:
    """Return the throughput of a process's models over the last `window` seconds."""
    body = await _ask(
        read, process, routes.throughput(window), "the models' throughput", "throughput"
    )
    return throughput(body)
