"""How the probe reads an eval, and how it reports the answers to the desk."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import socket
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core.frames import Splitter
from ssh.shipped.probe.frames import MAX_PART_BYTES, FrameWriter
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.fake_eval import FakeEval, fake_eval, http, says, says_bytes
from tests.support.waiting import WAIT_S


def watch(probe: DirectProbe, fake: FakeEval, **head: Any) -> dict[str, Any]:
    """Watch a fake eval's /tasks; return its row."""
    row = probe.process(fake.pid)
    place = {"pid": fake.pid, "start": row["start"]}
    probe.send(
        "watch", **place, **{"name": "tasks", "path": "/tasks", "every": 0.2, "as_of": None, **head}
    )
    return place


def test_only_what_changed_is_reported_and_the_rest_is_a_beat(tmp_path: Path) -> None:
    answer = {"tokens": 1}

    def serve(connection: socket.socket, _: str) -> bool:
        row = {**answer, "total_time": time.time(), "tokens_per_second": time.time() % 7}
        connection.sendall(http(json.dumps([row]).encode()))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        probe.until(lambda: len(probe.polls("tasks")) >= 2)
        assert len(probe.of("answer")) == 1
        answer["tokens"] = 2
        probe.until(lambda: len(probe.of("answer")) == 2)
        assert json.loads(probe.of("answer")[-1].body)[0]["tokens"] == 2


def test_a_clocks_name_inside_a_text_is_not_a_clock(tmp_path: Path) -> None:
    texts = iter([f'x "total_time": {number}' for number in range(10_000)])

    def serve(connection: socket.socket, _: str) -> bool:
        connection.sendall(http(json.dumps({"text": next(texts)}).encode()))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        probe.until(lambda: len(probe.of("answer")) >= 3)


def test_as_of_is_left_out_at_first_and_then_the_last_answers(tmp_path: Path) -> None:
    def serve(connection: socket.socket, _: str) -> bool:
        body = {"rows": [{"as_of": 1}], "as_of": len(fake.asked) + 0.5}
        connection.sendall(http(json.dumps(body).encode()))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake, path="/s?limit=5&active_since={as_of}")
        probe.until(lambda: len(fake.asked) >= 3)
        assert fake.paths()[:3] == [
            "/s?limit=5", "/s?limit=5&active_since=1.5", "/s?limit=5&active_since=2.5",
        ]  # fmt: skip


def test_rows_that_wait_in_a_full_pipe_are_not_passed_over(tmp_path: Path) -> None:
    filler = "x" * 300_000

    def serve(connection: socket.socket, _: str) -> bool:
        now = len(fake.asked)
        since = float(fake.paths()[-1].partition("=")[2] or 0)
        rows = list(range(int(since) + 1, now + 1))
        body = {"as_of": float(now), "rows": rows, "filler": filler}
        connection.sendall(http(json.dumps(body).encode()))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake, path="/s?active_since={as_of}")
        probe.first("answer")
        probe.stop_reading()
        asked = len(fake.asked)
        probe.until(lambda: len(fake.asked) >= asked + 8)
        before = len(probe.of("answer"))
        probe.go_on_reading()
        probe.until(lambda: len(probe.of("answer")) >= before + 3)
        answers = [json.loads(frame.body) for frame in probe.of("answer")]
        seen = {row for answer in answers for row in answer["rows"]}
        assert seen == set(range(1, int(answers[-1]["as_of"]) + 1))
        assert len(answers) < len(fake.asked)


def test_a_blocked_eval_is_waited_for_by_one_request_and_reported_as_waiting(
    tmp_path: Path,
) -> None:
    goes_on = threading.Event()
    goes_on.set()

    def serve(connection: socket.socket, _: str) -> bool:
        goes_on.wait(WAIT_S)
        connection.sendall(http(b"[]"))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        place = watch(probe, fake)
        probe.process(fake.pid, channel="ok")
        blocked_at = time.time()
        goes_on.clear()
        row = probe.process(fake.pid, channel="waiting")
        assert blocked_at - 1.0 < row["waiting_since"] <= time.time()
        late = probe.ask("get", **place, path="/config", deadline=0.5)
        send = probe.ask("send", **place, method="POST", path="/pause", deadline=0.5)
        assert "not sent" in probe.reply(late).head["error"]
        assert "not sent" in probe.reply(send).head["error"]
        goes_on.set()
        row = probe.process(fake.pid, channel="ok")
        assert row["waiting_since"] is None
        assert fake.most_in_flight == 1
        probe.until(lambda: len(fake.asked) >= 3)
        assert "/pause" not in fake.paths()


@pytest.mark.slow
def test_an_eval_that_is_blocked_for_twenty_seconds_comes_back(tmp_path: Path) -> None:
    begun = time.monotonic()

    def serve(connection: socket.socket, _: str) -> bool:
        time.sleep(max(0.0, begun + 20.0 - time.monotonic()))
        connection.sendall(http(b"[]"))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        probe.process(fake.pid, channel="waiting")
        probe.process(fake.pid, channel="ok")
        assert len(fake.asked) == 1


