"""Every key, in one table. Bindings, the key bar, the help and the README are made from it.

A key is remapped in the config by its name: `[keys] filter = "ctrl+f"`.
"""

from collections.abc import Iterable, Mapping

from tui.keys.key import Key, Where
from tui.keys.labels import labels
from tui.keys.screen_keys import OF_A_SAMPLE, OF_GUIDES, OF_RUNS

KEYS: tuple[Key, ...] = (
    Key(
        name="down",
        keys="down,j",
        action="down",
        word="down",
        help="One row down.",
        where="list",
    ),
    Key(name="up", keys="up,k", action="up", word="up", help="One row up.", where="list"),
    Key(
        name="page_down",
        keys="pagedown,ctrl+d",
        action="page_down",
        word="page down",
        help="One page down.",
        where="list",
    ),
    Key(
        name="page_up",
        keys="pageup,ctrl+u",
        action="page_up",
        word="page up",
        help="One page up.",
        where="list",
    ),
    Key(
        name="first",
        keys="home,g",
        action="first",
        word="first",
        help="To the first row.",
        where="list",
    ),
    Key(
        name="last", keys="end,G", action="last", word="last", help="To the last row.", where="list"
    ),
    Key(
        name="open",
        keys="enter",
        action="open",
        word="open",
        help="Open what the cursor is on.",
        where="table",
        in_bar=True,
    ),
    Key(
        name="mark",
        keys="space",
        action="mark",
        word="mark",
        help="Mark the row, or take its mark away.",
        where="table",
    ),
    Key(
        name="actions",
        keys="a",
        action="actions",
        word="actions",
        help="Every action on the selection, and why one is not for it now.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="pause",
        keys="p",
        action="pause",
        word="pause",
        help="Pause the selection or, where it is paused, resume it: a preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="pause_now",
        keys="P",
        action="pause_now",
        word="pause now",
        help="Also hold the samples in flight at their next model call: a preview comes first.",
        where="panes",
    ),
    Key(
        name="cancel",
        keys="x",
        action="cancel",
        word="cancel",
        help="Choose how to end the selection, or a tool call of it: a preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="requeue",
        keys="e",
        action="requeue",
        word="requeue",
        help="Run errored samples again; on a task all of its errored ones: a preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="config",
        keys="c",
        action="config",
        word="config",
        help="Read and change the knobs of the selection: a preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="undo",
        keys="u",
        action="undo",
        word="undo",
        help="Take back the last thing that can be taken back: a preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="outcomes",
        keys="o",
        action="outcomes",
        word="outcomes",
        help="What became of what was ordered.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="mark_all",
        keys="A",
        action="mark_all",
        word="mark all",
        help="Mark every row that is shown, or take all marks away.",
        where="table",
    ),
    Key(
        name="back",
        keys="escape",
        action="back",
        word="back",
        help="Take away the filter or the marks, else go back.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="next_pane",
        keys="tab",
        action="next_pane",
        word="next pane",
        help="To the next pane.",
        where="panes",
    ),
    Key(
        name="previous_pane",
        keys="shift+tab",
        action="previous_pane",
        word="previous pane",
        help="To the pane before.",
        where="panes",
    ),
    *(
        Key(
            name=f"pane_{digit}",
            keys=str(digit),
            action=f"pane({digit})",
            word=f"pane {digit}",
            help=f"To pane {digit}.",
            where="panes",
        )
        for digit in range(1, 6)
    ),
    Key(
        name="filter",
        keys="slash",
        action="filter",
        word="filter",
        help="Filter the rows: words, /regular expression/, ! before either turns it round.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="sort",
        keys="s",
        action="sort",
        word="sort",
        help="Choose the column that sorts.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="reverse",
        keys="S",
        action="reverse",
        word="reverse",
        help="Turn the order round.",
        where="table",
    ),
    Key(
        name="columns",
        keys="C",
        action="columns",
        word="columns",
        help="Choose the columns that are shown.",
        where="panes",
    ),
    Key(
        name="copy",
        keys="y",
        action="copy",
        word="copy",
        help="Send the log's location, or the equivalent shell command, to the clipboard.",
        where="panes",
        in_bar=True,
    ),
    *OF_A_SAMPLE,
    Key(
        name="write",
        keys="w",
        action="write",
        word="write",
        help="Write the orders that are shown to a file, a line of JSON each.",
        where="journal",
        in_bar=True,
    ),
    Key(
        name="retry",
        keys="r",
        action="retry",
        word="retry link",
        help="Try this machine's link at once; where its own ssh has to ask, answer it here.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="trust",
        keys="T",
        action="trust",
        word="accept host key",
        help="See the unknown host key of this machine, and accept it.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="dismiss",
        keys="D",
        action="dismiss_gone",
        word="dismiss",
        help="Take a process that is gone, and what it held, off the screen.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="older",
        keys="left_square_bracket",
        action="app.older",
        word="older",
        help="Walk back through the places you were at.",
        where="everywhere",
    ),
    Key(
        name="newer",
        keys="right_square_bracket",
        action="app.newer",
        word="newer",
        help="Walk forward again.",
        where="everywhere",
    ),
    Key(
        name="journal",
        keys="J",
        action="app.journal",
        word="journal",
        help="The journal of orders: what was done, by whom, and what became of it.",
        where="everywhere",
    ),
    Key(
        name="guides",
        keys="W",
        action="app.guides",
        word="guides",
        help="Guides, open and recent: park safely, provider incident, finish early, clean up.",
        where="everywhere",
    ),
    Key(
        name="launch",
        keys="n",
        action="app.launch",
        word="new run",
        help="Begin a run from a template or a draft: its whole plan comes first.",
        where="everywhere",
        in_bar=True,
    ),
    Key(
        name="runs",
        keys="N",
        action="app.runs",
        word="runs",
        help="Every run: where it stands, its score, its spec, its logs and what it printed.",
        where="everywhere",
    ),
    *OF_RUNS,
    *OF_GUIDES,
    Key(
        name="command",
        keys="colon,ctrl+p",
        action="app.command",
        word="command",
        help="Find a command, a machine or a task by name.",
        where="everywhere",
        in_bar=True,
    ),
    Key(
        name="help",
        keys="question_mark,f1",
        action="app.help",
        word="help",
        help="The keys of where you are.",
        where="everywhere",
        in_bar=True,
    ),
    Key(
        name="mouse",
        keys="M",
        action="app.mouse",
        word="mouse",
        help="Turn the mouse on or off; off, the terminal's own selection works.",
        where="everywhere",
    ),
    Key(
        name="redraw",
        keys="ctrl+l",
        action="app.redraw",
        word="redraw",
        help="Draw the whole screen anew.",
        where="everywhere",
    ),
    Key(
        name="suspend",
        keys="ctrl+z",
        action="app.suspend_process",
        word="suspend",
        help="Leave for the shell; `fg` comes back.",
        where="everywhere",
    ),
    Key(
        name="quit",
        keys="q,ctrl+c",
        action="app.leave",
        word="leave",
        help="Leave the room; evals go on.",
        where="everywhere",
    ),
)
"""In the order of the help page and the key bar."""

BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
KEYS_BY_NAME: Mapping[str, str] = {key.name: key.keys for key in KEYS}


def remapped(keys: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the remapped keys that name one of `KEYS`, and the names that do not."""
    known = {name: key for name, key in keys.items() if name in BY_NAME}
    return known, tuple(name for name in keys if name not in BY_NAME)


def table_of_keys(keys: Iterable[Key] = KEYS) -> str:
    """Return the keys as a Markdown table, for the README."""
    lines = ["| key | name | what it does |", "| --- | --- | --- |"]
    lines += [f"| `{labels(key.keys)}` | `{key.name}` | {key.help} |" for key in keys]
    return "\n".join(lines)


__all__ = ["BY_NAME", "KEYS", "KEYS_BY_NAME", "Key", "Where", "remapped", "table_of_keys"]
