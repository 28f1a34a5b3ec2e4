import re
import tomllib
from contextlib import nullcontext as does_not_raise
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.file import LOCAL, check_config, default_config, read_config
from core.config.judge import JudgeRule
from core.config.model import CADENCES, MachineConfig, ScreenConfig, StorageConfig, WatchConfig
from core.config.toml_lines import lines_of
from core.errors import ConfigWrong
from core.judge.kinds import all_rules
from tests.support.tree import ROOT

HERE = Path("/etc/evalroom/config.toml")
EXAMPLE = ROOT / "config.example.toml"


def wrongs(text: str) -> list[str]:
    _, found = check_config(text, HERE)
    return [f"{each.message} | {each.advice}" for each in found]


def the_one_wrong(text: str) -> str:
    [only] = wrongs(text)
    return only


def machine_of(text: str) -> MachineConfig:
    config, found = check_config(text, HERE)
    assert not found
    return config.machines[0]


def test_without_a_config_this_computer_is_the_only_machine() -> None:
    assert default_config().machines == (LOCAL,)
    assert LOCAL.link == "command"
    assert LOCAL.command == ()


def test_a_config_without_machines_means_this_computer() -> None:
    config, found = check_config("[screen]\ntheme = 'light'\n", HERE)
    assert not found
    assert config.machines == (LOCAL,)
    assert config.screen.theme == "light"


def test_a_machine_may_be_just_a_name() -> None:
    machine = machine_of('[[machines]]\nname = "h100-1"\n')
    assert (machine.name, machine.link, machine.host) == ("h100-1", "asyncssh", None)


def test_a_command_link_without_a_command_is_this_computer() -> None:
    absent = machine_of('[[machines]]\nname = "here"\nlink = "command"\n')
    empty = machine_of('[[machines]]\nname = "here"\nlink = "command"\ncommand = []\n')
    assert absent == empty
    assert absent.command == ()


def test_paths_of_this_computer_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/op")
    machine = machine_of(
        '[[machines]]\nname = "a"\nidentity = "~/.ssh/k"\nknown_hosts = "hosts"\n'
        'data_dir = "~/share"\n'
    )
    assert machine.identity == "/home/op/.ssh/k"
    assert machine.known_hosts == "/etc/evalroom/hosts"
    assert machine.data_dir == "~/share"


def test_every_value_arrives() -> None:
    config, found = check_config(
        "read_only = true\n[watch]\nfacts_every = 30\ndiscover_every = 2.5\nkeep_gone_hours = 2\n"
        "[watch.cadences]\nnear-the-end = { tasks = 3 }\nsteady.samples = 60\n"
        "[screen]\nascii = true\nmouse = true\nclipboard_limit = 0\n"
        "[storage]\nlimit_mib = 64\n[keys]\nquit = 'ctrl+q'\n",
        HERE,
    )
    assert not found
    assert config.read_only
    assert config.path == str(HERE)
    assert (config.watch.facts_every, config.watch.discover_every) == (30.0, 2.5)
    assert config.watch.keep_gone == 7_200.0
    assert config.watch.cadences["near the end"].tasks == 3.0
    assert config.watch.cadences["near the end"].samples == CADENCES["near the end"].samples
    assert config.watch.cadences["steady"].samples == 60.0
    assert (config.screen.ascii, config.screen.mouse, config.screen.clipboard_limit) == (
        True,
        True,
        0,
    )
    assert config.storage.limit_mib == 64
    assert config.keys == {"quit": "ctrl+q"}


def test_an_unknown_key_is_reported_with_its_line_and_a_guess() -> None:
    problem = the_one_wrong('# a comment\n[[machines]]\nname = "a"\n\nhots = "b"\n')
    assert "config.toml, line 5" in problem
    assert 'unknown key "hots" in [[machines]]' in problem
    assert 'did you mean "host"?' in problem
    assert "known_hosts" in problem


