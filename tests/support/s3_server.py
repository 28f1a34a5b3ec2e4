"""A real S3 interface on this computer: its buckets are in memory."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import WAIT_S, wait_until

_ADDRESS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


@contextmanager
def s3_server(folder: Path, bucket: str) -> Generator[str]:
    """Run a server with one bucket for the block; yield its address."""
    output = folder / "s3-server.txt"
    words = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", "0"]
    with output.open("wb") as file, subprocess.Popen(words, stdout=file, stderr=file) as server:
        try:
            found = wait_until(lambda: _ADDRESS.search(output.read_text()), "the server runs")
            create = urllib.request.Request(f"{found[1]}/{bucket}", method="PUT")
            with urllib.request.urlopen(create, timeout=WAIT_S) as answer:
                assert answer.status == 200
            yield found[1]
        finally:
            server.kill()
