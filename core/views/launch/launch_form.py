"""The launch form as rows: each field with its value and a note beside it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import sentences
from core.format import plural
from core.launch.form.form import LEAVE_OUT, Form, field_of
from core.launch.form.model_variables import ModelVariable, model_variables, names_in
from core.launch.form.validation import CheckedForm
from core.launch.plan.eval_set_args import on_error_means, worst_case
from core.launch.spec.spec_reader import ON_ERROR_CHOICES
from core.launch.spec.spec_writer import table_text
from core.text import Shown, shown
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.glyphs import glyph

PLAN = "plan"
"""Name of the last row, which leads to the plan."""
READS = "reads:"
"""Prefix of the rows for the variables that the model reads."""
_LONGEST = 2_000
_NOTHING = Span(Shown(" "))


@dataclass(frozen=True, slots=True, kw_only=True)
class FormContext:
    """What the form knows besides the typed texts.

    Attributes:
        secrets: Names of the secrets that are stored on this computer; None: unknown.
        last_on_error: The choice of the last launch from this template; empty: none yet.
    """

    secrets: frozenset[str] | None = None
    last_on_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRow:
    """One line of the form.

    Attributes:
        name: The key of a field, or `READS` and a variable, or `PLAN`; empty: a heading.
        label, sign, value: What the row shows first.
        note: Text beside the value; empty: none.
        is_typed: Whether the value is typed in the line itself.
    """

    name: str
    label: Shown
    sign: Span = _NOTHING
    value: Span = _NOTHING
    note: TextLine = ()
    is_typed: bool = False

    @property
    def is_heading(self) -> bool:
        """Whether the row is a heading, which the cursor skips."""
        return not self.name


def form_rows(form: Form, checked: CheckedForm, around: FormContext) -> tuple[FormRow, ...]:
    """Return the rows of the form in order, with headings."""
    rows: list[FormRow] = []
    section = ""
    for key in form.keys:
        field = field_of(key)
        if field.section != section:
            section = field.section
            rows.append(FormRow(name="", label=Shown(section)))
        rows.append(_field_row(form, checked, around, key))
        if key == "model":
            rows += [_reads_row(each, around) for each in model_variables(checked.table)]
    return (*rows, FormRow(name="", label=Shown("Plan")), _plan_row(checked))


def keys_to_fix(form: Form, checked: CheckedForm) -> tuple[str, ...]:
    """Return the keys of the fields that must be fixed before a plan can be made, in order."""
    known = [key for key in form.keys if key in checked.wrong]
    return (*known, *(key for key in checked.wrong if key not in form.keys))


def _field_row(form: Form, checked: CheckedForm, around: FormContext, key: str) -> FormRow:
    wrong, warnings = checked.wrong.get(key), checked.warnings.get(key, ())
    mark, note = _NOTHING, _note(form, checked, around, key)
    if wrong is not None:
        needed = wrong.what == "needed"
        mark = Span(glyph("ask" if needed else "failed"), "warning" if needed else "error")
        note = (Span(_short(wrong.what, wrong.advice), "error"),)
        if needed:
            or_typed = "" if key == "on_error" else ", or type it"
            note = (Span(shown(f"Enter to choose{or_typed}"), "warning"),)
    elif warnings:
        mark = Span(glyph("starved"), "warning")
        note = (Span(shown(warnings[0], 300), "warning"),)
    return FormRow(
        name=key,
        label=shown(key, 40),
        sign=mark,
        value=_value(form, around, key),
        note=note,
        is_typed=True,
    )


def _value(form: Form, around: FormContext, key: str) -> Span:
    typed = form.texts.get(key, "").strip()
    if typed == LEAVE_OUT and key in form.former:
        return span_of("left out", "dim")
    if typed:
        return Span(shown(typed, _LONGEST), "strong")
    if key in form.former:
        return Span(shown(f"{form.former[key]}  (kept)", _LONGEST), "plain")
    if key == "on_error" and around.last_on_error:
        return Span(shown(f"needed; last time {around.last_on_error}"), "dim")
    return Span(shown(field_of(key).unset or "needed"), "dim")


def _short(what: str, advice: str) -> Shown:
    """Return a problem in few words: of a wrong value only the allowed ones."""
    first = advice.partition("\n")[0]
    if what.endswith("is wrong") or '" is wrong: ' in what:
        return shown(first.removeprefix("allowed: "), 300)
    return shown(what if what == "needed" else sentences(what, first), 300)


def _note(form: Form, checked: CheckedForm, around: FormContext, key: str) -> TextLine:
    spec = checked.spec
    if key == "retry_attempts" and spec is not None:
        return (Span(shown(f"at worst {worst_case(spec).says}"), "dim"),)
    if key == "machine" and len(checked.launches) > 1:
        return (span_of(plural(len(checked.launches), "run"), "dim"),)
    if key == "secrets" and form.text(key) and around.secrets is not None:
        lacks = sorted(set(names_in(checked.table, "secrets").values()) - around.secrets)
        if lacks:
            return (Span(shown(f"not stored yet: {', '.join(lacks)}", 300), "warning"),)
        return (span_of("all stored", "dim"),)
    return ()


def _reads_row(read: ModelVariable, around: FormContext) -> FormRow:
    variable, given = read.variable, read.given
    is_lacking = variable.is_needed and given is None
    mark = Span(glyph("starved"), "warning") if is_lacking else _NOTHING
    if given == "secrets":
        kept = around.secrets
        where = "" if kept is None else ", stored" if read.secret in kept else ", not stored"
        tone: Tone = "warning" if where.endswith("not stored") else "good"
        named = "" if read.secret == variable.name else f" ({read.secret})"
        value = Span(shown(f"set by secrets{named}{where}"), tone)
    elif given is not None:
        value = span_of(f"set by {given}", "good")
    else:
        value = span_of("needed" if is_lacking else "not set", "warning" if is_lacking else "dim")
    what = (
        "the model reads it"
        if given
        else "a secret"
        if variable.is_secret
        else "an environment variable"
    )
    instead = f", or {', '.join(variable.instead)}" if variable.instead and not given else ""
    return FormRow(
        name=f"{READS}{variable.name}",
        label=shown(f"  {variable.name}", 40),
        sign=mark,
        value=value,
        note=(Span(shown(f"{what}{instead}"), "dim"),),
    )


def _plan_row(checked: CheckedForm) -> FormRow:
    if not checked.is_ready:
        count = len(checked.wrong)
        value = span_of(f"fix {plural(count, 'field')} first", "warning")
        return FormRow(name=PLAN, label=Shown("plan"), sign=_NOTHING, value=value)
    value = span_of("Enter checks the plan on its machine", "good")
    return FormRow(name=PLAN, label=Shown("plan"), sign=Span(glyph("run"), "good"), value=value)


def status(checked: CheckedForm) -> TextLine:
    """Return the state of the form in few words."""
    if not checked.is_ready:
        return (span_of(f"{plural(len(checked.wrong), 'field')} to fix", "warning"),)
    runs = span_of(plural(len(checked.launches), "run"), "good")
    warnings = sum(len(each) for each in checked.warnings.values())
    if not warnings:
        return (runs,)
    return (runs, span_of(" · ", "dim"), span_of(plural(warnings, "warning"), "warning"))


# Help for the row under the cursor


def explained(
    form: Form, checked: CheckedForm, around: FormContext, name: str
) -> tuple[TextLine, ...]:
    """Return the help for the row under the cursor."""
    if name == PLAN:
        return tuple(_plan_words(checked))
    if name.startswith(READS):
        read = next(
            (each for each in model_variables(checked.table) if READS + each.variable.name == name),
            None,
        )
        return tuple(_reads_words(read, around)) if read is not None else ()
    return tuple(_field_words(form, checked, around, name))


def _field_words(
    form: Form, checked: CheckedForm, around: FormContext, key: str
) -> Iterator[TextLine]:
    field = field_of(key)
    yield (Span(shown(key, 60), "key"), Span(shown(f"  {field.help}", 400)))
    wrong = checked.wrong.get(key)
    if wrong is not None:
        advice = [] if key == "on_error" and wrong.what == "needed" else wrong.advice.split("\n")
        yield (
            Span(glyph("ask" if wrong.what == "needed" else "failed"), "warning"),
            Span(shown(f" {sentences(wrong.what, ''.join(advice[:1]))}", 1_400), "warning"),
        )
        yield from ((Span(shown(line, 400), "dim"),) for line in advice[1:])
    for each in checked.warnings.get(key, ()):
        yield (Span(glyph("starved"), "warning"), Span(shown(f" {each}", 400), "warning"))
    if key in form.former:
        kept = form.former[key]
        yield (
            Span(shown(f"blank: keeps {kept}; {LEAVE_OUT} by itself removes the key", 400), "dim"),
        )
    elif field.unset:
        yield (Span(shown(f"blank: {field.unset}"), "dim"),)
    if field.section == "On error":
        yield from _on_error_words(checked, around)


def _on_error_words(checked: CheckedForm, around: FormContext) -> Iterator[TextLine]:
    spec = checked.spec
    if spec is not None:
        yield (Span(shown(on_error_means(spec), 300)),)
        yield (Span(shown(f"at worst {worst_case(spec).says}"), "dim"),)
        return
    for each in ON_ERROR_CHOICES:
        yield (Span(shown(each, 300), "dim"),)
    if around.last_on_error:
        yield (Span(shown(f"last time you chose {around.last_on_error}"), "warning"),)


def _reads_words(read: ModelVariable, around: FormContext) -> Iterator[TextLine]:
    variable = read.variable
    yield (Span(shown(variable.name, 60), "key"), Span(shown(f"  {read.model} reads it", 300)))
    if variable.instead:
        yield (span_of(f"alternatives: {', '.join(variable.instead)}", "dim"),)
    if not variable.is_needed:
        yield (span_of("the model also runs without it", "dim"),)
    if read.given is None and variable.is_secret:
        yield (span_of("Enter adds it to secrets; the spec never contains its value"),)
    elif read.given is None:
        yield (span_of("Enter moves to env, where you type its value"),)
    if read.secret is not None and around.secrets is not None and read.secret not in around.secrets:
        yield (
            Span(
                shown(f"the secret {read.secret} is not stored yet: Enter asks for its value"),
                "warning",
            ),
        )


def _plan_words(checked: CheckedForm) -> Iterator[TextLine]:
    if not checked.is_ready:
        yield (span_of("Enter goes to the first field to fix", "warning"),)
        for key, wrong in checked.wrong.items():
            yield (Span(shown(f"{key or 'the spec'}: {wrong.what}", 300), "dim"),)
        return
    runs = plural(len(checked.launches), "run")
    yield (span_of(f"{runs}: evalroom checks each one on its machine; nothing starts until"),)
    yield (span_of("you have seen the plan and confirmed it", "dim"),)


# The spec of the form


def spec_lines(checked: CheckedForm) -> tuple[TextLine, ...]:
    """Return the lines of the spec's file, as far as the fields can be read."""
    lines: list[TextLine] = []
    for key, value in checked.table.items():
        tone: Tone = "error" if key in checked.wrong else "plain"
        lines.append((Span(shown(_line(key, value), _LONGEST), tone),))
    return tuple(lines)


def _line(key: str, value: object) -> str:
    try:
        return table_text({key: value}).rstrip("\n")
    except ValueError:  # a null, or a date
        return f"{key} = {json.dumps(value, default=str)}"


def template_text(checked: CheckedForm, title: str) -> tuple[str, tuple[str, ...]]:
    """Return the spec as the text of a template, and the keys that it can't hold."""
    lines, left_out = [f"# {title}"], list[str]()
    for key, value in checked.table.items():
        try:
            lines.append(table_text({key: value}).rstrip("\n"))
        except ValueError:
            left_out.append(key)
        else:
            if key in checked.wrong:
                lines.pop()
                left_out.append(key)
    return "\n".join((*lines, "")), tuple(left_out)


def columns_of(rows: Sequence[FormRow]) -> int:
    """Return how many cells the labels take."""
    return max((len(row.label) for row in rows if not row.is_heading), default=0)
