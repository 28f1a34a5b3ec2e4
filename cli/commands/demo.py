"""`evalroom demo`: a small real eval-set on this computer, in the room or with a report."""

import asyncio
import time

from cli.commands.demo_eval import TASKS, Demo, DemoFailed, demo_running
from cli.commands.demo_room import demo_in_the_room
from cli.commands.desk_protocols import DeskReader
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.room import DemoCommand
from cli.render.events import EventLines, score_words
from cli.render.plain import aligned, print_lines
from cli.wiring.desk import desk_running
from cli.wiring.terminal import can_show_room
from core import format as fmt
from core.config.model import Config
from core.events import Event
from core.fleet import Fleet
from core.fold.reflected import reflected
from core.model.task import Task, TaskState
from core.text import shown
from storage.config_text import config_text
from storage.paths import paths

_SETTLE_S = 60.0


def demo(command: DemoCommand, options: GlobalOptions) -> int:
    """Run `evalroom demo`, in the room or headless without a terminal; return the exit status.

    Raises:
        StorageError: The eval-set can't be started.
        DemoFailed: Headless: a task did not succeed.
    """
    if command.headless or not can_show_room():
        return run_loop(_headless(command, options))
    more = ["--read-only"] if options.read_only else []
    if options.record is not None:
        more += ["--record", str(options.record.absolute())]
    return demo_in_the_room(
        command.seconds,
        config_text=lambda started: config_text(_config(started, options)),
        options=more,
        crashes=paths().crashes,
    )


async def _headless(command: DemoCommand, options: GlobalOptions) -> int:
    async with (
        demo_running(command.seconds) as started,
        desk_running(_config(started, options), options) as desk,
    ):
        return await watch_to_the_end(desk, started)


def _config(started: Demo, options: GlobalOptions) -> Config:
    return Config(machines=(started.machine(),), read_only=options.read_only)


async def watch_to_the_end(desk: DeskReader, demo: Demo) -> int:
    """Print events and then a report of the demo, as the desk sees them; return 0.

    Raises:
        DemoFailed: A task did not succeed.
    """
    began = time.monotonic()
    about = f"pid {demo.pid}, about {demo.seconds:.0f} s"
    print_lines([f"running a small eval-set on this computer ({about})"])
    sentences = EventLines(only_trouble=True)

    def on_event(event: Event) -> None:
        kept = reflected(desk.fleet, event)
        if kept is not None:
            print_lines(sentences.of(kept))

    stop = desk.listen(on_event)
    try:
        ended = await _ended(desk, demo)
    finally:
        stop()
    fleet = desk.fleet
    print_lines(report(fleet, demo, time.monotonic() - began))
    tasks = tasks_of(fleet, demo.pid)
    bad = [each for each in tasks if each.state is not TaskState.SUCCESS]
    if not ended or bad or len(tasks) < len(TASKS):
        states = ", ".join(f"{shown(each.row.task)} {each.state}" for each in bad)
        raise DemoFailed(
            f"the eval-set did not succeed ({states or 'its tasks never appeared'})",
            demo.last_errors(),
        )
    return 0


async def _ended(desk: DeskReader, demo: Demo) -> bool:
    """Wait until the demo has ended and every log was read; return False after a timeout."""
    try:
        async with asyncio.timeout(3 * demo.seconds + _SETTLE_S):
            while demo.exit_status is None:  # noqa: ASYNC110 - asyncio has no event for this child's end
                await asyncio.sleep(0.2)
        async with asyncio.timeout(_SETTLE_S):
            while not _is_settled(desk.fleet, demo.pid):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.2)
    except TimeoutError:
        return False
    return True


def _is_settled(fleet: Fleet, pid: int) -> bool:
    tasks = tasks_of(fleet, pid)
    return len(tasks) >= len(TASKS) and all(task.is_over for task in tasks)


def tasks_of(fleet: Fleet, pid: int) -> list[Task]:
    """Return the tasks of the demo's process."""
    return [task for key, task in fleet.tasks.items() if key.process.pid == pid]


def report(fleet: Fleet, demo: Demo, took: float) -> list[str]:
    """Return a report as lines: each task with its status and scores from its log.

    Args:
        fleet: All that is known.
        demo: The demo whose tasks are reported.
        took: How long the demo was watched, seconds.
    """
    rows = [["task", "ended as", "scored", "errored", "retried", "tokens", "score"]]
    for task in tasks_of(fleet, demo.pid):
        again = sum(each.retries or 0 for each in task.samples.values())
        header = task.header
        scored = f"{header.completed_samples}/{header.total_samples}" if header else "unknown"
        scores = " ".join(score_words(header.metrics)) if header else ""
        rows.append(
            [
                shown(task.row.task),
                str(task.state),
                scored,
                fmt.count(task.progress.errored),
                fmt.count(again),
                fmt.count(task.total_tokens or 0),
                scores or "none",
            ]
        )
    return ["", *aligned(rows, right=(2, 3, 4, 5)), "", f"watched for {took:.0f} s"]
