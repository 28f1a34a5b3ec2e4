"""Keys of one screen, and of findings; `tui.keys.table` puts them in order."""

from tui.keys.key import Key

SAMPLE_KEYS: tuple[Key, ...] = (
    Key(
        name="reveal",
        keys="exclamation_mark",
        action="reveal",
        word="reveal",
        help="Fetch and show the text that the agent and its tools wrote in this sample.",
        where="sample",
        in_bar=True,
    ),
    Key(
        name="steer",
        keys="t",
        action="steer",
        word="steer",
        help="Open Inspect's client to steer this sample; its eval must be started with acp.",
        where="sample",
        in_bar=True,
    ),
    Key(
        name="copy_steer",
        keys="Y",
        action="copy_steer",
        word="copy steer",
        help="Copy the command that steers this sample.",
        where="sample",
        in_bar=True,
    ),
)

RUN_KEYS: tuple[Key, ...] = (
    Key(
        name="duplicate",
        keys="d",
        action="duplicate",
        word="edit copy",
        help="Edit a copy of this run's spec and launch it; a blank field keeps its value.",
        where="runs",
        in_bar=True,
    ),
    Key(
        name="run_again",
        keys="R",
        action="run_again",
        word="run again",
        help="Launch this run's spec again, unchanged; you see its plan first.",
        where="runs",
        in_bar=True,
    ),
    Key(
        name="attach",
        keys="t",
        action="attach",
        word="attach",
        help="Attach to this run's own terminal, if it has one.",
        where="runs",
        in_bar=True,
    ),
    Key(
        name="copy_launch",
        keys="Y",
        action="copy_launch",
        word="copy launch",
        help="Copy `evalroom launch` with this run's spec.",
        where="runs",
        in_bar=True,
    ),
)

GUIDE_KEYS: tuple[Key, ...] = (
    Key(
        name="guide_on",
        keys="enter",
        action="guide_on",
        word="continue",
        help="Preview the guide's next step, or take over a guide that no instance runs.",
        where="guides",
        in_bar=True,
    ),
    Key(
        name="guide_skip",
        keys="n",
        action="guide_skip",
        word="skip step",
        help="Skip the step that waits for you.",
        where="guides",
        in_bar=True,
    ),
    Key(
        name="guide_stop",
        keys="x",
        action="guide_stop",
        word="stop guide",
        help="Stop the guide for good; orders that were sent stay as they are.",
        where="guides",
        in_bar=True,
    ),
)

FINDING_KEYS: tuple[Key, ...] = (
    Key(
        name="acknowledge",
        keys="K",
        action="acknowledge",
        word="acknowledge",
        help=(
            "Acknowledge findings: those about errors and losses close,"
            " others no longer count until they worsen."
        ),
        where="panes",
        in_bar=True,
    ),
    Key(
        name="mute",
        keys="m",
        action="mute",
        word="mute",
        help="Mute a finding, its task or its kind for a time, or end its mute.",
        where="panes",
        in_bar=True,
    ),
)
"""The keys of findings."""