@pytest.mark.parametrize(
    ("text", "line", "allowed"),
    [
        ('[[machines]]\nname = "a"\nport = 70000', 3, "a whole number from 1 to 65535"),
        ('[[machines]]\nname = "a"\nport = true', 3, "a whole number from 1 to 65535"),
        ('[[machines]]\nname = "a"\nlink = "ssh"', 3, '"asyncssh" or "command"'),
        ('[[machines]]\nname = "a"\nread_only = 1', 3, "true or false"),
        ('[[machines]]\nname = "a"\ntags = [\n"b",\n"c d"]', 5, "1 to 63 of the characters"),
        ('[[machines]]\nname = "a"\ntags = "b"', 3, "a list of tags"),
        ('[[machines]]\nname = "a"\nhost = "-oProxyCommand=x"', 3, "not starting with -"),
        ('[[machines]]\nname = "a"\npython = "-c"', 3, "a program's name or path"),
        ('[[machines]]\nname = "a"\ndata_dir = "share"', 3, 'starting with "/" or "~/"'),
        ('[[machines]]\nname = "a"\nidentity = "~nobody-here/k"', 3, "an existing home folder"),
        ('[[machines]]\nname = "a"\nlink = "command"\ncommand = ["a\\nb"]', 4, "on one line"),
        ("[watch]\nfacts_every = nan", 2, "a number of seconds from 1 to 3600"),
        ("[watch]\nfacts_every = -1", 2, "a number of seconds from 1 to 3600"),
        ("[watch.cadences]\n\nsteady = { tasks = 0 }", 3, "a number of seconds from 0.2"),
        ("[watch.cadences]\nsteady = 4", 2, "a table like"),
        ("[watch.cadences.steady]\nsampels = 4", 2, 'did you mean "samples"?'),
        ("[watch.cadences]\nsteedy = {}", 2, 'did you mean "steady"?'),
        ('[screen]\ntheme = "pink"', 2, '"dark" or "light"'),
        ("[storage]\nlimit_mib = 1.5", 2, "a whole number"),
        ("[keys]\nquit = 3", 2, "a key, like"),
        ("\n[sotrage]\n", 2, 'did you mean "storage"?'),
        ("watch = 3", 1, "write [watch]"),
        ('machines = "a"', 1, "write [[machines]]"),
        ("machines = [\n  {name = 'a'},\n  {name = 'b', x = 1},\n]", 3, "allowed: name"),
    ],
)
def test_a_wrong_value_is_reported_with_its_line_and_what_is_allowed(
    text: str, line: int, allowed: str
) -> None:
    problem = the_one_wrong(text)
    assert f"line {line}:" in problem
    assert allowed in problem


@pytest.mark.parametrize("name", ["-oProxyCommand=touch X", "", "a b", "ä", "a\\u0007", "x" * 64])
def test_a_name_that_a_program_could_misread_is_refused(name: str) -> None:
    assert "line 2" in the_one_wrong(f'[[machines]]\nname = "{name}"\n')


def test_two_machines_of_one_name_are_refused() -> None:
    problem = the_one_wrong('[[machines]]\nname = "a"\n[[machines]]\nname = "a"\n')
    assert "line 4" in problem
    assert 'another machine is named "a" too' in problem


def test_a_machine_without_a_name_is_refused_where_it_begins() -> None:
    assert "line 3: this machine has no name" in the_one_wrong(
        '[[machines]]\nname = "a"\n[[machines]]\nhost = "b"\n'
    )


def test_words_of_the_other_link_kind_are_refused() -> None:
    assert 'add link = "command"' in the_one_wrong('[[machines]]\nname="a"\ncommand=["x"]\n')
    problem = the_one_wrong('[[machines]]\nname="a"\nlink="command"\nport=1\n')
    assert 'line 4: "port" has no effect' in problem


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    problems = wrongs('[[machines]]\nname = "a"\nport = 0\n[screen]\ntheme = 1\nmice = true\n')
    assert [each.split(":")[0].rsplit(" ", 1)[1] for each in problems] == ["3", "5", "6"]


def test_reading_raises_the_first_and_counts_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[screen]\ntheme = 1\nmice = true\n")
    with pytest.raises(ConfigWrong) as caught:
        read_config(path)
    assert "line 2" in caught.value.message
    assert "1 more" in caught.value.advice


