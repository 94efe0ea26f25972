"""Passwords: argon2id, hashed in a thread so that nobody else waits for it."""

import asyncio
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

# RFC 9106's second recommendation: 64 MiB, 3 passes, 4 lanes.
_HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
# At most so many at once: each takes 64 MiB.
_TURNS = asyncio.Semaphore(4)
# Of 32 random bytes that nobody kept. An e-mail that nobody has costs the same time as one with a wrong password.
_NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$Evigo6fokX/tCIs8FDtRhg$RkOPqfjlPY2BKfecupyRvO14oDbGTH8ZkJW7CWQz1iY"


def _plain(password: str) -> str:
    """The same letters, however a keyboard composed them."""
    return unicodedata.normalize("NFC", password)


async def hash_password(password: str) -> str:
    async with _TURNS:
        return await asyncio.to_thread(_HASHER.hash, _plain(password))


async def is_password(password: str, kept: str | None) -> bool:
    """Whether it is the one that was kept; as slow when nothing was."""
    async with _TURNS:
        right = await asyncio.to_thread(_verify, _plain(password), kept or _NOBODYS)
    return right and kept is not None


def is_outdated(kept: str) -> bool:
    return _HASHER.check_needs_rehash(kept)


def _verify(password: str, kept: str) -> bool:
    try:
        return _HASHER.verify(kept, password)
    except (VerificationError, InvalidHashError):
        return False
