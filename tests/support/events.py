"""Strategies for any event."""

from collections.abc import Mapping
from typing import Any, get_args

from hypothesis import strategies as st

from core import events as ev
from core.finding_events import FindingsAcknowledged, FindingsMerged, FindingsMuted, SameFinding
from core.ids import MachineName, SampleKey
from core.model.log_summary import LogHeader
from core.model.machine import (
    LinkState,
    ProbeFound,
)
from core.model.mute import Mute
from core.model.order import OrderState
from core.model.process import ProcessState
from core.model.sample import SampleCounts
from core.task_events import CausesSeen, SpinUpTimed
from tests.support.model_values import (
    MACHINES,
    facts,
    log_samples,
    maybe,
    metrics,
    numbers,
    operations,
    orders_of,
    process_keys,
    runs_of,
    samples,
    task_keys,
    task_rows,
    texts,
    times,
    tuples,
    whole,
)

KINDS: tuple[type[ev.Event], ...] = get_args(ev.Event)


def _strategies(names: list[MachineName]) -> Mapping[type[ev.Event], st.SearchStrategy[Any]]:
    machine = st.sampled_from(names)
    process, task = process_keys(names), task_keys(names)
    fields: dict[type[ev.Event], dict[str, st.SearchStrategy[Any]]] = {
        ev.MachineNamed: {
            "machine": machine,
            "address": texts,
            "kind": st.sampled_from(["asyncssh", "command"]),
            "tags": tuples(texts),
            "read_only": st.booleans(),
            "production": st.booleans(),
        },
        ev.LinkChanged: {
            "machine": machine,
            "state": st.sampled_from(LinkState),
            "reason": maybe(texts),
            "advice": maybe(texts),
            "retry_at": maybe(times),
            "fingerprint": maybe(texts),
        },
        ev.LinkHeard: {"machine": machine},
        ev.ProbeAnswered: {
            "machine": machine,
            "probe": st.builds(
                ProbeFound,
                python=texts,
                host=texts,
                platform=texts,
                user=texts,
                pid=whole,
                clock_offset=numbers,
            ),
        },
        ev.MachineRead: {"machine": machine, "facts": facts},
        ev.ProcessSeen: {
            "process": process,
            "state": st.sampled_from(ProcessState),
            "run_id": maybe(texts),
            "started_at": maybe(numbers),
            "api_version": maybe(whole),
            "socket_path": maybe(texts),
            "data_dir": maybe(texts),
            "argv": tuples(texts | st.just("/usr/bin/inspect")),
            "cwd": maybe(texts),
            "python": maybe(texts),
            "waiting_since": maybe(numbers),
        },
        ev.ProcessesCut: {"machine": machine, "left_out": whole},
        ev.ProcessGone: {"process": process, "last_seen_at": maybe(numbers)},
        ev.DeadEvalFound: {
            "process": process,
            "logs": tuples(texts),
            "last_written_at": numbers,
            "started_at": maybe(numbers),
            "run_id": maybe(texts),
            "data_dir": maybe(texts),
        },
        ev.TasksSeen: {
            "process": process,
            "as_of": numbers,
            "rows": tuples(task_rows),
            "malformed": tuples(texts, 1),
            "left_out": whole,
        },
        ev.SamplesSeen: {
            "task": task,
            "eval_id": st.sampled_from(["e1", "e2"]),
            "as_of": numbers,
            "counts": st.builds(SampleCounts, running=whole, completed=whole, error=whole),
            "rows": tuples(samples, 3),
            "whole": st.booleans(),
            "truncated": st.booleans(),
            "malformed": tuples(texts, 1),
        },
        ev.ReadsUnchanged: {
            "machine": machine,
            "tasks": tuples(st.tuples(process, numbers)),
            "samples": tuples(st.tuples(task, numbers)),
        },
        ev.ReadFailed: {"process": process, "what": texts, "reason": texts},
        ev.OperationsSeen: {"process": process, "operations": tuples(operations)},
        ev.LogRead: {
            "task": task,
            "header": st.builds(
                LogHeader,
                location=texts,
                status=st.sampled_from(["started", "success", "error", "cancelled"]) | texts,
                eval_id=st.sampled_from(["e1", "e2", ""]),
                metrics=tuples(metrics),
                completed_samples=maybe(whole),
                total_samples=maybe(whole),
                has_error=st.booleans(),
                cause=texts,
            ),
            "samples": st.none() | log_samples(),
            "trouble": texts,
        },
        ev.LogUnreadable: {"task": task, "reason": texts},
        ev.ScoreSeen: {"task": task, "metrics": tuples(metrics)},
        CausesSeen: {
            "task": task,
            "eval_id": st.sampled_from(["e1", "e2"]),
            "as_of": numbers,
            "causes": tuples(st.tuples(whole | texts, whole, texts)),
        },
        SpinUpTimed: {"task": task, "name": texts, "model": texts, "seconds": times},
        ev.Dismissed: {"process": process},
        ev.ClockMoved: {"machine": machine, "offset": st.floats(-1e6, 1e6)},
        FindingsAcknowledged: {"findings": tuples(texts)},
        FindingsMerged: {
            "same": tuples(st.builds(SameFinding, own=texts, id=texts, opened_at=times))
        },
        FindingsMuted: {
            "id": texts,
            "mute": st.builds(Mute, until=times, finding=texts, kind=texts, task=st.none() | task),
        },
        ev.ContentRevealed: {
            "sample": st.builds(SampleKey, task, whole | texts, whole),
            "eval_id": texts,
            "operator": texts,
        },
        ev.SurfaceRead: {"process": process, "can": tuples(texts)},
        ev.OrderGiven: {"order": orders_of(names)},
        ev.OrderEnded: {
            "order": st.sampled_from(["o1", "o2", "o3"]),
            "state": st.sampled_from(OrderState),
            "message": texts,
        },
        ev.RunChanged: {"run": runs_of(names)},
        ev.TimePassed: {"keep_gone": st.sampled_from([0.0, 86_400.0])},
    }
    return {kind: st.builds(kind, at=times, **of) for kind, of in fields.items()}


BY_KIND = _strategies(MACHINES)
"""A strategy for every kind of event."""


def any_event(names: list[MachineName] = MACHINES) -> st.SearchStrategy[Any]:
    """Any event of these machines; TimePassed is of all of them and left out."""
    strategies = _strategies(names)
    return st.one_of([each for kind, each in strategies.items() if kind is not ev.TimePassed])
