"""The page of one sample, from its row; its events, messages and store are read when opened."""

from collections.abc import Iterator

from core import format as fmt
from core.ctl.acp import can_be_steered, steering_line
from core.fleet import Fleet
from core.ids import SampleKey
from core.views.cells import UNKNOWN, Cell, Span, count_cell, span_of
from core.views.pages.page import Fact, Page, fact, page, section, words
from core.views.tables.row_context import SampleLine, task_line
from core.views.tables.samples import doing, idle, limits, scores, status_word, time_taken

_SHOWN_CALLS = 20
_COMMAND = 1_000


def sample_page(fleet: Fleet, key: SampleKey, now: float) -> Page:
    """Return a sample's page; `now` is Unix seconds at the desk."""
    task = task_line(fleet, key.task, now)
    name = (task.task.row.task if task is not None else "") or "a task"
    heading = f"Sample {key.sample_id} epoch {key.epoch} of {name} on {key.task.machine}"
    sample = task.task.samples.get((key.sample_id, key.epoch)) if task is not None else None
    if task is None or sample is None:
        why = "the task's list does not contain this sample; its details are read from the process"
        return page(heading, (section("", (words("", why, "dim"),)),))
    line = SampleLine.of(fleet, task, sample)
    return page(
        heading,
        (
            section("Sample", (*_facts(line), *_steering(fleet, key, name))),
            section("Tool calls", _calls(line)),
        ),
    )


def _steering(fleet: Fleet, key: SampleKey, task: str) -> Iterator[Fact]:
    """Yield the command that steers the sample, if its eval has an ACP server."""
    process = fleet.processes.get(key.task.process)
    machine = fleet.machines.get(key.task.machine)
    if machine is not None and machine.read_only:
        return
    if process is not None and process.ended_at is None and can_be_steered(process):
        yield words("steer", steering_line(process, key, task), "key", _COMMAND)


def _facts(line: SampleLine) -> Iterator[Fact]:
    sample = line.sample
    yield fact("status", (status_word(line),))
    yield fact("activity", doing(line))
    yield fact("time", _lasting(time_taken(line)))
    yield fact("last active", _ago(idle(line)))
    yield fact("turns", count_cell(sample.turn_count))
    yield fact("messages", count_cell(sample.message_count))
    yield fact("tokens", count_cell(sample.total_tokens))
    yield fact("events", count_cell(sample.events))
    yield fact("retries", count_cell(sample.retries, "warning", zero="plain"))
    yield fact("limit", limits(sample))
    yield fact("scores", scores(sample))
    if sample.interrupt:
        yield words("stopping", sample.interrupt, "warning")
    if sample.has_error:
        yield words("error", "this sample has an error; ! shows it", "error")


def _calls(line: SampleLine) -> Iterator[Fact]:
    activity = line.sample.activity
    for call in activity.calls[:_SHOWN_CALLS] if activity is not None else ():
        lasted = UNKNOWN
        if line.clock is not None and call.started_at is not None:
            lasted = _lasting(line.clock - call.started_at)
        asked = (span_of("  cancel requested", "warning"),) if call.cancel_requested else ()
        yield fact(call.function, (*lasted, *asked, span_of(f"  {call.id}", "dim")))


def _lasting(seconds: float | None) -> Cell:
    number = fmt.sane(seconds)
    return UNKNOWN if number is None else (Span(fmt.duration(number)),)


def _ago(seconds: float | None) -> Cell:
    number = fmt.sane(seconds)
    return UNKNOWN if number is None else (span_of(f"{fmt.duration(number)} ago"),)
