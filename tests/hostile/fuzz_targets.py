"""What the fuzzers feed: each reader of bytes that evalroom did not write, and bytes it takes."""
# pyright: standard
# The shipped programs have no types.

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from core.config.file import check_config
from core.ctl import (
    config_envelopes,
    decode,
    envelopes,
    error_causes,
    log_answers,
    sample_details,
)
from core.desk.past import Past, with_past
from core.errors import EvalroomError
from core.event_codec import event_of, line_of, plain_mapping
from core.finding_events import FindingsMuted
from core.fleet import Fleet
from core.frames import Splitter
from core.guide.guide import Guide
from core.ids import MachineName
from core.judge.finding_list import with_findings
from core.judge.kinds import all_rules, kind_names
from core.launch.engines.registry import engine_named
from core.launch.engines.start_failures import reason_in, start_failure
from core.launch.engines.tmux_sessions import parse_sessions
from core.launch.preflight.survey_facts import parse_survey
from core.launch.run.run_logs import after_logs
from core.launch.run.run_state import after_poll
from core.launch.spec.spec_reader import check_spec
from core.launch.spec.templates import BUILT_IN_TEMPLATES
from core.model.action import Action
from core.model.mute import Mute
from core.model.order import Instance, Order
from core.model.run import Run, RunState
from core.program_answers import AnswerReader, objects_in
from core.strict_json import decode as decode_json
from core.views.look import look_at, look_of_json, look_to_json
from core.views.pages.run_page import run_page
from core.views.tables.findings import findings_table
from core.views.tables.machines import machines_table
from core.watch.machine_facts import read_facts, read_hello
from core.watch.process_list import process_reports
from ssh.links.config_lines import ConfigProblem
from ssh.links.config_tokens import LocalAccount
from ssh.links.resolved_host import resolved_host
from ssh.links.ssh_query import read_options
from ssh.shipped.common.reservations import is_same_process
from ssh.shipped.common.script_answers import answers_in
from ssh.shipped.probe.records import checked_record
from storage.past import finding_body, finding_of
from tests.hostile.fuzz_probe import Fuzzed, probe_targets
from tests.hostile.history import FINDING, GUIDE, RUN
from tests.support.fleets import (
    NOW,
    facts,
    fleet_after,
    link,
    named,
    process_gone,
    process_seen,
    running_fleet,
    task_row,
    tasks_seen,
)
from tests.support.judged_screens import Judged, judged_texts
from tests.support.observing import ROW
from tests.support.orders import order
from tests.support.tree import ROOT
from tui.keys.table import KEYS_BY_NAME
from tui.view_state import saved_view_of

NONCE = "0123456789abcdef"
REFUSALS = (EvalroomError,)
"""What a target may answer to bytes that it does not take."""

