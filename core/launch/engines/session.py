"""The sessions that engines with a terminal leave on a machine, whichever engine it was."""

from core.launch.engines.tmux_sessions import (
    Session,
    end_means,
    end_words,
    is_gone,
    is_session_name,
    list_words,
    sessions_of,
    switch_words,
)

__all__ = [
    "Session",
    "end_means",
    "end_words",
    "is_gone",
    "is_session_name",
    "list_words",
    "sessions_of",
    "switch_words",
]
