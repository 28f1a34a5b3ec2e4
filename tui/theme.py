"""Themes, and what the terminal can show.

Panes use tones (`core.views.cells.Tone`), not colours. Each theme gives every tone its colour: dark
and light, for terminals with 16 million, 256 and 16 colours. The 256-colour themes use palette
colours only, because terminals often approximate others badly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from textual.theme import BUILTIN_THEMES, Theme

from core.views.cells import Tone

TONES: tuple[Tone, ...] = get_args(Tone)
Depth = Literal["full", "256", "16", "none"]
"""Number of colours: 16 million, 256, 16, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalFeatures:
    """What the terminal can show, according to its environment.

    Attributes:
        is_ascii: Only ASCII characters may be sent.
    """

    depth: Depth
    is_ascii: bool


def terminal_features(environ: Mapping[str, str], *, wants_ascii: bool) -> TerminalFeatures:
    """Return what the terminal can show, from environment variables only.

    Args:
        environ: `TERM`, `COLORTERM`, `NO_COLOR` and the locale's variables.
        wants_ascii: The config's `ascii`.
    """
    term = environ.get("TERM", "").strip().lower()
    return TerminalFeatures(
        depth=_depth(environ, term),
        is_ascii=wants_ascii or term in {"", "dumb"} or not _speaks_utf8(environ),
    )


def _depth(environ: Mapping[str, str], term: str) -> Depth:
    if environ.get("NO_COLOR") or term in {"", "dumb"}:
        return "none"
    if environ.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"}:
        return "full"
    if term.endswith("-direct"):
        return "full"
    return "256" if "256color" in term or term in {"xterm-kitty", "alacritty"} else "16"


def _speaks_utf8(environ: Mapping[str, str]) -> bool:
    locale_name = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    return "utf-8" in locale_name.lower() or "utf8" in locale_name.lower()


def _theme(name: str, tones: Mapping[str, str], *, is_dark: bool, is_ansi: bool = False) -> Theme:
    return Theme(
        name=name,
        dark=is_dark,
        ansi=is_ansi,
        primary=tones["key"],
        secondary=tones["title"],
        warning=tones["warning"],
        error=tones["error"],
        success=tones["good"],
        accent=tones["key"],
        foreground=tones["plain"],
        background=tones["ground"],
        surface=tones["raised"],
        panel=tones["raised"],
        variables={
            **(BUILTIN_THEMES["ansi-dark"].variables if is_ansi else {}),
            **{f"room-{tone}": colour for tone, colour in tones.items()},
            "border": tones["frame"],
            "border-blurred": tones["frame"],
            "scrollbar": tones["frame"],
            "scrollbar-background": tones["ground"],
            "scrollbar-hover": tones["dim"],
            "scrollbar-active": tones["dim"],
            "block-cursor-background": tones["cursor"],
            "block-cursor-foreground": tones["strong"],
            "input-cursor-background": tones["key"],
            "input-cursor-foreground": tones["raised"],
            "input-selection-background": tones["cursor"],
        },
    )


DARK = _theme(
    "room-dark",
    {
        "plain": "#c3c9d0",
        "dim": "#79828d",
        "strong": "#e8ebee",
        "good": "#93c47d",
        "warning": "#e3ab4f",
        "error": "#e0726a",
        "key": "#d6ab6b",
        "title": "#7ba4cc",
        "ground": "#14181d",
        "raised": "#1d232a",
        "cursor": "#263443",
        "unfocused": "#1c242c",
        "frame": "#2d353e",
    },
    is_dark=True,
)
LIGHT = _theme(
    "room-light",
    {
        "plain": "#3a4149",
        "dim": "#737a82",
        "strong": "#14181d",
        "good": "#3b7a2a",
        "warning": "#935f00",
        "error": "#b3312a",
        "key": "#8a5a12",
        "title": "#2d6193",
        "ground": "#faf9f6",
        "raised": "#efede7",
        "cursor": "#d8e4f0",
        "unfocused": "#ecf0f3",
        "frame": "#d0cdc5",
    },
    is_dark=False,
)
DARK_256 = _theme(
    "room-dark-256",
    {
        "plain": "#c6c6c6",
        "dim": "#808080",
        "strong": "#eeeeee",
        "good": "#87af5f",
        "warning": "#d7af5f",
        "error": "#d75f5f",
        "key": "#d7af87",
        "title": "#87afd7",
        "ground": "#121212",
        "raised": "#1c1c1c",
        "cursor": "#303030",
        "unfocused": "#1c1c1c",
        "frame": "#3a3a3a",
    },
    is_dark=True,
)
LIGHT_256 = _theme(
    "room-light-256",
    {
        "plain": "#3a3a3a",
        "dim": "#767676",
        "strong": "#121212",
        "good": "#008700",
        "warning": "#875f00",
        "error": "#af0000",
        "key": "#875f00",
        "title": "#005f87",
        "ground": "#eeeeee",
        "raised": "#e4e4e4",
        "cursor": "#d0d0d0",
        "unfocused": "#e4e4e4",
        "frame": "#bcbcbc",
    },
    is_dark=False,
)
SIXTEEN = _theme(
    "room-16",
    {
        "plain": "ansi_default",
        "dim": "ansi_bright_black",
        "strong": "ansi_default",
        "good": "ansi_green",
        "warning": "ansi_yellow",
        "error": "ansi_red",
        "key": "ansi_cyan",
        "title": "ansi_blue",
        "ground": "ansi_default",
        "raised": "ansi_default",
        "cursor": "ansi_default",
        "unfocused": "ansi_default",
        "frame": "ansi_bright_black",
    },
    is_dark=True,
    is_ansi=True,
)
THEMES = (DARK, LIGHT, DARK_256, LIGHT_256, SIXTEEN)


def theme_for(terminal: TerminalFeatures, wanted: Literal["dark", "light"]) -> Theme:
    """Return the theme for a terminal; below 256 colours dark and light are the same."""
    if terminal.depth in {"16", "none"}:
        return SIXTEEN
    if terminal.depth == "256":
        return DARK_256 if wanted == "dark" else LIGHT_256
    return DARK if wanted == "dark" else LIGHT
