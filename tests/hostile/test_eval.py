"""What an eval claims about its log costs only that eval, and is never followed elsewhere."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, write_eval_log

from cli.render.events import EventLines
from core.config.model import MachineConfig
from core.desk.log_reader import LogReader
from core.events import Event, LogRead, SamplesSeen
from core.fold.reflected import reflected
from core.model.log_summary import LogHeader
from core.model.task import Task, TaskState
from core.ports import MachineConnection
from ssh.shipped.common.log_reading import run_log_script
from ssh.shipped.log_script.places import check_place, time_limit
from ssh.shipped.log_script.texts import Refused
from ssh.shipped.log_script.unpacking import unpacked_size
from tests.hostile.eval import ZSTANDARD, ended_task, eval_with, many_members, odd_places, zip_bomb
from tests.support.desk_on_evals import LOCAL, Watched, watching
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    link,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.tree import ROOT

LIES = "a header and summaries that are larger than the log says"


def write_log(path: Path, eval_id: str, status: Any = "success") -> str:
    """Write the log of an eval; return its path."""
    spec = EvalSpec(
        created="2026-11-30T10:00:00+00:00", task="t", model="m", eval_id=eval_id,
        dataset=EvalDataset(samples=1), config=EvalConfig(),
    )  # fmt: skip
    results = EvalResults(total_samples=1, completed_samples=1)
    write_eval_log(EvalLog(status=status, eval=spec, results=results, samples=[]), str(path))
    return str(path)


@pytest.fixture
def listening() -> Generator[tuple[str, list[bytes]]]:
    """A server of the host; yields the URL of a log at it, and what anybody sent it."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    got.append(connection.recv(100))

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x.eval", got
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("method", [8, ZSTANDARD])
@pytest.mark.parametrize("member", ["header.json", "summaries.json", "_journal/start.json"])
def test_a_log_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, member: str, method: int
) -> None:
    zip_bomb(tmp_path / "x.eval", member, 3, method=method)
    with pytest.raises(Refused, match="of 3072 MiB; evalroom reads at most 256 MiB"):
        check_place(str(tmp_path / "x.eval"), None)


def test_a_log_that_lies_about_its_size_or_has_a_million_members_costs_bounded_memory(
    tmp_path: Path,
) -> None:
    zip_bomb(tmp_path / "lie.eval", "header.json", 3, said_size=100)
    zip_bomb(tmp_path / "zstd.eval", "header.json", 3, said_size=100, method=ZSTANDARD)
    many_members(tmp_path / "many.eval", 1_000_000)
    logs = [str(tmp_path / f"{name}.eval") for name in ("lie", "zstd", "many")]
    asked = {"what": "headers", "logs": logs, "bytes": 10**6, "schemes": []}
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    answers, why = run_log_script([sys.executable], asked, 200)
    assert why is None
    reasons = [each["error"] for each in answers]
    assert [each.partition(";")[0] for each in reasons[:2]] == [LIES] * 2
    assert "a list of members of" in reasons[2]
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(begun, used) < 1_500_000 or used == begun  # KiB; far below what it would unpack to


