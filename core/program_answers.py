"""Answers of programs on machines, found among everything else that was printed there.

A program of evalroom prints each answer as one line, `evalroom-answer NONCE SIZE JSON
evalroom-end`, with the nonce of the request. Greetings, warnings and escape codes around it do not
count, nor does a text that looks like an answer; an answer that was cut off is not an answer.
`ssh/shipped/common/answers.py` writes the line. Programs of others, such as Inspect, print no
marks; their answers are known by their shape.
"""

import json
import re
from collections.abc import Iterator

from core.errors import AnswerMalformed
from core.format import size

START_MARK = b"evalroom-answer "
END_MARK = b" evalroom-end"
_MAX_SIZE_CHARS = 16
_MAX_OBJECTS = 2_000
"""How many places of a text are tried for an object."""
_DECODER = json.JSONDecoder(strict=False)


class AnswerReader:
    """Finds the first whole answer in a program's output, which arrives in pieces.

    Args:
        max_bytes: The largest answer that is read.
        nonce: The nonce of the request.
    """

    def __init__(self, max_bytes: int, *, nonce: str) -> None:
        start = START_MARK + nonce.encode() + b" "
        self._head = re.compile(re.escape(start) + rb"([0-9]{1,12}) ")
        self._max_head_bytes = len(start) + _MAX_SIZE_CHARS
        self._max_bytes = max_bytes
        self._output = bytearray()

    def feed(self, data: bytes) -> bytes | None:
        """Add a piece of the output; return the JSON of the answer once it is whole.

        Raises:
            AnswerMalformed: The answer is larger than `max_bytes`.
        """
        self._output += data
        while head := self._head.search(self._output):
            length = int(head[1])
            if length > self._max_bytes:
                raise AnswerMalformed(f"an answer larger than {size(self._max_bytes)}")
            end = head.end() + length
            if self._output.startswith(END_MARK, end):
                return bytes(self._output[head.end() : end])
            line_end = self._output.find(b"\n", head.end())
            if line_end < 0:
                del self._output[: head.start()]
                return None
            del self._output[:line_end]
        del self._output[: -self._max_head_bytes]
        return None


def objects_in(text: str, key: str) -> Iterator[str]:
    """Yield the JSON text of each whole object that has this key, wherever it stands in a text.

    Objects inside a yielded one are left out, and so is one that was cut off.
    """
    at, tries = text.find("{"), 0
    while at >= 0 and tries < _MAX_OBJECTS:
        tries += 1
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if key in found:
                yield text[at:end]
        at = text.find("{", end)
