"""The arguments of `machines`, `machines check` and `machines prepare`."""

import argparse
from dataclasses import dataclass
from typing import ClassVar

from cli.parser.command import Consent, ParsedCommand, command_of
from cli.parser.options import add_consent, add_dry_run, add_json, add_sets, add_timeout
from core.errors import UsageWrong

_EPILOG = """\
evalroom machines                     list all machines
evalroom machines check NAME          check whether runs can be launched on this machine
evalroom machines check NAME SPEC     check whether this spec's runs can be launched on it
evalroom machines prepare NAME SPEC   download to the machine what the spec needs: uv and
                                      packages, the task's data, container images, the
                                      tokenizer; then it can run without a network.
                                      For model weights, it prints the command to run

Exit status 1: a check or a download failed. 3: the machine can't be reached.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesCommand(ParsedCommand):
    """`evalroom machines`."""

    run_by: ClassVar[str] = "cli.commands.status:machines"
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCommand(ParsedCommand):
    """`evalroom machines check NAME [SPEC]`.

    Attributes:
        spec: The file of a launch spec; None: run only the checks that apply to every run.
    """

    run_by: ClassVar[str] = "cli.commands.machines_check:check"
    name: str
    spec: str | None
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareCommand(ParsedCommand):
    """`evalroom machines prepare NAME SPEC`.

    Attributes:
        spec: The file of a launch spec.
        sets: `KEY=VALUE` each; these override the file.
    """

    run_by: ClassVar[str] = "cli.commands.prepare:prepare"
    name: str
    spec: str
    sets: tuple[str, ...]
    dry_run: bool
    consent: Consent
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCommand(ParsedCommand):
    """`evalroom doctor [NAME]`.

    Attributes:
        name: The machine to check; None: all machines.
    """

    run_by: ClassVar[str] = "cli.commands.doctor:doctor"
    name: str | None
    timeout: float


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.epilog = "Exit status 1: something has to be set up. 3: no machine could be reached."
    add_json(parser)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the machine; default: all machines"
    )
    add_timeout(parser)
    parser.set_defaults(make=_doctor)


def add_machines(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `machines`."""
    parser.epilog = _EPILOG
    add_json(parser)
    parser.add_argument(
        "what",
        metavar="check|prepare",
        nargs="?",
        choices=("check", "prepare"),
        help="check or prepare one machine (see below)",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the machine to check or prepare")
    parser.add_argument("spec", metavar="SPEC", nargs="?", help="the launch spec, TOML or JSON")
    add_sets(parser, "prepare: override a value of the spec, as in `evalroom launch`")
    add_dry_run(parser, "prepare: list the downloads and stop")
    add_consent(parser, yes="prepare: download without asking", confirm=None)
    add_timeout(parser)
    parser.set_defaults(make=_machines)


def _machines(given: argparse.Namespace) -> ParsedCommand:
    if given.what is None:
        return command_of(MachinesCommand, given)
    if given.what == "check":
        if given.name is None:
            raise UsageWrong(
                "`machines check` needs a machine", "use: evalroom machines check NAME [SPEC]"
            )
        return command_of(CheckCommand, given)
    if given.name is None or given.spec is None:
        raise UsageWrong(
            "`machines prepare` needs a machine and a spec",
            "use: evalroom machines prepare NAME SPEC",
        )
    return command_of(PrepareCommand, given)


def _doctor(given: argparse.Namespace) -> DoctorCommand:
    return command_of(DoctorCommand, given)
