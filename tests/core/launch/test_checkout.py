"""A repository comes to a run's folder at one commit, by a real git; a token is seen nowhere."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import EvalroomError, JobFailed
from core.launch.plan.run_plan import RunPlan
from core.launch.provision import fetch_client
from core.launch.spec.spec import Code
from tests.support.evals import short_folder
from tests.support.fetching import LocalWorker, path_without, small_disk
from tests.support.processes import command_of, holding, wait_gone, with_variable, working_in
from tests.support.repositories import Repository, repository, serving
from tests.support.specs import plan, spec
from tests.support.waiting import WAIT_S

TOKEN = "ghp_never-to-be-seen-again-0123456789"
FILES = {"tasks/mine.py": "X = 1\n", "README": "first\n"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as where:
        yield where


@pytest.fixture
def source(folder: Path) -> Repository:
    return repository(folder / "served" / "code", FILES)


@pytest.fixture
def worker(folder: Path) -> LocalWorker:
    (folder / "home").mkdir()
    return LocalWorker(folder / "home")


def planned(url: str | Path, ref: str | None = None) -> RunPlan:
    return plan(replace(spec(), code=Code(repository=str(url), ref=ref)))


def code_of(worker: LocalWorker, asked: RunPlan) -> Path:
    return worker.home / asked.directory.removeprefix("~/") / "code"


async def refused(worker: LocalWorker, asked: RunPlan, token: str | None = None) -> str:
    """Return why the checkout failed, and check that nothing of it is left."""
    with pytest.raises(JobFailed) as caught:
        await fetch_client.fetch_code(worker, asked, token=token)
    assert not list(code_of(worker, asked).parent.glob("code*[!k]"))
    return f"{caught.value.message} | {caught.value.advice}"


async def test_a_branch_a_tag_and_a_commit_are_checked_out_and_nothing_is_done_twice(
    source: Repository, worker: LocalWorker
) -> None:
    first = source.git("rev-parse", "HEAD")
    source.git("tag", "-a", "v1", "-m", "v1")
    second = source.commit({"README": "second\n"})
    source.git("update-ref", "refs/pull/7/head", first)
    source.git("checkout", "-q", "-b", "topic/x")
    third = source.commit({"README": "third\n"})
    source.git("checkout", "-q", "main")
    wanted = {
        None: second, "main": second, "topic/x": third, "v1": first, "pull/7/head": first,
        "refs/heads/topic/x": third, third: third, first: first, second[:7]: second, "HEAD": second,
    }  # fmt: skip
    for ref, commit in wanted.items():
        asked = planned(source.folder, ref)
        got = await fetch_client.fetch_code(worker, asked, token=None)
        assert (got.version, got.was_there, got.note) == (commit, False, ""), ref
        code = code_of(worker, asked)
        assert Repository(code).git("rev-parse", "HEAD") == commit
        assert (code / "tasks/mine.py").read_text() == FILES["tasks/mine.py"]
        assert Repository(code).git("status", "--porcelain") == ""

    asked = planned(source.folder, "main")
    await fetch_client.fetch_code(worker, asked, token=None)
    before = code_of(worker, asked).stat()
    source.commit({"README": "moved on\n"})
    again = await fetch_client.fetch_code(worker, asked, token=None)
    assert (again.version, again.was_there) == (second, True)
    after = code_of(worker, asked).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    other = replace(asked, request=planned(source.folder, "v1").request)
    with pytest.raises(JobFailed, match="contains another checkout"):
        await fetch_client.fetch_code(worker, other, token=None)


async def test_repositories_within_come_too_and_large_files_are_reported(
    source: Repository, folder: Path, worker: LocalWorker
) -> None:
    repository(folder / "served" / "within", {"inner.py": "Y = 2\n"})
    source.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "../within", "sub")
    source.commit({".gitattributes": "*.bin filter=lfs diff=lfs\n", "x.bin": "pointer\n"})
    with serving(folder / "served") as server:
        asked = planned(server.url("code"))
        got = await fetch_client.fetch_code(worker, asked, token=None)
        (folder / "served" / "within").rename(folder / "gone")
        why = await refused(worker, planned(server.url("code")))
        assert f"{server.url('code')}, or one of its submodules: fatal: repository" in why
    assert (code_of(worker, asked) / "sub" / "inner.py").read_text() == "Y = 2\n"
    assert "Git LFS" in got.note


async def test_nothing_of_the_accounts_own_git_acts(
    source: Repository, worker: LocalWorker
) -> None:
    hooks = worker.home / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{worker.home}/acted'\n")
        (hooks / name).chmod(0o755)
    (worker.home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hooks}\n\tautocrlf = true\n"
        f'[url "/nowhere/"]\n\tinsteadOf = {source.folder}\n'
        f"[credential]\n\thelper = !touch '{worker.home}/acted';\n[fetch]\n\tprune = true\n"
    )
    worker.env = {"GIT_DIR": "/nowhere", "GIT_TRACE": str(worker.home / "acted")}
    await fetch_client.fetch_code(worker, planned(source.folder), token=None)
    assert not (worker.home / "acted").exists()


async def test_code_that_can_not_be_fetched_is_a_sentence(
    source: Repository, folder: Path, worker: LocalWorker
) -> None:
    assert "no branch, tag or commit nope | check `ref`" in await refused(
        worker, planned(source.folder, "nope")
    )
    for ref in ("abcdef1", "a" * 40):
        assert f"commit {ref}" in await refused(worker, planned(source.folder, ref))
    assert "no repository at /nowhere/x" in await refused(worker, planned("/nowhere/x"))
    assert "can't reach http://127.0.0.1:1/x" in await refused(
        worker, planned("http://127.0.0.1:1/x")
    )
    with serving(folder / "served", "secret") as server:
        why = await refused(worker, planned(server.url("code")))
        assert (
            "requires a login from that machine | name the secret with a token for it: code = {"
            in why
        )
        assert "rejected the token" in await refused(worker, planned(server.url("code")), "wrong")
        assert "no repository at" in await refused(worker, planned(server.url("nope")), "secret")
    worker.env = {"PATH": path_without(folder, "git")}
    assert "that machine has no git | install it" in await refused(worker, planned(source.folder))


@pytest.mark.parametrize(
    ("url", "ref"),
    [
        ("{source}", "--upload-pack=touch {pwned}"),
        ("{source}", "-x"),
        ("{source}", "main:refs/heads/x"),
        ("{source}", "main --upload-pack=x"),
        ("ext::sh -c touch% {pwned}", None),
        ("ext::sh -c touch% {pwned} %S", "main"),
        ("--upload-pack=touch {pwned}", None),
        ("-x", None),
        ("fd::17", None),
        ("ssh://-oProxyCommand=touch${{IFS}}{pwned}/x", None),
        ("x@-oProxyCommand=touch:x", None),
        ("ssh://x@127.0.0.1:1/$(touch {pwned})", None),
        ("file://{source}/$(touch {pwned})", None),
        ("/nowhere/`touch {pwned}`", None),
    ],
)
async def test_hostile_addresses_and_refs_start_nothing(
    url: str, ref: str | None, source: Repository, folder: Path, worker: LocalWorker
) -> None:
    pwned = folder / "pwned"
    names = {"source": str(source.folder), "pwned": str(pwned)}
    asked = planned(url.format(**names), None if ref is None else ref.format(**names))
    await refused(worker, asked)
    assert not pwned.exists()


def files_holding(folder: Path, text: str) -> list[Path]:
    return [f for f in folder.rglob("*") if f.is_file() and text.encode() in f.read_bytes()]


async def test_a_token_opens_a_private_repository_and_is_written_nowhere(
    source: Repository, folder: Path, worker: LocalWorker
) -> None:
    repository(folder / "served" / "within", {"inner.py": "Y = 2\n"})
    source.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "../within", "sub")
    source.commit({"README": "with another\n"})
    arguments: dict[int, str] = {}
    variables: dict[int, str] = {}

    def look() -> None:
        for seen, kept in zip(holding(TOKEN), (arguments, variables), strict=True):
            kept.update(seen)

    with serving(folder / "served", TOKEN) as server:
        server.on_request = look
        asked = planned(server.url("code"))
        got = await fetch_client.fetch_code(worker, asked, token=TOKEN)
        assert TOKEN in {password for _, password in server.asked}
        assert "ghp" not in await refused(worker, planned(server.url("code"), "nope"), TOKEN)
        assert "ghp" not in await refused(worker, planned(server.url("nope")), TOKEN)
    assert (code_of(worker, asked) / "sub" / "inner.py").exists()
    assert TOKEN not in repr((got, worker.jobs))
    assert arguments == {}
    # The environment of git alone, while it is at work.
    assert variables
    assert {name for name in variables.values() if not name.startswith("git")} <= {"sh"}
    assert files_holding(folder, TOKEN) == []


async def test_a_token_goes_to_no_other_host_and_over_no_open_line(
    source: Repository, folder: Path, worker: LocalWorker
) -> None:
    del source
    with serving(folder / "served", TOKEN) as thief, serving(folder / "served", TOKEN) as server:
        server.moved["/code"] = thief.url("code").replace("127.0.0.1", "localhost")
        why = await refused(worker, planned(server.url("code")), TOKEN)
        assert "redirects to another address, and evalroom does not send a token there" in why
        assert thief.asked == []
    for url in ("http://example.org/x", "ssh://git@example.org/x", "git@example.org:x", "/x"):
        assert "a token is sent to https:// addresses only" in await refused(
            worker, planned(url), TOKEN
        )
    assert "not one line of text" in await refused(worker, planned("https://e.org/x"), "two\nlines")


async def test_two_at_once_make_one_checkout(source: Repository, worker: LocalWorker) -> None:
    asked = planned(source.folder, "main")
    got = await asyncio.gather(
        *(fetch_client.fetch_code(worker, asked, token=None) for _ in range(3))
    )
    assert sorted(each.was_there for each in got) == [False, True, True]
    assert len({each.version for each in got}) == 1


async def test_a_checkout_cut_in_its_middle_is_done_again(
    source: Repository, folder: Path, worker: LocalWorker
) -> None:
    go_on, asked_for = threading.Event(), threading.Event()

    def hold() -> None:
        asked_for.set()
        go_on.wait(WAIT_S)

    with serving(folder / "served") as server:
        server.on_request = hold
        asked = planned(server.url("code"))
        # The link goes: nothing goes on there.
        cut = asyncio.create_task(fetch_client.fetch_code(worker, asked, token=None))
        assert await asyncio.to_thread(asked_for.wait, 30)
        assert working_in(worker.home)
        cut.cancel()
        await asyncio.wait([cut])
        await asyncio.to_thread(wait_gone, lambda: working_in(worker.home), "its programs are")

        # The program is killed: the git that it leaves is waited for, then all is done afresh.
        asked_for.clear()
        killed = asyncio.create_task(fetch_client.fetch_code(worker, asked, token=None))
        assert await asyncio.to_thread(asked_for.wait, 30)
        ours = programs(worker.home)
        assert ours
        for pid in ours:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(EvalroomError, match="ended without an answer"):
            await killed
        again = asyncio.create_task(fetch_client.fetch_code(worker, asked, token=None))
        go_on.set()
        got = await again
    assert (got.version, got.was_there) == (source.git("rev-parse", "HEAD"), False)
    assert not code_of(worker, asked).with_suffix(".part").exists()


def programs(home: Path) -> list[int]:
    """Return the pids of our programs of a home."""
    return [pid for pid in with_variable("HOME", str(home)) if "evalroom-job" in command_of(pid)]


async def test_a_checkout_that_takes_too_long_is_ended_and_reported(
    source: Repository, folder: Path, worker: LocalWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    del source
    monkeypatch.setattr(fetch_client, "CODE_TIMEOUT_S", 5.0)  # git asks by then
    go_on, asked_for = threading.Event(), threading.Event()

    def hold() -> None:
        asked_for.set()
        go_on.wait(WAIT_S)

    with serving(folder / "served") as server:
        server.on_request = hold
        try:
            why = await refused(worker, planned(server.url("code")))
        finally:
            go_on.set()
    assert "took too long and was killed" in why
    assert asked_for.is_set()  # it was at work
    await asyncio.to_thread(wait_gone, lambda: working_in(worker.home), "its programs are")


async def test_a_full_disk_is_reported_and_its_space_is_freed(
    source: Repository, worker: LocalWorker
) -> None:
    (source.folder / "large").write_bytes(os.urandom(3_000_000))
    source.commit({})
    with small_disk(worker.home / ".evalroom") as small:
        why = await refused(worker, planned(source.folder))
        free = os.statvfs(small)
        assert free.f_bfree > 0.9 * free.f_blocks
    assert "no space is left for the code of" in why
    assert "free some space on that disk" in why
