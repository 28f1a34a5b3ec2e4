"""The action service and the guides over a desk.

The room shows its first frame without them: what they need is imported when one is made.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.wiring.history import History
    from core.act.service import ActionService
    from core.desk.desk import Desk
    from core.guide.runner import GuideRunner


def acting_of(desk: "Desk", history: "History") -> "ActionService":
    """Return the action service over a desk."""
    from core.act.service import ActionService  # noqa: PLC0415
    from storage.identity import this_instance  # noqa: PLC0415

    return ActionService(
        desk,
        instance=this_instance(),
        store=history.book,
        runs=history.runs,
        post=desk.post,
    )


def guiding_of(
    desk: "Desk", acting: "ActionService", history: "History", *, dry_run: bool = False
) -> "GuideRunner":
    """Return the guides over a desk; with `dry_run` none of them is stored."""
    from core.guide.guide_store import ReadOnlyGuideStore  # noqa: PLC0415
    from core.guide.runner import GuideRunner  # noqa: PLC0415

    return GuideRunner(
        desk, acting, book=ReadOnlyGuideStore(history.guides) if dry_run else history.guides
    )