def test_a_file_that_is_not_toml_is_reported_with_its_line() -> None:
    assert "line 2: " in the_one_wrong("a = 1\nb = \n")
    assert "at the end of the file" in the_one_wrong('a = """x\n')


def test_a_number_of_absurd_length_is_wrong_and_nothing_else() -> None:
    decimal, hexadecimal = "9" * 5_000, "0x" + "f" * 5_000
    assert "too many digits" in the_one_wrong(f"[watch]\nfacts_every = {decimal}\n")
    for table in ("[watch]\nfacts_every", "[storage]\ncap_mb", "[[machines]]\nname='a'\nport"):
        assert wrongs(f"{table} = {hexadecimal}\n")
    for infinite in ("inf", "-inf", "nan", "1e999"):
        assert "from 1 to 3600" in the_one_wrong(f"[watch]\nfacts_every = {infinite}\n")


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"[screen]\n\xff\xfe\n")
    with pytest.raises(ConfigWrong, match="line 2: this line is not UTF-8"):
        read_config(path)
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(ConfigWrong, match="larger than 1 MiB"):
        read_config(path)
    with pytest.raises(ConfigWrong, match="can't read"):
        read_config(tmp_path)
    with pytest.raises(ConfigWrong, match="does not exist"):
        read_config(tmp_path / "none")


def test_unknown_actions_are_refused_where_the_screens_name_theirs(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[keys]\nqiut = "q"\n')
    assert read_config(path).keys == {"qiut": "q"}
    with pytest.raises(ConfigWrong, match="line 2: unknown key"):
        read_config(path, actions={"quit": "q"})


def test_an_unknown_action_is_one_error_beside_an_invalid_key() -> None:
    text = '[keys]\nqiut = "q"\nquit = "ctrl+hyper+q"\n'
    _, found = check_config(text, HERE, actions={"quit": "q"})
    assert [each.message.rpartition(", ")[2] for each in found] == [
        'line 2: unknown key "qiut" in [keys]', 'line 3: the value of "quit" is wrong',
    ]  # fmt: skip
    _, found = check_config('[keys]\nqiut = "q"\n', HERE, actions={"quit": "q"})
    assert len(found) == 1


def test_hostile_text_of_a_config_is_shown_harmless() -> None:
    assert "\x1b" not in the_one_wrong('"\\u001b[2J" = 1\n')


def test_the_example_loads_and_names_every_key() -> None:
    text = EXAMPLE.read_text()
    _, found = check_config(text, EXAMPLE, judged=all_rules())
    assert not found
    tables = (MachineConfig, WatchConfig, ScreenConfig, StorageConfig)
    keys = {field.name for table in tables for field in fields(table)}
    keys |= {phase.replace(" ", "-") for phase in CADENCES}
    keys = keys - {"keep_gone", "cadences", "log_schemes"} | {"keep_gone_hours", "schemes"}
    for key in ("read_only", *keys):
        assert re.search(rf"^(# )?{key} = ", text, re.MULTILINE), key
    assert "[watch.cadences]" in text


def uncommented() -> str:
    """The example with every comment that is a setting taken away."""
    return "\n".join(
        line.removeprefix("# ")
        if line.startswith("# [") or (line.startswith("# ") and " = " in line.split("#")[1])
        else line
        for line in EXAMPLE.read_text().splitlines()
    )


def test_the_example_names_every_number_of_the_judge_with_its_default() -> None:
    def values(table: Any, path: str = "") -> dict[str, Any]:
        if not isinstance(table, dict):
            return {path.removeprefix("."): table}
        known = cast("dict[str, Any]", table)
        return {
            name: at for key in known for name, at in values(known[key], f"{path}.{key}").items()
        }

    judged = values(tomllib.loads(uncommented())["judge"])
    assert judged == {rule.path: rule.default for rule in all_rules()}


def test_the_example_still_loads_with_every_comment_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(uncommented())
    config = read_config(path)
    assert [machine.name for machine in config.machines] == ["local", "h100-1", "h100-2", "cluster"]
    assert config.machines[2].production
    assert config.watch == type(config.watch)()
    assert config.screen == type(config.screen)()
    assert config.storage == type(config.storage)()


def test_lines_are_found_through_strings_comments_and_dotted_keys() -> None:
    text = (
        'a.b = """\n# no comment [x]\n"""  # one\n'
        "'quoted key'.\"c\" = [ # open\n  '''\n]''',\n  2,\n]\n"
        "[t]\nx = {y = {z = '}'}, w = 1}\n"
        "[[t.list]]\nk = 1\n[[t.list]]\n\nk = 2\n[t.list.sub]\ndeep = 1\n"
    )
    tomllib.loads(text)
    lines = lines_of(text)
    assert lines["a", "b"] == 1
    assert lines["quoted key", "c"] == 4
    assert lines["quoted key", "c", 0] == 5
    assert lines["quoted key", "c", 1] == 7
    assert lines["t", "x", "y", "z"] == 10
    assert lines["t", "list", 0, "k"] == 12
    assert lines["t", "list", 1, "k"] == 15
    assert lines["t", "list", 1, "sub", "deep"] == 17


@given(st.text(alphabet="[]{}=.,\"'#\\\n ab1", max_size=60))
def test_a_text_of_any_shape_is_read_or_called_wrong(text: str) -> None:
    with does_not_raise():
        check_config(text, HERE)
        lines_of(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("quit = 'foo+bar'", 'the value of "quit" is wrong'),
        ("quit = 'ctrl+'", 'the value of "quit" is wrong'),
        ("quit = 'down'", '"quit" uses a key of "down"'),
        ("quit = '/'", '"quit" uses a key of "filter"'),
        ("quit = 'x'\nsort = 'x'", 'uses a key of "'),
    ],
)
def test_an_unknown_key_or_another_actions_key_is_wrong(text: str, says: str) -> None:
    known = {"quit": "q,ctrl+c", "down": "down,j", "filter": "slash", "sort": "s"}
    _, wrong = check_config(f"[keys]\n{text}\n", Path("c.toml"), actions=known)
    [problem] = wrong
    assert says in problem.message
    assert problem.advice


