"""The operator's secrets, in this computer's keyring or in a file (mode 0600)."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from core.errors import SecretMissing
from core.launch.secret_store import KeptIn, check_name, check_value
from storage.os_keyring import OsKeyring
from storage.secret_file import StoredSecrets, change_secrets, read_secrets


class Secrets:
    """Implements `core.launch.secret_store.SecretStore`.

    Args:
        path: The secrets file: the names of all secrets, and the values that no keyring has.
        keyring: The keyring to prefer; None: this computer's.
    """

    def __init__(self, path: Path, keyring: OsKeyring | None = None) -> None:
        self.path = path
        self._keyring = OsKeyring() if keyring is None else keyring

    async def names(self) -> Mapping[str, KeptIn]:
        """See `SecretStore.names`."""
        kept = await asyncio.to_thread(read_secrets, self.path)
        where: dict[str, KeptIn] = dict.fromkeys(kept.in_keyring, "keyring")
        where |= dict.fromkeys(kept.values, "file")
        return MappingProxyType(dict(sorted(where.items())))

    async def open(self, names: Collection[str]) -> Mapping[str, str]:
        """See `SecretStore.open`."""
        kept = await asyncio.to_thread(read_secrets, self.path)
        found = {name: kept.values[name] for name in names if name in kept.values}
        elsewhere = [name for name in names if name in kept.in_keyring and name not in found]
        if elsewhere:
            found |= await self._keyring.get(elsewhere)
        missing = [name for name in names if name not in found]
        if missing:
            raise SecretMissing(tuple(dict.fromkeys(missing)))
        return MappingProxyType(found)

    async def set(self, name: str, value: str) -> KeptIn:
        """See `SecretStore.set`."""
        check_name(name)
        check_value(name, value)
        is_in_keyring = await self._keyring.set(name, value)

        def change(kept: StoredSecrets) -> StoredSecrets:
            values = {each: held for each, held in kept.values.items() if each != name}
            if is_in_keyring:
                return StoredSecrets(values=values, in_keyring=kept.in_keyring | {name})
            return StoredSecrets(
                values={**values, name: value}, in_keyring=kept.in_keyring - {name}
            )

        await asyncio.to_thread(change_secrets, self.path, change)
        return "keyring" if is_in_keyring else "file"

    async def delete(self, name: str) -> None:
        """See `SecretStore.delete`."""
        known = await self.names()
        if name not in known:
            raise SecretMissing((name,))
        if known[name] == "keyring":
            await self._keyring.delete(name)

        def change(kept: StoredSecrets) -> StoredSecrets:
            values = {each: held for each, held in kept.values.items() if each != name}
            return replace(kept, values=values, in_keyring=kept.in_keyring - {name})

        await asyncio.to_thread(change_secrets, self.path, change)
