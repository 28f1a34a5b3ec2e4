"""Errors: message and advice are joined in one way; groups give their first error."""

import pytest

from core.errors import EvalroomError, LinkLost, first_error, sentences
from core.ids import MachineName


@pytest.mark.parametrize(
    ("message", "advice", "joined"),
    [
        ("the disk is full", "make room on it", "the disk is full. Make room on it"),
        ("The disk is full.", "Make room.", "The disk is full. Make room."),
        ("is it full?", "make room", "is it full? Make room"),
        ("the disk is full", "", "the disk is full"),
        ("the disk is full", None, "the disk is full"),
        ("no secret HF", "evalroom secrets set HF", "no secret HF. evalroom secrets set HF"),
        ("no such option", "--dry-run shows it", "no such option. --dry-run shows it"),
        ("not a pair", "name = value", "not a pair. name = value"),
        ("a step waits", "x leaves the guide", "a step waits. x leaves the guide"),
        ("too many runs", "allowed: 3", "too many runs. Allowed: 3"),
    ],
)
def test_message_and_advice_become_two_sentences(
    message: str, advice: str | None, joined: str
) -> None:
    assert sentences(message, advice) == joined


def test_an_error_says_its_own_two_sentences() -> None:
    assert EvalroomError("it is full", "make room").sentence == "it is full. Make room"
    assert EvalroomError("it is full").sentence == "it is full"


def test_the_first_error_inside_groups_is_found() -> None:
    lost = LinkLost(MachineName("h1"), "it broke")
    group: BaseException = BaseExceptionGroup(
        "", [BaseExceptionGroup("", [lost, OSError()]), ValueError()]
    )

    assert first_error(group) is lost
    assert first_error(lost) is lost