def test_an_eval_that_is_always_slow_is_asked_a_hundred_times_less_often(tmp_path: Path) -> None:
    def serve(connection: socket.socket, _: str) -> bool:
        time.sleep(0.01)
        connection.sendall(http(b"[]"))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        probe.until(lambda: len(fake.asked) >= 4)
        times = [at for at, _ in fake.asked]
        gaps = [after - before for before, after in pairwise(times)]
        assert min(gaps) >= 1.0


FAILURES: dict[str, tuple[bytes, str]] = {
    "cut": (http(b'{"a": 1', length=100), "short answer"),
    "large": (http(b"[", length=48 * 1024 * 1024), "too large"),
    "error": (http(b'{"error": "RuntimeError: x"}', "500 Internal Server Error"), "http 500"),
    "full": (b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 3\r\n\r\nbad", "http 503"),
    "no http": (b"SSH-2.0-OpenSSH\r\n\r\n", "bad answer"),
    "no json": (http(b"<html>"), "bad answer"),
    "silent": (b"", "reset"),
    "cut chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n[1", "short answer"),
    "bad chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n[1", "bad answer"),
    "header flood": (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000, "bad answer"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_bad_answer_is_reported_once_as_trouble(name: str, tmp_path: Path) -> None:
    data, error = FAILURES[name]
    with fake_eval(tmp_path, says_bytes(data)) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        trouble = probe.first("trouble")
        assert trouble.head["error"] == error
        probe.until(lambda: len(fake.asked) >= 2)
        assert len(probe.of("trouble")) == 1
        assert not probe.of("answer")
        fake.serve = says([])
        probe.until(lambda: probe.of("answer"))


def test_an_answer_without_an_end_stops_at_the_limit(tmp_path: Path) -> None:
    def serve(connection: socket.socket, _: str) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n[")
        while True:
            connection.sendall(b"1," * 100_000)

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        assert probe.first("trouble").head["error"] == "too large"


def test_a_chunked_answer_is_put_together(tmp_path: Path) -> None:
    data = (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\n\r\n"
    )
    with fake_eval(tmp_path, says_bytes(data)) as fake, direct_probe(tmp_path) as probe:
        watch(probe, fake)
        assert probe.first("answer").body == b"[1,2]"


def test_a_large_answer_comes_whole(tmp_path: Path) -> None:
    big = json.dumps(["y" * 1000] * 5000).encode()
    with fake_eval(tmp_path, says_bytes(http(big))) as fake, direct_probe(tmp_path) as probe:
        place = watch(probe, fake)
        assert probe.first("answer").body == big
        assert probe.reply(probe.ask("get", **place, path="/x")).body == big


def test_reads_share_a_connection_and_survive_its_end(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake, direct_probe(tmp_path) as probe:
        place = watch(probe, fake)
        probe.until(lambda: len(fake.asked) >= 5)
        assert fake.connections == 1

        def closing(connection: socket.socket, line: str) -> bool:
            says([1])(connection, line)
            return False

        fake.serve = closing
        numbers = [probe.ask("get", **place, path="/x") for _ in range(3)]
        assert [probe.reply(number).head["status"] for number in numbers] == [200, 200, 200]


def test_a_mutation_goes_once_on_a_fresh_connection(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says({"ok": True})) as fake, direct_probe(tmp_path) as probe:
        place = watch(probe, fake, every=60)
        probe.until(lambda: fake.asked)
        path = "/tasks/K/pause?now=true&dry_run=false"
        reply = probe.reply(probe.ask("send", **place, method="POST", path=path))
        assert (reply.head["status"], json.loads(reply.body)) == (200, {"ok": True})
        assert fake.asked[-1][1] == f"POST {path} HTTP/1.1"
        assert fake.connections == 2


def test_a_mutation_is_never_sent_again(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says_bytes(b"")) as fake, direct_probe(tmp_path) as probe:
        row = probe.process(fake.pid)
        place = {"pid": fake.pid, "start": row["start"]}
        reply = probe.reply(probe.ask("send", **place, method="POST", path="/keep"))
        assert not reply.head["error"].startswith("not sent")
        fake.serve = says([])
        assert probe.reply(probe.ask("get", **place, path="/tasks")).head["status"] == 200
        assert fake.paths() == ["/keep", "/tasks"]


def test_a_mutation_to_a_socket_that_refuses_was_not_sent(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake, direct_probe(tmp_path) as probe:
        row = probe.process(fake.pid)
        place = {"pid": fake.pid, "start": row["start"]}
        fake.close()
        reply = probe.reply(probe.ask("send", **place, method="POST", path="/keep"))
        assert reply.head["error"] == "not sent: refused"
        probe.process(fake.pid, channel="refused", alive=True)
        fake.socket_path.unlink()
        reply = probe.reply(probe.ask("get", **place, path="/tasks"))
        assert reply.head["error"] == "no socket"


def test_a_read_only_probe_relays_reads_alone(tmp_path: Path) -> None:
    with (
        fake_eval(tmp_path, says([])) as fake,
        direct_probe(tmp_path, read_only=True) as probe,
    ):
        row = probe.process(fake.pid)
        place = {"pid": fake.pid, "start": row["start"]}
        refused = probe.reply(probe.ask("send", **place, method="POST", path="/keep"))
        assert (refused.kind, refused.head["error"]) == ("refused", "read-only")
        for path in ("/x HTTP/1.1\r\n\r\nPOST /keep", "/x\ny", "keep", "/é"):
            assert probe.reply(probe.ask("get", **place, path=path)).kind == "refused"
        probe.send("start", desk="", read_only=False)
        probe.until(lambda: probe.of("refused", error="started already"))
        assert probe.reply(probe.ask("get", **place, path="/tasks")).head["status"] == 200
        assert [line.split()[0] for _, line in fake.asked] == ["GET"]


def test_more_requests_than_allowed_are_refused(tmp_path: Path) -> None:
    goes_on = threading.Event()

    def serve(connection: socket.socket, line: str) -> bool:
        goes_on.wait(WAIT_S)
        return says([])(connection, line)

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        row = probe.process(fake.pid)
        place = {"pid": fake.pid, "start": row["start"]}
        numbers = [probe.ask("get", **place, path="/x", deadline=WAIT_S) for _ in range(40)]
        for number in numbers[32:]:
            assert probe.reply(number).kind == "refused"
        goes_on.set()
        for number in numbers[:32]:
            assert probe.reply(number).head["status"] == 200


def test_a_slow_desk_costs_freshness_and_not_memory(tmp_path: Path) -> None:
    def serve(connection: socket.socket, _: str) -> bool:
        body = json.dumps({"n": len(fake.asked), "filler": "z" * 200_000}).encode()
        connection.sendall(http(body))
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path) as probe:
        place = watch(probe, fake)
        probe.first("answer")
        probe.stop_reading()
        asked = len(fake.asked)
        probe.until(lambda: len(fake.asked) >= asked + 10)
        number = probe.ask("get", **place, path="/x")
        probe.until(lambda: "/x" in fake.paths())
        newest = len(fake.asked)
        before = len(probe.of("answer"))
        probe.go_on_reading()
        probe.reply(number)
        probe.until(lambda: json.loads(probe.of("answer")[-1].body)["n"] >= newest - 1)
        assert len(probe.of("answer")) - before <= 4


def test_a_broken_frame_ends_the_session_with_its_reason(tmp_path: Path) -> None:
    for data in (b"hello\n", b'{"v":2,"kind":"beat","body":0}\n', b"x" * 70_000):
        with direct_probe(tmp_path) as probe:
            probe.send_bytes(data)
            assert "broken frame" in probe.first("bye").head["reason"]
            assert probe.process_ended()


def test_a_frame_that_is_not_right_is_refused_and_nothing_else_suffers(tmp_path: Path) -> None:
    with fake_eval(tmp_path, says([])) as fake, direct_probe(tmp_path) as probe:
        row = probe.process(fake.pid)
        for head in ({}, {"pid": "x"}, {"pid": fake.pid, "start": row["start"], "path": 3}):
            assert probe.reply(probe.ask("get", **head)).kind in {"refused", "reply"}
        probe.send("watch", pid=fake.pid, start=row["start"], name="x", path="/x", every="often")
        probe.send("dance", id=None)
        probe.until(lambda: len(probe.of("refused")) >= 4)
        place = {"pid": fake.pid, "start": row["start"]}
        assert probe.reply(probe.ask("get", **place, path="/tasks")).head["status"] == 200


def test_replies_between_the_parts_of_a_large_answer_keep_both_whole(tmp_path: Path) -> None:
    big = json.dumps(["y" * 1000] * 12_000).encode()

    def serve(connection: socket.socket, line: str) -> bool:
        body = big + b" " * len(fake.asked) if "/big" in line else b"[]"
        connection.sendall(http(body))
        return True

    with (
        fake_eval(tmp_path, serve) as fake,
        fake_eval(tmp_path, says([1])) as other,
        direct_probe(tmp_path) as probe,
    ):
        row = probe.process(other.pid)
        place = {"pid": other.pid, "start": row["start"]}
        probe.stop_reading()
        watch(probe, fake, path="/big")
        probe.until(lambda: fake.asked)
        probe.go_on_reading()
        numbers = [probe.ask("get", **place, path="/x") for _ in range(20)]
        for number in numbers:
            assert probe.reply(number).body == b"[1]"
        assert probe.first("answer").body.rstrip() == big


def test_a_reply_between_two_parts_of_an_answer_leaves_it_whole() -> None:
    """The pipe is full at each part, so the reply waits for the end of one."""
    reads, writes = os.pipe()
    writer: Any = FrameWriter(writes)
    body = os.urandom(3 * MAX_PART_BYTES)
    writer.state("big", "answer", {}, body)

    def write_all() -> None:
        writer.run()
        os.close(writes)

    threading.Thread(target=write_all, daemon=True).start()
    with os.fdopen(reads, "rb") as pipe:
        data = pipe.read(1000)
        writer.reply("reply", {"id": 1})
        writer.close()
        data += pipe.read()
    frames = list(Splitter().feed(data))
    assert [frame.kind for frame in frames] == ["reply", "answer"]
    assert frames[1].body == body
