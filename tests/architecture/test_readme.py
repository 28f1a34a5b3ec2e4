"""The README lists exactly the commands, actions and keys that exist."""

import re

from core.model.action import OFFERS, Verb
from tests.support.tree import ROOT
from tui.keys.labels import labels
from tui.keys.table import BY_NAME, table_of_keys

README = (ROOT / "README.md").read_text()


def test_the_table_of_keys_is_the_one_of_the_keys() -> None:
    assert f"\n\n{table_of_keys()}\n\n" in README, (
        "put tui.keys.table.table_of_keys() into the README's section Keys"
    )


def test_every_action_of_the_command_line_is_named() -> None:
    start = README.index("    evalroom act ACTION")
    words = set(re.findall(r"[a-z-]+", README[start : README.index("    evalroom config-set")]))
    names = {offer.name for offer in OFFERS if offer.action.verb is not Verb.CONFIG}
    assert names <= words, names - words


def test_the_first_hour_names_the_keys_of_runs() -> None:
    start = README.index("8. **Launch something.**")
    first_hour = README[start : README.index("The same from a file", start)]
    for name, rest in (
        ("launch", "opens the form"),
        ("runs", "lists every run"),
        ("duplicate", "edits a copy of one"),
        ("run_again", "runs one again"),
    ):
        assert f"`{labels(BY_NAME[name].keys)}` {rest}" in first_hour
