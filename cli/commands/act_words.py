"""What the words of `act`, `config-set` and `undo` mean."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cli.commands.act import Asked, act, action_of, config_set, undo
from cli.commands.desk_queries import Looker
from cli.parser.act import KNOBS, option_of
from core.act.service import ActionService
from core.act.target_grammar import TargetSpec
from core.errors import UsageWrong
from core.model.action import CLEARABLE, Change
from core.text import shown

Run = Callable[[Looker, ActionService], Awaitable[int]]


def act_command(name: str, given: Mapping[str, Any], *, as_json: bool) -> Run:
    """Return what a command does, once there is a desk and the hands over it.

    Raises:
        UsageWrong: The words are off.
    """
    asked = Asked(
        dry_run=given["dry_run"],
        yes=given["yes"],
        confirm=given["confirm"] or "",
        reason=given["reason"] or "",
        content=given["content"],
        timeout=given["wait"],
        as_json=as_json,
    )
    if name == "undo":
        return lambda desk, acting: undo(desk, acting, asked)
    aim = TargetSpec(
        targets=given["targets"],
        model=given.get("model"),
        everything=given["everything"],
        on=given["on"],
        errored=given.get("errored", False),
    )
    if name == "config-set":
        changes = changes_of(given)
        return lambda desk, acting: config_set(desk, acting, changes, aim, asked)
    action = action_of(
        given["action"],
        now=given["now"],
        manner=given["manner"],
        completed_only=given["completed_only"],
        tool_call=given["tool_call"],
    )
    return lambda desk, acting: act(desk, acting, action, aim, asked)


def changes_of(given: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what the options of `config-set` change.

    Raises:
        UsageWrong: A value is none of its knob's.
    """
    only = given.get("only_model") or ""
    changes = [
        Change(knob, _value(knob, given[knob]), model=only if knob == "max_connections" else "")
        for knob in KNOBS
        if given.get(knob) is not None
    ]
    if only and given.get("max_connections") is None:
        raise UsageWrong("--model goes with --max-connections")
    for name, limit in given.get("key") or ():
        changes.append(Change("key", _whole(limit, f"--key {shown(name, 40)}", 1), key=name))
    return tuple(changes)


def _value(knob: str, text: str) -> int | None:
    if text == "clear":
        if knob in CLEARABLE:
            return None
        raise UsageWrong(f"{option_of(knob)} can't be cleared", "give it a whole number from 1")
    return _whole(text, option_of(knob), KNOBS[knob], clears=knob in CLEARABLE)


def _whole(text: str, option: str, least: int, *, clears: bool = False) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 12 and int(text) >= least:  # noqa: PLR2004
        return int(text)
    allowed = f"a whole number from {least}{', or clear' if clears else ''}"
    raise UsageWrong(f"{option}: {shown(text, 40)} is not allowed", f"give it {allowed}")
