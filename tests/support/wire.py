"""A machine whose link keeps all that evalroom sends to it."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READING_FRAMES = frozenset(
    {"start", "stop", "beat", "program", "watch", "unwatch", "poll", "get", "facts", "logs"}
)
"""The frames that only read. They stand here again: a test must not ask the table that it tests."""
READING_JOBS = frozenset(
    {
        ("survey", "survey"), ("survey", "child"), ("launcher", "poll"), ("launcher", "list"),
        ("launcher", "logs"), ("launcher", "examples"), ("launcher", "read"),
        ("launcher", "screen"),
    }
)  # fmt: skip
"""The jobs that only read, likewise."""
TEE = 'tee "$0.$$" | "$@"'


@dataclass(frozen=True, slots=True)
class Wire:
    """What was sent to a machine, by each program that was started there.

    Attributes:
        folder: Where it is kept.
    """

    folder: Path

    @property
    def command(self) -> tuple[str, ...]:
        """The command of a link to this computer."""
        return ("/bin/sh", "-c", TEE, str(self.folder / "sent"))

    def _objects(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self.folder.glob("sent.*")):
            for line in path.read_bytes().split(b"\n"):
                # The first one follows the program that was sent, on its last line.
                _, begin, rest = line.partition(b'{"v')
                with suppress(ValueError):
                    yield json.loads(begin + rest)

    def frames(self) -> list[dict[str, Any]]:
        """The heads of all frames to probes."""
        return [each for each in self._objects() if "kind" in each]

    def jobs(self) -> list[dict[str, Any]]:
        """The requests of all jobs."""
        return [each for each in self._objects() if "verb" in each]