@pytest.mark.timeout(240)
@pytest.mark.parametrize("method", [8, ZSTANDARD])
def test_a_sample_that_lies_about_its_size_costs_bounded_memory(
    tmp_path: Path, method: int
) -> None:
    zip_bomb(tmp_path / "x.eval", "samples/a_epoch_1.json", 3, said_size=100, method=method)
    asked = {"what": "sample", "log": str(tmp_path / "x.eval"), "id": "a", "epoch": 1,
             "view": "messages", "content": False, "bytes": 10**6, "schemes": []}  # fmt: skip
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    [answer], why = run_log_script([sys.executable], asked, 100)
    assert why is None
    assert "evalroom reads at most 512 MiB" in answer["body"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(begun, used) < 1_500_000 or used == begun


@pytest.mark.parametrize("method", [12, 14, 99])
def test_a_log_that_is_packed_as_inspect_packs_none_is_refused(tmp_path: Path, method: int) -> None:
    """A few kilobytes of bzip2 unpack at once to gigabytes."""
    zip_bomb(tmp_path / "x.eval", "header.json", 1, said_size=100, method=method)
    with pytest.raises(Refused, match=f"the method {method}, which Inspect does not write"):
        check_place(str(tmp_path / "x.eval"), None)


def test_a_log_of_inspect_itself_is_measured_and_read(tmp_path: Path) -> None:
    path = write_log(tmp_path / "x.eval", "e")
    with zipfile.ZipFile(path) as log, Path(path).open("rb") as file:
        members = log.infolist()
        assert [unpacked_size(file, each, 10**9) for each in members] == [
            each.file_size for each in members
        ]
        assert len(log.read("header.json")) > 10
    check_place(path, None)


def test_a_log_of_too_many_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_members(tmp_path / "many.eval", 1_001)
    check_place(str(tmp_path / "many.eval"), None)
    monkeypatch.setattr("ssh.shipped.log_script.places.MAX_MEMBERS", 1_000)
    with pytest.raises(Refused, match="more than 1000 members"):
        check_place(str(tmp_path / "many.eval"), None)


def this_computer(data_dir: Path) -> MachineConfig:
    """This computer; its Python has Inspect."""
    return MachineConfig(name=LOCAL, link="command", python=sys.executable, data_dir=str(data_dir))


async def test_an_eval_that_names_places_as_its_log_hides_nobody_and_follows_nothing(
    tmp_path: Path, listening: tuple[str, list[bytes]]
) -> None:
    url, got = listening
    honest_log = write_log(tmp_path / "honest.eval", "eval-honest")
    places = {**odd_places(tmp_path), "URL": url, "another eval's": honest_log}
    lies = [ended_task(name, place) for name, place in places.items()]
    many = [ended_task(f"more {number}", places["fifo"]) for number in range(60)]
    lines: list[str] = []
    sentences = EventLines()

    def note(watched: Watched, event: Event) -> None:
        kept = reflected(watched.fleet, event)
        lines.extend(sentences.of(kept) if kept is not None else ())

    data = tmp_path / "data"
    with (
        eval_with(data, *lies, *many) as evil,
        eval_with(data, ended_task("honest", honest_log)) as honest,
    ):
        async with watching([this_computer(data)], tmp_path / "known_hosts") as watched:
            watched.desk.listen(lambda event: note(watched, event))

            def tasks_of(pid: int) -> dict[str, Task]:
                return {
                    task.row.task: task
                    for key, task in watched.fleet.tasks.items()
                    if key.process.pid == pid
                }

            def is_read() -> bool:
                found, own = tasks_of(evil.pid), tasks_of(honest.pid)
                is_told = own and own["honest"].state is TaskState.SUCCESS
                return (
                    bool(is_told)
                    and len(found) > len(places)
                    and all(found[name].state is TaskState.UNREADABLE for name in places)
                )

            await watched.until(is_read, "all logs were read or refused")
            found = tasks_of(evil.pid)
    reasons = {name: found[name].header_error or "" for name in places}
    assert "another attempt" in reasons["another eval's"]
    assert "not a regular file" in reasons["fifo"]
    assert "not a regular file" in reasons["link"]
    assert "not that of a log" in reasons["file of the system"]
    assert "[logs]" in reasons["URL"]
    assert all(reasons.values())
    assert not got, "nobody asked the host's server"
    assert sum("ended as success" in line for line in lines) == 1
    assert not any("root:" in line for line in lines)


@pytest.mark.parametrize("schemes", [(), ("s3",)])
def test_only_a_regular_log_in_a_folder_that_can_be_listed_is_read(
    tmp_path: Path, schemes: tuple[str, ...]
) -> None:
    good = write_log(tmp_path / "good.eval", "e")
    check_place(good, schemes)
    check_place(f"file://{good}", schemes)
    for place in odd_places(tmp_path).values():
        with pytest.raises((Refused, OSError)):
            check_place(place, schemes)
    if schemes:
        check_place("s3://bucket/x.eval", schemes)
    else:
        with pytest.raises(Refused, match=r"\[logs\]"):
            check_place("s3://bucket/x.eval", schemes)


def test_a_folder_that_the_user_can_not_list_holds_no_log() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from ssh.shipped.log_script.places import check_place\n"
        "check_place(sys.argv[1], ())"
    )
    is_root = os.getuid() == 0
    with tempfile.TemporaryDirectory(prefix="er-") as name:
        folder = Path(name)
        good = write_log(folder / "good.eval", "e")
        folder.chmod(0o711 if is_root else 0o311)
        as_nobody: Any = {"user": 65534, "group": 65534, "extra_groups": []} if is_root else {}
        done = subprocess.run(
            ["/usr/bin/python3", "-c", code, good, str(ROOT)], capture_output=True, text=True,
            check=False, **as_nobody,
        )  # fmt: skip
        folder.chmod(0o755)
    assert "can't list its folder" in done.stderr


