"""The sample that a TARGET names: `TASK#ID` or `TASK#ID/EPOCH`, whatever the id holds.

An id may hold `#` and `/`, so a word may have several readings. Only a reading that fits a listed
sample counts, as long as any does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from core.fleet import Fleet
from core.ids import SampleKey, TaskKey
from core.target_escapes import escaped, marked_as_text, readings, unescaped
from core.task_targets import FULL, fitting_tasks, full_task_name, several, task_name
from core.text import shown

SampleId = tuple[str | int, int]
"""A sample's id and epoch."""

Listings = Mapping[TaskKey, AbstractSet[SampleId]]
"""All samples of these tasks, as their evals listed them just now."""

NO_LISTINGS: Listings = MappingProxyType({})
_EPOCH = re.compile(r"[0-9]{1,9}\Z")
_INTEGER = re.compile(r"-?[0-9]{1,30}\Z")
_MAX_EPOCHS = 20
"""Epochs that are tried for an id without an epoch."""


def tasks_of_samples(fleet: Fleet, word: str) -> tuple[TaskKey, ...]:
    """Return the tasks whose samples `word` may name, for their listings.

    Raises:
        TargetUnclear: Its machine is not configured, or the task is one of several.
    """
    return tuple(dict.fromkeys(task for task, _ in _splits(fleet, word)))


def listed_samples(fleet: Fleet, word: str, listings: Listings) -> tuple[SampleKey, ...]:
    """Return the listed samples that `word` may mean.

    Raises:
        TargetUnclear: As `tasks_of_samples`.
    """
    if word.startswith(FULL):
        return _fully_named(fleet, word, listings)
    found: dict[SampleKey, None] = {}
    for task, tail in _splits(fleet, word):
        ids = _ids(fleet, task, listings)
        for text, epochs in _ids_and_epochs(tail, fleet.tasks[task].row.epochs):
            for epoch in epochs:
                found |= dict.fromkeys(SampleKey(task, *one) for one in _same(ids, text, epoch))
    return tuple(found)


def possible_samples(fleet: Fleet, word: str, listings: Listings) -> tuple[SampleKey, ...]:
    """Return the samples that `word` may mean in tasks whose samples are not all listed.

    Raises:
        TargetUnclear: As `tasks_of_samples`.
    """
    return tuple(
        dict.fromkeys(
            SampleKey(task, text, epoch)
            for task, tail in _splits(fleet, word)
            if task not in listings
            for text, epochs in _ids_and_epochs(tail, fleet.tasks[task].row.epochs)
            for epoch in epochs
            if text
        )
    )


def sample_name(fleet: Fleet, key: SampleKey, listings: Listings) -> str:
    """Return a name that a TARGET reads as this sample; harmless to show."""
    rest = f"#{sample_id_name(key, _ids(fleet, key.task, listings))}/{key.epoch}"
    short = task_name(fleet, key.task) + rest
    if listed_samples(fleet, short, listings) == (key,):
        return short
    return full_task_name(key.task) + rest


def full_sample_name(fleet: Fleet, key: SampleKey, listings: Listings) -> str:
    """Return the name of a sample that has one reading only; harmless to show."""
    ids = _ids(fleet, key.task, listings)
    return f"{full_task_name(key.task)}#{sample_id_name(key, ids)}/{key.epoch}"


def sample_id_name(key: SampleKey, ids: AbstractSet[SampleId]) -> str:
    """Return a sample's id, escaped; text that looks like a number in `ids` is marked as text."""
    text = str(key.sample_id)
    number = _number(key.sample_id)
    if number is not None and (number, key.epoch) in ids:
        return marked_as_text(text)
    return escaped(text)


def has_twin(fleet: Fleet, key: SampleKey, listings: Listings = NO_LISTINGS) -> bool:
    """Return whether another sample of the task has the same id in the other type: `1` and `"1"`.

    A control channel gets every id as text, so it can't tell the two apart.
    """
    other = str(key.sample_id) if isinstance(key.sample_id, int) else _number(key.sample_id)
    return other is not None and (other, key.epoch) in _ids(fleet, key.task, listings)


def _number(sample_id: str | int) -> int | None:
    """Return the number that an id of text looks like; None for all other ids."""
    if isinstance(sample_id, int) or not _INTEGER.match(sample_id):
        return None
    return int(sample_id) if str(int(sample_id)) == sample_id else None


def twin_sentence(key: SampleKey) -> str:
    """Return why nothing is sent to a sample if another one has the same id as text."""
    named = shown(key.sample_id, 60)
    return (
        f"two samples have the ID {named}, as a number and as text, and the eval can't tell them"
        " apart. Act on the task instead"
    )


def known_ids(fleet: Fleet, task: TaskKey) -> AbstractSet[SampleId]:
    """Return the ids of a task's known samples."""
    known = fleet.tasks.get(task)
    return known.samples.keys() if known is not None else frozenset()


def _ids(fleet: Fleet, task: TaskKey, listings: Listings) -> AbstractSet[SampleId]:
    listed = listings.get(task)
    return known_ids(fleet, task) if listed is None else listed


def _splits(fleet: Fleet, word: str) -> Iterator[tuple[TaskKey, str]]:
    """Yield each task before a `#` with the text after it."""
    if word.startswith(FULL):
        head, hash_, tail = word.partition("#")
        if hash_:
            yield from ((task, tail) for task in fitting_tasks(fleet, head))
        return
    for place in (at for at, char in enumerate(word) if char == "#"):
        head, tail = word[:place], word[place + 1 :]
        found = fitting_tasks(fleet, head) if head and not head.endswith(":") else ()
        if len(found) > 1:
            raise several(head, [task_name(fleet, task) for task in found])
        if found:
            yield found[0], tail


def _ids_and_epochs(tail: str, epochs: int | None) -> Iterator[tuple[str, range]]:
    """Yield each reading of `ID` and `ID/EPOCH`; without an epoch, one for each epoch."""
    for text in readings(tail):
        yield text, range(1, min(epochs or 1, _MAX_EPOCHS) + 1)
    named, slash, epoch = tail.rpartition("/")
    if slash and _EPOCH.match(epoch) and int(epoch):
        for text in readings(named):
            yield text, range(int(epoch), int(epoch) + 1)


def _fully_named(fleet: Fleet, word: str, listings: Listings) -> tuple[SampleKey, ...]:
    found: list[SampleKey] = []
    for task, tail in _splits(fleet, word):
        named, _, epoch = tail.rpartition("/")
        text = unescaped(named)
        if text is None or not _EPOCH.match(epoch):
            continue
        fits = _same(_ids(fleet, task, listings), text, int(epoch))
        number = [each for each, _ in fits if isinstance(each, int) and "%" not in named]
        found.append(SampleKey(task, number[0] if number else _text_of(fits, text), int(epoch)))
    return tuple(found)


def _text_of(fits: Sequence[SampleId], text: str) -> str | int:
    """Return the id of an escaped text: the text, or the number if only the number is listed."""
    return text if not fits or any(each == text for each, _ in fits) else fits[0][0]


def _same(ids: AbstractSet[SampleId], text: str, epoch: int) -> Sequence[SampleId]:
    """Return the listed ids that are written as `text`: a text, a number, or both."""
    return [
        (each, epoch) for each in (text, _number(text)) if each is not None and (each, epoch) in ids
    ]
