"""Finds the ssh agent of the operator, and notices when one answers again.

The SSH_AUTH_SOCK of a process that lives in tmux for weeks is that of a login which has ended.
tmux learns the variable of each new login, so it is asked as well.
"""

import asyncio
import contextlib
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from core.text import shown
from ssh.links.resolved_host import AGENT_VARIABLE, agent_socket

ANSWER_TIMEOUT_S = 3.0
"""How long an agent or tmux may take to answer, seconds."""
POLL_EVERY_S = 3.0
"""Pause between two queries of an agent that did not help, seconds."""
_TMUX_ANSWER_LASTS_S = 1.0
_MAX_ANSWER_BYTES = 1024 * 1024
_REQUEST_IDENTITIES = b"\0\0\0\1\x0b"
_IDENTITIES_ANSWER = 12


@dataclass(frozen=True, slots=True)
class AgentState:
    """An ssh agent at one moment.

    Attributes:
        path: Its socket; None: no socket is known, or ssh_config wants no agent.
        keys: The public keys that it holds; None: it does not answer.
    """

    path: str | None
    keys: tuple[bytes, ...] | None

    def problem(self) -> str | None:
        """Return why this agent can't help with a login; None: it holds keys."""
        if self.path is None:
            return f"no ssh agent is running ({AGENT_VARIABLE} is not set)"
        if self.keys is None:
            return f"no ssh agent answers at {shown(self.path, 120)}"
        return None if self.keys else f"the ssh agent at {shown(self.path, 120)} holds no keys"


NO_AGENT = AgentState(None, None)


class AgentWatch:
    """The agent that the links of one machine use; remembers how it was at the last try."""

    def __init__(self) -> None:
        self._is_helped = asyncio.Event()
        self._identity_agent: str | None = None
        self._seen: AgentState | None = None

    @property
    def seen(self) -> AgentState:
        """How the agent was at the last try."""
        return self._seen or NO_AGENT

    async def query(self, identity_agent: str | None) -> AgentState:
        """Return the present agent, and remember it.

        Args:
            identity_agent: IdentityAgent of ssh_config; None: not set.
        """
        self._identity_agent = identity_agent
        self._seen = await present_agent(identity_agent)
        return self._seen

    def help(self) -> None:
        """Note that another machine's login now helps this one: `changed` and `helped` return."""
        self._is_helped.set()

    def forget_help(self) -> None:
        """Forget an earlier `help`: a new try begins."""
        self._is_helped.clear()

    async def helped(self) -> None:
        """Wait for `help`."""
        await self._is_helped.wait()
        self._is_helped.clear()

    async def changed(self) -> None:
        """Wait until an agent with other keys than at the last try answers, or for `help`.

        Never returns by itself if no try used an agent.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_EVERY_S):
                    await self._is_helped.wait()
                    self._is_helped.clear()
                    return
            if self._seen is None or self._identity_agent == "none":
                continue
            now = await present_agent(self._identity_agent)
            if now.keys and now.keys != self._seen.keys:
                return


async def present_agent(identity_agent: str | None) -> AgentState:
    """Return the agent to use: the one that ssh_config names, else one that holds keys.

    Args:
        identity_agent: IdentityAgent of ssh_config; None: not set.
    """
    own = agent_socket(identity_agent, os.environ)
    state = AgentState(own, await _keys(own) if own else None)
    if state.keys or identity_agent not in {None, AGENT_VARIABLE}:
        return state
    path = await _tmux_socket()
    if path is None or path == own:
        return state
    other = AgentState(path, await _keys(path))
    if other.keys or state.keys is None:
        return other
    return state


def environment_with(state: AgentState) -> Mapping[str, str]:
    """Return the environment of a child that is to use this agent."""
    if state.path is None or state.keys is None:
        return os.environ
    return {**os.environ, AGENT_VARIABLE: state.path}


async def _keys(path: str) -> tuple[bytes, ...] | None:
    """Return the public keys of the agent at `path`; None: it does not answer."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(_REQUEST_IDENTITIES)
                (size,) = struct.unpack(">I", await reader.readexactly(4))
                if not 0 < size <= _MAX_ANSWER_BYTES:
                    return None
                return _read_keys(await reader.readexactly(size))
            finally:
                writer.close()
    except (OSError, EOFError, ValueError, TimeoutError, struct.error):
        return None


def _read_keys(answer: bytes) -> tuple[bytes, ...]:
    if answer[0] != _IDENTITIES_ANSWER:
        return ()  # the agent is locked, or refuses to list its keys
    (count,) = struct.unpack_from(">I", answer, 1)
    at, keys = 5, list[bytes]()
    for _ in range(count):
        (size,) = struct.unpack_from(">I", answer, at)
        keys.append(answer[at + 4 : at + 4 + size])
        at += 4 + size
        (comment,) = struct.unpack_from(">I", answer, at)
        at += 4 + comment
    return tuple(keys)


class _TmuxAnswer:
    """The last answer of tmux, shared by all machines."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at = float("-inf")
        self.path: str | None = None


_ANSWERS: WeakKeyDictionary[asyncio.AbstractEventLoop, _TmuxAnswer] = WeakKeyDictionary()


async def _tmux_socket() -> str | None:
    """Return SSH_AUTH_SOCK as tmux knows it for this session; None: outside tmux, or not set."""
    if not os.environ.get("TMUX"):
        return None
    answer = _ANSWERS.setdefault(asyncio.get_running_loop(), _TmuxAnswer())
    async with answer.lock:
        if time.monotonic() - answer.at > _TMUX_ANSWER_LASTS_S:
            answer.path = await _ask_tmux()
            answer.at = time.monotonic()
        return answer.path


async def _ask_tmux() -> str | None:
    try:
        child = await asyncio.create_subprocess_exec(
            "tmux",
            "show-environment",
            AGENT_VARIABLE,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            out, _ = await child.communicate()
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    name, _, path = out.decode(errors="surrogateescape").strip().partition("=")
    return path or None if name == AGENT_VARIABLE else None
