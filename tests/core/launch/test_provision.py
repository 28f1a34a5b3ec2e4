"""The needs of a plan are known before its start, and no answer of a machine is over-read."""

from collections.abc import Mapping
from typing import Any

import pytest

from core.config.model import MachineConfig
from core.errors import JobFailed, RequestFailed
from core.ids import MachineName
from core.launch.provision.dependencies import Dependency, dependencies, provision
from core.model.job import Job
from tests.core.launch.test_uv_comes import made
from tests.support.specs import plan, spec

FAR = MachineConfig(name=MachineName("local"), host="x")
CODE = "code = { repository = 'https://x/y', ref = 'main', token = 'forge' }"
COMMIT = "a" * 40
GOOD: Mapping[str, Mapping[str, Any]] = {
    "uv": {"version": "0.9.9", "how": "there"},
    "packages": {"version": "0.3.285", "how": "fetched"},
    "checkout": {"commit": COMMIT, "how": "fetched"},
}


class Said:
    """A machine that gives the answers that the test sets."""

    def __init__(self, **answers: Mapping[str, Any]) -> None:
        self.answers = {**GOOD, **answers}
        self.jobs: list[Job] = []

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        assert machine == "local"
        assert deadline > job.given["seconds"]
        self.jobs.append(job)
        return self.answers[job.verb]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", [Dependency.UV, Dependency.PACKAGES]),
        ("python = '3.12'", [Dependency.UV, Dependency.PACKAGES]),
        ("python = '/v/bin/python'", []),
        ("python = '/v/bin/python'\npackages = ['x']", [Dependency.UV, Dependency.PACKAGES]),
        ("python = '/v/bin/python'\ncode = '/x'", []),
        (f"python = '/v/bin/python'\n{CODE}", [Dependency.CODE]),
        (CODE, [Dependency.UV, Dependency.PACKAGES, Dependency.CODE]),
    ],
)
def test_the_downloads_follow_from_the_plan(more: str, wanted: list[Dependency]) -> None:
    assert list(dependencies(plan(spec(more), machine=FAR))) == wanted


async def test_each_job_knows_what_it_needs_and_one_alone_the_token() -> None:
    there, seen = Said(), list[str]()
    more = (
        f"python = '3.12'\npackages = ['x>=1']\nenv = {{ UV_DEFAULT_INDEX = 'http://m' }}\n{CODE}"
    )
    asked = plan(spec(more), machine=MachineConfig(name=FAR.name, host="x", data_dir="~/d"))
    got = await provision(there, asked, token="t0ken", uv=lambda: None, on_progress=seen.append)
    assert (got.uv, got.inspect, got.commit) == ("0.9.9", "0.3.285", COMMIT)
    assert got.how == (
        "uv 0.9.9: already there", "Inspect 0.3.285 and its packages: downloaded by uv",
        f"https://x/y at {COMMIT}: checked out",
    )  # fmt: skip
    assert len(seen) == 3
    uv, packages, code = there.jobs
    assert [dict(job.secrets) for job in there.jobs] == [{}, {}, {"token": "t0ken"}]
    assert uv.given["offer"] is None
    tail = ("--python", "3.12", "--from", "inspect-ai==0.3.285", "--with", "x>=1")
    uv_runs = ("~/.evalroom/bin/uv", "tool", "run")
    assert packages.given["online"] == [*uv_runs, *tail, "inspect"]
    assert packages.given["offline"] == [*uv_runs, "--offline", *tail, "python"]
    assert packages.given["env"]["UV_DEFAULT_INDEX"] == "http://m"
    assert packages.given["env"]["XDG_DATA_HOME"] == "~/d"
    assert (code.given["directory"], code.given["ref"]) == (asked.directory, "main")
    assert plan(spec("python = '/v/bin/python'")).python_words == ("/v/bin/python",)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"uv": {}}, "did not report the version"),
        ({"uv": {"wants": -1}}, "past the end of uv"),
        ({"uv": {"wants": 10**18}}, "past the end of uv"),
        ({"packages": {"version": 3}}, "did not report the version"),
        ({"checkout": {"commit": "main; rm -rf /"}}, "sent an invalid commit"),
        ({"checkout": {}}, "did not report the commit"),
    ],
)
async def test_a_bad_answer_is_an_error(answers: dict[str, Mapping[str, Any]], says: str) -> None:
    with pytest.raises(RequestFailed, match=says):
        await provision(
            Said(**answers),
            plan(spec(CODE), machine=FAR),
            token="t",
            uv=made,
            on_progress=lambda _: None,
        )


async def test_a_machine_that_never_has_enough_is_given_up() -> None:
    there = Said(uv={"wants": 0}, uv_part={"wants": 0})
    with pytest.raises(JobFailed, match="was incomplete"):
        await provision(
            there, plan(spec(), machine=FAR), token=None, uv=made, on_progress=lambda _: None
        )
    assert len(there.jobs) < 20
