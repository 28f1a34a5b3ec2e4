"""The ControlMaster that a command link's ssh would use; the operator may use it too.

A session that a master is asked for while the network is dead waits in it, and sshd serves at most
MaxSessions of them once the network is back. So after silence the next tries go around the master.
The master is told to take no more sessions (`ssh -O stop`, which leaves its present ones alone) as
soon as the network is known to work without it. Where a login around it needs the operator, the
master is asked once more before that.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping

from ssh.links.config_parser import Options
from ssh.links.ssh_command import is_ssh, option_words

ANSWER_TIMEOUT_S = 3.0
"""How long a master may take to answer `ssh -O`, seconds."""
_AROUND = {"ControlPath": "none", "ControlMaster": "no"}


class ControlMaster:
    """The master of one machine's command link, over all tries.

    Args:
        command: The command of the config.
    """

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._environment: Mapping[str, str] | None = None
        self._is_avoided = False
        self._network_works = False
        """Whether a host rejected a login around the master since the master was silent."""
        self.is_used = False
        """Whether the present try uses a master that was open before it."""

    @property
    def is_avoided(self) -> bool:
        """Whether the present try goes around the master."""
        return self._is_avoided

    async def options(
        self, effective: Options, environment: Mapping[str, str] | None
    ) -> dict[str, str]:
        """Return the options of ssh for the next try.

        Args:
            effective: The options that ssh would use by itself.
            environment: The environment of ssh; None: that of evalroom.
        """
        self._environment = environment
        self.is_used = False
        has_path = effective.get("controlpath", ("none",))[0] != "none"
        if not is_ssh(self._command) or not has_path:
            self._is_avoided = False
            return {}
        if self._is_avoided:
            return dict(_AROUND)
        self.is_used = await self._answers("check")
        return {}

    async def came_up(self) -> None:
        """Note that the present try reached the machine."""
        self._network_works = False
        if self._is_avoided:
            self._is_avoided = False
            await self._stop()

    async def went_silent(self) -> None:
        """Note that no data came over the present try."""
        if not self.is_used:
            return
        if self._network_works:
            await self._stop()
        self._is_avoided = not self._network_works
        self._network_works = False

    def was_rejected(self) -> None:
        """Note that a login around the master needs the operator: use the master once more."""
        self._is_avoided, self._network_works = False, True

    def use_again(self) -> None:
        """Use the master in the next try: the operator signs in, or asks for a retry."""
        self._is_avoided = self._network_works = False

    async def _stop(self) -> None:
        if await self._answers("check"):
            await self._answers("stop")

    async def _answers(self, order: str) -> bool:
        """Give the master an order; return whether one took it."""
        words = (*option_words({"BatchMode": "yes"}), *self._command[1:])
        try:
            child = await asyncio.create_subprocess_exec(
                self._command[0],
                "-O",
                order,
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                env=self._environment,
            )
        except OSError:
            return False
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await child.wait() == 0
        except TimeoutError:
            return False
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
