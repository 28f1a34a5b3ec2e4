"""The keys of screens that have some of their own; `tui.keys.table` puts them in their order."""

from tui.keys.key import Key

OF_A_SAMPLE: tuple[Key, ...] = (
    Key(
        name="reveal",
        keys="exclamation_mark",
        action="reveal",
        word="reveal",
        help="Fetch and show what the agent and its tools wrote in this sample.",
        where="sample",
        in_bar=True,
    ),
    Key(
        name="steer",
        keys="t",
        action="steer",
        word="steer",
        help="Open Inspect's client that steers this sample, where its eval was started with acp.",
        where="sample",
        in_bar=True,
    ),
    Key(
        name="copy_steer",
        keys="Y",
        action="copy_steer",
        word="copy steer",
        help="Send the command that steers this sample to the clipboard.",
        where="sample",
        in_bar=True,
    ),
)

OF_RUNS: tuple[Key, ...] = (
    Key(
        name="duplicate",
        keys="d",
        action="duplicate",
        word="edit anew",
        help="Edit the spec of this run and launch that; what is left blank stays as it was.",
        where="runs",
        in_bar=True,
    ),
    Key(
        name="run_again",
        keys="R",
        action="run_again",
        word="run again",
        help="Run this run's spec again as it was: straight to its plan.",
        where="runs",
        in_bar=True,
    ),
    Key(
        name="attach",
        keys="t",
        action="attach",
        word="attach",
        help="Attach to this run's own display, where it has one.",
        where="runs",
        in_bar=True,
    ),
    Key(
        name="copy_launch",
        keys="Y",
        action="copy_launch",
        word="copy launch",
        help="Send `evalroom launch` with this run's spec to the clipboard.",
        where="runs",
        in_bar=True,
    ),
)

OF_GUIDES: tuple[Key, ...] = (
    Key(
        name="guide_on",
        keys="enter",
        action="guide_on",
        word="go on",
        help="Go on with the guide: its next step is previewed; one that was left is taken up.",
        where="guides",
        in_bar=True,
    ),
    Key(
        name="guide_skip",
        keys="n",
        action="guide_skip",
        word="not this one",
        help="Leave out the step that waits.",
        where="guides",
        in_bar=True,
    ),
    Key(
        name="guide_stop",
        keys="x",
        action="guide_stop",
        word="leave it",
        help="Leave the guide for good, where it stands; what was sent stays as it is.",
        where="guides",
        in_bar=True,
    ),
)
