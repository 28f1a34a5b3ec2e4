"""Reads the logs of runs: with each run's own Inspect, else with another one of this machine."""

import os
import time

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.log_reading import run_log_script
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.script_answers import objects_in
from ssh.shipped.common.text import last_line, text_of
from ssh.shipped.common.tools import run_tool
from ssh.shipped.launcher.files import json_of, tail_of
from ssh.shipped.launcher.inspects import env_of, inspects_of
from ssh.shipped.launcher.log_files import LogFolderUnreadable, log_candidates
from ssh.shipped.launcher.manifests import manifest_of
from ssh.shipped.launcher.memory_kills import kills_since
from ssh.shipped.launcher.own_logs import LogClaims
from ssh.shipped.launcher.run_processes import last_record

READ_TIMEOUT_S = 270.0  # for all logs of one answer
START_TIMEOUT_S = 90.0  # for one start of Inspect
MAX_READ_LOGS, MAX_OWN_LOGS, MAX_ERRORS = 200, 20, 50
MAX_EXAMPLES, MAX_EXAMPLE_BYTES = 5, 1024 * 1024


class RunLogs:
    """A run whose logs are read; `report` is what the desk gets."""

    def __init__(self, asked, secrets):
        self.folder = at_home(asked["directory"])
        self.where = asked["log_dir"]
        manifest = manifest_of(self.folder)
        self.claims = LogClaims(self.folder, manifest, at_home(self.where))
        self.inspects = inspects_of(self.folder, manifest)
        self.env = dict(env_of(self.folder, manifest), **secrets)
        self.report = {"run": asked["run"], "logs": [], "others": 0}
        self.paths = []  # logs to read
        self.rows = []  # the answers for them

    def list(self, until):
        """Find the logs that may be the run's own."""
        if not os.path.isdir(self.folder):
            self.report["error"] = "the run's folder %s is gone" % self.folder
            return
        try:
            if "://" in self.where:
                self.paths = list_remote(self.inspects, self.where, self.env, until)
            else:
                folder = os.path.join(self.folder, at_home(self.where))
                self.paths = log_candidates(folder, self.folder, self.claims.locations)
        except (Failed, LogFolderUnreadable) as failed:
            self.report["error"] = text_of(failed)

    def finish(self):
        """Fill the report."""
        if "error" in self.report:
            return
        for row in self.rows:
            samples = row.get("samples")
            if isinstance(samples, dict):
                row["samples"] = dict(samples, rows=[], errors=samples["errors"][:MAX_ERRORS])
        self.report["logs"] = newest_first(self.rows)[:MAX_OWN_LOGS]
        statuses = {(row.get("header") or {}).get("status") for row in self.rows}
        if not statuses or "started" in statuses:
            self.report["output"] = output_of_run(self.folder)
            self.report["kills"] = kills_since(self.folder)


def read_logs(given):
    """Return a report of the logs of each run."""
    until = time.monotonic() + READ_TIMEOUT_S
    runs = [RunLogs(asked, given["secrets"]) for asked in given["runs"]]
    groups = {}
    for run in runs:
        run.list(until)
        words = tuple(tuple(each) for each in run.inspects)
        groups.setdefault((words, tuple(sorted(run.env.items()))), []).append(run)
    for group in groups.values():
        read_group([run for run in group if run.paths], until)
    for run in runs:
        run.finish()
    return {"reports": [run.report for run in runs]}


def read_group(runs, until):
    """Read the logs of runs that have the same Inspect and the same environment.

    Headers come first, because they show whose log it is. Samples are read if some of them failed.
    """
    paths = list(dict.fromkeys(path for run in runs for path in run.paths))
    answers, why = ask_inspect(runs, "headers", paths, until)
    for run in runs:
        rows = [answers[path] for path in run.paths if path in answers]
        own, run.report["others"] = run.claims.own(rows)
        run.rows = newest_first(own)[:MAX_OWN_LOGS]
        unread = [row["error"] for row in rows if row.get("error")]
        if len(rows) < len(run.paths) and (why or not rows):
            run.report["error"] = why or "Inspect printed nothing about its logs"
        elif not own and unread:
            run.report["error"] = unread[0]
    failed = [row["log"] for run in runs for row in run.rows if has_failures(row)]
    answers, _ = ask_inspect(runs, "summaries", failed, until)
    for run in runs:
        run.rows = [answers.get(row["log"], row) for row in run.rows]


