"""The log of a run, once nothing writes it."""

from contextlib import suppress
from pathlib import Path

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from tests.support.waiting import EVAL_S, wait_until


def final_log(folder: Path | str) -> EvalLog:
    """Wait until the one log of a folder is final; return its header."""

    def final() -> EvalLog | None:
        for info in list_eval_logs(str(folder)):
            with suppress(Exception):  # it is being written
                log = read_eval_log(info.name, header_only=True)
                return log if log.status != "started" else None
        return None

    return wait_until(final, f"a final log in {folder}", EVAL_S)