def test_a_log_that_another_account_keeps_for_itself_is_unread_with_the_reason() -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[2])\n"
        "from ssh.shipped.log_script.summaries import log_row\n"
        "print(json.dumps(log_row(None, sys.argv[1], {'what': 'headers'}, 1)))"
    )
    is_root = os.getuid() == 0
    with tempfile.TemporaryDirectory(prefix="er-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        kept = write_log(folder / "kept.eval", "e")
        Path(kept).chmod(0o600 if is_root else 0o000)
        as_nobody: Any = {"user": 65534, "group": 65534, "extra_groups": []} if is_root else {}
        done = subprocess.run(
            ["/usr/bin/python3", "-c", code, kept, str(ROOT)], capture_output=True, text=True,
            check=True, **as_nobody,
        )  # fmt: skip
    row = json.loads(done.stdout)
    assert row.pop("error") == "this user may not read the file"
    assert row == {"log": kept}, "no status, so nothing is lost"


def test_a_read_that_hangs_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (
        pytest.raises(Refused, match="took more than"),
        time_limit(0.2),
        (tmp_path / "fifo").open() as fifo,
    ):
        fifo.read()


def test_the_processes_of_a_machine_take_turns_with_their_logs() -> None:
    fleet = fleet_after(named(), link())
    for pid, count in ((1, 200), (2, 1)):
        rows = [
            task_row(f"{pid}-{number}", status="completed", log_location=f"/{pid}/{number}.eval")
            for number in range(count)
        ]
        ends = NOW + (10 if pid == 1 else 0)
        for event in (
            process_seen(pid=pid),
            tasks_seen(*rows, pid=pid, at=ends),
            process_gone(pid=pid, at=ends),
        ):
            fleet = fleet_after(event, fleet=fleet)
    reader = LogReader(H1, cast("MachineConnection", None))
    batch, _ = reader.next_logs(fleet, NOW + 20)
    assert task_key("2-0", pid=2) in batch[:2]


def test_an_event_that_the_fleet_dropped_is_not_reported() -> None:
    fleet = fleet_after(named(), process_seen(), tasks_seen(task_row("t1", status="completed")))
    header = LogHeader(
        location="/x", status="cancelled", eval_id="another", metrics=(), completed_samples=1,
        total_samples=1, has_error=False,
    )  # fmt: skip
    foreign = LogRead(at=NOW, task=task_key("t1"), header=header)
    of_another = samples_seen(sample(1), task=task_key("t1"))
    assert isinstance(of_another, SamplesSeen)
    unknown = tasks_seen(task_row("t9"), pid=999)
    for event in (foreign, unknown):
        assert reflected(fleet_after(event, fleet=fleet), event) is None
    assert reflected(fleet_after(of_another, fleet=fleet), of_another) is of_another
