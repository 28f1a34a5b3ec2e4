"""The journal of orders: every order, newest first, and the one under the cursor in full."""

import json
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
from core.text import shown
from core.views.pages.order_page import order_page
from core.views.tables.orders import orders_table
from tui.keys.bindings import bindings
from tui.navigation import Place, Subject, is_there
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.file_export import FileExport
from tui.screens.panes_screen import PanesScreen, put
from tui.screens.ports import RoomUi

_MOST = 2_000
"""Orders that are read from the disk; older ones are `evalroom journal`'s."""
_NEWEST = 100
_EVERY = 30.0
"""Seconds between two looks at what other evalrooms ordered lately."""
_PAGE_LEAST, _TABLE_LEAST = 44, 56
_COMMAND = 4_000


class JournalScreen(PanesScreen):
    """All orders of every evalroom of this user."""

    BINDINGS = bindings("journal")

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._kept: Sequence[Order] = ()
        self._known: tuple[Sequence[Order], Sequence[Order]] | None = None
        self._by_id: dict[str, Order] = {}
        self._drawn: int | None = None

    def make_panes(self) -> tuple[Pane, ...]:
        """Return the list and the page."""
        self.orders = TablePane("1", id="orders")
        self.page = PagePane("2", id="order-page", name_in_bar="Order")
        return (self.orders, self.page)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the orders that are known by now."""
        known, before = (fleet.orders, self._kept), self._known
        if before is None or known[0] is not before[0] or known[1] is not before[1]:
            self._known = known
            self._by_id = {order.id: order for order in joined(*known)}
            self._drawn = None
        if self._drawn != int(now) // 60:  # what is drawn of a time changes no sooner
            self._drawn = int(now) // 60
            self.orders.show(orders_table(tuple(self._by_id.values()), now))
        self._fill_page(now)
        self.ui.room.focus(None)

    def _fill_page(self, now: float) -> None:
        self.page.show_page(order_page(self.order, now))

    def place_panes(self, width: int, height: int) -> None:
        """The list on the left, the order under the cursor on the right."""
        right = min(max(width * 2 // 5, _PAGE_LEAST), width - _TABLE_LEAST)
        put(self.orders, 0, 0, width - right, height)
        put(self.page, width - right, 0, right, height)

    @on(TablePane.CursorMoved)
    def _order_moved(self) -> None:
        self._fill_page(self.ui.room.now())

    # Reading

    def on_mount(self) -> None:
        """Draw what is known, then read what is older."""
        super().on_mount()
        self._read_soon(_MOST)
        self.set_interval(_EVERY, lambda: self._read_soon(_NEWEST))

    def _read_soon(self, limit: int) -> None:
        self.run_worker(self._read(limit), name="reading the journal", exit_on_error=False)

    async def _read(self, limit: int) -> None:
        try:
            read = await self.controllers.actions.orders_kept(limit)
        except StorageError as error:
            self.ui.say(f"older orders can't be read: {error.message}", "look")
            return
        if read is None:
            return
        kept = joined(read, self._kept)
        if kept != self._kept:
            self._kept = kept
            self.renew()

    # What is selected

    @property
    def order(self) -> Order | None:
        """The order under the cursor."""
        return self._by_id.get(cast("str", self.orders.cursor_key))

    def shown_orders(self) -> tuple[Order, ...]:
        """Return the orders that the filter leaves, in their order on screen."""
        return tuple(self._by_id[row.key] for row in self.orders.rows if row.key in self._by_id)

    def selected(self) -> Place:
        """Return what the order under the cursor went to, or what of that is still known."""
        order = self.order
        return None if order is None else subject_of(order.target, self._fleet)

    def targets(self) -> tuple[ActionPlace, ...]:
        """Return what the marked orders, else the one under the cursor, went to."""
        chosen = (self._by_id.get(cast("str", key)) for key in self.orders.chosen_keys)
        return self._targets(order for order in chosen if order is not None)

    def rows_shown(self) -> tuple[ActionPlace, ...]:
        """Return what all orders that are shown went to."""
        return self._targets(self.shown_orders())

    def _targets(self, orders: Iterable[Order]) -> tuple[ActionPlace, ...]:
        targets = dict.fromkeys(order.target for order in orders)
        return tuple(target for target in targets if is_known(target, self._fleet))

    @property
    def _fleet(self) -> Fleet:
        return self.ui.room.fleet

    def open(self, pane: TablePane, key: object) -> None:
        """Open what the order went to."""
        del pane, key
        place = self.selected()
        if place is None:
            self.ui.say("what this order went to is no longer known", "look")
        else:
            self.ui.go(place)

    # Keys

    def commands(self) -> Iterator[str]:
        """Orders can be copied and written."""
        if self.orders.rows:
            yield from ("copy", "write")

    def action_copy(self) -> None:
        """Send the equivalent command of the order to the clipboard."""
        order = self.order
        if order is None or not order.command:
            self.ui.say("there is nothing to copy here", "look")
        else:
            self.ui.copy(shown(order.command, _COMMAND), "command")

    def action_write(self) -> None:
        """Write the orders that are shown to a file."""
        orders = self.shown_orders()
        if not orders:
            self.ui.say("no order is shown that could be written", "look")
            return
        lines = [json.dumps(order_object(order), separators=(",", ":")) for order in orders]
        content = "".join(f"{line}\n" for line in lines).encode()
        what = plural(len(orders), "order")

        moment = time.strftime("%Y%m%dT%H%M%S")
        file = FileExport(self.ui, self, what, content)
        file.ask(f"~/evalroom-orders-{moment}.jsonl")


def is_known(target: Target, fleet: Fleet) -> bool:
    """Return whether the fleet knows what an order went to, as far as it can be acted on."""
    if isinstance(target, SampleKey):
        return target.task in fleet.tasks
    return (
        target in fleet.tasks
        if isinstance(target, TaskKey)
        else process_of(target) in fleet.processes
    )


def subject_of(target: Target, fleet: Fleet) -> Subject | None:
    """Return the narrowest thing that is still known of what an order went to."""
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
