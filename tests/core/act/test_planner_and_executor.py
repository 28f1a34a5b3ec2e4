"""The pure parts of acting: requests, commands, withheld texts, confirmations and sentences."""

import shlex
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.act.equivalent_command import equivalent
from core.act.plan import Plan, Step, unmet
from core.act.preconditions import IN_FLIGHT, basis_of, changed
from core.act.preview import preview_of, without_free_text
from core.act.refusals import kill_refusal, signal_refusal
from core.act.requests import RECOVER, Request, request_of, split_changes
from core.act.snapshot import TargetSnapshot
from core.act.target_grammar import TargetSpec, action_named, places_of
from core.act.undo import undo_requests
from core.errors import TargetUnclear, UsageWrong
from core.fleet import Fleet
from core.ids import (
    MachineName,
    ModelKey,
    ProcessKey,
    SampleKey,
    Target,
    TaskKey,
    address_of,
)
from core.model.action import OFFERS, Action, Change, Verb, offer_of, offers_on
from core.model.order import Basis, Instance, Order, OrderState
from core.model.task import TaskRow
from core.text import shown
from tests.support.fleets import (
    fleet_after,
    link,
    named,
    process_key,
    process_seen,
    task_row,
    tasks_seen,
)

RED, BLUE = MachineName("red"), MachineName("blue")
PROCESS = process_key(RED, 7)
TASK = TaskKey(PROCESS, "T")
ANY_TEXT = st.text(max_size=30)
TARGETS: st.SearchStrategy[Target] = st.one_of(
    st.just(PROCESS),
    st.builds(TaskKey, st.just(PROCESS), ANY_TEXT),
    st.builds(
        SampleKey,
        st.builds(TaskKey, st.just(PROCESS), ANY_TEXT),
        st.one_of(st.integers(), ANY_TEXT),
        st.integers(1, 99),
    ),
    st.builds(ModelKey, st.just(PROCESS), ANY_TEXT),
)


def actions_on(target: Target) -> list[Action]:
    """Every action that is offered on a target."""
    return [
        offer.action for offer in OFFERS if offer_of(offer.action, offer.scope) is offer
        and offer.scope == {ProcessKey: "process", TaskKey: "task", SampleKey: "sample",
                            ModelKey: "model"}[type(target)]
    ]  # fmt: skip


@given(target=TARGETS, eval_id=ANY_TEXT, reason=ANY_TEXT)
def test_no_name_of_a_host_reaches_another_route_or_another_parameter(
    target: Target, eval_id: str, reason: str
) -> None:
    offered = actions_on(target)
    assert offered
    for action in offered:
        for dry_run in (True, False):
            request = request_of(
                action, target, eval_id=eval_id, dry_run=dry_run, author="a", reason=reason
            )
            if request.method == "SIGNAL":
                assert request.path in {"INT", "KILL"}
                continue
            if request.method == RECOVER:
                assert request.path == ""
                continue
            assert request.path.isascii()
            assert " " not in request.path
            parts = urlsplit(request.path)
            query = parse_qsl(parts.query, keep_blank_values=True)
            assert [value for name, value in query if name == "dry_run"] == ["true"] * dry_run
            assert len({name for name, _ in query}) == len(query)
            steps = parts.path.split("/")[1:]
            assert len(steps) <= 4
            assert steps[0] in {"tasks", "evals", "models", "config"} | {str(v) for v in Verb}


@given(target=TARGETS)
def test_a_command_stays_the_words_it_is_made_of(target: Target) -> None:
    offered = actions_on(target)
    assert offered
    for action in offered:
        words = shlex.split(equivalent(action, target, Fleet()))
        assert words[0] in {"inspect", "kill"}
        if isinstance(target, ModelKey):
            assert target.model.replace("\0", "") in words


def test_an_offer_has_a_letter_of_its_own_on_its_scope() -> None:
    for scope in ("sample", "task", "model", "process"):
        letters = [offer.letter for offer in offers_on(scope)]
        names = [offer.name for offer in offers_on(scope)]
        assert len(set(letters)) == len(letters)
        assert len(set(names)) == len(names)


