"""Every error of the library and the system becomes an error of evalroom."""

import errno
import inspect as introspection
import socket

import asyncssh
import pytest

from core.errors import HostKeyRefused, LinkLost, MachineError, NeedsYou
from core.ids import MachineName
from ssh.links.errors import TRANSLATIONS, as_machine_errors, machine_error

M = MachineName("m")
THEIRS = [
    error
    for _, error in introspection.getmembers(asyncssh, introspection.isclass)
    if issubclass(error, BaseException) and error.__module__.startswith("asyncssh")
]


@pytest.mark.parametrize("error", THEIRS, ids=lambda error: error.__name__)
def test_each_error_of_asyncssh_is_translated(error: type[BaseException]) -> None:
    assert any(kind in TRANSLATIONS for kind in error.__mro__ if kind is not Exception), error


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (asyncssh.PermissionDenied("no"), NeedsYou),
        (asyncssh.ProtocolError("Too many authentication failures"), NeedsYou),
        (asyncssh.HostKeyNotVerifiable("no"), HostKeyRefused),
        (asyncssh.ConnectionLost("gone"), LinkLost),
        (asyncssh.ChannelOpenError(2, "open failed"), LinkLost),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), LinkLost),
        (ConnectionResetError(errno.ECONNRESET, "reset"), LinkLost),
        (socket.gaierror(socket.EAI_NONAME, "not known"), LinkLost),
        (OSError(errno.EHOSTUNREACH, "No route to host"), LinkLost),
        (TimeoutError(), LinkLost),
    ],
)
def test_a_passing_failure_differs_from_one_that_needs_a_person(
    error: Exception, ours: type[MachineError]
) -> None:
    assert type(machine_error(M, error)) is ours
    with pytest.raises(ours) as caught, as_machine_errors(M):
        raise error
    assert caught.value.machine == M
    assert caught.value.message


def test_a_port_where_nobody_listens_is_reported_with_what_to_do() -> None:
    error = machine_error(M, ConnectionRefusedError(errno.ECONNREFUSED, "refused"))
    assert f"check `port` of {M} in the config" in error.advice


def test_text_of_a_server_is_harmless_in_our_words() -> None:
    error = machine_error(M, asyncssh.PermissionDenied("\x1b]52;c;AAAA\x07"))
    assert "\x1b" not in error.message
