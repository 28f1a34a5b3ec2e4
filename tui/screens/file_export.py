"""Writes the content of a screen to a file; asks before it replaces an existing one."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.screen import Screen

from core.text import shown
from tui.dialogs.file_dialogs import FileNameDialog, ReplaceFileDialog
from tui.private_files import replace_file, write_new
from tui.ui import Ui

_FOLDER = 0o700
Write = Callable[[Path, bytes], None]


class FileExport:
    """Asks for the name of one file, and writes it.

    Args:
        ui: The app.
        screen: The screen whose content is written; writing ends with it.
        what: What is written, for messages: `3 orders`.
        content: The bytes of the file.
        makes: A folder to create if the file goes there and it is missing; None: no folder.
    """

    def __init__(
        self,
        ui: Ui,
        screen: Screen[None],
        what: str,
        content: bytes,
        *,
        makes: Path | None = None,
    ) -> None:
        self._ui = ui
        self._screen = screen
        self._what = what
        self._content = content
        self._makes = makes

    def ask(self, proposed: str) -> None:
        """Ask for the name, with a proposed one, and write the file."""

        def named(name: str | None) -> None:
            if name is not None:
                self._start(write_new, name)

        self._ui.open(FileNameDialog(self._what, proposed), named)

    def _start(self, write: Write, name: str) -> None:
        self._screen.run_worker(self._write(write, name), name="writing", exit_on_error=False)

    async def _write(self, write: Write, name: str) -> None:
        place = shown(name, 400)
        try:
            await asyncio.to_thread(self._written, write, name)
        except FileExistsError:

            def replace(wants: bool | None) -> None:
                if wants:
                    self._start(replace_file, name)

            self._ui.open(ReplaceFileDialog(name), replace)
        except OSError as error:
            self._ui.say(f"{place} can't be written: {error.strerror or error}", "error")
        except (RuntimeError, ValueError) as error:
            self._ui.say(f"{place} is not a file name: {error}", "warning")
        else:
            self._ui.say(f"Wrote {self._what} to {place}.")

    def _written(self, write: Write, name: str) -> None:
        path = Path(name).expanduser()
        if path.parent == self._makes:
            path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        write(path, self._content)
