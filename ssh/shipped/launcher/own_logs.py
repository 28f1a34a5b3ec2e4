"""Decides which logs of a folder are a run's own: other evals may log there too."""

import os
from datetime import datetime

from ssh.shipped.common.paths import at_home
from ssh.shipped.launcher.files import tail_of
from ssh.shipped.launcher.log_files import is_inside
from ssh.shipped.launcher.run_hosts import host_record
from ssh.shipped.launcher.run_processes import last_record

RUN_METADATA = "evalroom_run"  # the run's id in the metadata of its logs
EVAL_OUTPUT_BYTES = 256 * 1024
CLOCK_STEP_S = 5.0


class LogClaims:
    """The evidence that a log is a run's own.

    Attributes:
        run: The run's id, which its logs have in their metadata if `has_mark`.
        is_private: Whether the log folder is inside the run's own folder.
        task, model: The names in the run's spec.
        eval_sets: The ids of its eval-set, as far as its start printed them.
        locations: The logs that Inspect listed as the run's at its end.
        started_at: When it was started, Unix seconds on its host's clock; None: not recorded.
    """

    def __init__(self, folder, manifest, log_dir):
        self.run = os.path.basename(folder)
        self.has_mark = "%s=%s" % (RUN_METADATA, self.run) in str(manifest.get("command_line"))
        self.is_private = "://" not in log_dir and is_inside(os.path.join(folder, log_dir), folder)
        self.task = str(manifest.get("task") or "")
        self.model = manifest.get("model")
        self.started_at = as_seconds(host_record(folder)[1])
        started = last_record(tail_of(os.path.join(folder, "launch.json"))) or {}
        output = started.get("output_file")
        printed = tail_of(at_home(output), EVAL_OUTPUT_BYTES) if isinstance(output, str) else ""
        ended = last_record(printed) or {}
        self.eval_sets = {each.get("eval_set_id") for each in (started, ended)} - {None}
        rows = ended.get("logs") if isinstance(ended.get("logs"), list) else []
        self.locations = {plain_path(row.get("location")) for row in rows if isinstance(row, dict)}

    def own(self, rows):
        """Return the rows of the run's own logs, and the number of the others.

        A row has `log`, its path, and either `header` (with `eval`) or `error`. A log that can't
        be read counts as another eval's, unless nothing else can be in the folder.
        """
        eval_sets = set(self.eval_sets)
        eval_sets.update(eval_of_row(row).get("eval_set_id") for row in rows if self.marks(row))
        own = [row for row in rows if self.is_own(row, eval_sets - {None})]
        return own, len(rows) - len(own)

    def marks(self, row):
        return eval_of_row(row).get("run") == self.run

    def is_own(self, row, eval_sets):
        if self.is_private or self.marks(row) or plain_path(row["log"]) in self.locations:
            return True
        about = eval_of_row(row)
        if self.has_mark and not self.is_older(about):
            return False
        # An eval-set goes on with the logs that it finds: those of a run before this one.
        if self.has_mark or eval_sets:
            return about.get("eval_set_id") in eval_sets and self.is_same_task(about)
        return self.is_same_task(about)

    def is_older(self, about):
        """Whether a log is older than the run."""
        created = as_seconds(about.get("created"))
        if created is None or self.started_at is None:
            return False
        return created < self.started_at - CLOCK_STEP_S

    def is_same_task(self, about):
        task = str(about.get("task") or "")
        names = {self.task, self.task.replace("@", "/").rpartition("/")[2]}
        same_task = task in names or task.rpartition("/")[2] in names
        return same_task and about.get("model") == self.model


def eval_of_row(row):
    header = row.get("header")
    about = header.get("eval") if isinstance(header, dict) else None
    return about if isinstance(about, dict) else {}


def plain_path(location):
    text = location if isinstance(location, str) else ""
    return text[len("file://") :] if text.startswith("file://") else text


def as_seconds(moment):
    """Return Unix seconds from a number as text or an ISO time; None if it is neither."""
    try:
        return float(moment)
    except (TypeError, ValueError):
        pass
    try:
        at = datetime.fromisoformat(str(moment).replace("Z", "+00:00"))
        return at.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
