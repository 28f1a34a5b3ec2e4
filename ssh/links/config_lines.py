"""Splits the lines of an ssh_config as OpenSSH does: keyword, `=`, quotes, escapes, comments."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from re import compile as pattern_of

_BLANKS = " \t\r\n"
_LINE_END = " \t\r\n\f"


class ConfigProblem(Exception):
    """A line of ssh_config that can't be read or followed.

    Attributes:
        what: What is wrong, without the place.
        place: The file and the line, `~/.ssh/config line 3`; empty if no line is at fault.
    """

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(f"{place}: {what}" if place else what)
        self.what = what
        self.place = place


@dataclass(frozen=True, slots=True)
class ConfigLine:
    """One line that holds an option.

    Attributes:
        path: The file.
        number: The line's number, from 1.
        keyword: The option's name in lower case.
        rest: All that follows the keyword, as written, comments too.
    """

    path: str
    number: int
    keyword: str
    rest: str

    @property
    def place(self) -> str:
        """The file and the line, for messages."""
        return f"{self.path} line {self.number}"

    def words(self) -> tuple[str, ...]:
        """Return the arguments without quotes, escapes and a comment at the end.

        Raises:
            ConfigProblem: A quote is not closed.
        """
        return split_words(self.rest, self.place)


def read_config_lines(path: Path) -> Iterator[ConfigLine]:
    """Yield the lines of a file that hold an option.

    Raises:
        OSError: The file can't be read.
        ConfigProblem: A line has a keyword without a value.
    """
    text = path.read_bytes().decode(errors="surrogateescape")
    for number, raw in enumerate(text.split("\n"), 1):
        keyword, rest = next_word(raw.rstrip(_LINE_END).lstrip(_BLANKS))
        if not keyword or keyword.startswith("#"):
            continue
        line = ConfigLine(str(path), number, keyword.lower(), rest.strip(_BLANKS))
        if not line.rest:
            raise ConfigProblem(f'no argument after keyword "{line.keyword}"', line.place)
        yield line


def next_word(text: str) -> tuple[str, str]:
    """Return the first word of `text` and the rest; one `=` between them counts as a blank.

    An unclosed quote gives an empty word.
    """
    end = next((at for at, char in enumerate(text) if char in _BLANKS or char in '"='), len(text))
    if end < len(text) and text[end] == '"':
        close = text.find('"', end + 1)
        if close < 0:
            return "", ""
        return text[:end] + text[end + 1 : close], text[close + 1 :].lstrip(_BLANKS)
    rest = text[end:]
    has_equals = rest.startswith("=")
    rest = rest[1:].lstrip(_BLANKS)
    if not has_equals and rest.startswith("="):
        rest = rest[1:].lstrip(_BLANKS)
    return text[:end], rest


def split_words(text: str, place: str) -> tuple[str, ...]:
    """Return the words of `text` up to a comment, without quotes and escapes.

    Raises:
        ConfigProblem: A quote is not closed; `place` is where.
    """
    words: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in " \t":
            at += 1
            continue
        if text[at] == "#":
            break
        word: list[str] = []
        quote = ""
        while at < len(text) and (quote or text[at] not in " \t"):
            char, after = text[at], text[at + 1 : at + 2]
            if char == "\\" and after and (after in "'\"\\" or (after == " " and not quote)):
                word.append(after)
                at += 1
            elif not quote and char in "'\"":
                quote = char
            elif char == quote:
                quote = ""
            else:
                word.append(char)
            at += 1
        if quote:
            raise ConfigProblem("invalid quotes", place)
        words.append("".join(word))
    return tuple(words)


def matches_pattern(text: str, pattern: str) -> bool:
    """Return whether `text` fits `pattern`; `*` and `?` are wildcards, brackets are not."""
    return pattern_of(translate(pattern.replace("[", "[[]"))).match(text) is not None


def matches_list(text: str, patterns: str) -> bool:
    """Return whether `text` fits a list of patterns with commas; a `!` pattern that fits wins."""
    found = False
    for pattern in patterns.split(","):
        if pattern.startswith("!"):
            if matches_pattern(text, pattern[1:]):
                return False
        else:
            found = found or matches_pattern(text, pattern)
    return found
