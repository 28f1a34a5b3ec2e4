"""Reads of a process on demand: one sample's insides, knobs, throughput, score.

Each asks through a `Read` (`Room.read`, bound to nothing) and returns what the answer says.

All raise:
    NotThere: There is no such task or sample, or it has not started.
    Unsupported: That Inspect has no such route.
    RequestFailed: Any other failure (`TooLarge`, `TooBusy`, a deadline, a lost link).
    AnswerMalformed: The answer is not what it should be.
"""

from collections.abc import Awaitable, Callable, Sequence

from core.ctl import routes
from core.ctl.answers import good_body
from core.ctl.details import event_page, messages, sample_detail, scoring_pass, store
from core.ctl.envelopes import SampleRows, TaskRows, sample_rows, task_rows
from core.ctl.following import Following, next_reads, take_page
from core.ctl.knobs import config_view, throughput
from core.ctl.versions import Surface, surface
from core.errors import NotThere
from core.ids import ProcessKey, SampleKey, TaskKey
from core.model.detail import EventPage, Messages, SampleDetail, ScoringPass, Store
from core.model.knobs import ConfigView, Throughput
from core.ports import Reply
from core.text import shown

Read = Callable[[ProcessKey, str], Awaitable[Reply]]
"""GET a path of a process's control channel."""

PAGE = 500
"""Events that one page scans."""
FOLLOW_PAGE = 100
"""The same while following: pages with pending events are read again and again."""
PAGES = 2_000
"""Pages that one call reads at most."""


def _named(sample: SampleKey) -> str:
    return f"sample {shown(sample.sample_id, 60)}/{sample.epoch}"


async def read_tasks(read: Read, process: ProcessKey) -> TaskRows:
    """Return the task rows of a process."""
    return task_rows(good_body(await read(process, routes.TASKS), "the task list"))


async def read_samples(
    read: Read,
    task: TaskKey,
    eval_id: str,
    *,
    status: Sequence[str] = (),
    limit: int | None = None,
    all_rows: bool = False,
    errors: bool = False,
) -> SampleRows:
    """Return sample rows of an attempt; with `errors`, those with an error or retries alone."""
    path = routes.samples(
        eval_id, status=status, limit=limit, all_rows=True if all_rows else None, errors=errors
    )
    return sample_rows(good_body(await read(task.process, path), "the samples"))


async def read_sample(
    read: Read, sample: SampleKey, eval_id: str, *, content: bool = False
) -> SampleDetail:
    """Return one sample and its errors; their words only with `content`."""
    path = routes.sample(eval_id, sample.sample_id, sample.epoch, content=content or None)
    reply = await read(sample.task.process, path)
    return sample_detail(good_body(reply, _named(sample)), content=content)


async def read_events(
    read: Read,
    sample: SampleKey,
    eval_id: str,
    *,
    since: str | None = None,
    tail: int | None = None,
    types: str | None = None,
    limit: int | None = PAGE,
    content: bool = False,
) -> EventPage:
    """Return one page of events; what the agent wrote only with `content`."""
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
    reply = await read(sample.task.process, path)
    return event_page(good_body(reply, f"the events of {_named(sample)}"), content=content)


async def follow_events(
    read: Read,
    sample: SampleKey,
    eval_id: str,
    following: Following,
    *,
    types: str | None = None,
    content: bool = False,
) -> Following:
    """Return what is known after reading all that is new now, and what was pending before.

    Call it again every now and then until it is `done`. Following metadata first and then
    content is another following: start with a new one.
    """
    for start in next_reads(following)[:-1]:
        page = await read_events(
            read, sample, eval_id, since=start, types=types, limit=FOLLOW_PAGE, content=content
        )
        restarts = following.restarts
        following = take_page(following, start, page)
        if following.restarts != restarts:
            break  # the cursors left are of a try that is over
    for _ in range(PAGES):
        start = following.since
        page = await read_events(
            read, sample, eval_id, since=start, types=types, limit=FOLLOW_PAGE, content=content
        )
        following = take_page(following, start, page)
        if following.done or page.done or page.next is None or following.since == start:
            break
    return following


async def read_messages(
    read: Read,
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
    reply = await read(sample.task.process, path)
    return messages(good_body(reply, f"the messages of {_named(sample)}"), content=content)


async def read_store(
    read: Read,
    sample: SampleKey,
    eval_id: str,
    *,
    keys: Sequence[str] = (),
    content: bool = False,
) -> Store:
    """Return a sample's store; its values only with `content`."""
    path = routes.store(eval_id, sample.sample_id, sample.epoch, keys=keys, content=content or None)
    reply = await read(sample.task.process, path)
    return store(good_body(reply, f"the store of {_named(sample)}"), content=content)


async def read_task_config(read: Read, task: TaskKey) -> ConfigView:
    """Return the knobs of a task, and those of its process."""
    reply = await read(task.process, routes.task_config(task.task_id))
    return config_view(good_body(reply, "the task's config"))


async def read_process_config(read: Read, process: ProcessKey) -> ConfigView:
    """Return the knobs of a process."""
    reply = await read(process, routes.PROCESS_CONFIG)
    return config_view(good_body(reply, "the process's config"))


async def read_throughput(read: Read, process: ProcessKey, window: int = 60) -> Throughput:
    """Return what the models of a process got through in the last `window` seconds."""
    reply = await read(process, routes.throughput(window))
    return throughput(good_body(reply, "the models' throughput"))


async def read_task_score(read: Read, task: TaskKey) -> ScoringPass | None:
    """Return the last scoring of a task while it runs; None: it was never scored so."""
    reply = await read(task.process, routes.task_score(task.task_id))
    try:
        return scoring_pass(good_body(reply, "the running score"))
    except NotThere:
        return None


async def read_surface(read: Read, process: ProcessKey) -> Surface:
    """Return which routes and parameters a process has."""
    return surface(good_body(await read(process, routes.OPENAPI), "the list of routes"))
