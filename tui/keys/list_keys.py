"""The keys that move in lists."""

from tui.keys.key import Key

LIST_KEYS: tuple[Key, ...] = (
    Key(
        name="down",
        keys="down,j",
        action="down",
        word="down",
        help="Move down one row.",
        where="list",
    ),
    Key(name="up", keys="up,k", action="up", word="up", help="Move up one row.", where="list"),
    Key(
        name="page_down",
        keys="pagedown,ctrl+d",
        action="page_down",
        word="page down",
        help="Move down one page.",
        where="list",
    ),
    Key(
        name="page_up",
        keys="pageup,ctrl+u",
        action="page_up",
        word="page up",
        help="Move up one page.",
        where="list",
    ),
    Key(
        name="first",
        keys="home,g",
        action="first",
        word="first",
        help="Go to the first row.",
        where="list",
    ),
    Key(
        name="last",
        keys="end,G",
        action="last",
        word="last",
        help="Go to the last row.",
        where="list",
    ),
    Key(
        name="open",
        keys="enter",
        action="open",
        word="open",
        help="Open the row under the cursor.",
        where="table",
        in_bar=True,
    ),
    Key(
        name="mark",
        keys="space",
        action="mark",
        word="mark",
        help="Mark the row, or remove its mark.",
        where="table",
    ),
)
