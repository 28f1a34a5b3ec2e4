"""Host keys: unknown, changed, revoked; in evalroom's known_hosts and in the user's."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import StorageError
from core.model.machine import LinkState
from tests.support.reached import connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd, fingerprint, prepared


async def test_an_unknown_key_is_shown_and_accepted_by_its_fingerprint(
    sshd: Sshd, tmp_path: Path
) -> None:
    own = tmp_path / "state" / "known_hosts"
    before = sshd.log().count("Accepted publickey")
    connection = connection_of(machine_of(sshd), own)
    async with receiving(connection) as received:
        needs = await received.link(LinkState.NEEDS_TRUST)
        assert needs.fingerprint is not None
        assert needs.fingerprint == fingerprint(sshd.root / "host_ed25519.pub")
        assert needs.retry_at is None
        assert sshd.log().count("Accepted publickey") == before
        connection.accept_key("SHA256:some-other-key")
        assert not own.exists()
        connection.accept_key(needs.fingerprint)
        await received.hello()
        assert own.read_text() == sshd.known_hosts_line()
        assert own.stat().st_mode & 0o777 == 0o600
        assert own.parent.stat().st_mode & 0o777 == 0o700


async def test_a_key_that_can_not_be_written_down_stays_unknown(sshd: Sshd, tmp_path: Path) -> None:
    own = tmp_path / "known_hosts"
    own.mkdir()
    connection = connection_of(machine_of(sshd), own)
    async with receiving(connection) as received:
        needs = await received.link(LinkState.NEEDS_TRUST)
        assert needs.fingerprint is not None
        with pytest.raises(StorageError, match="the host key was not accepted"):
            connection.accept_key(needs.fingerprint)
        assert received.state is LinkState.NEEDS_TRUST
        own.rmdir()
        connection.accept_key(needs.fingerprint)
        await received.hello()


async def test_a_changed_key_is_refused_with_both_fingerprints(sshd: Sshd, tmp_path: Path) -> None:
    known = trusting(sshd, tmp_path, key="other_ed25519")
    connection = connection_of(machine_of(sshd), known)
    async with receiving(connection) as received:
        refused = await received.link(LinkState.REFUSED)
        assert refused.reason is not None
        assert "has changed" in refused.reason
        assert fingerprint(sshd.root / "host_ed25519.pub") in refused.reason
        assert fingerprint(sshd.root / "other_ed25519.pub") in refused.reason
        assert "ssh-keygen -R" in (refused.advice or "")
        connection.accept_key(fingerprint(sshd.root / "host_ed25519.pub"))
        assert known.read_text() == sshd.known_hosts_line("other_ed25519")


async def test_a_key_of_another_kind_is_a_changed_one_too(sshd: Sshd, tmp_path: Path) -> None:
    connection = connection_of(machine_of(sshd), trusting(sshd, tmp_path, key="host_rsa"))
    async with receiving(connection) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "has changed" in (refused.reason or "")


async def test_a_revoked_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_text("@revoked " + sshd.known_hosts_line() + sshd.known_hosts_line())
    async with receiving(connection_of(machine_of(sshd), known)) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "revoked" in (refused.reason or "")
        assert fingerprint(sshd.root / "host_ed25519.pub") in (refused.reason or "")


async def test_the_known_one_of_several_keys_is_asked_for(tmp_path: Path) -> None:
    with prepared() as server:
        server.host_keys = ("host_ed25519", "host_rsa")
        server.start()
        known = trusting(server, tmp_path, key="host_rsa")
        async with receiving(connection_of(machine_of(server), known)) as received:
            await received.hello()


async def test_the_users_known_hosts_is_read_and_never_written(sshd: Sshd, tmp_path: Path) -> None:
    users, config = tmp_path / "users", tmp_path / "config"
    config.write_text(f"UserKnownHostsFile {users}\n")
    users.write_text("what is this line?\n\n# a comment\n" + sshd.known_hosts_line())
    before = users.read_bytes()
    own = tmp_path / "own"
    async with receiving(connection_of(machine_of(sshd, ssh_config=str(config)), own)) as received:
        await received.hello()
    assert users.read_bytes() == before
    assert not own.exists()


async def test_a_missing_known_hosts_file_gives_no_trust(sshd: Sshd, tmp_path: Path) -> None:
    machine = replace(machine_of(sshd), known_hosts=str(tmp_path / "missing"))
    async with receiving(connection_of(machine, tmp_path / "own")) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "missing" in (refused.reason or "")


async def test_ssh_config_can_not_switch_checking_off(sshd: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile none\n")
    machine = machine_of(sshd, ssh_config=str(config))
    async with receiving(connection_of(machine, tmp_path / "own")) as received:
        await received.link(LinkState.NEEDS_TRUST)


async def test_an_unknown_key_is_refused_where_ssh_config_is_strict(
    sshd: Sshd, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("StrictHostKeyChecking yes\nUserKnownHostsFile none\n")
    machine = machine_of(sshd, ssh_config=str(config))
    async with receiving(connection_of(machine, tmp_path / "own")) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "StrictHostKeyChecking yes" in (refused.reason or "")
        assert sshd.known_hosts_line().strip() in (refused.advice or "")
