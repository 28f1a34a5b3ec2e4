"""Finds the line of each key of a TOML text, for error messages.

`tomllib` does not report lines. This walks a text that `tomllib` has already accepted, so it only
has to find where keys and values begin and end.
"""

from collections.abc import Mapping

KeyPath = tuple[str | int, ...]
"""Keys and list indexes from the top: `("machines", 1, "host")`."""


def lines_of(text: str) -> Mapping[KeyPath, int]:
    """Return the line (from 1) of every key, table and list element of a valid TOML text."""
    return _LineWalker(text).all()


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of `path`, or of its nearest parent; None: no part of it has a line."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


class _LineWalker:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._lines: dict[KeyPath, int] = {}
        self._lengths: dict[KeyPath, int] = {}

    def all(self) -> Mapping[KeyPath, int]:
        table: KeyPath = ()
        while self._blank():
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._line
        many = self._text.startswith("[[", self._at)
        self._skip(2 if many else 1)
        path = self._through_lists(self._key("]"))
        self._skip(2 if many else 1)
        if many:
            self._lines.setdefault(path, line)
            index = self._lengths.get(path, 0)
            self._lengths[path] = index + 1
            path = (*path, index)
        self._note(path, line)
        return path

    def _through_lists(self, keys: list[str]) -> KeyPath:
        """Return the path for a header's keys; a list in it stands for its last element."""
        path: KeyPath = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        return (*path, keys[-1])

    def _pair(self, table: KeyPath) -> None:
        line = self._line
        keys = self._key("=")
        self._skip(1)
        for end in range(1, len(keys) + 1):
            self._note((*table, *keys[:end]), line)
        self._value((*table, *keys))

    def _value(self, path: KeyPath) -> None:
        self._blank()
        if self._peek() == "{":
            self._inside(path, "}")
        elif self._peek() == "[":
            self._inside(path, "]")
        elif self._peek() in {'"', "'"}:
            self._string()
        else:
            while self._peek() not in {"", ",", "]", "}", "#", "\n"}:
                self._skip(1)

    def _inside(self, path: KeyPath, end: str) -> None:
        self._skip(1)
        index = 0
        while self._blank() and self._peek() != end:
            if self._peek() in ",]}":  # a wrong bracket: not TOML, but must not loop forever
                self._skip(1)
            elif end == "}":
                self._pair(path)
            else:
                self._note((*path, index), self._line)
                self._value((*path, index))
                index += 1
        self._skip(1)

    def _key(self, end: str) -> list[str]:
        """Read a dotted key up to `end`, without `end` itself."""
        keys: list[str] = []
        word = ""
        while self._peek() not in {"", end}:
            char = self._peek()
            if char in {'"', "'"}:
                word += self._string()
            elif char == ".":
                keys.append(word)
                word = ""
                self._skip(1)
            else:
                word += "" if char.isspace() else char
                self._skip(1)
        return [*keys, word]

    def _string(self) -> str:
        """Skip a string of any of the four kinds; return the text between its quotes."""
        quote = self._peek()
        mark = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        self._skip(len(mark))
        start = self._at
        while self._peek() and not self._text.startswith(mark, self._at):
            self._skip(2 if quote == '"' and self._peek() == "\\" else 1)
        end = self._at
        self._skip(len(mark))
        while len(mark) > 1 and self._peek() == quote:  # the text itself may end with quotes
            self._skip(1)
        return self._text[start:end]

    def _blank(self) -> bool:
        """Skip white space and comments; return whether any text is left."""
        while self._peek() and (self._peek().isspace() or self._peek() == "#"):
            if self._peek() == "#":
                while self._peek() not in {"", "\n"}:
                    self._skip(1)
            else:
                self._skip(1)
        return bool(self._peek())

    def _note(self, path: KeyPath, line: int) -> None:
        self._lines.setdefault(path, line)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count
