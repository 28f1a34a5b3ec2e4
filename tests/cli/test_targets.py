"""Samples whose ids look like syntax: the commands reach the one that is meant, on a real eval."""

import re

from tests.support.commands import Home
from tests.support.evals import Evals

IDS = ("q", "q/1", "HumanEval/1", "a b#c%", "%31")


def test_a_sample_is_reached_by_its_id_and_by_every_name_that_was_printed(
    home: Home, evals: Evals
) -> None:
    one = evals.start(
        "quiet", args={"ids": "|".join(IDS), "seconds": 3_600}, options=("--max-samples=5",)
    ).wait_ready()
    one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] == len(IDS))
    home.watch_here(one.data_dir)

    ran = home.run("act", "cancel", "quiet#q/1", "--confirm", "q/1", "--json")
    assert ran.status == 2
    names = re.findall(r"@[^\s,]+", ran.json["error"]["message"])
    assert len(names) == 2  # q in epoch 1, and q/1
    assert one.task()["samples"]["in_flight"] == len(IDS)

    meant: dict[str, str] = {}
    for name in names:
        ran = home.run("act", "cancel", name, "--dry-run", "--json")
        [target] = ran.json["targets"]
        meant[target["sample_id"]] = target["target"]
        assert target["preview"]["fields"]["sample_id"] == target["sample_id"]
    assert set(meant) == {"q", "q/1"}

    ran = home.run("act", "cancel", "quiet#HumanEval/1", "--confirm", "HumanEval/1/1", "--json")
    assert ran.status == 0, ran
    assert ran.json["targets"][0]["sample_id"] == "HumanEval/1"

    listed = home.run("samples", "quiet", "--all")
    assert "a%20b%23c%25" in listed.out
    for typed, sample_id in (("a%20b%23c%25", "a b#c%"), ("%2531", "%31"), ("%31", "%31")):
        ran = home.run("sample", "quiet", typed, "--json")
        assert ran.json["sample_id"] == sample_id
