"""The arguments of the commands that change something: `act`, `config-set`, `undo`."""

import argparse
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from cli.parser.command import Consent, ParsedCommand, command_of
from cli.parser.options import add_consent, add_dry_run, add_json, add_timeout
from core.act.target_grammar import TargetSpec, action_named
from core.errors import UsageWrong
from core.model.action import CLEARABLE, KNOB_UNITS, OFFERS, Action, Change, Verb
from core.text import shown

KNOBS = {
    "max_samples": 1, "max_tasks": 1, "max_sandboxes": 1, "max_subprocesses": 1,
    "max_connections": 1, "log_buffer": 1, "log_shared": 1, "time_limit": 0, "token_limit": 0,
    "message_limit": 0, "timeout": 0, "attempt_timeout": 0, "stream_idle_timeout": 0,
    "max_retries": 0,
}  # fmt: skip
"""The knobs, named as in `inspect ctl config`, each with its smallest value."""

_MOST_DIGITS = 12
_OF_KNOBS = (
    "A knob is a value that a running eval lets you change: a limit, the number of retries,\n"
    "the log buffer. Knobs are named as in `inspect ctl config`. `clear` goes back to the value\n"
    "that the eval was launched with."
)
_KNOB = "knob_"
"""Prefix of knobs in the argparse namespace: one knob is named `timeout` like an option."""
_TARGETS = """\
TARGET is one of:
  machine:task-id                a task; any unique part of this is enough
  TASK#ID or TASK#ID/EPOCH       a sample
  machine:PID                    a process
  machine:                       all processes of a machine
Without a machine, a name must match on one machine only. A TARGET with several
readings is refused; the message lists full names, which have one reading each:
  @machine:PID   @machine:PID:task-id   @machine:PID:task-id#ID/EPOCH
evalroom prints names with %XX (two hex digits of a byte) for a space, a #, a %
and other odd characters. You can type a name as it is, or as it is printed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingCommand(ParsedCommand):
    """The arguments that all commands of this family have.

    Attributes:
        consent: The consent that the command line gives in advance.
        reason: The reason for the journal; may be empty.
        content: Whether free text from dry runs is printed.
        timeout: Seconds to wait for machines.
    """

    dry_run: bool
    consent: Consent
    reason: str
    content: bool
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActCommand(ActingCommand):
    """`evalroom act ACTION TARGET...` and `evalroom config-set TARGET...`."""

    run_by: ClassVar[str] = "cli.commands.act:act"
    action: Action
    targets: TargetSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoCommand(ActingCommand):
    """`evalroom undo`."""

    run_by: ClassVar[str] = "cli.commands.act:undo"


def option_of(knob: str) -> str:
    """Return the option of a knob, as `inspect ctl config` spells it."""
    return f"--{knob.replace('_', '-')}"


def add_act(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `act`."""
    parser.epilog = f"ACTION is one of:\n{_action_lines()}\n\n{_TARGETS}"
    add_json(parser)
    parser.add_argument("action", metavar="ACTION", help="what to do (see below)")
    _add_targets(parser)
    parser.add_argument(
        "--model", metavar="M", help="pause, resume: only this model of the processes"
    )
    parser.add_argument(
        "--errored", action="store_true", help="requeue: all errored samples of the tasks"
    )
    parser.add_argument("--now", action="store_true", help="pause: hold samples in flight too")
    parser.add_argument(
        "--manner",
        choices=("score", "error", "cancel"),
        help="cancel: score samples in flight, mark them errored, or cut them off",
    )
    parser.add_argument(
        "--finished-only", action="store_true", help="score: use finished samples only"
    )
    parser.add_argument(
        "--call", dest="tool_call", metavar="ID", help="cancel-call: the tool call to cancel"
    )
    _add_common(parser)
    parser.set_defaults(make=_act)


def _action_lines() -> str:
    """Return each action with what it does; where it fits several scopes, to a task."""
    helps = {offer.name: offer.help for offer in OFFERS}
    helps |= {offer.name: offer.help for offer in OFFERS if offer.scope == "task"}
    lines = [
        textwrap.fill(
            text,
            90,
            initial_indent=f"  {name:<16} ",
            subsequent_indent=" " * 19,
        )
        for name, text in helps.items()
        if name != "config"
    ]
    return "\n".join(lines)


