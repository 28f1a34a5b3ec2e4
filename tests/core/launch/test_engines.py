import json
import subprocess

import pytest

from core.errors import JobFailed, SpecWrong
from core.launch.engines.engine import EXIT_ALREADY_STARTED, FileOutput, ScreenOutput, StartResult
from core.launch.engines.registry import DEFAULT_ENGINE, ENGINES, engine_named
from core.launch.engines.start_failures import start_failure
from core.launch.engines.tmux_sessions import (
    TmuxSession,
    attach_command,
    end_effect,
    parse_sessions,
    screen_command,
    session_name,
    switch_command,
)
from tests.support.specs import plan, spec

RUN = "20261129-210255-vdmc2a9g"
RECORD = {
    "event": "launch", "run_id": "r", "eval_set_id": "s", "pid": 7, "log_dir": "/l",
    "control": {"socket_path": "/d/7.sock"}, "output_file": "/d/detach/o.out", "newer": [1],
}  # fmt: skip
NO_PACKAGE = """
[bold]ERROR[/bold]: OpenAI API requires optional dependencies. Install with:

[bold]pip install openai[/bold]
"""
NO_KEY = """
ERROR: Unable to initialise OpenAI client

No [bold][blue]OPENAI_API_KEY[/blue][/bold] defined in the environment.
"""


def test_an_engine_is_known_by_its_name() -> None:
    assert DEFAULT_ENGINE in ENGINES
    assert all(engine_named(name).name == name for name in ENGINES)
    with pytest.raises(SpecWrong, match='"engine" is wrong: "slurm"') as wrong:
        engine_named("slurm")
    assert "detach, tmux" in wrong.value.advice


def test_a_detached_run_is_its_scripts_own_start() -> None:
    made = plan(spec())
    assert (made.starts_with, made.attach) == ("start.sh", ())
    assert "launch.sh" not in made.files


def test_a_tmux_run_is_started_by_a_script_of_its_engine() -> None:
    made = plan(spec("engine = 'tmux'"))
    assert made.starts_with == "launch.sh"
    text = made.files["launch.sh"].decode()
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    assert made.attach == attach_command(f"smoke-{made.run[-8:]}")
    assert "env -i" in text
    assert " -e " not in text


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_keeps_a_process_and_lets_it_be_steered_where_asked(name: str) -> None:
    command = plan(spec(f"engine = '{name}'\nkeep = true\nacp = true")).command
    assert {"--ctl-server=keep", "--acp-server=true"} <= set(command)


def test_inspects_launch_record_is_read() -> None:
    output = f"a warning\n{json.dumps(RECORD)}\n"
    assert engine_named("detach").read(0, output, "") == StartResult(
        pid=7, log_dir="/l", output=FileOutput("/d/detach/o.out")
    )
    bare = engine_named("detach").read(0, '{"event": "launch", "pid": 7, "control": null}', "")
    assert bare == StartResult(pid=7)


@pytest.mark.parametrize(
    "before",
    ["\x1b[?1034h", "\ufeff", "Welcome to gpu1 ", '{"event": "motd"}', "{ warning: ", "x\r\n"],
    ids=ascii,
)
def test_text_printed_around_a_record_is_not_part_of_it(before: str) -> None:
    for name, record in (("detach", json.dumps(RECORD)), ("tmux", '{"session": "smoke-x"}')):
        engine = engine_named(name)
        assert engine.read(0, f"{before}{record}\r\n{{}}", "") == engine.read(0, record, "")


def test_a_start_that_found_all_complete_says_so() -> None:
    done = '{"event": "done", "run_id": null, "eval_set_id": "s", "success": true, "logs": []}'
    assert engine_named("detach").read(0, done, "") == StartResult(is_complete=True)


@pytest.mark.parametrize("name", ["detach", "tmux"])
def test_a_second_start_says_what_the_first_did_or_that_it_is_on_its_way(name: str) -> None:
    engine = engine_named(name)
    output = json.dumps(RECORD) if name == "detach" else '{"session": "smoke-x"}'
    assert engine.read(EXIT_ALREADY_STARTED, output, "") == engine.read(0, output, "")
    assert engine.read(EXIT_ALREADY_STARTED, "", "evalroom: it was started before") == StartResult()


@pytest.mark.parametrize(
    "output",
    [
        "",
        "{",
        "[]",
        '{"event": "launch"}',
        '{"event": "launch", "pid": -1}',
        '{"event": "launch", "pid": "7"}',
        '{"event": "launch", "pid": 7, "log_dir": 3}',
        '{"session": "a:b"}',
        '{"session": "-x"}',
        '{"session": "a b"}',
        '{"session": 7}',
        pytest.param('{"event": "launch", "pid": 7, "x": ' + "[" * 30_000, id="nested"),
    ],
)
@pytest.mark.parametrize("name", ["detach", "tmux"])
def test_a_bad_record_is_a_failure(name: str, output: str) -> None:
    with pytest.raises(JobFailed, match="did not start"):
        engine_named(name).read(0, output, "")


