"""The action menu of a selection: every action, with the reason when one is unavailable."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from core.act.refusals import Refusal, fleet_refusal, read_only_reason
from core.act.target_expansion import ActionPlace, live_processes, models_of, scope_at, with_model
from core.act.target_labels import target_label, target_location
from core.fleet import Fleet
from core.format import age, plural
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey, Target, TaskKey, process_of
from core.model.action import OFFERS, Action, Offer, Scope, Verb, offers_on
from core.model.sample import ENDED, word_of_status
from core.text import Shown, shown
from core.views.actions.button_rules import fits, is_held
from core.views.glyphs import glyph

_DIGITS = "123456789"
_MAX_QUERIED = 20
"""Targets of a large selection that the action bar checks."""
_NEEDS_RUNNING = frozenset({Verb.CANCEL, Verb.CANCEL_CALL, Verb.SCORE})
"""Actions that do nothing to a sample that has ended."""
_SCOPE_WORDS: dict[Scope, tuple[str, str]] = {
    "sample": ("sample", "samples"),
    "task": ("task", "tasks"),
    "process": ("process", "processes"),
    "model": ("model", "models"),
}
REQUEUE_ERRORED = replace(
    next(each for each in OFFERS if each.action.verb is Verb.REQUEUE),
    word="requeue errored",
    help="Run all currently errored samples again, within this run.",
)
"""The offer to requeue on a task: all its errored samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuEntry:
    """One line of the menu.

    Attributes:
        letter: Its key in the menu; empty: it is chosen with the cursor.
        name: Its name in the palette and in headless commands.
        word, help: What it does, short and in a sentence.
        heading: The heading above it; neighbours with the same heading share it.
        action: The action; for a `config` without changes, a form asks for them.
        places: The selection that it acts on.
        title: The title of its plan.
        why_not: Why it applies to no target now; None: it applies to at least one.
        some: To how many targets it applies, if not to all; else empty.
        is_destructive: Whether its effect can't be undone.
    """

    letter: str
    name: str
    word: Shown
    help: Shown
    heading: Shown = Shown("")
    action: Action
    places: tuple[ActionPlace, ...]
    title: str
    why_not: Shown | None = None
    some: Shown = Shown("")
    is_destructive: bool = False


def subject(fleet: Fleet, places: Sequence[ActionPlace]) -> Shown:
    """Return the name of a selection; for several targets, their number."""
    if len(places) == 1:
        return _name(fleet, places[0])
    scope = scope_at(places[0])
    if isinstance(places[0], str):
        return shown(plural(len(places), "machine"))
    if scope == "model" and len({each.model for each in places if isinstance(each, ModelKey)}) == 1:
        return shown(
            f"{target_label(targets_of(fleet, places)[0], fleet)} in {len(places)} processes"
        )
    return shown(plural(len(places), *_SCOPE_WORDS[scope]))


def production(fleet: Fleet, places: Iterable[ActionPlace]) -> Shown:
    """Return the mark in a dialog's title if the selection is on a production machine; or empty."""
    names = {each if isinstance(each, str) else process_of(each).machine for each in places}
    known = (fleet.machines.get(MachineName(name)) for name in names)
    is_so = any(each is not None and each.production for each in known)
    return Shown(f" · {glyph('production')} production") if is_so else Shown("")


def _name(fleet: Fleet, place: ActionPlace) -> Shown:
    if isinstance(place, str):
        number = len(live_processes(fleet, place))
        return shown(f"{plural(number, 'process', 'processes')} of {place}")
    name, where = target_label(place, fleet), target_location(place, fleet)
    if isinstance(place, ProcessKey):
        return shown(f"pid {name} on {where}")
    if isinstance(place, SampleKey):
        return shown(f"sample {name} of {_name(fleet, place.task)}")
    return shown(f"{name} on {where}")


def targets_of(fleet: Fleet, places: Iterable[ActionPlace]) -> tuple[Target, ...]:
    """Return the targets of a selection; a machine stands for its processes."""
    found: dict[Target, None] = {}
    for place in places:
        if isinstance(place, str):
            found.update(dict.fromkeys(live_processes(fleet, place)))
        else:
            found[place] = None
    return tuple(found)


