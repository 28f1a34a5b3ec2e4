"""A question to the operator during a sign-in: evalroom's own, or one that a machine asks."""

import re
from dataclasses import dataclass

from core.text import Shown, shown

MAX_QUESTION_CHARS = 300
"""How much of a machine's question is shown."""
_OF_A_KEY = re.compile(
    r"pass\W{0,3}phrase|private\W{0,3}key|key\W{0,3}file|\.ssh\b|id_(rsa|dsa|ecdsa|ed25519)"
    r"|\bssh\W{0,3}(agent|key)|key\W{0,3}ring|\byubikey\W{0,3}pin",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to the operator.

    Attributes:
        text: The question: evalroom's words, or those of `sender`.
        sender: The address of the machine that sent the words, and gets the answer; empty: they
            are evalroom's own.
        is_seen: Whether the answer is shown while it is typed.
    """

    text: Shown
    sender: str = ""
    is_seen: bool = False

    @property
    def asks_for_a_key(self) -> bool:
        """Whether a machine asks for something that belongs to this computer alone.

        Only evalroom itself asks for the passphrase of a key, and never sends it.
        """
        return bool(self.sender) and _OF_A_KEY.search(self.text) is not None


def machine_question(sender: str, instructions: str, prompt: str, *, is_seen: bool) -> Question:
    """Return a machine's question; its words are made harmless.

    Args:
        sender: The machine's address.
        instructions: Its words before all prompts of a round.
        prompt: Its words for this answer.
        is_seen: Whether the machine wants the answer to be shown while it is typed.
    """
    text = shown(f"{instructions} {prompt}".strip(), MAX_QUESTION_CHARS)
    return Question(text=text, sender=sender, is_seen=is_seen)
