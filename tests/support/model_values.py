"""Strategies for any value of the model: tasks, samples, facts, orders and runs."""

from typing import Any

from hypothesis import strategies as st

from core.ids import Address, MachineName, ProcessKey, TaskKey
from core.model.action import Action, Change, Verb
from core.model.log_summary import ErrorGroup, LogCounts, LogSamples, Metric
from core.model.machine import (
    Container,
    Disk,
    Docker,
    Gpu,
    GpuProcess,
    InspectFound,
    MachineFacts,
    Memory,
    SandboxHolder,
    ToolState,
    UnlistedEval,
    UnseenEval,
)
from core.model.operation import Operation
from core.model.order import Instance, Order, OrderState
from core.model.run import Run, RunLog, RunState
from core.model.sample import Activity, Sample, ToolCall
from core.model.task import TaskCounts, TaskRow

MACHINES = [MachineName("h1"), MachineName("h2"), MachineName("h3")]

texts = st.text(max_size=12) | st.sampled_from(
    ["\x1b]52;c;AAAA\x07", "[red]x[/red]", "a\nb\tc", "\u202eevil", "\x9b31m", "", "x" * 5_000]
)
"""Any text that a host can send, and the worst of them often."""
numbers = st.floats(allow_nan=True, allow_infinity=True) | st.just(0.0)
whole = st.integers(-(10**25), 10**25) | st.integers(0, 50)
times = st.floats(0, 4e9)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Or unknown."""
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[Any]:
    """Some of them, as a tuple."""
    return st.lists(strategy, max_size=most).map(tuple)


def process_keys(machines: list[MachineName] = MACHINES) -> st.SearchStrategy[ProcessKey]:
    """Few, so that events meet."""
    return st.builds(
        ProcessKey, st.sampled_from(machines), st.integers(1, 2), st.sampled_from(["a", "\x1b[2J"])
    )


def task_keys(machines: list[MachineName] = MACHINES) -> st.SearchStrategy[TaskKey]:
    """Few, so that events meet."""
    return st.builds(TaskKey, process_keys(machines), st.sampled_from(["t1", "t2", ""]))


activities = st.builds(
    Activity,
    type=st.sampled_from(["model", "tool", "retry_wait", "approval"]) | texts,
    count=whole,
    started_at=maybe(numbers),
    detail=maybe(texts),
    deadline=maybe(numbers),
    calls=tuples(
        st.builds(
            ToolCall,
            id=texts,
            function=texts,
            started_at=maybe(numbers),
            cancel_requested=st.booleans(),
        )
    ),
)

operations = st.builds(
    Operation,
    action=st.sampled_from(["Subprocess", "Model", "Tool Call"]) | texts,
    what=texts,
    words=texts,
    since=numbers,
    task=texts,
    sample=maybe(st.tuples(whole | texts, whole)),
    count=whole,
)

samples = st.builds(
    Sample,
    sample_id=st.integers(1, 4) | texts,
    epoch=st.integers(1, 2) | whole,
    status=st.sampled_from(["running", "completed", "error", "pending", "queued"]) | texts,
    started_at=maybe(numbers),
    completed_at=maybe(numbers),
    total_time=maybe(numbers),
    total_tokens=maybe(whole),
    message_count=maybe(whole),
    turn_count=maybe(whole),
    token_limit_usage=maybe(numbers),
    token_limit_total=maybe(numbers),
    token_limit_type=maybe(texts),
    last_activity_at=maybe(numbers),
    activity=maybe(activities),
    events=maybe(whole),
    scores=maybe(
        st.dictionaries(
            texts, numbers | texts | st.booleans() | st.none() | st.just([1]), max_size=2
        )
    ),
    retries=maybe(whole),
    limit=maybe(texts),
    interrupt=maybe(texts),
    has_error=st.booleans(),
    raw=st.just(b"") | st.binary(max_size=4),
)

task_rows = st.builds(
    TaskRow,
    task_id=st.sampled_from(["t1", "t2", ""]),
    eval_id=st.sampled_from(["e1", "e2"]),
    task=texts,
    model=texts,
    solver=texts,
    log_location=texts,
    status=st.sampled_from(["running", "completed"]) | texts,
    started_at=maybe(numbers),
    completed_at=maybe(numbers),
    paused=tuples(st.sampled_from(["task", "process", "model"]) | texts),
    paused_now=tuples(st.sampled_from(["task", "process", "model"]) | texts),
    quiesced=st.booleans(),
    held=maybe(whole),
    resolving=maybe(texts),
    attempts=whole,
    epochs=maybe(whole),
    samples=st.builds(
        TaskCounts,
        total=whole,
        completed=whole,
        errored=whole,
        cancelled=whole,
        in_flight=maybe(whole),
        queued=maybe(whole),
    ),
    total_tokens=maybe(whole),
    total_messages=maybe(whole),
    refusals=maybe(whole),
    http_retries=maybe(whole),
    keep_alive=maybe(st.booleans()),
    process_paused=maybe(st.booleans()),
    process_paused_now=maybe(st.booleans()),
    paused_models=tuples(texts),
    api_version=maybe(whole),
    raw=st.just(b"") | st.binary(max_size=4),
)

metrics = st.builds(Metric, scorer=texts, name=texts, value=numbers, stderr=maybe(numbers))

facts = st.builds(
    MachineFacts,
    at=numbers,
    cpus=maybe(st.floats(0, 1e4)),
    load=tuples(numbers, 3),
    memory=st.builds(Memory, total=maybe(whole), available=maybe(whole)),
    disks=tuples(st.builds(Disk, path=texts, what=texts, total=maybe(whole), free=maybe(whole)), 1),
    gpus=tuples(
        st.builds(
            Gpu,
            index=whole,
            uuid=maybe(texts),
            name=texts,
            utilisation=maybe(numbers),
            memory_used=maybe(whole),
            memory_total=maybe(whole),
            temperature=maybe(numbers),
            power=maybe(numbers),
            power_limit=maybe(numbers),
            mig=maybe(texts),
            lost=st.booleans(),
            pids=tuples(st.builds(GpuProcess, pid=st.integers(1, 2) | whole, memory=maybe(whole))),
        )
    ),
    gpu_tool=maybe(texts),
    gpu_state=st.sampled_from(ToolState),
    gpu_since=maybe(numbers),
    gpu_error=maybe(texts),
    docker=st.builds(
        Docker,
        state=st.sampled_from(ToolState),
        version=maybe(texts),
        error=maybe(texts),
        since=maybe(numbers),
        containers=tuples(
            st.builds(
                Container,
                id=texts,
                name=texts,
                image=texts,
                status=texts,
                memory=maybe(whole),
                created=maybe(numbers),
                project=st.sampled_from(["", "inspect-task-iabc123", "inspect-gdm_intercod-iabc1"]),
                holder=maybe(
                    st.builds(
                        SandboxHolder,
                        pid=whole,
                        start=texts,
                        task=texts,
                        sample_id=whole | texts,
                        epoch=whole,
                        is_alive=st.booleans(),
                    )
                ),
            ),
            1,
        ),
        total=whole,
        unseen=tuples(st.builds(UnseenEval, pid=whole, start=texts), 1),
        unlisted=tuples(st.builds(UnlistedEval, pid=whole, name=texts, user=texts), 1),
    ),
    inspect=st.builds(
        InspectFound,
        state=st.sampled_from(ToolState),
        version=maybe(texts),
        python=maybe(texts),
        error=maybe(texts),
    ),
)

actions = st.builds(
    Action,
    verb=st.sampled_from(Verb),
    now=st.booleans(),
    manner=maybe(st.sampled_from(["score", "error", "cancel"])),
    completed_only=st.booleans(),
    tool_call=maybe(texts),
    changes=tuples(
        st.builds(Change, knob=texts, value=maybe(st.integers(0, 99)), key=texts, model=texts)
    ),
)


def orders_of(names: list[MachineName]) -> st.SearchStrategy[Order]:
    """Any order to these machines; few ids, so that they meet."""
    return st.builds(
        Order,
        id=st.sampled_from(["o1", "o2", "o3"]),
        plan=st.sampled_from(["p1", "p2"]),
        at=times,
        instance=st.builds(
            Instance,
            host=texts,
            boot=texts,
            pid=st.integers(1, 2**22),
            start=texts,
            operator=texts,
        ),
        address=st.builds(
            Address,
            process=process_keys(names),
            task_id=maybe(st.sampled_from(["t1", "t2"]) | texts),
            sample_id=maybe(st.sampled_from([1, "1"]) | texts),
            epoch=maybe(st.integers(1, 3)),
            model=maybe(texts),
        ),
        action=actions,
        name=texts,
        request=texts,
        command=texts,
        preview=texts,
        basis=st.dictionaries(texts, maybe(texts | whole | numbers | st.booleans()), max_size=3),
        undo=maybe(actions),
        reason=texts,
        is_ours=st.booleans(),
        state=st.sampled_from(OrderState),
        message=texts,
        ended_at=maybe(times),
    )


orders = orders_of(MACHINES)


def log_samples() -> st.SearchStrategy[LogSamples]:
    """Any samples of a log."""
    counts = st.integers(0, 50)
    return st.builds(
        LogSamples,
        counts=st.builds(
            LogCounts,
            total=counts,
            completed=counts,
            errored=counts,
            cancelled=counts,
            abandoned=counts,
            scored=counts,
        ),
        errors=tuples(
            st.builds(ErrorGroup, texts, st.integers(1, 50), st.tuples(whole | texts, whole))
        ),
        rows=tuples(samples, 1),
        cut=counts,
    )


def _run_of(machine: MachineName, number: int, more: dict[str, Any]) -> Run:
    return Run(id=f"{machine}-{number}", machine=machine, **more)


def runs_of(names: list[MachineName]) -> st.SearchStrategy[Run]:
    """Runs whose ids are of their machines: no two machines have one."""
    logs = st.builds(
        RunLog,
        location=texts,
        status=st.sampled_from(["started", "success", "error", "cancelled"]) | texts,
        task=texts,
        model=texts,
        metrics=tuples(metrics),
        completed_samples=maybe(whole),
        total_samples=maybe(whole),
    )
    return st.builds(
        _run_of,
        st.sampled_from(names),
        st.integers(1, 3),
        st.fixed_dictionaries(
            {
                "at": times,
                "operator": texts,
                "state": st.sampled_from(RunState),
                "task": texts,
                "model": texts,
                "is_ours": st.booleans(),
                "spec": st.dictionaries(texts, maybe(texts | whole | st.booleans()), max_size=2),
                "message": texts,
                "pid": maybe(st.integers(1, 2**22)),
                "start": maybe(texts),
                "started_at": maybe(times),
                "ended_at": maybe(times),
                "logs": tuples(logs),
                "attach": tuples(texts),
            }
        ),
    )
