"""What a preflight finds: checks of one run on one machine, each with what to do."""

from dataclasses import dataclass
from enum import StrEnum

from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.text import shown

_MAX_NAME_CHARS = 40
_MAX_TEXT_CHARS = 500


class CheckLevel(StrEnum):
    """How much a check matters."""

    OK = "ok"
    WARNING = "warning"
    """It may go wrong: the operator decides."""
    STOP = "stop"
    """It would fail, or harm another run: it is not started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of a preflight; all of its text is harmless to show.

    Attributes:
        name: What was looked at, one or two words: `docker`, `log folder`.
        said: What was found, one sentence without its end.
        advice: What to do; empty where there is nothing to do.
    """

    name: str
    level: CheckLevel
    said: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPlan:
    """A run with its preflight.

    Attributes:
        plan: On the machine that was chosen.
        checks: In the order to read them, stops not first.
        passed_over: Other candidates that do not fit, and why: one sentence each.
    """

    plan: RunPlan
    checks: tuple[Check, ...] = ()
    passed_over: tuple[tuple[MachineName, str], ...] = ()

    @property
    def stops(self) -> tuple[Check, ...]:
        """What keeps it from being started."""
        return tuple(each for each in self.checks if each.level is CheckLevel.STOP)


def passed(name: str, said: str) -> Check:
    """Return a check that found all well."""
    return _check(name, CheckLevel.OK, said, "")


def warning(name: str, said: str, advice: str = "") -> Check:
    """Return a check that may matter."""
    return _check(name, CheckLevel.WARNING, said, advice)


def stop(name: str, said: str, advice: str = "") -> Check:
    """Return a check that keeps a run from being started."""
    return _check(name, CheckLevel.STOP, said, advice)


def _check(name: str, level: CheckLevel, said: str, advice: str) -> Check:
    return Check(
        name=shown(name, _MAX_NAME_CHARS),
        level=level,
        said=shown(said, _MAX_TEXT_CHARS),
        advice=shown(advice, _MAX_TEXT_CHARS),
    )
