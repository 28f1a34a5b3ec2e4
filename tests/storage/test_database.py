# ruff: noqa: ASYNC220, ASYNC240 - a test may wait for its disk
import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from core.errors import StorageError
from storage.database import Database
from storage.filesystems import is_network
from storage.schema import APPLICATION_ID, DatabaseBusy, DatabaseNewer, migrations
from tests.support.waiting import WAIT_S


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite3"


def add_task(connection: sqlite3.Connection, name: str = "t") -> None:
    connection.execute(
        "INSERT INTO task (machine, pid, start, task_id) VALUES ('m', 1, 's', ?)", (name,)
    )


async def names(database: Database) -> list[str]:
    return [row["task_id"] for row in await database.read("SELECT task_id FROM task ORDER BY id")]


async def test_a_fresh_file_is_marked_ours_and_is_the_operators_alone(path: Path) -> None:
    async with Database.at(path) as database:
        await database.write(add_task)
        parts = [path, *path.parent.glob("*-wal"), *path.parent.glob("*-shm")]
        assert {part.stat().st_mode & 0o777 for part in parts} == {0o600}
        assert path.parent.stat().st_mode & 0o777 == 0o700
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert raw.execute("PRAGMA user_version").fetchone() == (migrations()[-1][0],)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


async def test_written_orders_are_there_at_the_next_start(path: Path) -> None:
    async with Database.at(path) as database:
        await database.write(add_task)
    async with Database.at(path) as database:
        assert await names(database) == ["t"]
        assert database.moved_aside is None


async def test_a_transaction_that_fails_leaves_nothing(path: Path) -> None:
    def half(connection: sqlite3.Connection) -> None:
        add_task(connection, "half")
        connection.execute("INSERT INTO nowhere VALUES (1)")

    async with Database.at(path) as database:
        with pytest.raises(StorageError, match="no such table"):
            await database.write(half)
        await database.write(add_task)
        assert await names(database) == ["t"]


async def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


@pytest.mark.parametrize(
    "content",
    [b"garbage" * 1_000, b"\0" * 100, b"SQLite format 3\0" * 400],
    ids=["garbage", "zeros", "half a header"],
)
async def test_an_unusable_file_is_kept_aside_and_a_fresh_one_made(
    path: Path, content: bytes
) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    async with Database.at(path) as database:
        await database.write(add_task)
        assert database.moved_aside is not None
        assert database.moved_aside.read_bytes() == content
        assert await names(database) == ["t"]


