"""A signal calls all connected functions, even if one disconnects meanwhile."""

from collections.abc import Callable

from core.signal import Signal


def test_callbacks_are_called_in_the_order_of_connection() -> None:
    signal, calls = Signal[int](), list[tuple[str, int]]()
    signal.connect(lambda value: calls.append(("first", value)))
    signal.connect(lambda value: calls.append(("second", value)))

    signal.emit(1)
    signal.emit(2)

    assert calls == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_a_disconnected_callback_is_not_called_and_disconnecting_twice_does_no_harm() -> None:
    signal, calls = Signal[int](), list[int]()
    disconnect = signal.connect(calls.append)

    disconnect()
    disconnect()
    signal.emit(1)

    assert calls == []


def test_the_same_callback_connected_twice_is_called_twice_and_disconnected_once_each() -> None:
    signal, calls = Signal[int](), list[int]()
    first = signal.connect(calls.append)
    signal.connect(calls.append)

    signal.emit(1)
    first()
    signal.emit(2)

    assert calls == [1, 1, 2]


def test_a_callback_may_disconnect_itself_and_others_during_an_emit() -> None:
    signal, calls = Signal[int](), list[str]()
    ends = list[Callable[[], None]]()

    def leave_all(_: int) -> None:
        calls.append("leaves")
        for end in ends:
            end()

    ends.append(signal.connect(leave_all))
    ends.append(signal.connect(lambda _: calls.append("was disconnected")))
    signal.connect(lambda _: calls.append("stays"))

    signal.emit(1)
    signal.emit(2)

    assert calls == ["leaves", "stays", "stays"]


def test_a_callback_connected_during_an_emit_is_called_from_the_next_value_on() -> None:
    signal, calls = Signal[int](), list[int]()

    def invite(value: int) -> None:
        if value == 1:
            signal.connect(calls.append)

    signal.connect(invite)

    signal.emit(1)
    signal.emit(2)

    assert calls == [2]