@given(answer=st.dictionaries(ANY_TEXT, st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(min_size=4, max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
), max_size=5))  # fmt: skip
def test_free_text_of_a_dry_run_is_withheld_wherever_it_stands(answer: dict[str, object]) -> None:
    secret = "the agent said this"
    hostile = {**answer, "prior_error": secret, "odd": {"deep": [secret]}, "list": [secret, 1]}
    fields, withheld = without_free_text(hostile)
    assert secret not in repr(fields)
    assert secret in [each.text for each in withheld]
    assert all(secret not in each.size for each in withheld)


def test_several_knobs_take_as_few_requests_as_their_route_allows() -> None:
    changes = (
        Change("max_samples", 3),
        Change("timeout", None),
        Change("key", 2, key="search"),
        Change("key", 4, key="browse"),
        Change("max_connections", 9, model="openai/x"),
    )
    groups = split_changes(Action(verb=Verb.CONFIG, changes=changes))
    assert [each.changes for each in groups] == [changes[:2], *((each,) for each in changes[2:])]
    paths = [request_of(each, TASK, dry_run=False).path for each in groups]
    assert paths == [
        "/tasks/T/config?max_samples=3&timeout=clear",
        "/tasks/T/config?key=search&key_limit=2",
        "/tasks/T/config?key=browse&key_limit=4",
        "/tasks/T/config?max_connections=9&model=openai%2Fx",
    ]


def test_counts_never_ask_again_but_for_a_growing_number_in_flight() -> None:
    before: Basis = {"pause": "none", IN_FLIGHT: 3}
    assert changed(before, {"pause": "none", IN_FLIGHT: 2}) == ()
    assert changed(before, {"pause": "none", IN_FLIGHT: 4}) == (IN_FLIGHT,)
    assert changed(before, {"pause": "soft", IN_FLIGHT: 3}) == ("pause",)


# The words of a command


def fleet() -> Fleet:
    """Two tasks of one process."""
    rows = (
        replace(task_row("T1", task="suite/ctf"), model="acme/agent", epochs=2),
        replace(task_row("T2", task="gpqa"), model="acme/judge", epochs=1),
    )
    return fleet_after(
        named(RED), link(machine=RED), named(BLUE), link(machine=BLUE),
        process_seen(machine=RED, pid=7), tasks_seen(*rows, machine=RED, pid=7),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("aim", "action", "found"),
    [
        (TargetSpec(targets=["ctf"]), "pause", [TaskKey(PROCESS, "T1")]),
        (TargetSpec(targets=["red:7"]), "pause", [PROCESS]),
        (TargetSpec(targets=["7"]), "keep", [PROCESS]),
        (TargetSpec(targets=["red:"]), "pause", ["red"]),
        (TargetSpec(targets=["gpqa#s 1"]), "cancel", [SampleKey(TaskKey(PROCESS, "T2"), "s 1", 1)]),
        (
            TargetSpec(targets=["@red:7:T1#a/b/2"]),
            "cancel",
            [SampleKey(TaskKey(PROCESS, "T1"), "a/b", 2)],
        ),
        (TargetSpec(targets=["ctf", "ctf", "gpqa"]), "drain",
         [TaskKey(PROCESS, "T1"), TaskKey(PROCESS, "T2")]),
        (TargetSpec(everything=True), "pause", [TaskKey(PROCESS, "T1"), TaskKey(PROCESS, "T2")]),
        (TargetSpec(everything=True), "keep", [PROCESS]),
        (TargetSpec(on="red"), "pause", [PROCESS]),
        (TargetSpec(everything=True, errored=True), "requeue",
         [TaskKey(PROCESS, "T1"), TaskKey(PROCESS, "T2")]),
        (TargetSpec(on="red", errored=True), "requeue", [PROCESS]),
        (TargetSpec(targets=["red:7"]), "requeue", [PROCESS]),
        (TargetSpec(targets=["red:"]), "requeue", ["red"]),
        (TargetSpec(everything=True, on="blue"), "pause", []),
        (TargetSpec(model="acme/agent"), "pause", [ModelKey(PROCESS, "acme/agent")]),
    ],
)  # fmt: skip
def test_words_aim_at(aim: TargetSpec, action: str, found: list[object]) -> None:
    assert list(places_of(aim, action_named(action), fleet())) == found


