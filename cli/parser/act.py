"""The words of the commands that change something: `act`, `config-set`, `undo`."""

import argparse
from collections.abc import Callable

from core.model.action import CLEARABLE, OFFERS

KNOBS = {
    "max_samples": 1, "max_tasks": 1, "max_sandboxes": 1, "max_subprocesses": 1,
    "max_connections": 1, "log_buffer": 1, "log_shared": 1, "time_limit": 0, "token_limit": 0,
    "message_limit": 0, "timeout": 0, "attempt_timeout": 0, "stream_idle_timeout": 0,
    "max_retries": 0,
}  # fmt: skip
"""Every knob by the name that `inspect ctl config` has for it, and its least value."""


def option_of(knob: str) -> str:
    """Return a knob's option, as `inspect ctl config` spells it."""
    return f"--{knob.replace('_', '-')}"


def add_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the commands that change something.

    Args:
        command: Adds one, by its name and what it does.
    """
    names = ", ".join(dict.fromkeys(offer.name for offer in OFFERS if offer.name != "config"))
    acting = command("act", "preview an action on targets, then carry it out")
    acting.epilog = (
        "TARGET: a task (machine:task-id or any part that fits one), TASK#SAMPLE[/EPOCH],"
        " a process (machine:PID), or machine: for all of its processes."
    )
    acting.add_argument("action", metavar="ACTION", help=names)
    _targets(acting)
    acting.add_argument("--model", metavar="M", help="act on this model of the processes")
    acting.add_argument("--errored", action="store_true", help="requeue: the errored samples")
    acting.add_argument("--now", action="store_true", help="pause: hold samples in flight too")
    acting.add_argument(
        "--manner", choices=("score", "error", "cancel"), help="cancel: what becomes of samples"
    )
    acting.add_argument(
        "--completed-only", action="store_true", help="score: finished samples alone"
    )
    acting.add_argument("--call", dest="tool_call", metavar="ID", help="cancel-call: which")
    _confirming(acting)

    config = command("config-set", "change knobs of running evals, named as in inspect ctl config")
    _targets(config)
    for knob, least in KNOBS.items():
        clears = ", or clear" if knob in CLEARABLE else ""
        config.add_argument(
            option_of(knob), dest=knob, metavar="N", help=f"a whole number from {least}{clears}"
        )
    config.add_argument("--model", dest="only_model", metavar="M", help="with --max-connections")
    config.add_argument(
        "--key", nargs=2, action="append", metavar=("NAME", "LIMIT"), help="a named limit"
    )
    _confirming(config, wait="--wait")  # Inspect has a knob that is called timeout

    _confirming(command("undo", "take back the last action that can be taken back"))


def _targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TARGET", nargs="*")
    parser.add_argument(
        "--all", dest="everything", action="store_true", help="on all that it works on"
    )
    parser.add_argument("--on", metavar="MACHINE", help="only on this machine")


def _confirming(parser: argparse.ArgumentParser, wait: str = "--timeout") -> None:
    parser.add_argument(
        wait,
        dest="wait",
        type=float,
        default=15.0,
        metavar="SECONDS",
        help="wait this long for machines (15)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only the preview")
    parser.add_argument(
        "--yes", action="store_true", help="confirm; also what somebody else launched"
    )
    parser.add_argument(
        "--confirm", metavar="TEXT", help="the words that a destructive action asks for"
    )
    parser.add_argument("--reason", metavar="TEXT", help="why; kept in the journal")
    parser.add_argument(
        "--content", action="store_true", help="also free text of dry runs: it may lie"
    )
