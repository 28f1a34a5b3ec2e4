"""Findings about orders: interrupts until the process has ended, and unknown outcomes."""

from collections.abc import Iterable
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.judge.finding_list import closed, open_finding
from core.model.action import Verb
from core.model.finding import Finding, Severity, occurrence_id, worse
from core.model.order import Order, OrderState
from core.model.process import ProcessState
from core.text import shown


def judge_order(after: Fleet, order_id: str, at: float) -> Iterable[Finding]:
    """Yield the findings about an order that has an outcome, or whose outcome is unknown."""
    order = next((each for each in after.orders if each.id == order_id), None)
    if order is None:
        return
    known = open_finding(after, _unknown_id(order))
    what = f"{order.action.verb} of {order.name}"
    if order.state is OrderState.UNKNOWN and known is None:
        yield _finding(
            order,
            _unknown_id(order),
            "order",
            sentences(f"The outcome of an order is unknown: {what}", order.message),
            at,
        )
    elif known is not None and order.state is not OrderState.UNKNOWN:
        now_known = f"The outcome of an order is now known: {what}, {order.state}"
        yield closed(known, at, sentences(now_known, order.message))
    if order.action.verb is Verb.INTERRUPT and order.state is OrderState.DONE:
        process = order.address.process
        if open_finding(after, f"{_interrupt_id(process)}:") is None:
            pid = process.pid
            yield _finding(
                order,
                occurrence_id(_interrupt_id(process), at),
                "interrupt",
                f"Process {pid} was interrupted and is writing its logs",
                at,
            )


_CLOSES_WHEN = {
    "order": "its outcome is known",
    "interrupt": "its process has ended, and its logs are read",
}


def _finding(order: Order, name: str, kind: str, text: str, at: float) -> Finding:
    process = order.address.process
    task_id = order.address.task_id
    return Finding(
        id=name,
        kind=kind,
        severity="suspect",
        opened_at=at,
        machine=process.machine,
        process=process,
        task=None if task_id is None else TaskKey(process, task_id),
        text=shown(text, 600),
        closes_when=_CLOSES_WHEN[kind],
    )


def _unknown_id(order: Order) -> str:
    return f"order:{order.id}"


def _interrupt_id(process: ProcessKey) -> str:
    return f"interrupt:{process.machine}:{process.pid}:{process.start}"


def judge_interrupted(after: Fleet, key: ProcessKey, at: float) -> Iterable[Finding]:
    """Yield the finding about an interrupt after its process or one of its logs changed."""
    found = open_finding(after, f"{_interrupt_id(key)}:")
    process = after.processes.get(key)
    if found is None or process is None:
        return
    match process.state:
        case ProcessState.HEADLESS:
            text = (
                f"Process {key.pid} was interrupted and its control server is gone, but it is"
                " still running. It may be ignoring SIGINT; its eval then continues unobserved."
            )
            yield from _renewed(found, text, "alarm", at)
        case ProcessState.GONE:
            tasks = [after.tasks[task] for task in process.tasks if task in after.tasks]
            if all(task.is_over for task in tasks):
                states = ", ".join(sorted({str(task.state) for task in tasks}))
                logs = f"its logs have the status {states}" if states else "it had no tasks"
                text = f"Process {key.pid} was interrupted and has ended; {logs}"
                yield closed(found, at, text)
            else:
                text = f"Process {key.pid} was interrupted and has ended; reading its logs"
                yield from _renewed(found, text, "suspect", at)
        case _:
            return


def _renewed(found: Finding, text: str, severity: Severity, at: float) -> Iterable[Finding]:
    if found.text != text:
        yield replace(found, text=text, severity=worse(found.severity, severity), changed_at=at)
