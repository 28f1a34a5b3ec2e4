"""The arguments of `launch` and `templates`."""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cli.parser.command import Consent, ParsedCommand, command_of
from cli.parser.options import add_consent, add_dry_run, add_json, add_sets, add_timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCommand(ParsedCommand):
    """`evalroom launch FILE`.

    Attributes:
        file: The spec; `-` is standard input.
        sets: `KEY=VALUE` each; these override the file.
        wait: Whether to wait until the runs have ended.
        timeout: Seconds to wait for machines.
    """

    run_by: ClassVar[str] = "cli.commands.launch:launch"
    file: str
    sets: tuple[str, ...] = ()
    dry_run: bool = False
    consent: Consent = Consent()
    wait: bool = False
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplatesCommand(ParsedCommand):
    """`evalroom templates [NAME]`; without a name, lists all templates."""

    run_by: ClassVar[str] = "cli.commands.templates:show_templates"
    name: str | None


def add_launch(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `launch`."""
    parser.epilog = "`evalroom templates` lists specs to start from."
    add_json(parser)
    parser.add_argument(
        "file", metavar="FILE", help="the spec, TOML or JSON; - reads standard input"
    )
    add_dry_run(parser, "print the plan with every file, and change nothing")
    add_sets(
        parser,
        "override a value from the file: limit=5, args.samples=20, on_error=stop; repeatable",
    )
    add_consent(
        parser,
        yes="launch without asking",
        confirm="the confirmation text for production machines; --yes is not enough for them",
    )
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait until the runs have ended, and print their results",
    )
    add_timeout(parser)
    parser.set_defaults(make=partial(command_of, LaunchCommand))


def add_templates(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `templates`."""
    add_json(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", help="print this template as TOML")
    parser.set_defaults(make=partial(command_of, TemplatesCommand))