TASK = {
    "task_id": "t1", "eval_id": "e1", "task": "gpqa", "model": "m", "status": "running",
    "samples": {"total": 3, "completed": 1, "errored": 0}, "total_tokens": 12, "as_of": 1.5,
    "metrics": [{"scorer": "s", "name": "accuracy", "value": 0.5}],
}  # fmt: skip
SAMPLE = {
    "id": "a", "epoch": 1, "status": "running", "total_time": 1.0, "total_tokens": 4,
    "activity": {"kind": "tool", "calls": [{"id": "c", "function": "bash", "started_at": 1.0}]},
    "scores": {"s": 1.0}, "error": None,
}  # fmt: skip
RUNNING = {
    "sample_id": 1, "epoch": 1, "status": "running", "started_at": NOW - 4000, "turn_count": 3,
    "activity": {"type": "tool", "count": 1, "started_at": NOW - 3000, "detail": "bash",
                 "calls": [{"id": "c", "function": "bash", "started_at": NOW - 3000}]},
}  # fmt: skip
CONTAINER = {
    "id": "abc", "name": "x", "image": "y", "status": "Up 2 hours", "memory": 5, "created": 1.0,
    "is_running": True, "project": "inspect-ctf-iabcdef",
    "holder": {"pid": 7, "start": "b:1", "task": "ctf", "sample_id": 1, "epoch": 1,
               "is_alive": True},
}  # fmt: skip
MEMORY = {"total": 100, "available": 1, "swap_total": 0, "swap_free": 0}
LOG = {
    "log": "/x.eval",
    "header": {"status": "error", "eval": {"eval_id": "e", "task": "t"}, "error": "ValueError: 1",
               "started_at": "2026-11-30T10:00:00+00:00", "results": {"total_samples": 3}},
    "samples": {"counts": {"total": 2, "completed": 1, "errored": 1},
                "errors": [["ValueError", 1, "a", 1]], "rows": [RUNNING]},
}  # fmt: skip
ORDER = order("o")
RECORD = {"pid": 4, "run_id": "r", "started_at": 1.0, "api_version": 8}
PROCESS = {
    "pid": 4, "start": "abcdef01-3", "state": "live", "argv": ["inspect", "eval"], "cwd": "/x",
    "record": RECORD,
}  # fmt: skip


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _plain_of(value: object) -> object:
    return msgspec.to_builtins(value, enc_hook=plain_mapping)


def _frames(data: bytes) -> None:
    splitter = Splitter()
    for at in range(0, len(data), 97):
        for frame in splitter.feed(data[at : at + 97]):
            assert isinstance(frame.kind, str)
            read_hello(frame.head, 1.0)


def _answers(data: bytes) -> None:
    for read in (
        envelopes.task_rows, envelopes.sample_rows, envelopes.score_metrics,
        error_causes.read_causes,
        config_envelopes.config_view, config_envelopes.throughput, read_facts,
    ):  # fmt: skip
        with contextlib.suppress(*REFUSALS):
            read(data)
    for content in (False, True):
        for read_more in (
            sample_details.sample_detail, sample_details.event_page, sample_details.messages,
            sample_details.store,
        ):  # fmt: skip
            with contextlib.suppress(*REFUSALS):
                read_more(data, content=content)


def _objects(data: bytes) -> None:
    """Answers that are objects: of the survey, of the log script, of the list of processes."""
    with contextlib.suppress(*REFUSALS):
        answer = decode.parse_object(data)
        for read in (parse_survey, log_answers.log_reading, log_answers.log_samples):
            with contextlib.suppress(*REFUSALS):
                read(answer)
    with contextlib.suppress(*REFUSALS):
        process_reports(MachineName("m"), data, at=1.0)
    reader = AnswerReader(10_000, nonce=NONCE)
    with contextlib.suppress(*REFUSALS):
        for at in range(0, len(data), 61):
            reader.feed(data[at : at + 61])
    text = data.decode("utf-8", "replace")
    list(objects_in(text, "pid"))
    answers_in(text, NONCE)


def _records(data: bytes) -> None:
    """Files that an eval or another account left on a machine, and lines of a recording."""
    with contextlib.suppress(ValueError, RecursionError):
        record: Any = json.loads(data.decode("utf-8"))
        with contextlib.suppress(ValueError):
            checked_record(record)
        if isinstance(record, dict):
            for pid, start in record.items():
                is_same_process(pid, start)
    with contextlib.suppress(ValueError, *REFUSALS):
        event = event_of(data.decode("utf-8", "replace"))
        assert event_of(line_of(event)) == event or "nan" in line_of(event).lower()


def _runs(data: bytes) -> None:
    """Rows of the launcher about a run, the output of its start, and lists of tmux."""
    text = data.decode("utf-8", "replace")
    parse_sessions(text)
    start_failure(text)
    reason_in(text)
    for engine in ("detach", "tmux"):
        with contextlib.suppress(*REFUSALS):
            engine_named(engine).read(0, text, text)
    with contextlib.suppress(*REFUSALS):
        row = decode.parse_object(data)
        run = after_poll(RUN, row, 20.0, is_abandoned=False)
        for known in (run, replace(run, state=RunState.FINISHING)):
            for is_alive in (False, True):
                read = after_logs(known, row, 20.0, is_alive=is_alive, offset=3.0)
                run_page(Fleet(), read, 30.0)


