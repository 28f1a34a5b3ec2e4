"""Why rows stand still: polls that wait long, because the eval's answers take long."""

from core.fleet import Fleet
from core.format import duration_in_words
from core.ids import TaskKey
from core.model.process import Process, SlowPoll

_PAUSE_PER_ANSWER = 250
"""A pause that is more times as long as the poll's own answer has another cause."""


def slow_poll_words(poll: SlowPoll) -> str:
    """Return the pause of a poll and its cause, without a subject.

    Polls of one eval share a budget, so that other answers may be the cause.
    """
    wait = duration_in_words(poll.wait)
    if poll.wait > _PAUSE_PER_ANSWER * poll.answer:
        return f"polled every {wait}, because other answers of the eval took long"
    return f"polled every {wait}, because the last answer took {poll.answer:.1f}s"


def polls_of_task(process: Process | None, task_id: str) -> tuple[SlowPoll, ...]:
    """Return the slow polls that the row and the samples of a task come from."""
    if process is None or process.is_gone:
        return ()
    return tuple(each for each in process.slow_polls if each.task_id in {None, task_id})


def slow_polls(fleet: Fleet, process: Process) -> tuple[tuple[str, SlowPoll], ...]:
    """Return the slow polls of a process, each with its subject and its verb."""
    if process.is_gone:
        return ()
    return tuple((_subject(fleet, process, each), each) for each in process.slow_polls)


def _subject(fleet: Fleet, process: Process, poll: SlowPoll) -> str:
    if poll.task_id is None:
        return "its tasks are"
    task = fleet.tasks.get(TaskKey(process.key, poll.task_id))
    return f"samples of {task.row.task or poll.task_id if task else poll.task_id} are"
