import json
from pathlib import Path

import pytest

from cli.main import main
from cli.parser.command_line import parse
from cli.parser.observation import StatusCommand
from cli.parser.room import RoomCommand
from core.errors import UsageWrong
from core.quoting import command_line
from ssh.shipped_program import shipped_program
from tests.support.commands import EVALROOM, Home
from tests.support.terminal import Terminal


def test_no_command_is_the_room() -> None:
    assert parse([]).command == RoomCommand()


def test_global_options_come_before_the_command() -> None:
    line = parse(["--config", "c.toml", "--read-only", "--record", "r", "status", "--json"])
    assert line.command == StatusCommand(as_json=True, timeout=60.0)
    options = line.options
    assert (options.config, options.read_only, options.record) == (Path("c.toml"), True, Path("r"))
    for late in (["--read-only"], ["--config", "c.toml"], ["--record=r"]):
        with pytest.raises(UsageWrong, match="must come before the command") as found:
            parse(["status", *late])
        assert found.value.advice.startswith(f"use: evalroom {late[0][:8]}")


@pytest.mark.parametrize(
    "argv",
    [
        ["samples"],
        ["sample", "t"],
        ["sample", "t", "1", "0"],
        ["sample", "t", "1", "one"],
        ["sample", "t", "1", "--events", "--store"],
        ["watch", "--for", "-1"],
        ["watch", "--for", "nan"],
        ["replay", "f", "--speed", "0"],
        ["config"],
        ["config", "edit"],
        ["statsu"],
        ["status", "--jsn"],
    ],
)
def test_wrong_words_are_reported_in_a_sentence_and_exit_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("evalroom: ")
    assert printed.err.count("evalroom", 0, printed.err.index("\n")) == 1
    assert main([*argv, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "usage_wrong"
    assert error["message"]
    assert "--help" in error["advice"]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name in [
        "status",
        "samples",
        "sample",
        "watch",
        "machines",
        "journal",
        "replay",
        "probe",
        "config",
        "demo",
        "--read-only",
        "--record",
    ]:
        assert name in printed


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("evalroom 0.")


@pytest.mark.parametrize("argv", [[], ["replay", "recording"]])
def test_the_room_without_a_terminal_is_reported(home: Home, argv: list[str]) -> None:
    (home.folder / "recording").touch()
    ran = home.run(*argv)
    assert ran.status == 2
    assert "needs a terminal" in ran.err
    assert "evalroom status" in ran.err
    assert len(ran.err.splitlines()) == 2


def test_a_recording_that_is_missing_is_reported_before_the_terminal(home: Home) -> None:
    ran = home.run("replay", "nope")
    assert ran.status == 1
    assert "can't read the recording nope: No such file" in ran.err
    assert "terminal" not in ran.err


def test_the_room_is_not_drawn_into_a_file_of_errors(home: Home, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    line = f"exec {command_line(EVALROOM)} 2>{errors}"
    terminal = Terminal(("sh", "-c", line), env=home.env, cwd=tmp_path)
    try:
        assert terminal.wait_end() == 2
    finally:
        terminal.close()
    assert "needs a terminal for input, output and error output" in errors.read_text()


def test_probe_prints_the_program_itself(home: Home) -> None:
    ran = home.run("probe")
    assert (ran.status, ran.out) == (0, shipped_program("probe").decode())


def test_module_and_script_are_the_same() -> None:
    from cli import main as module

    assert callable(module.main)