def has_failures(row):
    """Whether a log that was read may have errored samples."""
    header = row.get("header") or {}
    results = header.get("results") or {}
    counts = results.get("completed_samples"), results.get("total_samples")
    return header.get("status") == "error" or counts[0] != counts[1]


def ask_inspect(runs, what, paths, until):
    """Return the answers about logs by path, and why some are missing (None: none is).

    The runs have the same Inspect and the same environment.
    """
    if not paths:
        return {}, None
    asked = {"what": what, "logs": paths, "errored": 0, "others": 0, "bytes": 0}
    why = "evalroom knows no Inspect on this machine"
    for words in runs[0].inspects:
        left = min(START_TIMEOUT_S + len(paths), until - time.monotonic())
        if left < 1.0:
            return {}, "this machine's Inspect took too long"
        try:
            answers, why = run_log_script(words, asked, left, env=runs[0].env)
        except Failed as failed:
            if words is runs[0].inspects[0]:
                why = text_of(failed)
            continue
        return {row["log"]: row for row in answers if isinstance(row.get("log"), str)}, why
    return {}, why


def list_remote(inspects, where, env, until):
    """Return the logs of a location that only Inspect can list, the newest first."""
    why = Failed("evalroom knows no Inspect on this machine")
    options = ["-m", "inspect_ai", "log", "list", "--json", "--absolute", "--log-dir", where]
    for words in inspects:
        left = max(1.0, min(START_TIMEOUT_S, until - time.monotonic()))
        try:
            run = run_tool([*words, *options], left, env=env)
        except Failed as failed:
            why = why if words is not inspects[0] else failed
            continue
        if run.failure is None and run.code == 0:
            found = objects_in(run.out.decode("utf-8", "replace"), "name")
            found = [each for each in found if isinstance(each["name"], str)]
            found.sort(key=lambda each: each.get("mtime") or 0, reverse=True)
            return [each["name"] for each in found[:MAX_READ_LOGS]]
        if words is inspects[0]:
            why = run.failure or Failed(last_line(run.err) or "exit %s" % run.code)
    raise why


def read_examples(given):
    """Return one sample of each group of errors, with the whole text of its error."""
    folder = at_home(given["directory"])
    manifest = manifest_of(folder)
    inspects = inspects_of(folder, manifest)
    env = dict(env_of(folder, manifest), **given["secrets"])
    until = time.monotonic() + READ_TIMEOUT_S
    rows = []
    for path, sample, epoch in given["examples"][:MAX_EXAMPLES]:
        asked = {"what": "sample", "view": "sample", "log": path, "id": sample, "epoch": epoch}
        asked.update(content=True, bytes=MAX_EXAMPLE_BYTES)
        rows.append(dict(read_example(inspects, asked, env, until), sample=sample, epoch=epoch))
    return {"examples": rows}


def read_example(inspects, asked, env, until):
    why = "evalroom knows no Inspect on this machine"
    for words in inspects:
        left = min(START_TIMEOUT_S, until - time.monotonic())
        if left < 1.0:
            return {"why": "this machine's Inspect took too long"}
        try:
            answers, why = run_log_script(words, asked, left, env=env)
        except Failed as failed:
            why = text_of(failed) if words is inspects[0] else why
            continue
        body = json_of(answers[0].get("body") or "null") if answers else None
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            return {"error": body["error"]}
        text = body.get("error") if isinstance(body, dict) else None
        return {"why": text or why or "its log has no error of this sample"}
    return {"why": why}


def newest_first(rows):
    """Return the rows of logs, the log that was begun last first."""

    def begun(row):
        header = row.get("header") or {}
        return str((header.get("eval") or {}).get("created") or ""), row["log"]

    return sorted(rows, key=begun, reverse=True)


def output_of_run(folder):
    """Return the end of a run's output: of the file that its eval wrote, else of its start."""
    record = last_record(tail_of(os.path.join(folder, "launch.json"))) or {}
    output = record.get("output_file")
    texts = [tail_of(at_home(output))] if isinstance(output, str) else []
    texts += [tail_of(os.path.join(folder, name)) for name in ("launch.err", "start.err")]
    return next((text for text in texts if text.strip()), "")
