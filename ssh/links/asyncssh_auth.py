"""Authentication for asyncssh: the operator's answers, kept in memory only."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncssh

from core.model.question import Question, machine_question
from core.ports import Ask
from core.text import shown
from ssh.links.resolved_host import ResolvedHost

MAX_QUESTION_ROUNDS = 3
"""How often a server may ask its questions in one login."""
_PASSWORD_TEXT = "password"  # noqa: S105 - a word of a prompt


@dataclass(slots=True)
class Credentials:
    """What the operator typed to sign in to one machine; never written to disk.

    Attributes:
        passphrases: By the path of the key file.
        passwords: By `user@host:port`: the machine and its jump hosts have their own.
    """

    passphrases: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    passwords: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    def forget(self) -> None:
        """Drop all values, after a failed login."""
        self.passphrases.clear()
        self.passwords.clear()


class AuthClient(asyncssh.SSHClient):
    """asyncssh's callbacks during the login: answers with what the operator typed."""

    def __init__(self, host: ResolvedHost, credentials: Credentials, ask: Ask | None) -> None:
        self._host = host
        self._credentials = credentials
        self._ask = ask
        self._password_tried = False
        self._rounds = 0
        self._questions_asked = True
        self._keeps_password = True

    async def password_auth_requested(self) -> str | None:
        """See asyncssh. Tries one password once per login."""
        passwords, address = self._credentials.passwords, self._host.address
        if self._password_tried:
            self._credentials.forget()
            return None
        if address not in passwords and self._ask is not None:
            question = Question(text=shown(f"Password for {address}; it is sent to that machine"))
            answer = await self._ask(question)
            if answer is not None:
                passwords[address] = answer
        self._password_tried = address in passwords
        return passwords.get(address)

    def kbdint_auth_requested(self) -> str | None:
        """See asyncssh. Accepts if there is an answer: the operator's, or a password of before.

        A server that asked nothing in the round before has no questions: sshd offers this method
        even if nothing is behind it. The next method is then tried before sshd gives up.
        """
        has_questions, self._questions_asked = self._questions_asked, False
        self._rounds += 1
        can_answer = self._ask is not None or (
            self._host.address in self._credentials.passwords and self._rounds == 1
        )
        if not can_answer or not has_questions or self._rounds > MAX_QUESTION_ROUNDS:
            return None
        return ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        """See asyncssh. A password is kept in memory; answers to other questions are used once."""
        del name, lang
        passwords, address = self._credentials.passwords, self._host.address
        answers: list[str] = []
        for prompt, echo in prompts:
            self._questions_asked = True
            is_password = not echo and _PASSWORD_TEXT in prompt.lower()
            if not is_password:
                self._keeps_password = False
                passwords.pop(address, None)
            answer = passwords.get(address) if is_password and self._rounds == 1 else None
            if answer is None and self._ask is not None:
                answer = await self._ask(
                    machine_question(address, instructions, prompt, is_seen=echo)
                )
            if answer is None:
                return None
            if is_password and self._keeps_password:
                passwords[address] = answer
            answers.append(answer)
        return answers
