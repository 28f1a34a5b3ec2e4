"""`make bench`: the numbers to hold, as one table and as JSON.

python -m tests.bench [NAME ...] [--json FILE] [--quick]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.rows import Result

Measure = Callable[[Path, bool], list[Result]]


def _measures() -> dict[str, Measure]:
    from tests.bench import full_load, idle, judging, machine_poll, probe_cost, start, week

    return {
        "poll": machine_poll.measure,
        "probe": probe_cost.measure,
        "start": start.measure,
        "idle": idle.measure,
        "full": full_load.measure,
        "judging": judging.measure,
        "week": week.measure,
    }


def main() -> int:
    """Run the chosen measurements; return 1 if a goal was missed, or one could not be measured."""
    measures = _measures()
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(measures)}; none: all")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="a smaller load, for a first try")
    words = parser.parse_args()
    results: list[Result] = []
    failed: list[str] = []
    for name in words.names or measures:
        print(f"measuring: {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="eb") as folder:
            try:
                results += measures[name](Path(folder), words.quick)
            except (OSError, RuntimeError, ValueError, LookupError, AssertionError) as error:
                failed.append(name)  # the others are measured all the same
                print(f"{name} failed: {error}", file=sys.stderr, flush=True)
    width = max((len(result.what) for result in results), default=4)
    print(f"{'what':<{width}}  {'measured':>16}  goal")
    for result in results:
        mark = {True: "ok", False: "MISSED", None: ""}[result.held]
        print(f"{result.what:<{width}}  {result.shown():>16}  {result.goal_shown():<18} {mark}")
    for name in failed:
        print(f"{name}: not measured, see above")
    document = json.dumps([result.as_json() for result in results], indent=1)
    if words.json:
        words.json.write_text(document + "\n")
    else:
        print(document)
    return 1 if failed or any(result.held is False for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
