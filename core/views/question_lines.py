"""The lines of a question: evalroom's own are plain, those of a machine have a frame."""

from collections.abc import Iterator

from core.model.question import Question
from core.text import Shown, shown
from core.text_width import width_of
from core.views.cells import Span, TextLine

FRAME_COLUMNS = 52
"""Cells of a machine's words in one line, so that no line of them is folded out of the frame."""
OWN_TITLE = Shown("evalroom asks")


def question_title(question: Question) -> Shown:
    """Return the title of a question: it says who asks."""
    return shown(f"{question.sender} asks", 80) if question.sender else OWN_TITLE


def question_lines(question: Question) -> tuple[TextLine, ...]:
    """Return the lines of a question.

    A machine's words stand between two rules, each line behind a bar, below a sentence of evalroom
    that names the machine. evalroom's own questions have neither, and never quote a machine.
    """
    if not question.sender:
        return ((Span(question.text, "strong"),),)
    return tuple(_framed(question))


def _framed(question: Question) -> Iterator[TextLine]:
    sender = shown(question.sender, 120)
    yield (Span(shown(f"These words are {sender}'s, not evalroom's:", 200), "plain"),)
    yield (Span(shown("┌" + "─" * (FRAME_COLUMNS + 2)), "dim"),)
    for line in _lines(question.text):
        yield (Span(Shown("│ "), "dim"), Span(shown(line), "warning"))
    yield (Span(shown("└" + "─" * (FRAME_COLUMNS + 2)), "dim"),)
    yield (Span(shown(f"Your answer goes to {sender}.", 200), "plain"),)
    if question.asks_for_a_key:
        yield (
            Span(
                Shown(
                    "It seems to ask for a passphrase or a key of this computer. A machine never"
                    " needs one: press Esc."
                ),
                "error",
            ),
        )


def _lines(text: str) -> Iterator[str]:
    """Yield a text in lines that fit into the frame."""
    line, used = "", 0
    for char in text:
        cells = width_of(char)
        if used + cells > FRAME_COLUMNS:
            yield line
            line, used = "", 0
        line, used = line + char, used + cells
    yield line
