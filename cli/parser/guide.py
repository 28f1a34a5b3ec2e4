"""The words of `evalroom guide`."""

import argparse
from collections.abc import Callable

WHATS = ("park", "incident", "finish", "cleanup", "list", "resume")


def add_guide(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command.

    Args:
        command: Adds one, by its name and what it does.
    """
    guide = command("guide", "checklists: park safely, provider incident, finish early, clean up")
    guide.epilog = (
        "park TARGET...: pause, wait, flush, interrupt; shows what resumes it."
        " incident --model M [TARGET...]: pause a model everywhere; `resume ID` brings it back."
        " finish TASK: drain; each `resume ID` goes one step further."
        " cleanup [TARGET...]: asks for each parked process. list. resume ID: goes on."
    )
    guide.add_argument("what", metavar="WHAT", choices=WHATS, help=", ".join(WHATS))
    guide.add_argument("targets", metavar="TARGET", nargs="*")
    guide.add_argument("--model", metavar="M", help="incident: which model, by its exact name")
    guide.add_argument("--now", action="store_true", help="incident: hold what is in flight too")
    guide.add_argument(
        "--others", action="store_true", help="cleanup: also what was not launched here"
    )
    guide.add_argument("--skip", action="store_true", help="resume: leave out the step that waits")
    guide.add_argument("--stop", action="store_true", help="resume: leave the guide for good")
    guide.add_argument(
        "--timeout",
        dest="wait",
        type=float,
        default=15.0,
        metavar="SECONDS",
        help="wait this long for machines (15)",
    )
    guide.add_argument("--dry-run", action="store_true", help="only the first step's preview")
    guide.add_argument("--yes", action="store_true", help="confirm each step that takes no words")
    guide.add_argument(
        "--confirm",
        action="append",
        default=[],
        metavar="TEXT",
        help="words that a step asks for; may be given several times",
    )
