"""The value of a knob at launch, from the command line of its process."""

import pytest

from core.model.argv_knobs import launched_with


@pytest.mark.parametrize(
    ("argv", "knob", "value"),
    [
        (("inspect", "eval", "t.py", "--max-samples", "8"), "max_samples", 8),
        (("--max-samples=8", "--max-samples=9"), "max_samples", 9),
        (("--time-limit", "3600"), "time_limit", 3600),
        (("--max-samples",), "max_samples", None),
        (("--max-samples", "many"), "max_samples", None),
        (("--max-samples", "9" * 40), "max_samples", None),
        (("--max-samples", "٣"), "max_samples", None),
        (("--max-samples-x", "8"), "max_samples", None),
        (("--key", "8"), "key", None),
        ((), "max_samples", None),
    ],
)
def test_a_launch_value_is_read_off_the_command_line(
    argv: tuple[str, ...], knob: str, value: int | None
) -> None:
    assert launched_with(argv, knob) == value
