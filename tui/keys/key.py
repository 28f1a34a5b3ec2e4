"""What a key of the table is."""

from dataclasses import dataclass
from typing import Literal

Where = Literal["everywhere", "panes", "list", "table", "sample", "journal", "guides", "runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key.

    Attributes:
        name: What configs and commands call it.
        keys: As Textual names them, with commas between.
        action: The action that it runs, on the app, the screen or the pane.
        word: In the key bar and the palette; one or two words.
        help: One sentence on the help page.
        where: On what it works.
        in_bar: Whether the key bar shows it.
    """

    name: str
    keys: str
    action: str
    word: str
    help: str
    where: Where
    in_bar: bool = False
