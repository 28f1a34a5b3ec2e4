import json
import tomllib

import pytest

from cli.main import main
from core.config.file import check_config
from core.judge.kinds import all_rules
from tests.support.commands import Home


def test_path_is_printed_whether_it_exists_or_not(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{here.config}\n"
    assert main(["config", "path", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(here.config), "exists": False}


def test_check_says_fine(here: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert "this computer is the only machine" in capsys.readouterr().out
    here.configure('[[machines]]\nname = "a"\n[[machines]]\nname = "b"\n')
    assert main(["config", "check"]) == 0
    assert "valid, 2 machines" in capsys.readouterr().out


def test_check_lists_all_errors(here: Home, capsys: pytest.CaptureFixture[str]) -> None:
    here.configure('[[machines]]\nname = "a"\nport = 0\n[screen]\nthem = 1\n[keys]\nfilte = "Z"\n')
    assert main(["config", "check"]) == 1
    printed = capsys.readouterr().err
    assert [f"line {number}" in printed for number in (3, 5, 7)] == [True, True, True]
    assert 'did you mean "theme"?' in printed
    assert 'did you mean "filter"?' in printed
    assert main(["config", "check", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ok"]
    assert [each["kind"] for each in answer["errors"]] == ["config_wrong"] * 3


@pytest.mark.parametrize("command", ["status", "machines", "watch"])
def test_nothing_starts_on_a_wrong_config(home: Home, command: str) -> None:
    home.configure('[[machines]]\nname = "a"\nlnk = "command"\n')
    ran = home.run(command, "--json")
    assert ran.status == 1
    error = ran.json["error"]
    assert error["kind"] == "config_wrong"
    assert "line 3" in error["message"]
    assert 'did you mean "link"?' in error["advice"]
    assert ran.err == ""


def test_a_config_that_others_can_write_is_refused(home: Home) -> None:
    home.configure("read_only = true\n")
    home.config.chmod(0o666)
    ran = home.run("status")
    assert ran.status == 1
    assert "other users can write" in ran.err
    assert "chmod go-w" in ran.err


def test_a_named_config_that_is_not_there_is_reported(home: Home) -> None:
    ran = home.run("--config", "none.toml", "status", "--json")
    assert ran.status == 1
    assert "the config file none.toml does not exist" in ran.json["error"]["message"]


def test_show_prints_what_holds_and_it_reads_back(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    here.configure(
        '[[machines]]\nname = "a"\nport = 7\n[[machines]]\nname = "b"\nlink = "command"\n'
        'command = ["x", "y"]\n[watch.cadences]\nnear-the-end.tasks = 9\n[keys]\nfilter = "f"\n'
        "[judge.stall]\ntool = { suspect = 7 }\n"
    )
    config, wrong = check_config(here.config.read_text(), here.config, judged=all_rules())
    assert not wrong
    assert main(["config", "show"]) == 0
    text = capsys.readouterr().out
    again, wrong = check_config(text, here.config, judged=all_rules())
    assert not wrong
    assert again == config
    assert tomllib.loads(text)["watch"]["cadences"]["near-the-end"]["tasks"] == 9
    assert main(["--read-only", "config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["read_only"] is True
    assert [each["name"] for each in shown["machines"]] == ["a", "b"]
