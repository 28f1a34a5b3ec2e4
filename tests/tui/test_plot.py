"""The plot of a task's progress."""

from core.model.task import ProgressPoint
from tests.support.fleets import (
    NOW,
    fleet_after,
    fleet_of_tasks,
    log_read,
    logged,
    process_gone,
    task_key,
    task_row,
)
from tui.panes.plot import PlotPane


def legend(pane: PlotPane) -> str:
    return "".join(span.text for span in pane.footer_spans())


def test_the_legend_of_an_ended_task_has_the_counts_of_its_log() -> None:
    pane = PlotPane("2", id="plot")
    running = fleet_of_tasks(task_row(done=3, total=10))
    points = (ProgressPoint(at=NOW, done=3, errored=0, in_flight=1, tokens=0),)
    pane.show(points, running.tasks[task_key()])
    assert legend(pane) == "3 ended"
    ended = fleet_after(
        process_gone(),
        log_read(samples=logged(total=10, completed=9, errored=1, scored=9)),
        fleet=running,
    )
    pane.show(points, ended.tasks[task_key()])
    assert legend(pane) == "10 ended, 1 errored"
