"""Every key, in one table: the source of bindings, key bar, help and the README's table.

The config remaps a key by its name: `[keys] filter = "ctrl+f"`.
"""

from collections.abc import Iterable, Mapping

from tui.keys.key import Key, Where
from tui.keys.labels import labels
from tui.keys.list_keys import LIST_KEYS
from tui.keys.screen_keys import FINDING_KEYS, GUIDE_KEYS, RUN_KEYS, SAMPLE_KEYS

KEYS: tuple[Key, ...] = (
    *LIST_KEYS,
    Key(
        name="actions",
        keys="a",
        action="actions",
        word="actions",
        help="List actions for the selection, with the reason when one is unavailable.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="pause",
        keys="p",
        action="pause",
        word="pause",
        help="Pause the selection, or resume it if it is paused. A preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="pause_now",
        keys="P",
        action="pause_now",
        word="pause now",
        help="Pause, and hold samples in flight at their next model call. A preview comes first.",
        where="panes",
    ),
    Key(
        name="cancel",
        keys="x",
        action="cancel",
        word="cancel",
        help="Choose how to end the selection, or cancel a tool call. A preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="requeue",
        keys="e",
        action="requeue",
        word="requeue",
        help="Run errored samples again; on a task, all of them. A preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="config",
        keys="c",
        action="config",
        word="config",
        help="Read and change the knobs of the selection. A preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="undo",
        keys="u",
        action="undo",
        word="undo",
        help="Undo the last plan that can be undone. A preview comes first.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="outcomes",
        keys="o",
        action="outcomes",
        word="outcomes",
        help="Show outcomes of recent actions.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="mark_all",
        keys="A",
        action="mark_all",
        word="mark all",
        help="Mark all rows shown, or remove all marks.",
        where="table",
    ),
    Key(
        name="back",
        keys="escape",
        action="back",
        word="back",
        help="Clear the filter or the marks; if there are none, go back.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="next_pane",
        keys="tab",
        action="next_pane",
        word="next pane",
        help="Go to the next pane.",
        where="panes",
    ),
    Key(
        name="previous_pane",
        keys="shift+tab",
        action="previous_pane",
        word="previous pane",
        help="Go to the previous pane.",
        where="panes",
    ),
    *(
        Key(
            name=f"pane_{digit}",
            keys=str(digit),
            action=f"pane({digit})",
            word=f"pane {digit}",
            help=f"Go to pane {digit}.",
            where="panes",
        )
        for digit in range(1, 6)
    ),
    Key(
        name="filter",
        keys="slash",
        action="filter",
        word="filter",
        help="Filter the rows by words or /regular expression/; a leading ! inverts the filter.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="sort",
        keys="s",
        action="sort",
        word="sort",
        help="Choose the column to sort by.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="reverse",
        keys="S",
        action="reverse",
        word="reverse",
        help="Reverse the sort order.",
        where="table",
    ),
    Key(
        name="columns",
        keys="C",
        action="columns",
        word="columns",
        help="Choose which columns are shown.",
        where="panes",
    ),
    Key(
        name="copy",
        keys="y",
        action="copy",
        word="copy",
        help="Copy the log's location, or the equivalent shell command.",
        where="panes",
        in_bar=True,
    ),
    *SAMPLE_KEYS,
    Key(
        name="write",
        keys="w",
        action="write",
        word="write",
        help="Write the orders shown to a file, one line of JSON each.",
        where="journal",
        in_bar=True,
    ),
    Key(
        name="retry",
        keys="r",
        action="retry",
        word="retry",
        help=(
            "Retry this machine's link now; if its own ssh asks a question, answer it here."
            " On an ended task: read its log again. On a running one: poll its process now."
        ),
        where="panes",
        in_bar=True,
    ),
    Key(
        name="trust",
        keys="T",
        action="trust",
        word="accept host key",
        help="Show the unknown host key of this machine, to accept it.",
        where="panes",
        in_bar=True,
    ),
    Key(
        name="dismiss",
        keys="D",
        action="dismiss_gone",
        word="dismiss",
        help="Remove a gone process and its tasks from the screen.",
        where="panes",
        in_bar=True,
    ),
    *FINDING_KEYS,
    Key(
        name="triage",
        keys="i",
        action="triage",
        word="triage",
        help="Report how far the selection is, what went wrong, and what to do next.",
        where="panes",
    ),
    Key(
        name="why",
        keys="v",
        action="why",
        word="why",
        help="Explain what the selected sample or process does, and whether it is stuck.",
        where="panes",
    ),
    Key(
        name="older",
        keys="left_square_bracket",
        action="app.older",
        word="older",
        help="Go back to the previous place.",
        where="everywhere",
    ),
    Key(
        name="newer",
        keys="right_square_bracket",
        action="app.newer",
        word="newer",
        help="Go forward again.",
        where="everywhere",
    ),
    Key(
        name="since",
        keys="L",
        action="app.since",
        word="since you looked",
        help="Show again what changed while you were away for 10 minutes or more.",
        where="everywhere",
    ),
    Key(
        name="journal",
        keys="J",
        action="app.journal",
        word="journal",
        help="Open the journal of orders: what was done, by whom, and its outcome.",
        where="everywhere",
    ),
    Key(
        name="guides",
        keys="W",
        action="app.guides",
        word="guides",
        help="Open the guides: interrupt safely, provider incident, finish early, clean up.",
        where="everywhere",
    ),
    Key(
        name="launch",
        keys="n",
        action="app.launch",
        word="new run",
        help="Launch a run from a template or a draft; you see its whole plan first.",
        where="everywhere",
        in_bar=True,
    ),
    Key(
        name="runs",
        keys="N",
        action="app.runs",
        word="runs",
        help="List all runs: state, score, spec, logs and output.",
        where="everywhere",
    ),
    *RUN_KEYS,
    *GUIDE_KEYS,
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
        help="Show the keys that work here.",
        where="everywhere",
        in_bar=True,
    ),
    Key(
        name="mouse",
        keys="M",
        action="app.mouse",
        word="mouse",
        help="Turn the mouse on or off; while it is off, the terminal selects text.",
        where="everywhere",
    ),
    Key(
        name="redraw",
        keys="ctrl+l",
        action="app.redraw",
        word="redraw",
        help="Redraw the whole screen.",
        where="everywhere",
    ),
    Key(
        name="suspend",
        keys="ctrl+z",
        action="app.suspend_process",
        word="suspend",
        help="Suspend evalroom; `fg` in the shell resumes it.",
        where="everywhere",
    ),
    Key(
        name="quit",
        keys="q,ctrl+c",
        action="app.leave",
        word="leave",
        help="Leave evalroom; evals keep running.",
        where="everywhere",
    ),
)
"""In the order of the help page and the key bar."""

BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
KEYS_BY_NAME: Mapping[str, str] = {key.name: key.keys for key in KEYS}


def remapped(keys: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Split remapped keys into those whose name is one of `KEYS`, and the unknown names."""
    known = {name: key for name, key in keys.items() if name in BY_NAME}
    return known, tuple(name for name in keys if name not in BY_NAME)


def table_of_keys(keys: Iterable[Key] = KEYS) -> str:
    """Return the keys as a Markdown table, for the README."""
    lines = ["| key | name | what it does |", "| --- | --- | --- |"]
    lines += [f"| `{labels(key.keys)}` | `{key.name}` | {key.help} |" for key in keys]
    return "\n".join(lines)


__all__ = ["BY_NAME", "KEYS", "KEYS_BY_NAME", "Key", "Where", "remapped", "table_of_keys"]
