"""The screen of the journal: all orders, newest first, and the page of the selected one."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from textual import on

from core.act.order_query import joined, order_object
from core.act.target_expansion import ActionPlace
from core.errors import StorageError
from core.fleet import Fleet
from core.format import plural
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey, process_of
from core.model.order import Order
from core.strict_json import encode
from core.text import shown
from core.views.pages.order_page import order_page
from core.views.tables.orders import orders_table
from tui.dialogs.foreign_command import RECORDED, copy_foreign
from tui.keys.bindings import bindings
from tui.navigation import Place, Subject, is_there
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.file_export import FileExport
from tui.screens.panes_screen import PanesScreen, put
from tui.screens.ports import RoomUi

_MOST_READ = 2_000
"""At most this many orders are read; `evalroom journal` shows older ones."""
_NEWEST = 100
"""How many are read again later."""
_READ_EVERY_S = 30.0
"""How often new orders of other evalroom instances are read."""
_PAGE_LEAST, _TABLE_LEAST = 44, 56
_COMMAND = 4_000


class JournalScreen(PanesScreen):
    """All orders of this user, including those of other evalroom instances."""

    BINDINGS = bindings("journal")

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._kept: Sequence[Order] = ()
        self._known: tuple[Sequence[Order], Sequence[Order]] | None = None
        self._by_id: dict[str, Order] = {}
        self._drawn: int | None = None

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the list and the page."""
        self.orders = TablePane("1", id="orders")
        self.page = PagePane("2", id="order-page", name_in_bar="Order")
        return (self.orders, self.page)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the known orders."""
        known, before = (fleet.orders, self._kept), self._known
        if before is None or known[0] is not before[0] or known[1] is not before[1]:
            self._known = known
            self._by_id = {order.id: order for order in joined(*known)}
            self._drawn = None
        if self._drawn != int(now) // 60:  # times are drawn by the minute
            self._drawn = int(now) // 60
            self.orders.show(orders_table(tuple(self._by_id.values()), now))
        self._fill_page(now)
        self.ui.room.focus(None)

    def _fill_page(self, now: float) -> None:
        self.page.show_page(order_page(self.order, now))

    def place_panes(self, width: int, height: int) -> None:
        """The list on the left, the selected order on the right."""
        right = min(max(width * 2 // 5, _PAGE_LEAST), width - _TABLE_LEAST)
        put(self.orders, 0, 0, width - right, height)
        put(self.page, width - right, 0, right, height)

    @on(TablePane.CursorMoved)
    def _order_moved(self) -> None:
        self._fill_page(self.ui.room.now())

    # Reading

    def on_mount(self) -> None:
        """Draw, then read older orders."""
        super().on_mount()
        self._read_soon(_MOST_READ)
        self.set_interval(_READ_EVERY_S, lambda: self._read_soon(_NEWEST))

    def _read_soon(self, limit: int) -> None:
        self.run_worker(self._read(limit), name="reading the journal", exit_on_error=False)

    async def _read(self, limit: int) -> None:
        try:
            read = await self.controllers.actions.orders_kept(limit)
        except StorageError as error:
            self.ui.say(f"Older orders can't be read. {error.sentence}", "warning")
            return
        if read is None:
            return
        kept = joined(read, self._kept)
        if kept != self._kept:
            self._kept = kept
            self.renew()

    # Selection

    @property
    def order(self) -> Order | None:
        """The order under the cursor."""
        return self._by_id.get(cast("str", self.orders.cursor_key))

    def shown_orders(self) -> tuple[Order, ...]:
        """Return the orders shown, in their order on screen."""
        return tuple(self._by_id[row.key] for row in self.orders.rows if row.key in self._by_id)

    def selected(self) -> Place:
        """Return the target of the selected order, or the nearest place that is still known."""
        order = self.order
        return None if order is None else subject_of(order.target, self._fleet)

    def targets(self) -> tuple[ActionPlace, ...]:
        """Return the targets of the marked orders, or of the selected one."""
        chosen = (self._by_id.get(cast("str", key)) for key in self.orders.chosen_keys)
        return self._targets(order for order in chosen if order is not None)

    def rows_shown(self) -> tuple[ActionPlace, ...]:
        """Return the targets of all orders shown."""
        return self._targets(self.shown_orders())

    def _targets(self, orders: Iterable[Order]) -> tuple[ActionPlace, ...]:
        targets = dict.fromkeys(order.target for order in orders)
        return tuple(target for target in targets if is_known(target, self._fleet))

    @property
    def _fleet(self) -> Fleet:
        return self.ui.room.fleet

    def open(self, pane: TablePane, key: object) -> None:
        """Open the target of the order."""
        del pane, key
        place = self.selected()
        if place is None:
            self.ui.say("The target of this order is no longer known.", "warning")
        else:
            self.ui.go(place)

    # Keys

    def commands(self) -> Iterator[str]:
        """Yield the keys that copy and write orders."""
        if self.orders.rows:
            yield from ("copy", "write")

    def action_copy(self) -> None:
        """Copy the equivalent command of the order."""
        order = self.order
        if order is None or not order.command:
            self.ui.say("There is nothing to copy here.", "warning")
        elif self.ui.room.is_replay:
            text = shown(order.command, _COMMAND)
            copy_foreign(self.ui, text, "command", RECORDED)
        else:
            self.ui.copy(shown(order.command, _COMMAND), "command")

    def action_write(self) -> None:
        """Write the orders shown to a file."""
        orders = self.shown_orders()
        if not orders:
            self.ui.say("No order to write.", "warning")
            return
        lines = [encode(order_object(order)) for order in orders]
        content = "".join(f"{line}\n" for line in lines).encode()
        what = plural(len(orders), "order")

        moment = time.strftime("%Y%m%dT%H%M%S")
        file = FileExport(self.ui, self, what, content)
        file.ask(f"~/evalroom-orders-{moment}.jsonl")


def is_known(target: Target, fleet: Fleet) -> bool:
    """Return whether the fleet still knows an order's target well enough to act on it."""
    if isinstance(target, SampleKey):
        return target.task in fleet.tasks
    return (
        target in fleet.tasks
        if isinstance(target, TaskKey)
        else process_of(target) in fleet.processes
    )


def subject_of(target: Target, fleet: Fleet) -> Subject | None:
    """Return the narrowest place of an order's target that is still known, or None."""
    process = process_of(target)
    places: list[Subject] = [process, process.machine]
    match target:
        case SampleKey():
            places = [target, target.task, *places]
        case TaskKey():
            places = [target, *places]
        case ModelKey() | ProcessKey():
            pass
    return next((place for place in places if is_there(fleet, place)), None)
