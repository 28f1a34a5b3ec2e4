import pytest

from core.config.model import MachineConfig
from core.errors import SpecWrong
from core.ids import MachineName
from core.launch.plan.matrix import MAX_RUNS, expand
from tests.support.specs import spec


def _machine(name: str, *tags: str, read_only: bool = False) -> MachineConfig:
    return MachineConfig(name=MachineName(name), tags=tags, read_only=read_only)


FLEET = (_machine("a", "gpu"), _machine("b", "gpu"), _machine("c", read_only=True))


def test_two_by_two_by_two_are_eight_runs_of_one_of_each() -> None:
    asked = spec(
        "",
        'task=["evalroom/smoke", "evalroom/arithmetic"]', 'model=["mockllm/model", "openai/x"]',
        'machine=["a", "b"]',
    )  # fmt: skip
    launches = expand(asked, FLEET)
    cells = [(each.task, each.model, each.candidates) for each in launches]
    assert len(set(cells)) == 8
    assert cells[:2] == [
        ("evalroom/smoke", "mockllm/model", ("a",)), ("evalroom/smoke", "mockllm/model", ("b",)),
    ]  # fmt: skip
    assert [(each.index, each.of) for each in launches][-1] == (8, 8)


@pytest.mark.parametrize("asked", ["gpu", "any"])
def test_a_tag_and_any_leave_the_machine_to_the_chooser(asked: str) -> None:
    (one,) = expand(spec("", f"machine={asked}"), FLEET)
    assert (one.asked, one.candidates) == (asked, ("a", "b"))


def test_a_machine_goes_before_a_tag_of_its_name() -> None:
    (one,) = expand(spec("", "machine=a"), (*FLEET, _machine("d", "a")))
    assert one.candidates == ("a",)


def test_an_unknown_machine_is_reported_with_the_nearest() -> None:
    with pytest.raises(SpecWrong) as caught:
        expand(spec("", "machine=gpus"), FLEET)
    assert 'did you mean "gpu"?' in caught.value.advice
    assert "a, b, c" in caught.value.advice


def test_nothing_is_launched_on_a_read_only_machine() -> None:
    with pytest.raises(SpecWrong, match="read-only"):
        expand(spec("", "machine=c"), FLEET)


def test_an_endless_matrix_is_a_mistake() -> None:
    names = ", ".join(f'"m/{number}"' for number in range(MAX_RUNS + 1))
    with pytest.raises(SpecWrong, match="1001 runs"):
        expand(spec("", f"model=[{names}]", "machine=a"), FLEET)
