"""The table of guides, and one guide as a checklist."""

from collections.abc import Iterator, Sequence

from core.guide.guide import Guide, GuideStep, StepState, was_stopped
from core.guide.step_actions import guide_label
from core.text import Shown, shown
from core.views.cells import Span, Table, TextLine, Tone, span_of, text_cell
from core.views.glyphs import GlyphName, glyph
from core.views.tables.fields import Fields, field, table
from core.views.tables.orders import when

_STYLES: dict[StepState, tuple[GlyphName, Tone]] = {
    StepState.WAITING: ("wait", "dim"),
    StepState.RUNNING: ("run", "good"),
    StepState.DONE: ("success", "good"),
    StepState.SKIPPED: ("cancelled", "dim"),
    StepState.STOPPED: ("hold", "warning"),
}
_WORD, _TITLE = 9, 36
_COMMAND = 16_000


def state_of(guide: Guide, *, is_here: bool = True) -> str:
    """Return the state of a guide in a word; `left`: this evalroom does not run it."""
    if not guide.is_open:
        return "stopped" if was_stopped(guide) else "done"
    if not is_here:
        return "left"
    return "waiting" if guide.waits else "running"


_TONES: dict[str, Tone] = {
    "your turn": "warning",
    "left": "warning",
    "running": "good",
    "stopped": "dim",
    "done": "dim",
}
_Line = tuple[Guide, bool, float]


def _where(line: _Line) -> str:
    step = line[0].step
    if step is None:
        return line[0].steps[-1].sentence
    return f"{step.title}: {step.sentence}" if step.sentence else step.title


def _word(line: _Line) -> str:
    state = state_of(line[0], is_here=line[1])
    return "your turn" if state == "waiting" else state


_FIELDS = Fields[_Line](
    (
        field(
            "time",
            lambda line: (Span(when(line[0].made_at, line[2]), "dim"),),
            lambda line: -line[0].made_at,
            width=8,
        ),
        field(
            "state",
            lambda line: text_cell(_word(line), _TONES[_word(line)]),
            _word,
            width=9,
        ),
        field(
            "guide",
            lambda line: text_cell(guide_label(line[0].kind), "strong"),
            lambda line: guide_label(line[0].kind),
            width=12,
        ),
        field(
            "on",
            lambda line: text_cell(line[0].name),
            lambda line: line[0].name,
            width=12,
            grow=1,
        ),
        field(
            "step",
            lambda line: text_cell(_where(line), "dim", 300),
            _where,
            width=12,
            grow=2,
            rank=1,
        ),
    )
)


def guides_table(guides: Sequence[Guide], here: frozenset[str], now: float) -> Table[str]:
    """Return guides by their ids, in the order given.

    Args:
        guides: The guides to show.
        here: The ids of the guides that this evalroom runs.
        now: Unix seconds at the desk.
    """
    still = sum(guide.is_open for guide in guides)
    return table(
        _FIELDS,
        (
            _FIELDS.row(
                guide.id, (guide, guide.id in here, now), "plain" if guide.is_open else "dim"
            )
            for guide in guides
        ),
        title="Guides",
        footer=f"{still} open · {len(guides)} total" if guides else "",
        empty="no guides yet: select a task in the room, press : and type guide",
    )


def guide_title(guide: Guide) -> Shown:
    """Return the title of a guide."""
    return shown(f"{guide_label(guide.kind)}, {guide.name}", 200)


def guide_lines(guide: Guide, *, is_here: bool = True) -> tuple[TextLine, ...]:
    """Return a guide as a checklist: the glyph, state, title and sentence of each step."""
    lines = [_step(guide, at, step) for at, step in enumerate(guide.steps)]
    return (*lines, *_more(guide, is_here=is_here))


def _step(guide: Guide, at: int, step: GuideStep) -> TextLine:
    name, tone = _STYLES[step.state]
    is_now = guide.current == at
    asks = is_now and guide.waits
    if asks:
        name, tone = "ask", "warning"
    word = "your turn" if asks else str(step.state)
    title = Span(shown(step.title.ljust(_TITLE), 100), "strong" if is_now else "plain")
    head = (Span(glyph(name), tone), span_of(f" {word.ljust(_WORD)}  ", tone), title)
    return (*head, Span(shown(f"  {step.sentence}", 500), "dim")) if step.sentence else head


def _more(guide: Guide, *, is_here: bool) -> Iterator[TextLine]:
    if guide.is_open and not is_here:
        yield ()
        yield (
            span_of(
                "another evalroom instance runs this guide, or has exited: Enter takes it over",
                "warning",
            ),
        )
    if guide.command:
        yield ()
        yield (span_of("command to resume the run:", "dim"),)
        yield (Span(shown(guide.command, _COMMAND), "key"),)
    for note in guide.notes:
        yield (Span(shown(note, 1_000), "warning"),)


def plain_lines(guide: Guide, *, is_here: bool = True) -> list[str]:
    """Return a guide as plain lines."""
    lines = ["".join(span.text for span in line) for line in guide_lines(guide, is_here=is_here)]
    return [f"{guide_title(guide)}  [{guide.id}]", *(line.rstrip() for line in lines)]
