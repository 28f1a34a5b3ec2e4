"""The preview's lines to type in, and what its frame says."""

from tests.support.previews import opened, seen
from tests.support.rooms import answerable, screen_text, shows
from tui.app import RoomApp

WIDE = (160, 46)


def frame_text(app: RoomApp) -> str:
    """What stands in the lower edge of the dialog's frame."""
    return str(app.screen.query_one(".box").border_subtitle)


async def test_a_reason_is_seen_while_it_is_typed_and_takes_no_key_unseen() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        await pilot.press("r")
        await shows(pilot, "reason, for the journal")
        await pilot.press("g", "o")
        await shows(pilot, "keep the reason")
        text = screen_text(app)
        assert "preview again" not in text
        assert app.focused is not None
        assert app.focused.display
        await pilot.press("enter")
        await answerable(pilot, "preview again")
        assert not app.screen.query_one("#reason").display
        await pilot.press("enter")
        await shows(pilot, "1 done")
        assert acting.carried[0][0].reason == "go"


async def test_tab_goes_from_the_words_to_a_reason_that_is_seen_and_round() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "x", "s", words="type gdm_intercode_ctf to confirm")
        await pilot.press("tab")
        await shows(pilot, "reason, for the journal")
        await pilot.press("tab")
        await shows(pilot, "preview again")
        await pilot.press("x", "z")
        assert not app.screen.query_one("#reason").display
        await pilot.press("tab")
        assert app.focused is app.screen.query_one("#words")
        assert acting.carried == []


async def test_a_mistyped_word_is_reported() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "x", "s", words="type gdm_intercode_ctf to confirm")
        await pilot.press(*"gdm", "enter")
        await shows(pilot, "gdm does not match")
        await pilot.press("enter")
        await pilot.pause()
        assert screen_text(app).count("gdm_intercode_ctf to confirm") == 1
        assert acting.carried == []


async def test_the_frame_says_that_it_scrolls_only_where_it_does() -> None:
    _, acting, app = opened()
    acting.ours = False
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        assert frame_text(app) == ""
    _, _, app = opened()
    async with app.run_test(size=(80, 16)) as pilot:
        await seen(pilot, "A", "p")
        assert "j k PgDn" in frame_text(app)
