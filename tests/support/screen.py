"""What a terminal shows after the bytes that the room wrote: a grid of characters.

The room sends changed cells alone, so a number on screen may never be written in one piece.
"""

import codecs
import re

_PART = re.compile(
    r"\x1b\[(?P<words>[0-?]*)[ -/]*(?P<verb>[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[P_^][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*[0-Z=>^-~]"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f])"
    r"|(?P<text>[^\x00-\x1f]+)"
)


class Screen:
    """A grid that bytes are written to; colours, wide characters and scrolling are left out."""

    def __init__(self, columns: int, lines: int) -> None:
        self._rows = [[" "] * columns for _ in range(lines)]
        self._columns = columns
        self._x = self._y = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        """Write what the program wrote; a sequence may be cut anywhere."""
        text = self._rest + self._decoder.decode(data)
        at = 0
        while (part := _PART.match(text, at)) is not None:
            at = part.end()
            if part["text"] is not None:
                self._print(part["text"])
            elif part["control"] is not None:
                self._control(part["control"])
            elif part["verb"] is not None:
                self._move(part["verb"], part["words"])
        self._rest = text[at:]

    def text(self) -> str:
        """Return the lines as they stand."""
        return "\n".join("".join(row).rstrip() for row in self._rows)

    def _print(self, text: str) -> None:
        for char in text:
            if self._y < len(self._rows) and self._x < self._columns:
                self._rows[self._y][self._x] = char
            self._x += 1

    def _control(self, control: str) -> None:
        if control == "\r":
            self._x = 0
        elif control == "\n":
            self._y += 1
        elif control == "\b":
            self._x = max(0, self._x - 1)

    def _move(self, verb: str, words: str) -> None:
        if verb in "Hf":
            numbers = [int(word or 1) for word in words.split(";")] + [1, 1]
            self._y, self._x = numbers[0] - 1, (numbers[1] if ";" in words else 1) - 1
        elif verb == "J":
            for row in self._rows:
                row[:] = [" "] * self._columns
