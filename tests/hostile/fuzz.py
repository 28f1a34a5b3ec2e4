"""Fuzzers of everything that a machine, an eval, a recording or a file hands to evalroom.

`python -m tests.hostile.fuzz --seconds 600` runs each target for so long; `--seed` repeats a run.
A target takes bytes (`tests/hostile/fuzz_targets.py`). It may refuse them with an error of
evalroom; any other error is a fault. What is found here becomes a test of its own.
"""

import argparse
import random
import sys
import traceback
from collections.abc import Sequence

from core.errors import EvalroomError
from tests.hostile.fuzz_probe import Fuzzed
from tests.hostile.fuzz_targets import targets
from tests.support.waiting import turns_for

REFUSALS = (EvalroomError,)
"""What a target may answer to bytes that it does not take."""

PIECES = (
    b"null", b"true", b"-1", b"1e999", b"NaN", b"-Infinity", b"9" * 400, b'""', b"[]", b"{}",
    b'"\\ud800"', b'"\\u0000"', b'"\\u202e\\u001b[2J"', b"\x00", b"\xff\xfe", b"\xc3", b"[" * 300,
    b'{"a":' * 200, b"\n", b"\r\n", b'"' + b"x" * 5000 + b'"', b"0x10", b"1_000", b"'''", b'"""',
    b"1979-05-27", b".", b"=", b"]]", b"[[machines]]\n", b'"pid"', b'"at"', b'"samples"', b"0.0",
    b"18446744073709551616", b"$(touch HIT)", b"../../etc/passwd", b'"' + b"\\" * 99 + b'"',
)  # fmt: skip
"""Pieces that are put into the bytes of a seed."""


def changed(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds, changed in a few places."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(0, 6)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[at:at] = chance.choice(PIECES)
            case 1:
                del data[at : at + chance.randint(1, 40)]
            case 2 if data:
                data[at % len(data)] = chance.randrange(256)
            case 3:
                start = chance.randrange(len(data) + 1)
                data[at:at] = data[start : start + chance.randint(1, 200)]
            case 4:
                data[at : at + chance.randint(1, 12)] = chance.choice(PIECES)
            case _:
                other = chance.choice(seeds)
                data[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(data[:200_000])


class Found(AssertionError):
    """A fault: bytes that a target neither takes nor refuses."""


def fuzz(
    fuzzed: Fuzzed, seed: int, *, tries: int | None = None, seconds: float | None = None
) -> int:
    """Give changed seeds to a target; return how many.

    Args:
        fuzzed: The target and its seeds.
        seed: Repeats a run.
        tries: How many at most; None: no such limit.
        seconds: How long at most, if there is no number of tries.

    Raises:
        Found: Bytes raised what is not a refusal.
    """
    chance, count = random.Random(seed), 0
    for _ in range(tries) if tries is not None else turns_for(seconds or 0.0):
        data = changed(chance, fuzzed.seeds)
        count += 1
        try:
            fuzzed.target(data)
        except REFUSALS:
            continue
        except Exception as error:
            place = traceback.format_exc(limit=-3)
            raise Found(f"seed {seed}, try {count}: {data[:2000]!r}\n{place[:4000]}") from error
    return count


def main(words: Sequence[str] | None = None) -> int:
    """Run the fuzzers; return how many found a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=600.0, help="for each target")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run")
    parser.add_argument("targets", nargs="*", help="their names; default: all")
    given = parser.parse_args(words)
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    faults = 0
    for name, fuzzed in targets().items():
        if given.targets and name not in given.targets:
            continue
        try:
            count = fuzz(fuzzed, seed, seconds=given.seconds)
        except Found as found:
            faults += 1
            print(f"{name}: {found}", flush=True)
        else:
            print(f"{name}: {count} tries with seed {seed}, no fault", flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main())