@pytest.mark.parametrize("key", ["/", "slash", "Q", "f12", "ctrl+shift+up", "comma", "g,end", "é"])
def test_keys_may_be_written_as_people_do(key: str) -> None:
    config, wrong = check_config(
        f"[keys]\nquit = '{key}'\n", Path("c.toml"), actions={"quit": "q", "down": "j"}
    )
    assert not wrong
    assert config.keys == {"quit": key}


def test_two_actions_may_trade_their_keys() -> None:
    known = {"quit": "q", "down": "j"}
    _, wrong = check_config("[keys]\nquit = 'j'\ndown = 'q'\n", Path("c.toml"), actions=known)
    assert not wrong


STALL_SUSPECT = JudgeRule(
    kind="stall", name="tool.suspect", default=120, unit="seconds", help="A call.", high=9_999
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[judge.stall]\ntool.suspect = -1", 'line 2: the value of "stall.tool.suspect" is wrong'),
        ("[judge.stall]\ntool.suspect = nan", "a number of seconds from 0 to 9999"),
        ("[judge.stall]\ntool = 7", "Allowed: a table"),
        ("[judge]\nstall = 7", "Allowed: a table"),
        ("judge = 7", "Allowed: a table"),
        ("[judge.stall]\ntool.suspekt = 7", 'Did you mean "suspect"?'),
        ("[judge.stal]\ntool.suspect = 7", 'Did you mean "stall"?'),
    ],
)
def test_a_wrong_number_of_the_judge_is_named_with_its_line(
    text: str, what: str, tmp_path: Path
) -> None:
    _, [wrong] = check_config(text, tmp_path / "c.toml", judged=(STALL_SUSPECT,))
    assert what in wrong.sentence


def test_a_number_of_the_judge_holds(tmp_path: Path) -> None:
    text = "[judge.stall]\ntool = { suspect = 7 }\n"
    config, errors = check_config(text, tmp_path / "c.toml", judged=(STALL_SUSPECT,))
    assert not errors
    assert config.judge.number(STALL_SUSPECT) == 7.0
