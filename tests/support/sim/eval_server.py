"""An eval's control socket without an eval: for measuring the probe, not for proving it.

    python -m tests.support.sim.eval_server DATA_DIR [--samples 100] [--changing 1.0]

It leaves a discovery record as Inspect does, answers HTTP/1.1 on the socket until it is ended,
and changes `changing` samples a second.
"""

import argparse
import asyncio
import json
import os
import time
from pathlib import Path

from tests.support.sim.evals import SimEval


class SimProcess(SimEval):
    """A simulated eval under this program's own pid."""

    @property
    def pid(self) -> int:
        return os.getpid()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sim: SimEval) -> None:
    try:
        while line := await reader.readline():
            path = line.split()[1].decode()
            while (await reader.readline()).strip():
                pass
            body = sim.answer(path, time.time())
            status = b"200 OK" if body is not None else b"404 Not Found"
            body = body if body is not None else b'{"detail": "Not Found"}'
            writer.write(
                b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                % (status, len(body), body)
            )
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def serve(data_dir: Path, samples: int, changing: float) -> None:
    """Serve one simulated eval until cancelled."""
    control = data_dir / "inspect_ai" / "control"
    control.mkdir(parents=True, exist_ok=True, mode=0o700)
    sim = SimProcess("far", os.getpid() % 1000, samples, time.time())
    socket = control / f"{os.getpid()}.sock"
    server = await asyncio.start_unix_server(lambda r, w: _answer(r, w, sim), str(socket))
    socket.chmod(0o600)
    record = {
        "pid": os.getpid(),
        "run_id": "R",
        "socket_path": str(socket),
        "started_at": sim.started_at,
        "api_version": 8,
    }
    (control / f"{os.getpid()}.json").write_text(json.dumps(record))
    print("serving", flush=True)
    turn = 0
    async with server:
        while True:
            await asyncio.sleep(1 / changing if changing else 3600)
            sim.change(turn % samples, time.time())
            turn += 1


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--changing", type=float, default=1.0)
    words = parser.parse_args()
    asyncio.run(serve(words.data_dir, words.samples, words.changing))


if __name__ == "__main__":
    main()
