"""One dialog for a plan: its preview, its confirmation and its outcomes.

Keys typed before the preview has been on screen for a moment are dropped, so that a key meant for
another screen never sends an order.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input
from textual.worker import Worker

from core.act.plan import Plan, unmet
from core.act.planner import PlanningProgress
from core.errors import EvalroomError
from core.text import Shown, shown
from core.views.actions.outcome_lines import outcome_lines, summary
from core.views.actions.plan_lines import body_lines, foot_lines, has_details, head_lines
from core.views.actions.plan_progress import PlanProgress
from core.views.cells import Span, TextLine
from tui.dialogs.guarded_dialog import GuardedDialog
from tui.dialogs.plan_execution import MakePlan, PlanExecution

_PreviewPhase = Literal["asking", "failed", "plan", "orders"]


class PreviewDialog(GuardedDialog):
    """Shows a plan from its first dry run to its last outcome.

    Args:
        execution: Sends the orders of the plan.
        title: Names the action until the plan is there.
        make_plan: Makes the plan, again with `g`; None if `sent_plan` is given.
        sent_plan: A plan whose orders were sent already; its outcomes are shown.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "confirm", show=False),
        Binding("y", "give_yes", show=False),
        Binding("r", "reason", show=False),
        Binding("d", "details", show=False),
        Binding("exclamation_mark", "reveal", show=False),
        Binding("g", "ask_again", show=False),
        Binding("h", "hurry", show=False),
        Binding("D", "dismiss_outcomes", show=False),
        Binding("o", "next_outcomes", show=False),
        Binding("tab,shift+tab", "turn", show=False),
    ]

    def __init__(
        self,
        execution: PlanExecution,
        title: str,
        *,
        make_plan: MakePlan | None = None,
        sent_plan: PlanProgress | None = None,
    ) -> None:
        super().__init__()
        self._execution = execution
        self._title_asked = shown(title, 300)
        self._make = make_plan
        self._sent_plan = sent_plan
        self._plan: Plan | None = None
        self._phase: _PreviewPhase = "orders" if sent_plan is not None else "asking"
        self._progress = PlanningProgress(0, 0)
        self._hurry = asyncio.Event()
        self._asking: Worker[None] | None = None
        self._failed = Shown("")
        self._yes = self._details = self._reveal = False
        self._message = Shown("")
        self._disconnect: Callable[[], None] = lambda: None
        self._words = self.line("words", "")
        self._reason = self.line("reason", "reason, for the journal")

    # Start and end

    def compose(self) -> ComposeResult:
        """Lay out the dialog with its two inputs."""
        yield from self.composed(self._reason, self._words)

    def on_mount(self) -> None:
        """Make the plan, or follow the orders that were sent."""
        if self._sent_plan is not None:
            self._follow(self._sent_plan)
        else:
            self._begin_to_ask()

    def on_unmount(self) -> None:
        """Stop listening; the orders continue."""
        self._disconnect()

    # Asking

    def _begin_to_ask(self) -> None:
        self._phase, self._plan, self._progress = "asking", None, PlanningProgress(0, 0)
        self._hurry.clear()
        self._yes, self._message = False, Shown("")
        self.set_focus(None)
        self.draw(from_top=True)
        self._asking = self.run_worker(self._make_plan(), exit_on_error=False, exclusive=True)

    async def _make_plan(self) -> None:
        assert self._make is not None  # noqa: S101 - else nothing is asked
        try:
            plan = await self._make(self._show_progress, self._hurry)
        except EvalroomError as error:
            self._phase, self._failed = "failed", shown(error.sentence, 600)
            self.draw(from_top=True)
            return
        self._phase = "plan"
        self._offer(replace(plan, reason=self._reason.value.strip() or plan.reason))

    def _show_progress(self, progress: PlanningProgress) -> None:
        self._progress = progress
        self.draw()

    def _offer(self, plan: Plan) -> None:
        """Show a plan for confirmation."""
        self._plan, self._yes, self._message = plan, False, Shown("")
        self._words.value = ""
        self.guard_keys()
        self.draw(from_top=self._phase == "plan")
        self._focus_words()

    def _focus_words(self) -> None:
        """Focus the input for the confirming words, if the plan needs them."""
        self.set_focus(self._words if self._words.display else None)

    # Drawing

    def title_text(self) -> Shown:
        """Return the title."""
        match self._phase:
            case "orders":
                running = self._sent_plan is not None and self._sent_plan.is_running
                return Shown("Orders · sending" if running else "Orders · outcomes")
            case "failed":
                return Shown("Preview · nothing can be sent")
            case _:
                steps = self._plan.steps if self._plan is not None else ()
                marked = self._execution.production(step.target for step in steps)
                return Shown(f"Preview · nothing has been sent{marked}")

    def head(self) -> Iterable[TextLine]:
        """Return the plan's title, and the totals of its outcomes."""
        sent_plan, plan = self._sent_plan, self._plan
        if self._phase == "orders" and sent_plan is not None:
            report = summary(sent_plan.outcomes(self._execution.orders))
            return ((Span(shown(sent_plan.plan.title, 300), "strong"),), report, ())
        if plan is not None:
            return (*head_lines(plan), ())
        return ((Span(self._title_asked, "strong"),), ())

    def body(self) -> Iterator[TextLine]:
        """Return the targets, with previews or outcomes."""
        sent_plan, plan = self._sent_plan, self._plan
        if self._phase == "asking":
            yield (Span(self._asked_words(), "dim"),)
            return
        if self._phase == "failed":
            yield (Span(self._failed, "warning"),)
            return
        if self._phase == "orders" and sent_plan is not None:
            yield from outcome_lines(sent_plan.outcomes(self._execution.orders))
            if sent_plan.failed is not None:
                yield (Span(sent_plan.failed, "error"),)
            if plan is not None:
                yield ()
                yield (
                    Span(
                        Shown("not sent: changed since the preview (new preview below)"), "warning"
                    ),
                )
        if plan is not None:
            yield from body_lines(plan, details=self._details, reveal=self._reveal)

    def _asked_words(self) -> Shown:
        done, of = self._progress.done, self._progress.of
        return Shown(f"dry run {done} of {of} ..." if of > 1 else "dry run ...")

    def foot(self) -> Iterator[TextLine]:
        """Return how the plan is confirmed, and why it is not yet."""
        plan = self._plan
        if plan is not None:
            yield from foot_lines(plan, yes=self._yes)
        if self._message:
            yield (Span(self._message, "warning"),)

    def keys(self) -> Iterator[tuple[str, str]]:
        """Return the keys that work now, each with its word."""
        plan, sent = self._plan, bool(self._plan and self._plan.sent)
        if self._phase == "asking":
            yield from [("h", "hurry"), ("Esc", "cancel")]
            return
        if self.is_typing(self._reason):
            yield from [("Enter", "keep the reason"), ("Tab", "other keys"), ("Esc", "close")]
            return
        if plan is not None and sent:
            yield from self._confirming(plan)
        if plan is not None and not self.is_typing(self._words):
            yield from self._view_keys(plan, sent=sent)
        if self._phase in {"plan", "failed"} and not self.is_typing(self._words):
            yield "g", "preview again"
        is_over = self._sent_plan is not None and not self._sent_plan.is_running
        if self._phase == "orders" and not self.is_typing(self._words):
            if is_over:
                yield ("Enter" if plan is None else "D"), "dismiss"
            if self._execution.next_after(self._sent_plan) is not None:
                yield "o", "other orders"
        keeps = self._phase == "orders" and is_over
        yield "Esc", "close, keep outcomes" if keeps else "close"

    def _confirming(self, plan: Plan) -> Iterator[tuple[str, str]]:
        if plan.confirmation == "yes" and not self._yes:
            yield "y", "yes"
            return
        if plan.confirmation == "words":
            yield from [("Enter", "confirm"), ("Tab", "reason, other keys")]
            return
        number = f" {len(plan.sent)}" if len(plan.sent) > 1 else ""
        yield "Enter", f"{plan.action.verb}{number}"

    def _view_keys(self, plan: Plan, *, sent: bool) -> Iterator[tuple[str, str]]:
        if sent:
            yield "r", "reason"
        if has_details(plan):
            yield "d", "together" if self._details else "each"
        if any(step.preview is not None and step.preview.withheld for step in plan.steps):
            yield "!", "withhold" if self._reveal else "show text"

    def draw(self, *, from_top: bool = False) -> None:
        """Draw the current state."""
        plan = self._plan
        wants_words = plan is not None and plan.confirmation == "words" and bool(plan.sent)
        self._words.display = wants_words
        if wants_words and plan is not None:
            self._words.placeholder = plan.words
        if not self.is_typing(self._reason):
            self._reason.display = False
        super().draw(from_top=from_top)

    # Keys

    def action_confirm(self) -> None:
        """Confirm the plan on screen; if its orders have ended, dismiss the outcomes."""
        plan = self._plan
        if not self.was_seen:
            return
        if plan is None or not plan.sent:
            self._dismiss_if_over()
            return
        why = unmet(plan, words=self._words.value, yes=self._yes)
        if why is not None:
            typed = self._words.value.strip()
            if plan.confirmation != "words":
                self._message = shown(why, 300)
            else:  # the placeholder shows the words
                self._message = shown(f"{shown(typed, 60)} does not match" if typed else "")
            self._words.value = ""
            self.draw()
            return
        words, yes = self._words.value, self._yes
        self._plan, self._message = None, Shown("")
        if self._sent_plan is not None:
            self._execution.carry_out_changed(self._sent_plan, plan, words=words, yes=yes)
            self.draw()
        else:
            self._follow(self._execution.carry_out(plan, words=words, yes=yes))

    def _dismiss_if_over(self) -> None:
        sent_plan = self._sent_plan
        if self._phase == "orders" and sent_plan is not None and not sent_plan.is_running:
            self.action_dismiss_outcomes()

    @on(Input.Submitted, "#words")
    def _words_typed(self) -> None:
        self.action_confirm()

    @on(Input.Submitted, "#reason")
    def _reason_typed(self) -> None:
        self._focus_words()
        self.draw()

    @on(Input.Changed, "#reason")
    def _reason_changed(self, message: Input.Changed) -> None:
        if self._plan is not None:
            self._plan = replace(self._plan, reason=message.value.strip())

    def on_descendant_focus(self) -> None:
        """Draw the keys that work while an input has the focus."""
        self.draw()

    def action_turn(self) -> None:
        """Cycle the focus: confirming words, reason, other keys."""
        if not (self._plan is not None and self._plan.sent):
            return
        if self.is_typing(self._words):
            self.action_reason()
        elif self.is_typing(self._reason):
            self.set_focus(None)
            self.draw()
        else:
            self._focus_words()

    def action_reason(self) -> None:
        """Open the input for the reason."""
        if self._plan is not None and self._plan.sent:
            self._reason.display = True
            self.set_focus(self._reason)
            self.draw()

    def action_give_yes(self) -> None:
        """Give the consent that acting on someone else's run needs."""
        if self._plan is not None and self._plan.confirmation == "yes":
            self._yes, self._message = True, Shown("")
            self.draw()

    def action_details(self) -> None:
        """Show each target by itself, or equal ones together."""
        self._details = not self._details
        self.draw()

    def action_reveal(self) -> None:
        """Show or withhold the free text of the answers."""
        self._reveal = not self._reveal
        self.draw()

    def action_hurry(self) -> None:
        """Go on with the dry runs without pauses."""
        self._hurry.set()

    def action_ask_again(self) -> None:
        """Make the plan again: every target gets a new dry run."""
        if self._make is not None and self._phase in {"plan", "failed"}:
            self._begin_to_ask()

    def action_leave(self) -> None:
        """Close it: nothing more is sent; orders that were sent continue."""
        if self._asking is not None:
            self._asking.cancel()
        self.dismiss(None)

    # Outcomes

    def _follow(self, sent_plan: PlanProgress) -> None:
        self._sent_plan, self._phase = sent_plan, "orders"
        self._disconnect()
        self._disconnect = sent_plan.updated.connect(lambda _: self._take_changes())
        self.set_focus(None)
        self.draw(from_top=True)
        self._take_changes()

    def _take_changes(self) -> None:
        sent_plan = self._sent_plan
        if sent_plan is None or not self.is_mounted:
            return
        changed = sent_plan.changed()
        if changed is not None and self._plan is None:
            self._offer(changed)
        elif not sent_plan.is_running and self._plan is None:
            self.guard_keys()
        self.draw()

    def renew(self) -> None:
        """Draw outcomes that became known later."""
        if self._phase == "orders":
            self.draw()

    def action_dismiss_outcomes(self) -> None:
        """Dismiss these outcomes, and show the next ones if there are any."""
        sent_plan = self._sent_plan
        if self._phase != "orders" or sent_plan is None or sent_plan.is_running:
            return
        following = self._execution.next_after(sent_plan)
        self._execution.dismiss(sent_plan)
        if following is None:
            self.dismiss(None)
        else:
            self._plan = None
            self._follow(following)

    def action_next_outcomes(self) -> None:
        """Show the outcomes of another plan that are not dismissed."""
        following = self._execution.next_after(self._sent_plan)
        if self._phase == "orders" and following is not None:
            self._plan = None
            self._follow(following)
