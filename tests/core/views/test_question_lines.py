"""A machine's question stands in a frame that names the machine; evalroom's own looks different."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.question import Question, machine_question
from core.text import Shown
from core.text_width import width_of
from core.views.question_lines import (
    FRAME_COLUMNS,
    OWN_TITLE,
    question_lines,
    question_title,
)

SENDER = "ada@gpu1:22"
OWN = Question(text=Shown("Passphrase for the key /home/ada/.ssh/id_ed25519"))


def texts(question: Question) -> list[str]:
    return ["".join(span.text for span in line) for line in question_lines(question)]


def test_evalrooms_own_question_has_no_frame_and_no_sender() -> None:
    assert question_title(OWN) == OWN_TITLE
    assert texts(OWN) == [OWN.text]
    assert not OWN.asks_for_a_key


@given(st.text(), st.text(max_size=400))
def test_a_machines_words_never_leave_their_frame(instructions: str, prompt: str) -> None:
    question = machine_question(SENDER, instructions, prompt, is_seen=False)
    assert question_title(question) == f"{SENDER} asks"
    first, top, *rest = texts(question)
    assert first == f"These words are {SENDER}'s, not evalroom's:"
    end = next(at for at, line in enumerate(rest) if not line.startswith("│ "))
    assert (top[0], rest[end][0]) == ("┌", "└")
    assert rest[end + 1] == f"Your answer goes to {SENDER}."
    assert all(width_of(line) <= FRAME_COLUMNS + 4 for line in rest[:end])
    assert "".join(line[2:] for line in rest[:end]) == question.text
    assert len(rest) - end <= 3


@pytest.mark.parametrize(
    "words",
    [
        "Enter passphrase for key '/home/ada/.ssh/id_ed25519': ",
        "Passphrase for /home/ada/.ssh/work:",
        "pass-phrase:",
        "evalroom asks: unlock your private key",
        "Your ssh-agent is locked. PIN:",
    ],
)
def test_a_machine_that_asks_for_a_key_is_pointed_out(words: str) -> None:
    question = machine_question(SENDER, "", words, is_seen=False)
    assert question.asks_for_a_key
    assert texts(question)[-1].startswith("It seems to ask for a passphrase or a key of this")


@pytest.mark.parametrize(
    "words", ["Password: ", "Verification code:", "Duo passcode or option (1-2):"]
)
def test_usual_questions_of_a_machine_are_not_pointed_out(words: str) -> None:
    assert not machine_question(SENDER, "", words, is_seen=False).asks_for_a_key
