"""Manifests: `run.json` in each run's folder describes the run."""

import json
import os

from ssh.shipped.launcher.files import head_of, json_of

MANIFEST_FILE = "run.json"
MAX_MANIFEST_BYTES = 16 * 1024 * 1024
MAX_FIELD_BYTES = 64 * 1024
MAX_DEPTH = 50
SENT_FIELDS = ("run", "at", "operator", "task", "model", "engine", "launch", "log_dir", "spec")
SENT_FIELDS += ("command_line",)


def manifest_of(folder):
    """Return the manifest of a run's folder; empty if it has none."""
    path = os.path.join(folder, MANIFEST_FILE)
    found = json_of(head_of(path, MAX_MANIFEST_BYTES).decode("utf-8", "replace"))
    return found if isinstance(found, dict) else {}


def short_manifest(manifest):
    """Return the fields that the desk needs; leaves out fields that are too large or too nested."""
    return {
        name: value
        for name, value in manifest.items()
        if name in SENT_FIELDS
        and depth_of(value) <= MAX_DEPTH
        and len(json.dumps(value)) <= MAX_FIELD_BYTES
    }


def depth_of(value):
    """Return how many levels of lists and objects a value has; counting ends past MAX_DEPTH."""
    level, now = 0, [value]
    while now and level <= MAX_DEPTH:
        nested = [each for each in now if isinstance(each, (dict, list))]
        lists = [each.values() if isinstance(each, dict) else each for each in nested]
        now = [inner for each in lists for inner in each]
        level += 1
    return level
