"""The checks of a preflight: each states a fact of a machine, and says what to do."""

from dataclasses import dataclass
from enum import StrEnum

from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.text import shown

_MAX_NAME_CHARS = 40
_MAX_TEXT_CHARS = 500


class CheckLevel(StrEnum):
    """How serious a check is."""

    OK = "ok"
    WARNING = "warning"
    """The run may fail: the operator decides."""
    STOP = "stop"
    """The run would fail or harm another one: it is not started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check; its text is harmless to show.

    Attributes:
        name: What was checked, one or two words: `docker`, `log folder`.
        level: How serious it is.
        message: What was found, one sentence without its full stop.
        advice: What to do; empty: nothing.
    """

    name: str
    level: CheckLevel
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPlan:
    """A plan with its preflight.

    Attributes:
        plan: The plan on the chosen machine.
        checks: In the order to read them; stops do not come first.
        passed_over: The other candidates that don't fit, each with one sentence why.
    """

    plan: RunPlan
    checks: tuple[Check, ...] = ()
    passed_over: tuple[tuple[MachineName, str], ...] = ()

    @property
    def stops(self) -> tuple[Check, ...]:
        """The checks that stop the run."""
        return tuple(each for each in self.checks if each.level is CheckLevel.STOP)


def passed(name: str, message: str) -> Check:
    """Return a check of level OK."""
    return _check(name, CheckLevel.OK, message, "")


def warning(name: str, message: str, advice: str = "") -> Check:
    """Return a check of level WARNING."""
    return _check(name, CheckLevel.WARNING, message, advice)


def stop(name: str, message: str, advice: str = "") -> Check:
    """Return a check of level STOP."""
    return _check(name, CheckLevel.STOP, message, advice)


def _check(name: str, level: CheckLevel, message: str, advice: str) -> Check:
    return Check(
        name=shown(name, _MAX_NAME_CHARS),
        level=level,
        message=shown(message, _MAX_TEXT_CHARS),
        advice=shown(advice, _MAX_TEXT_CHARS),
    )
