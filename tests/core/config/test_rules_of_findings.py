"""`[judge]` and `[[notify]]`: what could never do what its writer means is refused."""

from pathlib import Path

import pytest

from core.config.file import check_config
from core.judge.kinds import all_rules, kind_names

PLACE = Path("/c.toml")
MACHINE = '[[machines]]\nname = "a"\ntags = ["gpu"]\n'


def _errors(text: str) -> list[tuple[str, str]]:
    _, errors = check_config(text, PLACE, judged=all_rules(), kinds=kind_names())
    return [(each.message, each.advice) for each in errors]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        pytest.param("stall.tool]\nsuspect = 900", "600 seconds or less", id="the usual alarm"),
        pytest.param("stall.tool]\nalarm = 60", "120 seconds or more", id="the usual suspect"),
        pytest.param("stall.tool]\nsuspect = 9\nalarm = 8", "8 seconds or less", id="both"),
        pytest.param("pressure.disk]\nsuspect = 1", "2 GiB or more", id="less is worse"),
        pytest.param("gpu-idle]\nsuspect = 7200", "3600 seconds or less", id="of a kind"),
        pytest.param("refusals]\nwindow = 0", "from 1 to", id="no time"),
        pytest.param("stall.tool]\nsuspect = 2e9", "from 0 to 1000000000", id="huge"),
    ],
)
def test_numbers_that_make_no_sense_together_or_alone_are_refused(numbers: str, words: str) -> None:
    [(message, advice)] = _errors(f"[judge.{numbers}\n")
    assert "is wrong" in message
    assert words in advice


@pytest.mark.parametrize(
    "numbers",
    [
        "stall.tool]\nsuspect = 900\nalarm = 900",
        "stall.tool]\nsuspect = 0\nalarm = 0",
        "pressure.disk]\nsuspect = 50\nalarm = 20",
    ],
)
def test_other_numbers_are_as_the_writer_wants_them(numbers: str) -> None:
    assert _errors(f"[judge.{numbers}\n") == []


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        pytest.param('kinds = ["stal"]', 'did you mean "stall"? allowed: ', id="kind"),
        pytest.param('machines = ["b"]', "allowed: a", id="machine"),
        pytest.param('tags = ["gpus"]', 'did you mean "gpu"? allowed: gpu', id="tag"),
        pytest.param('quiet = "22:00-22:00"', "two different times", id="always quiet"),
    ],
)
def test_a_rule_that_would_never_send_is_refused(rule: str, words: str) -> None:
    [(message, advice)] = _errors(f'{MACHINE}[[notify]]\nto = "CHAT"\n{rule}\n')
    assert "line 6" in message
    assert words in advice


def test_each_kind_a_machine_and_a_tag_can_be_named() -> None:
    kinds = ", ".join(f'"{each}"' for each in kind_names())
    rule = f'to = "CHAT"\nkinds = [{kinds}]\nmachines = ["a"]\ntags = ["gpu"]\n'
    assert _errors(f"{MACHINE}[[notify]]\n{rule}") == []
