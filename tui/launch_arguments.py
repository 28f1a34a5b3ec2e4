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
    templates = command("templates", "specs to begin with; with a name, that one as TOML")
    templates.add_argument("name", metavar="NAME", nargs="?")
