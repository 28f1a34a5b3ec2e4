"""The tables `[budgets]` and `[prices]`: models with their connections and their prices."""

from pathlib import Path

import pytest

from core.config.file import check_config
from core.config.judge import Price
from core.judge.kinds import all_rules
from storage.config_text import config_text

PLACE = Path("/c.toml")


def test_models_have_budgets_and_prices() -> None:
    text = '[budgets]\n"openai/gpt-5" = 200\n[prices]\n"openai/gpt-5" = { in = 1.25, out = 10 }\n'
    config, errors = check_config(text, PLACE, judged=all_rules())
    assert errors == ()
    assert config.judge.budgets == {"openai/gpt-5": 200}
    assert config.judge.prices == {"openai/gpt-5": Price(into=1.25, out=10.0)}
    again, errors = check_config(config_text(config), PLACE, judged=all_rules())
    assert errors == ()
    assert (again.judge.budgets, again.judge.prices) == (config.judge.budgets, config.judge.prices)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param('[budgets]\n"a/b" = 0', 2, "a whole number from 1", id="no connections"),
        pytest.param('[budgets]\n"a/b" = "x"', 2, "a whole number from 1", id="not a number"),
        pytest.param('[budgets]\n"a b" = 1', 2, "the name of a model", id="not a model"),
        pytest.param("budgets = 3", 1, "a table of models", id="not a table"),
        pytest.param('[prices]\n"a/b" = 3', 2, "a table like", id="one price"),
        pytest.param('[prices]\n"a/b" = { in = 1 }', 2, "a table like", id="half a price"),
        pytest.param('[prices]\n\n"a/b" = { in = 1, out = -1 }', 3, "US dollars", id="below 0"),
        pytest.param('[prices]\n"a/b" = { in = 1, put = 1 }', 2, 'did you mean "out"', id="key"),
        pytest.param('[prices]\n"a/b" = { in = 1, out = nan }', 2, "US dollars", id="nan"),
        pytest.param("[budgets]\ngpt-4.1 = 20", 2, "in quotes", id="a dot"),
        pytest.param("[prices]\ngpt-4.1 = { in = 1, out = 2 }", 2, "in quotes", id="dot, price"),
        pytest.param("[bugets]\n", 1, 'did you mean "budgets"', id="another table"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(text: str, line: int, words: str) -> None:
    config, errors = check_config(text, PLACE, judged=all_rules())
    [error] = errors
    assert f"line {line}:" in error.message
    assert words in error.advice
    assert not config.judge.budgets
    assert not config.judge.prices
