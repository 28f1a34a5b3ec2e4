"""The words of `evalroom launch` and `evalroom templates`."""

import argparse
from collections.abc import Callable


def add_launch(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the commands.

    Args:
        command: Adds one, by its name and what it does.
    """
    launch = command("launch", "start what a spec says, TOML or JSON; its plan is shown first")
    launch.epilog = "evalroom templates lists specs to begin with."
    launch.add_argument("file", metavar="FILE", help="the spec; - reads standard input")
    launch.add_argument("--dry-run", action="store_true", help="only the plan; nothing is touched")
    launch.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="above the file's: limit=5, args.samples=20, on_error=stop; any number of times",
    )
    launch.add_argument("--yes", action="store_true", help="launch without asking")
    launch.add_argument(
        "--confirm", default="", metavar="TEXT", help="the words that a production machine asks for"
    )
    launch.add_argument(
        "--wait", action="store_true", help="end when the runs are over, with what their logs say"
    )
    launch.add_argument(
        "--timeout", type=float, default=15.0, metavar="SECONDS", help="to wait for machines (15)"
    )
    for name, says in (
        ("runs", "every launch, and what became of it"),
        ("run", "all that is known of a launch"),
        ("output", "the end of what a launch printed"),
        ("attach", "a launch's own display, in this terminal"),
    ):
        parser = command(name, says)
        if name != "runs":
            parser.add_argument("name", metavar="ID", help="of the run; a part that fits one")
        if name == "output":
            parser.add_argument("--follow", action="store_true", help="until the run is over")
        parser.add_argument(
            "--timeout", type=float, default=15.0, metavar="SECONDS", help="for machines (15)"
        )
    sessions = command("sessions", "the terminals that launches left; with end NAME, end one")
    sessions.add_argument("what", choices=("list", "end"), nargs="?", default="list")
    sessions.add_argument("name", metavar="NAME", nargs="?", default="")
    sessions.add_argument("--yes", action="store_true", help="end one whose eval has ended")
    sessions.add_argument(
        "--confirm", default="", metavar="NAME", help="end one whose eval still runs"
    )
    sessions.add_argument(
        "--timeout", type=float, default=15.0, metavar="SECONDS", help="for machines (15)"
    )
    templates = command("templates", "specs to begin with; with a name, that one as TOML")
    templates.add_argument("name", metavar="NAME", nargs="?")
