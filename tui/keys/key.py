"""One row of the table of keys."""

from dataclasses import dataclass
from typing import Literal

Where = Literal["everywhere", "panes", "list", "table", "sample", "journal", "guides", "runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key.

    Attributes:
        name: Its name in the config and in the palette.
        keys: The keys as Textual names them, separated by commas.
        action: The action it runs, on the app, the screen or the pane.
        word: One or two words for the key bar and the palette.
        help: One sentence for the help page.
        where: Where the key works.
        in_bar: Whether the key bar shows it.
    """

    name: str
    keys: str
    action: str
    word: str
    help: str
    where: Where
    in_bar: bool = False