@pytest.mark.parametrize(
    ("aim", "action", "error", "output"),
    [
        (TargetSpec(), "pause", UsageWrong, "no TARGET"),
        (
            TargetSpec(targets=["ctf#1"]),
            "cancel",
            TargetUnclear,
            "has 2 readings: @red:7:T1#1/1, @red:7:T1#1/2",
        ),
        (TargetSpec(model="acme/none"), "pause", UsageWrong, "no selected process runs"),
        (TargetSpec(model="acme/agent"), "drain", UsageWrong, "--model works only with"),
        (TargetSpec(on="mars"), "pause", TargetUnclear, "no machine is called mars"),
        (
            TargetSpec(targets=["ctf"], errored=True),
            "pause",
            UsageWrong,
            "--errored works only with",
        ),
        (TargetSpec(targets=["zzz"]), "pause", TargetUnclear, "no task matches"),
    ],
)
def test_words_that_aim_at_nothing_say_why(
    aim: TargetSpec, action: str, error: type[Exception], output: str
) -> None:
    with pytest.raises(error, match=output):
        places_of(aim, action_named(action), fleet())


# Undo

HERE = Instance(host="h", boot="b", pid=1, start="s", operator="Ada")


def order(plan: str, target: Target, undo: Action | None, **more: object) -> Order:
    """An order that was done."""
    made = {"reason": "", "state": OrderState.DONE, "instance": HERE, **more}
    return Order(
        id=f"{plan}{address_of(target)}", plan=plan, at=0, address=address_of(target),
        action=Action(verb=Verb.PAUSE), name="n", request="r", command="c", preview="p",
        basis={}, undo=undo, **made,  # type: ignore[arg-type]
    )  # fmt: skip


def test_undo_takes_back_what_was_done_in_the_newest_plan_of_this_operator() -> None:
    back = Action(verb=Verb.RESUME)
    other = Instance(host="h", boot="b", pid=1, start="s", operator="Bob")
    second = TaskKey(PROCESS, "U")
    orders = [
        order("5", TASK, back, instance=other),
        order("4", TASK, None),
        order("3", TASK, back),
        order("3", second, back, state=OrderState.FAILED),
        order("2", second, back),
    ]
    assert undo_requests(orders, "Ada") == ((back, TASK),)
    assert undo_requests(orders[:2], "Ada") == ()


def test_an_undo_is_not_undone_again() -> None:
    back = Action(verb=Verb.RESUME)
    orders = [
        order("undo-2", TASK, Action(verb=Verb.PAUSE)),
        order("1", TASK, back),
    ]
    assert undo_requests(orders, "Ada") == ()


def test_an_action_repeated_after_an_undo_can_be_undone_again() -> None:
    back = Action(verb=Verb.RESUME)
    again = Action(verb=Verb.PAUSE)
    orders = [
        order("3", TASK, back),
        order("undo-2", TASK, again, reason="typed by hand"),
        order("1", TASK, back),
    ]
    assert undo_requests(orders, "Ada") == ((back, TASK),)
    assert undo_requests(orders[1:], "Ada") == ()
    assert undo_requests([order("undo-4", TASK, again), *orders], "Ada") == ()


def test_a_failed_undo_can_be_tried_once_more() -> None:
    back = Action(verb=Verb.RESUME)
    second = TaskKey(PROCESS, "U")
    orders = [
        order("undo-2", TASK, None),
        order("undo-2", second, None, state=OrderState.FAILED),
        order("1", TASK, back),
        order("1", second, back),
    ]
    assert undo_requests(orders, "Ada") == ((back, second),)


# Interrupts and ends


def interrupt(at: float, target: ProcessKey = PROCESS, **more: object) -> Order:
    """An interrupt that was sent."""
    made = order("i", target, None, **more)
    return replace(made, at=at, action=Action(verb=Verb.INTERRUPT))


