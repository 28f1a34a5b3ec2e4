"""What the history knows of ended evals, for a command that stores nothing."""

from cli.render.plain import print_note
from cli.wiring.clock import WallClock
from core.config.model import Config
from core.desk.past import NOTHING, Past
from core.errors import StorageError
from core.text import shown
from storage.past import past_readonly
from storage.paths import paths


def past_unopened(config: Config) -> Past:
    """Read the history of the hours for which ended evals are kept, without changing it.

    A failure is printed as a note on standard error.
    """
    try:
        return past_readonly(paths().database, WallClock().now() - config.watch.keep_gone)
    except StorageError as error:
        print_note(shown(f"ended evals are left out: {error.sentence}", 400))
        return NOTHING
