"""Requests, the meaning of answers, and that text of the agent is left out unless asked for."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ctl import reads, routes
from core.ctl.answer_errors import good_body
from core.ctl.config_envelopes import config_view, throughput
from core.ctl.sample_details import event_page, messages, sample_detail, store, unix_time
from core.errors import NotThere, RequestFailed, TooBusy, TooLarge, Unsupported
from core.ids import ProcessKey, SampleKey
from core.ports import Reply
from tests.support.fleets import task_key

ANY = st.text(max_size=20) | st.sampled_from(["../..", "a/b?c=d&e#f", "{as_of}", "\ud800", "\x00"])


def reply(body: bytes, status: int | None = 200, error: str | None = None) -> Reply:
    return Reply(at=1.0, took=0.1, status=status, error=error, body=body)


# -- what is asked


@given(eval_id=ANY, sample_id=ANY, since=ANY)
def test_nothing_that_a_host_names_leaves_its_place_in_a_path(
    eval_id: str, sample_id: str, since: str
) -> None:
    path = routes.events(eval_id, sample_id, 2, since=since, content=True)
    assert path.isascii()
    assert path.isprintable()
    assert " " not in path
    parts = urlsplit(path)
    _, evals, named, *rest = parts.path.split("/")
    assert (evals, rest, parts.fragment) == ("evals", ["sample", "events"], "")
    query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=True)
    assert set(query) == {"sample_id", "epoch", "since", "content"}
    assert "{" not in path
    if "\ud800" not in eval_id + sample_id + since:
        assert unquote(named) == eval_id
        assert query["sample_id"] == [sample_id]
        assert query["since"] == [since]


def test_a_whole_number_and_its_text_are_asked_for_alike() -> None:
    assert routes.sample("e", 1, 2) == routes.sample("e", "1", 2)


def test_only_a_watched_list_has_the_place_for_its_moment() -> None:
    assert routes.samples("e", active_since=routes.AS_OF, limit=5) == (
        "/evals/e/samples?limit=5&active_since={as_of}"
    )
    assert routes.samples("e", active_since=routes.AS_OF) == "/evals/e/samples?active_since={as_of}"
    assert routes.samples("e", active_since=12.5) == "/evals/e/samples?active_since=12.5"
    assert routes.samples("e", status=("running", "error"), all_rows=True) == (
        "/evals/e/samples?status=running%2Cerror&all=true"
    )


# -- what an answer means


def test_a_sample_that_is_not_found_is_named_once() -> None:
    with pytest.raises(NotThere) as found:
        good_body(reply(b'{"error":"sample 9 (epoch 1) not found"}', 404, None), "sample 9/1")
    assert found.value.message == "sample 9 (epoch 1) not found"


@pytest.mark.parametrize(
    ("body", "status", "error", "wanted", "says"),
    [
        (b'{"detail":"Not Found"}', 404, None, Unsupported, "too old"),
        (b'{"error":"sample 9 (epoch 1) not found"}', 404, None, NotThere, "sample 9"),
        (b'{"error":"a\x1b[31mb"}', 404, None, NotThere, "not found"),
        (b'{"error":"a\\u001b[31mb"}', 404, None, NotThere, "a␛[31mb"),
        (b"Service Unavailable", 503, None, TooBusy, "too many connections"),
        (b"", None, "no socket", RequestFailed, "the file of its control socket was removed"),
        (b"", None, "refused", RequestFailed, "can't read it: its control server is down"),
        (b"", None, "too large", TooLarge, "32 MiB"),
        (b"", None, "no answer in 15 s", RequestFailed, "no answer in 15 s"),
        (b'{"detail":[{"msg":"Field required"}]}', 422, None, RequestFailed, "Field required"),
        (b'{"error":"ValueError: x"}', 500, "http 500", RequestFailed, "ValueError: x"),
        (b"", 500, None, RequestFailed, "HTTP 500"),
        (b"[]", 500, None, RequestFailed, "HTTP 500"),
        (b"", None, None, RequestFailed, "no answer"),
    ],
)
def test_a_bad_answer_is_an_error_with_a_sentence(
    body: bytes, status: int | None, error: str | None, wanted: type[RequestFailed], says: str
) -> None:
    with pytest.raises(wanted) as found:
        good_body(reply(body, status, error), "it")
    if b"\x1b" in body:
        assert "\x1b" not in found.value.message
    else:
        assert says in found.value.message
    assert type(found.value) is wanted


# -- what the agent wrote


SECRET = "what the agent wrote"
ERROR = {"message": SECRET, "traceback": SECRET, "traceback_ansi": SECRET}
DETAIL = {
    "sample_id": 1, "epoch": 1, "status": "error", "error": ERROR, "limit_reason": SECRET,
    "error_retries": [ERROR, ERROR],
}  # fmt: skip
EVENTS = {
    "events": [
        {"event": "model", "uuid": "a", "timestamp": 1.5, "pending": True, "model": "m",
         "tokens": 7, "stop_reason": "stop", "completion": SECRET, "error": None},
        {"event": "tool", "uuid": "b", "timestamp": "2026-11-29T12:00:00+00:00", "id": "c",
         "function": "bash", "arguments": {"cmd": SECRET}, "result": SECRET, "error": SECRET},
        {"event": "info", "uuid": "c", "source": "s", "data": [SECRET]},
        {"event": "error", "uuid": "d", "error": {"message": SECRET}},
    ],
    "next": "n",
    "done": True,
}  # fmt: skip
MESSAGES = {
    "as_of": 5.5, "status": "running", "count": 9,
    "messages": [
        {"index": 7, "id": "x", "role": "assistant", "content": SECRET,
         "tool_calls": [{"id": "c", "function": "bash", "arguments": SECRET}]},
        {"index": 8, "id": "y", "role": "tool", "function": "bash", "has_error": True,
         "content": [{"type": "text", "text": SECRET}], "error": SECRET},
    ],
}  # fmt: skip
STORE = {
    "as_of": 5.5, "status": "running", "count": 3, "missing": ["no"],
    "store": {"k": {"type": "string", "size": 9, "len": 7, "value": SECRET}, "bare": SECRET},
}  # fmt: skip


@pytest.mark.parametrize(
    ("decode", "document"),
    [(sample_detail, DETAIL), (event_page, EVENTS), (messages, MESSAGES), (store, STORE)],
)
def test_text_of_the_agent_is_there_only_when_asked_for(
    decode: Callable[..., Any], document: dict[str, Any]
) -> None:
    body = json.dumps(document).encode()
    assert SECRET in repr(decode(body, content=True))
    withheld = decode(body, content=False)
    assert SECRET not in repr(withheld)


def test_a_detail_says_that_there_are_errors_without_their_words() -> None:
    detail = sample_detail(json.dumps(DETAIL).encode(), content=False)
    assert detail.sample.has_error
    assert detail.error is not None
    assert detail.error.message is None
    assert len(detail.error_retries) == 2
    answer = sample_detail(json.dumps(DETAIL).encode(), content=True)
    assert answer.error is not None
    assert answer.error.message == SECRET
    assert answer.limit_reason == SECRET


def test_events_say_what_happened_and_when() -> None:
    page = event_page(json.dumps(EVENTS).encode(), content=True)
    model, tool, info, error = page.events
    assert (model.kind, model.name, model.tokens, model.pending) == ("model", "m", 7, True)
    assert model.content == {"completion": SECRET}
    assert (tool.name, tool.has_error) == ("bash", True)
    assert tool.at == 1_795_953_600.0
    assert tool.content["arguments"] == json.dumps({"cmd": SECRET})
    assert info.name == "s"
    assert info.at is None
    assert error.has_error
    assert (page.next, page.done) == ("n", True)


def test_messages_and_a_store_say_how_much_there_is() -> None:
    found = messages(json.dumps(MESSAGES).encode(), content=False)
    assert found.count == 9
    assert [call.function for call in found.messages[0].calls] == ["bash"]
    assert found.messages[1].has_error
    kept = store(json.dumps(STORE).encode(), content=True)
    assert [(entry.key, entry.size) for entry in kept.entries] == [("k", 9), ("bare", None)]


@pytest.mark.parametrize("value", ["", "yesterday", "2026-99-99T00:00:00", "9" * 400])
def test_a_value_that_is_not_a_time_is_unknown(value: str) -> None:
    assert unix_time(value) is None


# -- knobs and throughput


def test_a_config_view_names_every_limit() -> None:
    view = config_view(
        json.dumps(
            {
                "max_samples": {"limit": 25, "in_use": 3, "adjustable": True, "override": 7},
                "max_tasks": None,
                "max_sandboxes": [{"type": "docker", "limit": 8, "in_use": 2}],
                "adaptive": [
                    {"name": "m", "limit": 20, "in_use": 1, "min": 10, "max": 100},
                    "no object",
                ],
                "retry": {"timeout": 30, "max_retries": None},
                "limits": {"token_limit": 5},
                "concurrency": None,
                "buffer": {"log_buffer": 1, "pending": 0},
                "warnings": ["w", 3],
            }
        ).encode()
    )  # fmt: skip
    assert view.max_samples is not None
    assert (view.max_samples.limit, view.max_samples.override) == (25, 7)
    assert view.max_tasks is None
    assert [(each.name, each.in_use) for each in view.sandboxes] == [("docker", 2)]
    assert [(each.name, each.maximum) for each in view.connections] == [("m", 100)]
    assert view.retry == {"timeout": 30, "max_retries": None}
    assert view.limits == {"token_limit": 5}
    assert view.keys is None
    assert view.buffer is not None
    assert view.warnings == ("w",)


def test_throughput_leaves_out_a_model_without_a_name() -> None:
    found = throughput(
        json.dumps(
            {
                "models": [
                    {"model": "m", "requests_per_minute": 2.5},
                    {},
                ],
            }
        ).encode()
    )
    assert [(each.model, each.requests_per_minute) for each in found.models] == [("m", 2.5)]


async def test_a_read_names_the_sample_it_could_not_find() -> None:
    async def read(process: ProcessKey, path: str) -> Reply:
        assert process == task_key().process
        assert path == "/evals/e/sample?sample_id=a%1B%2F&epoch=2"
        return reply(b'{"error":"gone"}', 404)

    with pytest.raises(NotThere, match="sample a␛//2: gone"):
        await reads.read_sample(read, SampleKey(task_key(), "a\x1b/", 2), "e")


async def test_a_lack_of_an_old_inspect_is_reported_with_the_version_that_has_it() -> None:
    async def read(process: ProcessKey, path: str) -> Reply:
        assert process == task_key().process
        assert path == "/evals/e/sample/store?sample_id=1&epoch=1"
        return reply(b'{"detail":"Not Found"}', 404)

    with pytest.raises(Unsupported) as found:
        await reads.read_store(read, SampleKey(task_key(), 1, 1), "e")
    assert found.value.since == "0.3.265"
    assert "inspect-ai>=0.3.265" in found.value.advice


async def test_a_name_too_long_for_a_frame_is_not_asked_for() -> None:
    async def read(process: ProcessKey, path: str) -> Reply:
        raise AssertionError(f"{process}: {len(path)}")

    with pytest.raises(RequestFailed, match="too long"):
        await reads.read_sample(read, SampleKey(task_key(), "n" * 70_000, 1), "e")
