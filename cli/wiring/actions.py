"""The action service and the guides over a desk.

The room draws its first frame without them, so their modules are imported only on use.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.wiring.history import History
    from core.act.service import ActionService
    from core.desk.desk import Desk
    from core.guide.runner import GuideRunner


def acting_of(desk: "Desk", history: "History") -> "ActionService":
    """Return the action service of a desk."""
    from core.act.service import ActionService  # noqa: PLC0415
    from storage.identity import this_instance  # noqa: PLC0415

    return ActionService(
        desk,
        instance=this_instance(),
        store=history.order_store,
        runs=history.run_ids,
        post=desk.post,
    )


def guiding_of(
    desk: "Desk", acting: "ActionService", history: "History", *, dry_run: bool = False
) -> "GuideRunner":
    """Return the guide runner over a desk; with `dry_run` it stores no guide."""
    from core.guide.guide_store import ReadOnlyGuideStore  # noqa: PLC0415
    from core.guide.runner import GuideRunner  # noqa: PLC0415

    return GuideRunner(
        desk,
        acting,
        store=ReadOnlyGuideStore(history.guide_store) if dry_run else history.guide_store,
        worker=None if dry_run else desk,
    )