@pytest.mark.parametrize(
    ("output", "says", "advice"),
    [
        # As Inspect 0.3.285, uv and a shell say it.
        ("\nTask named 'nope' not found.\n", "has no task nope", "in `task`"),
        ("Error: No inspect tasks were found at the specified paths.", "did not find a task",
         "check `task`"),
        ("Traceback\n  x\nValueError: Model API nope of model 'nope/x' not recognized.",
         "does not know the provider nope", "check `model`"),
        (NO_PACKAGE, "OpenAI API needs the package openai", 'add packages = ["openai"]'),
        (NO_KEY, "OpenAI did not find OPENAI_API_KEY", "add OPENAI_API_KEY to `secrets`"),
        ("Usage: inspect eval-set [OPTIONS]\n\nError: No such option '--frob'.",
         "has no option --frob", "remove it"),
        ("Detached launch failed — the control endpoint did not bind", "control channel",
         "shorter"),
        ("/usr/bin/python3: No module named inspect_ai", "not have Inspect", "remove `python`"),
        ("evalroom: no secret was given for A_KEY", "no secret was given for A_KEY", "secrets set"),
        ("evalroom: /no/python can't be started: No such file or directory",
         "/no/python can't be started", "correct `python`"),
        ("OSError: [Errno 28] No space left on device: 'x'", "disk is full", "free some space"),
        ("OSError: [Errno 28] No space left on device: '/tmp/x'", "the disk of /tmp/x is full",
         "free some space"),
        ("OSError: [Errno 24] Too many open files: 'x'", "it ran out of open files", "max_samples"),
        ("RuntimeError: can't start new thread", "no more processes or threads", "that limit"),
        ("fork: Resource temporarily unavailable", "no more processes", "raise that limit"),
        ("MemoryError", "it ran out of memory", "max_samples"),
        ("error: Failed to fetch: `https://x/simple/inspect-ai/`", "could not download", "prepare"),
        ("Traceback (most recent call last):\n File x\nOSError: no [bold]data[/bold] [Errno 2]\n",
         "OSError: no data [Errno 2]", "read its output"),
        ("\x1b[1mhm\x1b[0m\n\x1b]0;title\x07last \x1b[31mwords\x9b\n", "last words", "output"),
        ("╭──────╮\n│ why  │\n╰──────╯\n\nPane is dead (status 1, now)\n", ": why", "output"),
        ("", "its output does not say why (exit status 3)", "output"),
    ],
)  # fmt: skip
def test_a_failure_is_a_sentence_with_what_to_look_at_first(
    output: str, says: str, advice: str
) -> None:
    error = start_failure(output, 3)
    assert error.message.startswith("the run did not start")
    assert says in error.message
    assert advice in error.advice
    assert (error.message + error.advice).isprintable()


def test_a_machine_without_tmux_says_so() -> None:
    with pytest.raises(JobFailed, match="tmux is not installed") as failed:
        engine_named("tmux").read(69, "", "")
    assert 'engine = "detach"' in failed.value.advice


def test_a_tmux_start_answers_how_to_attach_and_how_to_read_its_screen() -> None:
    assert engine_named("tmux").read(0, '{"session": "smoke-x-2"}\n', "") == StartResult(
        attach=attach_command("smoke-x-2"), output=ScreenOutput(screen_command("smoke-x-2"))
    )


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("evalroom/smoke", "smoke-vdmc2a9g"),
        ("a/b.py@my task: v1.2", "my-task-v1-2-vdmc2a9g"),
        ("x.py@ünï", "n-vdmc2a9g"),
        ("x.py@--", "run-vdmc2a9g"),
        ("x.py@$(id);`id`", "id-id-vdmc2a9g"),
        (f"x/{'long' * 40}", f"{('long' * 40)[:51]}-vdmc2a9g"),
    ],
)
def test_the_name_of_a_session_is_one_that_tmux_and_shells_take(task: str, name: str) -> None:
    assert session_name(RUN, task) == name


def test_sessions_are_read_from_their_list() -> None:
    listed = (
        f"1795986175 0 0 = ={RUN} smoke-vdmc2a9g\n"
        "1795986100 1 1 =3 = by hand\n"
        "1795986100 1 0 = = by hand\n"
        "1795986180 0 1 =0 =20261129-210255-aaaaaaaa gone-aaaaaaaa\n"
        "no session\n\nx 0 0 = = a\n1 0 2 = = a\n1 0 0 =\n"
    )
    assert parse_sessions(listed) == (
        TmuxSession(name="by hand", created=1795986100, attached=1, has_ended=False, status=None,
                run=None),
        TmuxSession(name="smoke-vdmc2a9g", created=1795986175, attached=0, has_ended=False,
                status=None, run=RUN),
        TmuxSession(name="gone-aaaaaaaa", created=1795986180, attached=0, has_ended=True,
                status=0, run="20261129-210255-aaaaaaaa"),
    )  # fmt: skip
    _, running, ended = parse_sessions(listed)
    assert "will be killed" in end_effect(running)
    assert "its logs stay" in end_effect(ended)


def test_a_client_of_the_same_server_switches_to_a_session() -> None:
    words = attach_command("smoke-x")
    own, other = "/tmp/tmux-0/evalroom,12,0", "/tmp/tmux-0/default,12,0"
    assert switch_command(words, own) == ("tmux", "switch-client", "-t", "=smoke-x")
    assert switch_command(words, other) is None
    assert switch_command(("screen", "-r"), own) is None