def test_a_second_interrupt_is_refused_also_under_another_name_of_the_machine() -> None:
    again = Action(verb=Verb.INTERRUPT)
    alias = replace(PROCESS, machine=MachineName("the same one"))
    for sent in (interrupt(100.0), interrupt(100.0, alias)):
        refusal = signal_refusal(again, PROCESS, TargetSnapshot(), [sent], 150.0)
        assert refusal is not None
        assert "50 s ago" in refusal.sentence
    assert signal_refusal(again, PROCESS, TargetSnapshot(), [interrupt(100.0)], 230.0) is None
    set_back = signal_refusal(again, PROCESS, TargetSnapshot(), [interrupt(9_000.0)], 150.0)
    assert set_back is not None
    assert "-" not in set_back.sentence
    other = replace(PROCESS, start="another")
    assert (
        signal_refusal(again, PROCESS, TargetSnapshot(), [interrupt(100.0, other)], 150.0) is None
    )


def test_a_set_that_may_have_started_a_task_unseen_is_not_ended() -> None:
    """All known logs are final, but another task runs that nobody sees."""
    live = process_seen(machine=RED, pid=7)
    key = fleet_after(named(RED), link(machine=RED), live).processes
    [process] = key.values()
    in_a_set = replace(process, argv=("inspect", "eval-set", "a.py", "b.py"))
    unseen = TargetSnapshot(answers=False)
    assert kill_refusal(unseen, process, None) is None
    assert kill_refusal(unseen, in_a_set, None) is not None
    some_left = replace(interrupt(1.0), basis={"unstarted": 2})
    assert kill_refusal(unseen, in_a_set, some_left) is not None
    none_left = replace(interrupt(1.0), basis={"unstarted": 0})
    assert kill_refusal(unseen, in_a_set, none_left) is None
    running = TargetSnapshot(rows=(task_row("T9"),))
    refusal = kill_refusal(running, process, None)
    assert refusal is not None
    assert "1 task is still running" in refusal.sentence


def test_an_interrupt_asks_again_when_more_would_be_cut_off() -> None:
    quiet, busy = (
        basis_of(Action(verb=Verb.INTERRUPT), PROCESS, TargetSnapshot(rows=(flying(number),)))
        for number in (0, 3)
    )
    assert changed(quiet, busy) == ("in flight",)
    assert changed(busy, quiet) == ()


def flying(number: int) -> TaskRow:
    """A row with so many samples in flight."""
    row = task_row("T1")
    return replace(row, samples=replace(row.samples, in_flight=number))


@pytest.mark.parametrize("name", ["", " ", "\u3000", " spaced ", "\u202e", "\x00", "ä" * 5_000])
def test_a_destructive_plan_is_never_confirmed_by_nothing_and_always_by_its_words(
    name: str,
) -> None:
    offer = offer_of(Action(verb=Verb.DRAIN), "task")
    assert offer is not None
    step = Step(
        target=TASK, action=offer.action, offer=offer, name=shown(name, 60), where="red",
        command="", basis={}, request=Request("POST", "/x"),
    )  # fmt: skip
    plan = Plan(id="p", title="t", action=offer.action, steps=(step,))
    assert plan.words.strip()
    for words in ("", " ", "\u3000", "\x00"):
        assert unmet(plan, words=words, yes=True) is not None
    assert unmet(plan, words=f" {plan.words} ", yes=False) is None
    assert (unmet(plan, words="drein 3", yes=True) or "").startswith("drein 3 does not match")


@pytest.mark.parametrize(
    ("target", "held", "others"),
    [
        (PROCESS, 5, "2 tasks stay paused by: task, model"),
        (TASK, 2, "the task stays paused by: process, model"),
        (ModelKey(PROCESS, "other"), 3, "1 task stays paused by: task, process"),
    ],
)
def test_a_resume_says_what_else_holds_any_of_its_tasks(
    target: Target, held: int, others: str
) -> None:
    first = replace(task_row("T"), held=2, paused=("task", "process", "model"))
    other = replace(task_row("U", model="other"), held=3, paused=("task", "process"))
    free = replace(task_row("V"), held=0, paused=("process",))
    over = replace(task_row("W", status="completed"), held=7, paused=("task",))
    seen = TargetSnapshot(rows=(over, free, first, other))
    preview = preview_of(Action(verb=Verb.RESUME), target, {"changed": True}, seen)
    goes_on = f"{held} held samples continue, queued samples start again"
    assert preview.sentence == f"{goes_on}; {others}"