def add_config_set(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `config-set`."""
    parser.epilog = f"{_OF_KNOBS}\n\n{_TARGETS}"
    add_json(parser)
    _add_targets(parser)
    for knob, least in KNOBS.items():
        clears = ", or `clear`" if knob in CLEARABLE else ""
        unit = f" ({KNOB_UNITS[knob]})" if knob in KNOB_UNITS else ""
        parser.add_argument(
            option_of(knob),
            dest=f"{_KNOB}{knob}",
            metavar="N",
            help=f"a whole number from {least}{unit}{clears}",
        )
    parser.add_argument(
        "--model",
        dest="only_model",
        metavar="M",
        help="with --max-connections: only for this model",
    )
    parser.add_argument(
        "--key",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "LIMIT"),
        help="set the concurrency limit NAME; repeatable",
    )
    _add_common(parser, timeout="--wait")  # Inspect has a setting named timeout
    parser.set_defaults(make=_config_set)


def add_undo(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `undo`."""
    add_json(parser)
    _add_common(parser)
    parser.set_defaults(make=partial(command_of, UndoCommand))


def _add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", metavar="TARGET", nargs="*", default=[], help="what to act on (see below)"
    )
    parser.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="act on every target that the action applies to",
    )
    parser.add_argument("--on", metavar="MACHINE", help="act only on this machine")


def _add_common(parser: argparse.ArgumentParser, timeout: str = "--timeout") -> None:
    add_timeout(parser, timeout)
    add_dry_run(parser, "print the preview and send nothing")
    add_consent(
        parser,
        yes="confirm in advance, also for runs that someone else launched",
        confirm="the confirmation text of a destructive action; --yes is not enough for it",
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="your reason, for the journal")
    parser.add_argument(
        "--content", action="store_true", help="include free text from the dry run (untrusted)"
    )


def _targets(
    given: argparse.Namespace, *, model: str | None = None, errored: bool = False
) -> TargetSpec:
    return TargetSpec(
        targets=tuple(given.targets),
        model=model,
        everything=given.everything,
        on=given.on,
        errored=errored,
    )


def _act(given: argparse.Namespace) -> ActCommand:
    targets = _targets(given, model=given.model, errored=given.errored)
    return command_of(ActCommand, given, action=_action(given), targets=targets)


def _action(given: argparse.Namespace) -> Action:
    """Return the action that its name and options describe.

    Raises:
        UsageWrong: The action does not exist, or an option belongs to another action.
    """
    action = action_named(given.action)
    for is_given, option, verb in (
        (given.now, "--now", Verb.PAUSE),
        (given.manner is not None, "--manner", Verb.CANCEL),
        (given.finished_only, "--finished-only", Verb.SCORE),
        (given.tool_call is not None, "--call", Verb.CANCEL_CALL),
    ):
        if is_given and action.verb is not verb:
            raise UsageWrong(f"{option} goes with {verb}, not with {shown(given.action, 40)}")
    if action.verb is Verb.CONFIG:
        raise UsageWrong(
            "`act config` does not exist", "use: evalroom config-set TARGET --max-samples N ..."
        )
    return replace(
        action,
        now=given.now or action.now,
        manner=given.manner or action.manner,
        completed_only=given.finished_only or action.completed_only,
        tool_call=given.tool_call,
    )


def _config_set(given: argparse.Namespace) -> ActCommand:
    changes = tuple(_changes(given))
    if not changes:
        raise UsageWrong("no knob was given", "see: evalroom config-set --help")
    action = Action(verb=Verb.CONFIG, changes=changes)
    return command_of(ActCommand, given, action=action, targets=_targets(given))


def _changes(given: argparse.Namespace) -> Iterator[Change]:
    """Yield the changes that the options of `config-set` describe.

    Raises:
        UsageWrong: A setting does not take such a value.
    """
    only = given.only_model or ""
    if only and given.knob_max_connections is None:
        raise UsageWrong("--model goes with --max-connections")
    for knob in KNOBS:
        text: str | None = getattr(given, f"{_KNOB}{knob}")
        if text is not None:
            yield Change(
                knob, _setting(knob, text), model=only if knob == "max_connections" else ""
            )
    for name, limit in given.key:
        yield Change("key", _whole(limit, f"--key {shown(name, 40)}", 1), key=name)


def _setting(knob: str, text: str) -> int | None:
    if text == "clear":
        if knob in CLEARABLE:
            return None
        raise UsageWrong(f"{option_of(knob)} can't be cleared", "give it a whole number from 1")
    return _whole(text, option_of(knob), KNOBS[knob], clears=knob in CLEARABLE)


def _whole(text: str, option: str, least: int, *, clears: bool = False) -> int:
    is_whole = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if is_whole and int(text) >= least:
        return int(text)
    allowed = f"a whole number from {least}{', or `clear`' if clears else ''}"
    raise UsageWrong(f"{option} can't be {shown(text, 40)}", f"give it {allowed}")