def read_only(fleet: Fleet, places: Sequence[ActionPlace]) -> Shown | None:
    """Return why no action is available, if all machines of the selection are read-only."""
    names = {each if isinstance(each, str) else process_of(each).machine for each in places}
    machines = [fleet.machines.get(MachineName(name)) for name in names]
    if not machines or not all(each is not None and each.read_only for each in machines):
        return None
    return shown(read_only_reason(names))


def entries(fleet: Fleet, places: Sequence[ActionPlace]) -> tuple[MenuEntry, ...]:
    """Return the menu of a non-empty selection: its own actions, then those on its models."""
    if read_only(fleet, places) is not None:
        return ()
    return (*_own(fleet, tuple(places)), *_of_models(fleet, places))


def buttons(fleet: Fleet, places: Sequence[ActionPlace]) -> tuple[MenuEntry, ...]:
    """Return the entries of the action bar: those that apply to all targets and their state."""
    if not places or read_only(fleet, places) is not None:
        return ()
    few = tuple(places[:_MAX_QUERIED])
    return tuple(each for each in _own(fleet, few) if _is_worth_a_button(each, fleet))


def entry_of(fleet: Fleet, places: Sequence[ActionPlace], action: Action) -> MenuEntry | None:
    """Return the entry of an action on a selection; None: the action does not apply to it."""
    if read_only(fleet, places) is not None:
        return None
    return next(_own(fleet, tuple(places), lambda offer: offer.action == action), None)


def _own(
    fleet: Fleet, places: tuple[ActionPlace, ...], is_wanted: Callable[[Offer], bool] | None = None
) -> Iterator[MenuEntry]:
    """Yield the entries of a selection's own scope, of all offers or of the wanted ones."""
    scope = scope_at(places[0])
    targets = targets_of(fleet, places)
    offers = list(offers_on(scope))
    if scope == "task":
        offers.insert(3, REQUEUE_ERRORED)
    for offer in offers:
        if is_wanted is None or is_wanted(offer):
            yield _entry(fleet, offer, places, targets, title=_title(offer, fleet, places))


def _title(offer: Offer, fleet: Fleet, places: Sequence[ActionPlace]) -> str:
    word = offer.word[:1].upper() + offer.word[1:]
    joint = " in" if offer is REQUEUE_ERRORED else ":" if " " in word or offer.action.manner else ""
    return f"{word}{joint} {subject(fleet, places)}"


def _entry(
    fleet: Fleet,
    offer: Offer,
    places: tuple[ActionPlace, ...],
    targets: Sequence[Target],
    *,
    title: str,
) -> MenuEntry:
    refusals = [
        refusal
        for each in targets
        if (refusal := fleet_refusal(offer, each, fleet) or _sample_over(offer, each, fleet))
    ]
    open_for = len(targets) - len(refusals)
    why_not = None
    if not targets:
        why_not = shown("no eval is running there")
    elif not open_for:
        why_not = shown(_commonest(each.sentence for each in refusals), 300)
    return MenuEntry(
        letter=offer.letter,
        name=offer.name,
        word=shown(offer.word),
        help=shown(offer.help, 300),
        action=offer.action,
        places=places,
        title=title,
        why_not=why_not,
        some=shown(f"{open_for} of {len(targets)}") if refusals and open_for else Shown(""),
        is_destructive=offer.is_destructive,
    )


def _commonest(sentences: Iterable[str]) -> str:
    return Counter(sentences).most_common(1)[0][0]


# Models


def _of_models(fleet: Fleet, places: Sequence[ActionPlace]) -> Iterator[MenuEntry]:
    """Yield the entries that pause or resume a model, for each reach: process, machine, fleet."""
    if scope_at(places[0]) == "sample":
        return
    letters = iter(_DIGITS)
    processes = tuple(dict.fromkeys(process_of(each) for each in targets_of(fleet, places)))
    models: Iterable[str] = (
        dict.fromkeys(
            fleet.tasks[each].row.model
            for each in places
            if isinstance(each, TaskKey) and each in fleet.tasks
        )
        if isinstance(places[0], TaskKey)
        else models_of(fleet, processes)
    )
    for model in models:
        for reach, keys, suffix in _reaches(fleet, model, places, processes):
            for offer in offers_on("model"):
                word = offer.word.replace(" model", "")
                made = _entry(
                    fleet,
                    offer,
                    keys,
                    keys,
                    title=f"{word[:1].upper()}{word[1:]} {shown(model)} {reach}",
                )
                yield replace(
                    made,
                    letter=next(letters, ""),
                    name=f"model-{offer.name}{suffix}",
                    word=shown(f"{word} {reach}"),
                    heading=shown(f"model {model}"),
                )


