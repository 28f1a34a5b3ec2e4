"""Commands about what the history holds fail where it can't be opened: nothing is made up."""

import pytest

from tests.support.commands import Home

COMMANDS = ("runs", "run x", "output x", "attach x", "undo --yes", "guide list", "guide resume 1",
            "journal", "findings", "findings ack x")  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_a_data_folder_that_is_a_file_is_an_error_and_no_empty_history(
    words: str, home: Home
) -> None:
    data = home.folder / ".local" / "share"
    data.mkdir(parents=True)
    (data / "evalroom").write_text("a file")
    home.watch_here(home.folder / "evals")
    ran = home.run(*words.split())
    assert ran.status == 1
    assert ran.out == ""
    assert str(data / "evalroom") in ran.err
