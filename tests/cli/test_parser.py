"""The command line: every command becomes its dataclass, and names the function that runs it."""

import dataclasses
import inspect
import types
import typing
from typing import Any

import pytest

from cli.main import runner_of
from cli.parser import command_line
from cli.parser.act import ActCommand, UndoCommand
from cli.parser.command import Consent, GlobalOptions, ParsedCommand
from cli.parser.command_line import parse
from cli.parser.findings import MuteCommand
from cli.parser.guide import GuideCommand, GuideListCommand
from cli.parser.machines import CheckCommand, MachinesCommand, PrepareCommand
from cli.parser.observation import SamplesCommand
from cli.parser.runs import EndSessionCommand, SessionsCommand
from core.errors import UsageWrong
from core.model.action import Change, Verb

LINES = (
    "", "--version", "status --timeout 3", "watch --for 2",
    "samples t --status running,error --all", "sample t 1 2 --store --content", "machines",
    "machines check m s.toml", "machines prepare m s.toml --set limit=1 --set a=2 --dry-run --yes",
    "findings --closed", "findings ack abc --all", "journal --since 2h words",
    "act pause t u --now --all --on m --reason why", "act cancel t --manner score --confirm t",
    "config-set t --max-samples 2 --timeout 9 --wait 3 --key k 4", "undo --yes",
    "guide interrupt t", "guide incident --model m --now", "guide list", "guide resume 1 --skip",
    "launch s.toml --set limit=1 --wait --confirm prod", "runs", "run r", "output r --follow",
    "attach r", "sessions", "sessions end s --confirm s", "templates", "templates mine",
    "secrets list", "secrets set K", "secrets delete K --yes", "replay f --speed 2", "probe",
    "doctor m --json", "triage t --json", "why t#1/1", "notify test",
    "config path", "demo --seconds 9 --headless",
)  # fmt: skip


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of a field's type, as far as `isinstance` can tell."""
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return value in typing.get_args(kind)
    if origin in {typing.Union, types.UnionType}:
        return any(fits(value, each) for each in typing.get_args(kind))
    if origin is tuple:
        [item, _] = typing.get_args(kind)
        items = typing.cast("tuple[object, ...]", value)
        return isinstance(value, tuple) and all(fits(each, item) for each in items)
    return isinstance(value, kind)


@pytest.mark.parametrize("line", LINES)
def test_every_field_of_a_command_is_of_its_type(line: str) -> None:
    command = parse(line.split()).command
    kinds = typing.get_type_hints(type(command))
    values = {field.name: getattr(command, field.name) for field in dataclasses.fields(command)}
    wrong = {name: value for name, value in values.items() if not fits(value, kinds[name])}
    assert wrong == {}


@pytest.mark.parametrize("line", LINES)
def test_a_command_names_a_function_that_takes_it(line: str) -> None:
    command = parse(line.split()).command
    first, second = inspect.signature(runner_of(command)).parameters.values()
    assert issubclass(type(command), first.annotation)
    assert second.annotation is GlobalOptions


def test_the_word_of_the_screen_for_completed_samples_is_an_option_too() -> None:
    given = [parse(f"samples t --status {word}".split()).command for word in ("done", "completed")]
    assert {each.status for each in given if isinstance(each, SamplesCommand)} == {"completed"}


def test_every_command_of_the_table_is_among_these() -> None:
    named = {line.split()[0] for line in LINES if line and not line.startswith("-")}
    assert named == {name for name, _, _ in command_line.COMMANDS}


def test_an_action_has_its_targets_and_options_typed() -> None:
    words = "act cancel t u --manner score --on m --confirm t --reason why --timeout 2"
    command = parse(words.split()).command
    assert isinstance(command, ActCommand)
    assert (command.action.verb, command.action.manner) == (Verb.CANCEL, "score")
    assert (command.targets.targets, command.targets.on) == (("t", "u"), "m")
    assert (command.consent, command.reason) == (Consent(confirm=("t",)), "why")
    assert (command.dry_run, command.content, command.timeout) == (False, False, 2.0)


def test_settings_are_changes_and_our_own_timeout_is_called_wait() -> None:
    words = "config-set t --timeout 9 --max-retries clear --wait 3 --max-connections 5 --model m"
    command = parse([*words.split(), "--key", "pool", "4"]).command
    assert isinstance(command, ActCommand)
    assert (command.action.verb, command.timeout) == (Verb.CONFIG, 3.0)
    assert command.action.changes == (
        Change("max_connections", 5, model="m"),
        Change("timeout", 9),
        Change("max_retries", None),
        Change("key", 4, key="pool"),
    )


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("machines", MachinesCommand),
        ("machines check m", CheckCommand),
        ("machines prepare m s", PrepareCommand),
        ("sessions list", SessionsCommand),
        ("sessions end s", EndSessionCommand),
        ("guide list", GuideListCommand),
        ("guide cleanup --others", GuideCommand),
        ("undo", UndoCommand),
    ],
)
def test_a_second_word_chooses_the_command(line: str, kind: type[ParsedCommand]) -> None:
    assert type(parse(line.split()).command) is kind


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("machines check", "needs a machine"),
        ("machines prepare m", "needs a machine and a spec"),
        ("sessions end", "needs the name of a session"),
        ("guide interrupt x --others", "--others goes with: evalroom guide cleanup"),
        ("act drain t --now", "--now goes with pause, not with drain"),
        ("act config t", "`act config` does not exist"),
        ("config-set t", "no knob was given"),
        ("config-set t --model m", "--model goes with --max-connections"),
        ("status --timeout 0", "'0' is not a number of seconds above 0"),
        ("launch s --timeout nan", "'nan' is not a number of seconds above 0"),
        ("secrets list X", "takes no NAME"),
        ("secrets set", "needs a NAME"),
    ],
)
def test_wrong_words_are_a_sentence(line: str, says: str) -> None:
    with pytest.raises(UsageWrong) as wrong:
        parse(line.split())
    assert says in wrong.value.message


@pytest.mark.parametrize(
    ("line", "helps"),
    [("launch s --wiat", "launch"), ("runs x", "runs")],
)
def test_an_unknown_argument_names_the_help_of_its_command(line: str, helps: str) -> None:
    with pytest.raises(UsageWrong) as wrong:
        parse(line.split())
    assert wrong.value.message == f"{helps}: unrecognized arguments: {line.rpartition(' ')[2]}"
    assert wrong.value.advice == f"see: evalroom {helps} --help"


def test_the_help_of_every_command_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, _, says in command_line.COMMANDS:
        with pytest.raises(SystemExit):
            parse([name, "--help"])
        out = " ".join(capsys.readouterr().out.split())
        assert f"usage: evalroom {name}" in out
        assert says[1:] in out


def test_the_end_of_a_mute_has_no_time() -> None:
    with pytest.raises(UsageWrong, match="--end takes no time"):
        parse(["findings", "mute", "abc", "--end", "--for", "2h"])
    command = parse(["findings", "mute", "abc", "--end"]).command
    assert isinstance(command, MuteCommand)
    assert command.ends
