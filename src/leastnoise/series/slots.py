"""One kept number as bytes, plain or encrypted under a passphrase.

    nonce (12)   value (8)   tag (16)   checksum (8)        all zero once the number is used

The checksum, over all that the number belongs to, tells without a passphrase whether a slot is
whole: one that a power cut left half erased is not, and its number is lost. Encrypted, value and
tag are those of ChaCha20-Poly1305 under a key that scrypt makes of the passphrase; plain, the tag
is random, as the nonce always is. That keeps what the ledger knows of the unused slots, a digest,
from telling anything about a number that is erased: whoever steals the file later cannot try
values until the digest fits, for the random bytes are erased with the value.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leastnoise.errors import InvalidParameterError, SeriesError
from leastnoise.optional import required

_NONCE, _VALUE, _TAG, _CHECK = 12, 8, 16, 8
SLOT = _NONCE + _VALUE + _TAG + _CHECK
USED = bytes(SLOT)
# 128 MB and about half a second for every guess at the passphrase
_SCRYPT = {"n": 1 << 17, "r": 8, "p": 1}
_LONGEST = 1024  # letters of a passphrase


@dataclass(frozen=True)
class Cipher:
    """How slots are written and read; without a key they are plain, or cannot be read here."""

    key: bytes | None = field(default=None, repr=False)
    is_locked: bool = False

    def slot(self, value: int, place: bytes) -> bytes:
        """The bytes of a number; `place` is what it belongs to: the series and its place in it."""
        nonce, plain = os.urandom(_NONCE), value.to_bytes(_VALUE, "little", signed=True)
        if self.key is None:
            body = nonce + plain + os.urandom(_TAG)
        else:
            body = nonce + bytes(_aead(self.key).encrypt(nonce, plain, place))
        return body + _checksum(body, place)

    def value(self, slot: bytes, place: bytes) -> int | None:
        """The number of a slot; None where it is used, or was left half erased."""
        if not is_whole(slot, place):
            return None
        nonce, rest = slot[:_NONCE], slot[_NONCE:-_CHECK]
        plain = rest[:_VALUE] if self.key is None else _decrypted(self.key, nonce, rest, place)
        return None if plain is None else int.from_bytes(plain, "little", signed=True)


def is_whole(slot: bytes, place: bytes) -> bool:
    """Whether a slot is as it was written, neither used nor half erased."""
    return slot[-_CHECK:] == _checksum(slot[:-_CHECK], place)


def _checksum(body: bytes, place: bytes) -> bytes:
    return hashlib.sha256(place + body).digest()[:_CHECK]


def new_cipher(passphrase: str | None) -> tuple[Cipher, dict[str, Any] | None]:
    """A cipher for a new file, and what the file says of it."""
    if passphrase is None:
        return Cipher(), None
    salt = os.urandom(16)
    key = _derived(passphrase, salt)
    check = bytes(_aead(key).encrypt(bytes(_NONCE), b"", salt))
    told = {"kdf": "scrypt", **_SCRYPT, "salt": salt.hex()}
    return Cipher(key), {**told, "cipher": "ChaCha20-Poly1305", "check": check.hex()}


def known_cipher(told: Mapping[str, Any] | None, passphrase: str | None) -> Cipher:
    """The cipher of a file that says this of it, or a SeriesError."""
    if told is None:
        if passphrase is not None:
            raise InvalidParameterError("passphrase", "…", "to be left out: the file has none")
        return Cipher()
    if passphrase is None:
        return Cipher(is_locked=True)
    try:
        stated = {name: told[name] for name in ("kdf", *_SCRYPT, "cipher")}
        salt, check = bytes.fromhex(told["salt"]), bytes.fromhex(told["check"])
    except (KeyError, TypeError, ValueError):
        stated = {}
    if stated != {"kdf": "scrypt", **_SCRYPT, "cipher": "ChaCha20-Poly1305"}:
        raise SeriesError("The series is encrypted in a way that is not known here.")
    key = _derived(passphrase, salt)
    if _decrypted(key, bytes(_NONCE), check, salt) is None:
        raise SeriesError("The passphrase is not that of the series.")
    return Cipher(key)


def _derived(passphrase: str, salt: bytes) -> bytes:
    if not isinstance(passphrase, str) or not 1 <= len(passphrase) <= _LONGEST:
        raise InvalidParameterError("passphrase", "…", f"to be text of 1 to {_LONGEST} letters")
    secret = passphrase.encode("utf-8", "surrogatepass")
    kdf = required("cryptography.hazmat.primitives.kdf.scrypt", "encrypted", _PURPOSE)
    return bytes(kdf.Scrypt(salt=salt, length=32, **_SCRYPT).derive(secret))


_PURPOSE = "A passphrase needs the package cryptography"


def _aead(key: bytes) -> Any:
    module = required("cryptography.hazmat.primitives.ciphers.aead", "encrypted", _PURPOSE)
    return module.ChaCha20Poly1305(key)


def _decrypted(key: bytes, nonce: bytes, sealed: bytes, place: bytes) -> bytes | None:
    wrong = required("cryptography.exceptions", "encrypted", _PURPOSE).InvalidTag
    try:
        return bytes(_aead(key).decrypt(nonce, sealed, place))
    except wrong:
        return None
