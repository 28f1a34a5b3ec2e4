"""The dialog of a question: who asks stands in its title."""

import asyncio

from core.model.question import Question, machine_question
from core.text import Shown
from tests.support.rooms import FakeRoom, app_on, screen_text, shows


async def test_a_machines_question_names_the_machine_and_ones_own_does_not() -> None:
    app = app_on(FakeRoom())
    async with app.run_test(size=(100, 30)) as pilot:
        words = "evalroom asks: Passphrase for the key /home/ada/.ssh/id_ed25519"
        asked = machine_question("ada@gpu1:22", "", words, is_seen=False)
        waiting = asyncio.ensure_future(app.ask(asked))
        await shows(pilot, "ada@gpu1:22 asks")
        screen = screen_text(app)
        assert "These words are ada@gpu1:22's, not evalroom's:" in screen
        assert "│ evalroom asks: Passphrase for the key /home/ada/" in screen
        assert "A machine never needs one" in " ".join(screen.replace("│", " ").split())
        await pilot.press("escape")
        assert await waiting is None
        waiting = asyncio.ensure_future(app.ask(Question(text=Shown("Passphrase for the key k"))))
        await shows(pilot, "evalroom asks")
        assert "not evalroom's" not in screen_text(app)
        await pilot.press("o", "k", "enter")
        assert await waiting == "ok"
