"""The launch form, with real keys: from a template to a run, and what keeps one from starting."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from core.errors import NotConfirmed
from core.launch.spec.spec import Tolerate
from core.launch.spec.spec_reader import read_spec
from storage.view_state import ViewState
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1
from tests.support.launch_forms import SIZE, planned, ready, room_to_launch, smoke, typed
from tests.support.launching import ScriptedLaunching
from tests.support.rooms import (
    FakeRoom,
    MemoryStore,
    answerable,
    app_on,
    screen_text,
    services_on,
    shows,
)
from tests.support.runs import every_run, with_runs
from tui.screens.launch_form import LaunchFormScreen
from tui.screens.runs import RunsScreen


async def test_from_a_template_to_a_run_by_keys_alone() -> None:
    launching, app = room_to_launch()
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot)
        for words in (
            "✓ python",
            "110 sample runs (10 samples x 11)",
            "--continue-on-fail",
            "spec.toml",
        ):
            assert words in screen_text(app)
        assert launching.launched == []
        await pilot.press("enter")
        await answerable(pilot, "Launch · result")
        await shows(pilot, "running")
        await pilot.press("enter")
        await shows(pilot, "1 Runs")
        assert isinstance(app.screen, RunsScreen)
        [[checked]] = launching.launched
        assert (checked.plan.machine, checked.plan.spec.on_error) == (H1, "continue")
        assert app.screen.run_here is not None
        assert app.screen.run_here.id == checked.plan.run
        assert app.screen_stack[1:] == [app.screen]


async def test_what_happens_on_errors_is_asked_and_the_last_choice_offered_not_taken() -> None:
    launching, app = room_to_launch(drafts=MemoryStore())
    async with app.run_test(size=SIZE) as pilot:
        await smoke(pilot)
        await pilot.press("ctrl+r", "ctrl+r")
        await shows(pilot, "1 field to fix")
        assert launching.asked == []
        await pilot.press("enter", "down", "enter", "ctrl+r")
        await answerable(pilot, "Plan")
        await pilot.press("enter")
        await answerable(pilot, "Launch · result")
        await pilot.press("enter")
        await shows(pilot, "1 Runs")
        await smoke(pilot)
        await pilot.press("ctrl+r")
        await shows(pilot, "needed; last time continue")
        assert isinstance(app.screen, LaunchFormScreen)
        await pilot.press("enter")
        await shows(pilot, "What happens when a sample errors")
        await pilot.press("enter", "ctrl+r")
        await answerable(pilot, "Plan")
        assert launching.asked[-1].on_error == "continue"


async def test_a_share_to_tolerate_is_typed_on() -> None:
    launching, app = room_to_launch()
    async with app.run_test(size=SIZE) as pilot:
        await smoke(pilot)
        await pilot.press("ctrl+r", "enter")
        await shows(pilot, "tolerate 0.1  stop once")
        await pilot.press("down", "down", "enter")
        await shows(pilot, "on_error = { tolerate = 0.1 }")
        await pilot.press("5", "ctrl+r")
        await answerable(pilot, "Plan")
        assert launching.asked[-1].on_error == Tolerate(0.15)


async def test_a_wrong_field_says_so_beside_it_and_keeps_the_plan_away() -> None:
    launching, app = room_to_launch()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("pagedown", *"few")
        await shows(pilot, '"limit" is wrong: "few"')
        await pilot.press("ctrl+r")
        await shows(pilot, "limit:")
        assert isinstance(app.screen, LaunchFormScreen)
        assert launching.asked == []
        await typed(pilot, "3-5")
        await shows(pilot, "at worst 33 sample")
        await pilot.press("ctrl+r")
        await answerable(pilot, "Plan")
        assert launching.asked[-1].limit == (3, 5)


async def test_typed_text_is_the_value_and_enter_goes_on() -> None:
    launching, app = room_to_launch()
    async with app.run_test(size=(200, 50)) as pilot:
        await ready(pilot)
        await pilot.press("pageup", "pageup", "pageup", "pageup")
        await shows(pilot, "the task to run: package/name")
        await typed(pilot, "evalroom/arithmetic")
        await pilot.press("enter", "ctrl+u", "enter", "pagedown")
        await typed(pilot, "openai-api/acme/x")
        await shows(pilot, "ACME_BASE_URL")
        await pilot.press("enter", "enter")
        await shows(pilot, 'secrets = { ACME_API_KEY = "ACME_API_KEY" }')
        await pilot.press("enter", *"http://h/v1")
        await shows(pilot, 'env = { ACME_BASE_URL = "http://h/v1" }')
        await pilot.press("ctrl+r")
        await answerable(pilot, "Plan")
        asked = launching.asked[-1]
        assert asked.task == ("evalroom/arithmetic",)
        assert asked.model == ("openai-api/acme/x",)
        assert dict(asked.secrets) == {"ACME_API_KEY": "ACME_API_KEY"}
        assert dict(asked.env) == {"ACME_BASE_URL": "http://h/v1"}


async def test_a_draft_survives_esc_and_a_restart_without_what_may_be_a_secret(
    tmp_path: Path,
) -> None:
    file = tmp_path / "form.json"
    launching, app = room_to_launch(drafts=ViewState(file))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await smoke(pilot, machine="h100-2")
        await pilot.press("up", *"API_KEY = sk-CANARY-0123456789")
        await shows(pilot, "values that are not secrets: write")
        await pilot.press("escape")
        await shows(pilot, "Draft saved without env (may contain a secret)")
        assert type(app.screen).__name__ == "RoomScreen"
    assert "CANARY" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    _, again = room_to_launch(drafts=ViewState(file))
    async with again.run_test(size=SIZE) as pilot:
        await pilot.press("n")
        await shows(pilot, "draft       smoke, saved 0s ago")
        await pilot.press("enter")
        await shows(pilot, 'machine = "h100-2"')
        await pilot.press("x")  # and what is typed last is kept when the room just ends
        await shows(pilot, '"on_error" is wrong: "x"')
    assert '"on_error": "x"' in file.read_text()
    assert launching.launched == []


async def test_a_draft_goes_when_it_was_launched_and_stays_when_nothing_was_started() -> None:
    store = MemoryStore()
    launching, app = room_to_launch(drafts=store)
    launching.launch_fails = NotConfirmed("Nothing can be launched: evalroom is read-only")
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot)
        await pilot.press("enter")
        await shows(pilot, "evalroom is read-only")
        await pilot.press("escape")
        await shows(pilot, "Launch · smoke")
        assert store.view["drafts"]
        launching.launch_fails = None
        await pilot.press("ctrl+r")
        await answerable(pilot, "Plan")
        await pilot.press("enter")
        await answerable(pilot, "Launch · result")
        await pilot.press("escape")
        await shows(pilot, "1 Runs")
    assert store.view["drafts"] == []
    assert store.view["on_error"] == {"smoke": "continue"}


async def test_the_spec_is_written_as_a_template_that_the_chooser_offers(tmp_path: Path) -> None:
    _, app = room_to_launch(templates=tmp_path / "templates")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+s")
        await shows(pilot, "Write the spec")
        await pilot.press("enter")
        await shows(pilot, "Wrote")
        written = tmp_path / "templates" / "my-smoke.toml"
        assert read_spec(str(written)).on_error == "continue"
        assert written.stat().st_mode & 0o777 == 0o600
        await pilot.press("escape", "n")
        await shows(pilot, "my-smoke    As smoke  (yours)")


class Secrets:
    """A store of secrets that a test fills."""

    def __init__(self, **kept: str) -> None:
        self.kept = kept

    async def names(self) -> Mapping[str, Literal["keyring", "file"]]:
        return dict.fromkeys(self.kept, "file")

    async def set(self, name: str, value: str) -> Literal["keyring", "file"]:
        self.kept[name] = value
        return "file"


async def test_a_secret_that_is_not_kept_yet_is_asked_for_masked_and_named_alone() -> None:
    secrets = Secrets()
    _, app = room_to_launch(secrets=secrets)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("pageup", "pageup", "pageup")
        await shows(pilot, "the model, as provider/name")
        await typed(pilot, "openai/gpt-4o")
        await shows(pilot, "OPENAI_API_KEY")
        await pilot.press("enter", "enter")
        await shows(pilot, "Value of OPENAI_API_KEY")
        await pilot.press(*"CANARY42", "enter")
        await shows(pilot, "set by secrets, stored")
        assert secrets.kept == {"OPENAI_API_KEY": "CANARY42"}
        assert "CANARY" not in screen_text(app)
        assert "secrets = { OPENAI_API_KEY =" in screen_text(app)


@pytest.mark.parametrize("why", ["", "evalroom is read-only: nothing is launched"])
async def test_where_nothing_can_be_launched_the_keys_say_so(why: str) -> None:
    room = FakeRoom(with_runs(busy_fleet(), every_run()))
    launching = ScriptedLaunching(room) if why else None
    app = app_on(room, services=services_on(room, launching=launching, why_no_launch=why))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        assert "n new run" not in screen_text(app)
        await pilot.press("n")
        await shows(pilot, why or "Nothing can be launched from here")
        await pilot.press("N")
        await shows(pilot, "7 total")
        await pilot.press("d", "R")
        await pilot.pause()
        assert isinstance(app.screen, RunsScreen)


async def test_in_a_replay_the_key_says_so() -> None:
    room = FakeRoom(busy_fleet())
    room.is_replay = True
    app = app_on(room)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("n")
        await shows(pilot, "This is a recording: nothing can be launched")


async def test_the_palette_begins_with_a_template_by_its_name() -> None:
    _, app = room_to_launch()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(":", *"launch-gpqa", "enter")
        await shows(pilot, "Launch · gpqa")
        await shows(pilot, 'packages = ["inspect-evals"]')


async def test_f1_lists_the_keys_of_the_form_where_a_question_mark_is_typed() -> None:
    _, app = room_to_launch()
    async with app.run_test(size=(80, 24)) as pilot:
        await smoke(pilot)
        await shows(pilot, "F1 keys")
        await pilot.press("f1")
        await shows(pilot, "is saved as a draft. ")  # the last line, though others are folded
        await pilot.press("f1")
        await shows(pilot, "This field")
        await pilot.press("?")
        await shows(pilot, "h100-1?")