async def test_an_empty_file_becomes_ours(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.touch()
    async with Database.at(path) as database:
        await database.write(add_task)
        assert database.moved_aside is None


async def test_another_programs_database_is_kept_aside_untouched(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    async with Database.at(path) as database:
        assert database.moved_aside is not None
        assert database.moved_aside.read_bytes() == before


async def test_a_newer_evalrooms_file_is_refused_and_left_alone(path: Path) -> None:
    async with Database.at(path):
        pass
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 999")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseNewer) as caught:
        async with Database.at(path):
            pass
    assert "upgrade" in caught.value.advice
    assert path.read_bytes() == before


async def fill(database: Database, count: int) -> None:
    def work(connection: sqlite3.Connection) -> None:
        for number in range(count):
            add_task(connection, f"{number:0200}")

    await database.write(work)


async def test_a_page_that_breaks_while_it_is_open_is_survived(path: Path) -> None:
    async with Database.at(path) as database:
        await fill(database, 500)
        await database.release_space()
        with path.open("r+b") as file:
            file.seek(4_096)
            file.write(os.urandom(path.stat().st_size - 4_096))
    raw = path.read_bytes()
    async with Database.at(path) as database:
        assert database.moved_aside is not None
        assert database.moved_aside.read_bytes()[4_096:8_192] == raw[4_096:8_192]


def forget_all(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM task")


async def test_damage_found_in_use_is_reported_and_the_next_write_works(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Database.at(path) as database:
        await fill(database, 500)
    rows_begin = path.stat().st_size // 2 // 4_096 * 4_096  # the schema lies before the rows
    with path.open("r+b") as file:
        file.seek(rows_begin)
        file.write(os.urandom(path.stat().st_size - rows_begin))
    monkeypatch.setattr("storage.schema.MAX_CHECKED_BYTES", 0)
    async with Database.at(path) as database:
        with pytest.raises(StorageError) as caught:
            await database.write(forget_all)
        assert "evalroom started a new one" in caught.value.advice
        await database.write(add_task)
        assert await names(database) == ["t"]


async def test_a_file_that_is_deleted_while_open_is_made_again(path: Path) -> None:
    async with Database.at(path) as database:
        await database.write(add_task)
        for part in path.parent.iterdir():
            part.unlink()
        await database.write(lambda connection: add_task(connection, "after"))
        assert await names(database) == ["after"]
    async with Database.at(path) as database:
        assert await names(database) == ["after"]


async def test_a_file_that_another_program_holds_is_used_once_it_is_free(path: Path) -> None:
    async with Database.at(path) as database:
        await database.write(add_task)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    database = Database(path)
    with pytest.raises(DatabaseBusy, match="locked"):
        await database.open(timeout=0.1)
    holder.close()
    await database.write(lambda connection: add_task(connection, "after"))
    assert await names(database) == ["t", "after"]
    [(wait,)] = await database.read("PRAGMA busy_timeout")
    assert wait == 10_000
    await database.close()
    with pytest.raises(StorageError, match="closed"):
        await names(database)


async def test_two_at_once_write_without_a_word_of_a_lock(path: Path) -> None:
    async def writer(name: str) -> None:
        async with Database.at(path) as database:
            for number in range(40):
                await database.write(partial(add_task, name=f"{name}{number}"))

    await asyncio.gather(writer("a"), writer("b"), writer("c"))
    async with Database.at(path) as database:
        assert len(await names(database)) == 120


async def test_three_that_make_the_file_at_once_all_write_into_the_same_one(tmp_path: Path) -> None:
    for round_ in range(15):
        path = tmp_path / str(round_) / "history.sqlite3"

        async def writer(name: str, path: Path = path) -> Path | None:
            async with Database.at(path) as database:
                await database.write(partial(add_task, name=name))
                return database.moved_aside

        assert await asyncio.gather(*map(writer, "abc")) == [None] * 3
        async with Database.at(path) as database:
            assert sorted(await names(database)) == ["a", "b", "c"]


async def test_a_full_disk_is_reported_and_nothing_is_lost(small_disk: Path) -> None:
    path = small_disk / "data" / "history.sqlite3"
    async with Database.at(path) as database:
        await database.write(add_task)
        with pytest.raises(StorageError) as caught:
            await fill_for_ever(database)
        assert "disk" in f"{caught.value.message} {caught.value.advice}"
        kept = await database.read("SELECT count(*) AS n FROM task")
    async with Database.at(path) as database:
        assert database.moved_aside is None
        assert (await database.read("SELECT count(*) AS n FROM task"))[0]["n"] == kept[0]["n"]


async def fill_for_ever(database: Database) -> None:
    def work(connection: sqlite3.Connection) -> None:
        for _ in range(100):
            add_task(connection, os.urandom(200).hex())

    for _ in range(100):
        await database.write(work)


async def test_a_cancelled_write_leaves_no_transaction_behind(path: Path) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        add_task(connection, "slow")
        begun.set()
        assert goes_on.wait(WAIT_S)

    async with Database.at(path) as database:
        task = asyncio.create_task(database.write(slow))
        assert await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await database.write(add_task)
        assert await names(database) == ["slow", "t"]


async def test_closing_twice_and_using_it_afterwards_is_reported(path: Path) -> None:
    async with Database.at(path) as database:
        await database.close()
        with pytest.raises(StorageError, match="is closed"):
            await database.read("SELECT 1")


def test_a_program_that_forgot_to_close_still_ends(path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from storage.database import Database\n"
        "async def main():\n    await Database(Path(sys.argv[1])).open()\n    raise SystemExit(3)\n"
        "asyncio.run(main())"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], timeout=WAIT_S, check=False)
    assert done.returncode == 3


WRITER = """
import asyncio, sqlite3, sys
from pathlib import Path
from storage.database import Database

async def main():
    async with Database.at(Path(sys.argv[1])) as database:
        number = 0
        while True:
            def work(connection):
                connection.execute("INSERT INTO task (machine, pid, start, task_id)"
                    " VALUES (?, ?, 's', ?)", (sys.argv[2], number, str(number)))
            await database.write(work)
            print(number, flush=True)
            number += 1
asyncio.run(main())
"""


async def killed_at_any_moment(path: Path, rounds: int) -> None:
    for turn in range(rounds):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"m{turn}"], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        await asyncio.sleep((turn * 37 % 100) / 400)
        child.kill()
        printed = child.stdout.read().split()
        child.stdout.close()
        child.wait()
        async with Database.at(path) as database:
            assert database.moved_aside is None
            rows = await database.read(
                "SELECT pid FROM task WHERE machine = ? ORDER BY pid", (f"m{turn}",)
            )
        assert len(rows) >= len(printed) + 1
        assert [row["pid"] for row in rows] == list(range(len(rows)))


async def test_acknowledged_writes_survive_a_kill(path: Path) -> None:
    await killed_at_any_moment(path, 3)


@pytest.mark.slow
async def test_acknowledged_writes_survive_many_kills(path: Path) -> None:
    await killed_at_any_moment(path, 60)


def test_a_network_file_system_differs_from_a_local_one(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:4 / /home rw,noatime shared:1 - nfs4 srv:/home rw\n"
        "31 30 0:5 / /home/op/my\\040disk rw - xfs /dev/sdb rw\n"
        "broken line\n"
    )
    assert is_network(Path("/home/op/history"), mounts)
    assert not is_network(Path("/home/op/my disk/history"), mounts)
    assert not is_network(Path("/homestead/history"), mounts)
    assert not is_network(Path("/var"), tmp_path / "none")
