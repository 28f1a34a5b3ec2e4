"""Orders on their way: recorded and played, looked for, drawn."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from hypothesis import given, settings

from core.act.order_query import OrderQuery, joined, order_object
from core.desk.replay import read_recording
from core.event_codec import event_of, line_of
from core.events import OrderEnded, OrderGiven
from core.ids import MachineName, SampleKey
from core.model.action import Action, Change, Verb
from core.model.order import Order, OrderState
from tests.support.fleets import fleet_after, link, named
from tests.support.model_values import orders
from tests.support.orders import PAUSED, order
from tests.support.recordings import write_recording


@given(orders)
@settings(max_examples=60)
def test_an_order_is_the_same_after_it_was_recorded(given: Order) -> None:
    decoded = event_of(line_of(OrderGiven(at=1.0, order=given)))
    assert isinstance(decoded, OrderGiven)
    assert repr(dict(decoded.order.basis)) == repr(dict(given.basis))
    assert replace(decoded.order, basis={}) == replace(given, basis={})
    assert decoded.order.target == given.target
    assert type(decoded.order.address.sample_id) is type(given.address.sample_id)


def test_orders_and_their_ends_play_again_as_they_happened(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = order("a", basis=MappingProxyType({"pause": "none", "attempts": 1}))
    events = (
        named(),
        link(),
        OrderGiven(at=2.0, order=first),
        OrderGiven(at=3.0, order=order("b", at=3.0)),
        OrderEnded(at=4.0, order="a", state=OrderState.DONE, message="done"),
        OrderEnded(at=5.0, order="a", state=OrderState.FAILED, message="too late"),
    )
    write_recording(path, events)
    played = fleet_after(*read_recording(path))
    assert played.orders == fleet_after(*events).orders
    assert [each.id for each in played.orders] == ["b", "a"]
    assert played.orders[1].state is OrderState.DONE


def test_the_fleets_orders_and_those_of_the_journal_are_one_list() -> None:
    ended = replace(order("a"), state=OrderState.DONE)
    kept = (order("c", at=3.0), order("b", at=2.0), ended)
    known = (
        order("d", at=4.0),
        replace(order("c", at=3.0), state=OrderState.NO_CHANGE),
        order("a"),
    )
    found = joined(known, kept)
    assert [(each.id, str(each.state)) for each in found] == [
        ("d", "sending"),
        ("c", "no change"),
        ("b", "sending"),
        ("a", "done"),
    ]


def test_an_order_is_found_by_the_words_of_any_filter() -> None:
    given = [
        order("a", reason="Rate limits", target=SampleKey(PAUSED, "x y", 3)),
        order("b", action=Action(verb=Verb.CANCEL, manner="error")),
    ]

    def ids(**wanted: object) -> str:
        return "".join(each.id for each in OrderQuery(**wanted).among(given))  # type: ignore[arg-type]

    assert ids() == "ab"
    assert ids(limit=1) == "a"
    assert ids(limit=0) == ""
    assert ids(text="RATE") == "a"
    assert ids(text="y/3") == "a"
    assert ids(text="!rate") == "b"
    assert ids(text="/cancel error/") == "b"
    assert ids(verb=Verb.CANCEL) == "b"
    assert ids(machine=MachineName("other")) == ""
    assert ids(since=1.5) == ""


@given(orders)
@settings(max_examples=40)
def test_an_order_is_an_object_of_plain_json(given: Order) -> None:
    decoded = json.loads(json.dumps(order_object(given), allow_nan=False))
    assert decoded["id"] == given.id
    assert decoded["sample_id"] == given.address.sample_id
    assert decoded["action"]["verb"] == given.action.verb


def test_an_order_names_who_from_where_what_and_its_outcome() -> None:
    undo = Action(verb=Verb.CONFIG, changes=(Change("max_samples", None),))
    decoded = order_object(order("a", undo=undo, reason="slow"))
    assert decoded == {
        "id": "a",
        "plan": "plan-a",
        "at": 1.0,
        "ended_at": None,
        "operator": "Ada",
        "from": {"host": "here", "pid": 1},
        "machine": "h100-1",
        "pid": 100,
        "task_id": "t1",
        "sample_id": None,
        "epoch": None,
        "model": None,
        "action": {
            "verb": "pause",
            "now": False,
            "manner": None,
            "completed_only": False,
            "tool_call": None,
            "changes": [],
        },
        "name": "h100-1 gdm_intercode_ctf",
        "request": "POST /tasks/t1/pause",
        "command": "inspect ctl task pause t1",
        "preview": "3 samples in flight finish; 4 queued wait",
        "reason": "slow",
        "state": "sending",
        "message": "",
        "undo": {
            "verb": "config",
            "now": False,
            "manner": None,
            "completed_only": False,
            "tool_call": None,
            "changes": [{"knob": "max_samples", "value": None, "key": "", "model": ""}],
        },
        "is_ours": False,
    }
