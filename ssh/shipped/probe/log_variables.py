"""The variables of an eval that a read of its logs needs after its end; they stay in memory."""

import os
import re

from ssh.shipped.common.interpreters import is_trusted

STORAGE_NAME = re.compile(
    r"(AWS|AZURE|GOOGLE|GCS|CLOUDSDK|S3|MINIO|OCI|FSSPEC|HF)_[A-Z0-9_]{1,60}\Z"
    r"|(http|https|all|no)_proxy\Z|(HTTP|HTTPS|ALL|NO)_PROXY\Z"
    r"|(SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)\Z"
)
"""Names of variables by which a log at a URL is reached."""
MAX_VARIABLES_BYTES = 64 * 1024


def log_variables(env):
    """Return those variables of an eval that a read of its logs needs: for URLs, and for Inspect.

    Folders of PYTHONPATH that another user may write to are left out.
    """
    kept = {name: value for name, value in env.items() if STORAGE_NAME.match(name)}
    folders = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if is_safe(each)]
    if folders:
        kept["PYTHONPATH"] = os.pathsep.join(folders)
    size = sum(len(name) + len(value) for name, value in kept.items())
    return kept if size <= MAX_VARIABLES_BYTES else {}


def variables_for(kept, logs):
    """Return the variables of `kept` with which to read these logs."""
    if any("://" in log and not log.startswith("file://") for log in logs):
        return dict(kept)
    return {name: value for name, value in kept.items() if name == "PYTHONPATH"}


def is_safe(folder):
    try:
        return os.path.isabs(folder) and is_trusted(folder)
    except (OSError, ValueError):
        return False