def _reaches(
    fleet: Fleet, model: str, places: Sequence[ActionPlace], processes: tuple[ProcessKey, ...]
) -> Iterator[tuple[str, tuple[ModelKey, ...], str]]:
    machines = tuple(dict.fromkeys(key.machine for key in processes))
    there = tuple(
        key for machine in machines for key in with_model(fleet, model, _on(fleet, machine))
    )
    if not isinstance(places[0], str):
        where = "in this process" if len(processes) == 1 else "in these processes"
        yield where, with_model(fleet, model, processes), ""
    on = f"on {machines[0]}" if len(machines) == 1 else f"on {len(machines)} machines"
    yield on, there, "-machine"
    yield "on all machines", with_model(fleet, model), "-fleet"


def _on(fleet: Fleet, machine: MachineName) -> tuple[ProcessKey, ...]:
    return live_processes(fleet, machine)


# What the single keys mean


def pause_or_resume(fleet: Fleet, places: Sequence[ActionPlace]) -> Action:
    """Return the action of the pause key: resume if every target is paused itself, else pause."""
    targets = targets_of(fleet, places)
    held = bool(targets) and all(is_held(fleet, each) for each in targets)
    return Action(verb=Verb.RESUME if held else Verb.PAUSE)


_ENDINGS = ("score", "error", "cancel")


def endings(fleet: Fleet, places: Sequence[ActionPlace]) -> tuple[MenuEntry, ...]:
    """Return the ways to end a selection, the gentlest first, then its tool calls."""
    found = list[MenuEntry]()
    if read_only(fleet, places) is None:
        found += _own(fleet, tuple(places), lambda offer: offer.action.verb is Verb.CANCEL)
    found.sort(key=lambda each: _ENDINGS.index(each.action.manner or "cancel"))
    return (*found, *calls(fleet, places))


def calls(fleet: Fleet, places: Sequence[ActionPlace]) -> tuple[MenuEntry, ...]:
    """Return an entry for each tool call in progress of one selected sample."""
    if len(places) != 1 or not isinstance(places[0], SampleKey):
        return ()
    key = places[0]
    task = fleet.tasks.get(key.task)
    sample = task.samples.get((key.sample_id, key.epoch)) if task is not None else None
    whole = entry_of(fleet, places, Action(verb=Verb.CANCEL_CALL))
    if task is None or sample is None or sample.activity is None or whole is None:
        return ()
    made: list[MenuEntry] = []
    now = task.samples_as_of or task.as_of or 0.0
    for letter, call in zip(_DIGITS, sample.activity.calls, strict=False):
        since = f" {age(now - call.started_at)}" if call.started_at and now else ""
        asked = "; its cancel was already requested" if call.cancel_requested else ""
        made.append(
            replace(
                whole,
                letter=letter,
                name=f"cancel-call-{letter}",
                word=shown(f"cancel {shown(call.function, 40)}{since}"),
                help=shown(f"Cancel this tool call; the sample continues with an error{asked}."),
                heading=Shown("tool calls in progress"),
                action=Action(verb=Verb.CANCEL_CALL, tool_call=call.id),
                title=f"Cancel the call of {shown(call.function, 40)} in {subject(fleet, places)}",
            )
        )
    return tuple(made)


def _sample_over(offer: Offer, target: Target, fleet: Fleet) -> Refusal | None:
    """Return why a sample can be neither ended nor scored: the fleet shows that it has ended.

    The planner does not ask this: a requeue may have started the sample again since.
    """
    if not isinstance(target, SampleKey) or offer.action.verb not in _NEEDS_RUNNING:
        return None
    task = fleet.tasks.get(target.task)
    sample = task.samples.get((target.sample_id, target.epoch)) if task is not None else None
    if sample is None or sample.status not in ENDED:
        return None
    return Refusal("no change", f"the sample has ended ({word_of_status(sample.status)})")


def _is_worth_a_button(entry: MenuEntry, fleet: Fleet) -> bool:
    if entry.why_not is not None:
        return False
    if entry.action.verb is Verb.CANCEL_CALL:
        return bool(calls(fleet, entry.places))
    return fits(entry.action, targets_of(fleet, entry.places), fleet)
