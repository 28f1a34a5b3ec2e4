"""Runs `inspect ...` command lines, each in a fork of one process that has imported Inspect.

It is the very `main()` that the `inspect` program calls, without its 1.5 s of imports. One JSON
line `{argv, env, cwd}` in, one `{status, out, err}` out.
"""

import importlib
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, cast

import certifi
from inspect_ai._cli.main import main

END = "-----END CERTIFICATE-----"


def serve() -> None:
    """Answer lines until the input ends."""
    tells = os.fdopen(os.dup(1), "w")
    importlib.import_module("anyio._backends._asyncio")  # or each fork would
    # A unix socket needs no authorities, and reading all of them is half of a call's time.
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as one:
        one.write(certifi.contents().partition(END)[0] + END + "\n")
    os.environ["SSL_CERT_FILE"] = one.name
    print("ready", file=tells, flush=True)
    for line in sys.stdin:
        asked = cast("dict[str, Any]", json.loads(line))
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _run(asked, out.fileno(), err.fileno())
            _, status = os.waitpid(child, 0)
            out.seek(0)
            err.seek(0)
            result = {
                "status": os.waitstatus_to_exitcode(status),
                "out": out.read().decode(errors="replace"),
                "err": err.read().decode(errors="replace"),
            }
        print(json.dumps(result), file=tells, flush=True)
    Path(one.name).unlink()


def _run(asked: dict[str, Any], out: int, err: int) -> None:
    status = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.environ.update(asked["env"])
        os.chdir(Path(asked["cwd"]))
        sys.argv = ["inspect", *asked["argv"]]
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - a fork must never come back into the loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
