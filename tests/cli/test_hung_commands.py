"""A solver whose command hangs in its sandbox: Inspect reports no activity, its trace does."""

import asyncio

from core.ids import SampleKey
from core.views.pages.sample_page import sample_page
from core.views.tables.samples import samples_table
from tests.support.commands import Home
from tests.support.desk_on_evals import Watched, watching_eval
from tests.support.evals import Eval, Evals
from tests.support.table_rows import cell_text, page_text


def doing(watched: Watched, one: Eval, words: str) -> SampleKey | None:
    """Return the first sample of the eval that does this, by its table."""
    task = watched.task(one, "hung")
    if task is None:
        return None
    watched.desk.poll_now(task.key.process)  # a slow first answer makes a long pause
    rows = samples_table(watched.fleet, task.key, watched.desk.now()).rows
    found = (row.key for row in rows if cell_text(row.cells.get("doing", ())).startswith(words))
    return next(found, None)


async def test_a_solvers_hung_command_is_shown_on_screen_and_by_commands(
    evals: Evals, home: Home
) -> None:
    one = evals.start("hung", args={"samples": 1}).wait_ready()
    async with watching_eval(one) as watched:
        key = await watched.until(
            lambda: doing(watched, one, "subprocess sleep 1000 0:"), "its row names the command"
        )
        assert watched.fleet.tasks[key.task].samples[key.sample_id, key.epoch].activity is None
        page = sample_page(watched.fleet, key, watched.desk.now())
        assert "activity: subprocess sleep 1000 0:" in page_text(page)
    home.watch_here(one.data_dir)
    listed = await asyncio.to_thread(home.run, "samples", "hung")
    assert "subprocess sleep 1000 0:" in listed.out
    [row] = (await asyncio.to_thread(home.run, "samples", "hung", "--json")).json["samples"]
    assert row["operation"]["what"] == "subprocess sleep 1000"
    assert row["activity"] is None
    shown = await asyncio.to_thread(home.run, "sample", "hung", "s0")
    assert "subprocess sleep 1000 0:" in shown.out
