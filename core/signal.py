"""Signal: calls its connected callbacks with each emitted value."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Signal(Generic[T]):
    """Calls every connected callback with each emitted value, in the order of connection.

    A callback may connect or disconnect any callback, itself included, during an emit: one that
    was disconnected is no longer called, one that was connected is called from the next value
    on. `emit` raises the error of a callback; the callbacks after it are not called.
    """

    def __init__(self) -> None:
        self._callbacks: dict[object, Callable[[T], object]] = {}

    def connect(self, callback: Callable[[T], object]) -> Callable[[], None]:
        """Call `callback` with each value from now on; return the function that disconnects it.

        A callback that is connected twice is called twice. Disconnecting twice does no harm.
        """
        key = object()
        self._callbacks[key] = callback

        def disconnect() -> None:
            self._callbacks.pop(key, None)

        return disconnect

    def emit(self, value: T) -> None:
        """Call every connected callback with `value`."""
        for key, callback in tuple(self._callbacks.items()):
            if key in self._callbacks:
                callback(value)
