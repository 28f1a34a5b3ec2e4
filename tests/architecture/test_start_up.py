"""The modules that a fresh interpreter loads. The static contracts can't see this."""

import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

HEAVY = ("textual", "asyncssh", "inspect_ai", "keyring")


def _loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint('LOADED', *sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=50
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert lines, done.stderr
    return set(lines[-1].split()[1:])


def _main(*words: str) -> str:
    return (
        f"from cli.main import main\ntry:\n    main({list(words)!r})\nexcept SystemExit:\n    pass"
    )


def test_version_loads_nothing_heavy() -> None:
    assert not _loaded_after(_main("--version")) & set(HEAVY)


def test_a_local_status_loads_nothing_heavy(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    assert not _loaded_after(_main("status", "--json")) & set(HEAVY)


def test_the_app_loads_no_inspect_and_no_keyring() -> None:
    assert not _loaded_after("import tui.app, storage.secrets") & {"inspect_ai", "keyring"}


def test_an_ssh_machine_alone_loads_asyncssh() -> None:
    assert "asyncssh" not in _loaded_after(
        "import ssh.factory, ssh.link_supervisor, ssh.probe_session"
    )


@pytest.mark.parametrize("package", ["cli", "core", "ssh", "storage", "tui"])
def test_no_other_distribution_owns_our_packages(package: str) -> None:
    assert set(packages_distributions().get(package, ["evalroom"])) == {"evalroom"}