def _history(data: bytes) -> None:
    """Rows of the history, as the room reads and draws them."""
    text = data.decode("utf-8", "replace")
    found = finding_of(text)
    if found is not None:
        fleet = with_findings(running_fleet(), [found])
        list(judged_texts(fleet, NOW))
        findings_table(fleet, NOW)
    for kind in (Guide, Run, Instance, Action, Order):
        with contextlib.suppress(ValueError):
            decode_json(text, kind)
    with contextlib.suppress(ValueError):
        past = Past(events=(event_of(text),))
        with_past(fleet_after(named()), past)
    look_of_json({"look": _plain(data)})
    kept = _plain(data)
    saved_view_of(kept if isinstance(kept, dict) else {})


def _plain(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _screens(data: bytes) -> None:
    """Any body in the frames of a probe, folded, judged and drawn."""
    seen = Judged()
    seen.hello()
    seen.processes({})
    seen.steer()
    seen.answer("tasks", [ROW])
    before = look_at(seen.fleet, seen.now)
    seen.steer(focus=next(iter(seen.fleet.tasks)))
    names = list(seen.set)
    for turn in range(2):
        seen.now = NOW + 600 * turn
        for name in names:
            seen.receive("answer", data, pid=7, start="b:1", name=name, status=200, took=0.1)
        for kind in ("facts", "doing", "processes"):
            seen.receive(kind, data, pid=7, start="b:1")
        seen.pass_time()
    list(judged_texts(seen.fleet, seen.now, before))
    machines_table(seen.fleet, seen.now)


def _ssh(data: bytes) -> None:
    """What `ssh -G` prints of a config."""
    options = read_options(data.decode(errors="surrogateescape"))
    account = LocalAccount(user="op", home="/home/op", uid=1000)
    with contextlib.suppress(ConfigProblem):
        resolved_host("h", options, account, is_expanded=True)


def _specs(data: bytes) -> None:
    spec, wrong = check_spec(data.decode("utf-8", "replace"), "s.toml")
    assert spec is not None or wrong


def _config(data: bytes) -> None:
    config, wrong = check_config(
        data.decode("utf-8", "replace"),
        Path("/c/config.toml"),
        actions=KEYS_BY_NAME,
        judged=all_rules(),
        kinds=kind_names(),
    )
    assert config.machines or wrong


def _config_example() -> bytes:
    text = (ROOT / "config.example.toml").read_text()
    return "\n".join(line.removeprefix("# ") for line in text.splitlines()).encode()


def targets() -> Mapping[str, Fuzzed]:
    """Return all targets by name."""
    frame = b'{"v":1,"kind":"state","pid":4,"start":"x","name":"tasks","body":2}\n[]'
    hello = _json({"v": 1, "kind": "hello", "pid": 1, "at": 2.0, "host": "h", "body": 0}) + b"\n"
    part = b'{"v":1,"kind":"reply","id":1,"part":0,"parts":2,"body":3}\nabc'
    answer = f"evalroom-answer {NONCE} 10 {{'pid': 4}} evalroom-end\n".replace("'", '"').encode()
    happened = (named(), link(), facts(), process_seen(), tasks_seen(task_row()), process_gone())
    events = [line_of(each).encode() for each in happened]
    lock = _json({"v": 1, "run": "r", "pids": {"1": "x-1", "999999": 3}, "gpu": 0})
    record = _json({**RECORD, "socket_path": "/x/4.sock"})
    config = [
        _config_example(),
        b'[[machines]]\nname = "h"\nlink = "command"\ncommand = ["ssh", "h"]\n',
    ]
    return {
        "frames": Fuzzed(_frames, [frame, hello, part, frame + hello + part]),
        "answers": Fuzzed(
            _answers,
            [_json([TASK]), _json({"tasks": [TASK]}), _json({"samples": [SAMPLE], "as_of": 2}),
             _json(SAMPLE), _json({"events": [{"event": "model", "timestamp": 1}], "cursor": "c"}),
             _json({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
             _json({"limits": [{"name": "max_samples", "value": 4}]}),
             _json({"gpus": [{"index": 0, "uuid": "GPU-a"}], "memory": {"total": 1}})],
        ),
        "objects": Fuzzed(
            _objects,
            [answer, _json([PROCESS]),
             _json({"logs": [{"log": "/l", "header": {"status": "success"}, "samples": []}]}),
             _json({"reservations": {"state": "ok", "value": {"folder": "/x", "held": []}}})],
        ),
        "runs": Fuzzed(
            _runs,
            [_json({"run": "r", "alive": False, "started": True, "there": True, "pid": 4,
                    "start": "b-1", "out": '{"event": "launched", "pid": 4}', "err": "x",
                    "host": "h", "left": [[4, "sleep"]], "logs": [LOG], "others": 1}),
             b'{"event": "launched", "pid": 4, "log_dir": "/l"}\n',
             b"1764000000 0 1 =0 =20261129-210255-vdmc2a9g gpqa-vdmc2a9g\n",
             (b"Traceback (most recent call last):\nOSError: [Errno 28] No space left on device: "
             b"'/x'\nPane is dead (status 1)\n\x1b[31mError: [red]x[/red]\x1b[0m\n")],
        ),
        "history": Fuzzed(
            _history,
            [finding_body(FINDING).encode(), _json(_plain_of(GUIDE)),
             _json(_plain_of(RUN)), _json(_plain_of(ORDER)),
             line_of(FindingsMuted(id="m", at=NOW, mute=Mute(until=NOW + 9, kind="x"))).encode(),
             _json(look_to_json(look_at(running_fleet(), NOW))["look"]),
             _json({"place": ["task", "m", 1, "x", "t"], "pane": 3, "arrangements": {"a": {}}}),
             *events],
        ),
        "screens": Fuzzed(
            _screens,
            [_json([ROW]), _json([TASK]),
             _json({"as_of": 1.0, "counts": {"running": 1}, "samples": [RUNNING]}),
             _json([{"action": "Subprocess", "what": "docker exec", "words": "sleep 9",
                     "since": NOW - 900, "count": 1, "task": "ctf", "sample_id": 1, "epoch": 1}]),
             _json(_plain_of(facts().facts)),
             _json({"docker": {"state": "ok", "containers": [CONTAINER]}, "memory": MEMORY,
                    "gpus": [{"index": 0, "pids": [{"pid": 7, "memory": 4}]}],
                    "disks": [{"path": "/", "what": "logs", "total": 9, "free": 1}]}),
             _json([{"pid": 7, "start": "b:1", "alive": True, "channel": "ok", "killed": "oom",
                     "argv": ["inspect", "eval"], "slow_polls": [{"name": "tasks", "wait": 9}]}])],
        ),
        "ssh": Fuzzed(
            _ssh,
            [(b"host h\nuser op\nhostname h.example\nport 22\nidentityfile ~/.ssh/id_%u\n"
             b"userknownhostsfile ~/.ssh/known_hosts /x y\nproxyjump a@b:22\nconnecttimeout 5\n"
             b"identityagent SSH_AUTH_SOCK\nsetenv A=b\nserveraliveinterval 3\n")],
        ),
        **probe_targets(),
        "records": Fuzzed(_records, [record, lock, *events]),
        "specs": Fuzzed(_specs, [each.text.encode() for each in BUILT_IN_TEMPLATES]),
        "config": Fuzzed(_config, config),
    }  # fmt: skip
