"""Events followed by cursor: none is missed, none stays pending for ever, a retry starts over."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from core.ctl.event_cursor import MAX_EVENT_BYTES, MAX_EVENTS, EventFollower, next_reads, take_page
from core.ctl.reads import follow_events
from core.ids import ProcessKey, SampleKey
from core.model.sample_detail import EventPage, SampleEvent
from core.ports import Reply
from tests.support.fleets import task_key

SAMPLE = SampleKey(task_key(), 1, 1)


@dataclass
class FakeSample:
    """Serves events as Inspect does: by offset, each once; a stale cursor starts over."""

    attempt: int = 0
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    over: bool = False
    asked: int = 0
    served: int = 0

    def add(self, *, pending: bool = False) -> None:
        uuid = f"{self.attempt}-{len(self.events)}"
        self.events.append({"event": "model", "uuid": uuid, "pending": pending or None})

    def settle(self, number: int) -> None:
        self.events[number % len(self.events)]["pending"] = None

    def retry(self) -> None:
        self.attempt += 1
        self.events = []

    async def read(self, process: ProcessKey, path: str) -> Reply:
        assert process == SAMPLE.task.process
        query = parse_qs(urlsplit(path).query)
        start, limit = 0, int(query["limit"][0])
        if "since" in query:
            cursor = json.loads(base64.urlsafe_b64decode(query["since"][0]))
            if cursor["n"] == f"u:{self.attempt}":
                start = cursor["i"]
        page = self.events[start : start + limit]
        self.asked += 1
        self.served += len(page)
        end = start + len(page)
        cursor = json.dumps({"n": f"u:{self.attempt}", "i": end}).encode()
        body = {
            "events": page,
            "next": base64.urlsafe_b64encode(cursor).decode(),
            "done": self.over and end == len(self.events),
        }
        return Reply(at=0, took=0, status=200, error=None, body=json.dumps(body).encode())

    def state(self) -> list[tuple[str, bool]]:
        return [(each["uuid"], bool(each["pending"])) for each in self.events]


def state_of(following: EventFollower) -> list[tuple[str | None, bool]]:
    return [(event.uuid, event.pending) for event in following.events]


STEPS = st.lists(
    st.sampled_from(["add", "add many", "add pending", "retry", "look"]) | st.integers(0, 300),
    max_size=25,
)


def happen(sample: FakeSample, step: str | int) -> None:
    match step:
        case "add":
            sample.add()
        case "add many":
            for _ in range(130):
                sample.add()
        case "add pending":
            sample.add(pending=True)
        case "retry":
            sample.retry()
        case int() if sample.events:
            sample.settle(step)
        case _:
            pass


@given(steps=STEPS)
@settings(max_examples=60)
async def test_in_the_end_every_event_is_there_and_as_it_ended(steps: list[str | int]) -> None:
    sample, following = FakeSample(), EventFollower()
    for step in steps:
        happen(sample, step)
        if step == "look":
            following = await follow_events(sample.read, SAMPLE, "e", following)
            assert state_of(following) == sample.state()
    for number in range(len(sample.events)):
        sample.settle(number)
    sample.over = True
    for _ in range(3):
        following = await follow_events(sample.read, SAMPLE, "e", following)
    assert state_of(following) == sample.state()
    assert following.done
    assert next_reads(following) == ()


async def test_a_settled_page_is_not_read_again() -> None:
    sample, following = FakeSample(), EventFollower()
    for _ in range(1_000):
        sample.add()
    sample.add(pending=True)
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert sample.served == 1_001
    sample.served = sample.asked = 0
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert sample.served <= 100
    sample.settle(1_000)
    following = await follow_events(sample.read, SAMPLE, "e", following)
    sample.served = sample.asked = 0
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert (sample.asked, sample.served) == (1, 0)
    assert not following.done


async def test_a_retry_starts_over_and_is_counted() -> None:
    sample, following = FakeSample(), EventFollower()
    sample.add(pending=True)
    following = await follow_events(sample.read, SAMPLE, "e", following)
    sample.retry()
    sample.add()
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert following.restarts == 1
    assert state_of(following) == [("1-0", False)]


def test_only_the_newest_events_are_kept_and_the_others_counted() -> None:
    events = tuple(SampleEvent(kind="info", uuid=str(n)) for n in range(MAX_EVENTS + 7))
    following = take_page(EventFollower(), None, EventPage(events=events, next="opaque"))
    assert len(following.events) == MAX_EVENTS
    assert following.events[-1].uuid == str(MAX_EVENTS + 6)
    assert following.dropped == 7


async def test_a_page_of_events_that_are_no_longer_kept_brings_none_of_them_back() -> None:
    sample, following = FakeSample(), EventFollower()
    sample.add(pending=True)
    for _ in range(MAX_EVENTS + 150):
        sample.add()
    following = await follow_events(sample.read, SAMPLE, "e", following)
    newest = [event.uuid for event in following.events]
    sample.add()
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert [event.uuid for event in following.events] == [*newest[1:], f"0-{MAX_EVENTS + 151}"]
    assert len(next_reads(following)) == 1


def test_events_of_great_size_are_kept_as_far_as_there_is_room() -> None:
    raw = b"x" * (MAX_EVENT_BYTES // 4)
    events = tuple(SampleEvent(kind="info", uuid=str(n), raw=raw) for n in range(6))
    following = take_page(EventFollower(), None, EventPage(events=events, next="opaque"))
    assert [event.uuid for event in following.events] == ["2", "3", "4", "5"]
    assert following.dropped == 2


async def test_what_an_ended_sample_left_pending_is_read_once_more_and_then_left() -> None:
    sample, following = FakeSample(), EventFollower()
    sample.add(pending=True)
    sample.add()
    sample.over = True
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert (following.over, following.done) == (True, False)
    following = await follow_events(sample.read, SAMPLE, "e", following)
    assert following.done
    assert state_of(following) == sample.state()


def test_cursors_that_say_nothing_are_followed_too() -> None:
    one = SampleEvent(kind="info", uuid="a", pending=True)
    other = SampleEvent(kind="info", uuid="b")
    following = take_page(EventFollower(), None, EventPage(events=(one,), next="?"))
    assert next_reads(following) == (None, "?")
    following = take_page(following, "?", EventPage(events=(other,), next="!"))
    done = SampleEvent(kind="info", uuid="a")
    following = take_page(following, None, EventPage(events=(done, other), next="!"))
    assert state_of(following) == [("a", False), ("b", False)]
    assert next_reads(following) == ("!",)


def test_a_sample_that_has_not_started_is_asked_again_from_the_beginning() -> None:
    following = take_page(EventFollower(), None, EventPage())
    assert next_reads(following) == (None,)
