"""Where random bits come from: the operating system, or, for tests only and loudly
named, a seed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError

Words = NDArray[np.uint64]
OPERATING_SYSTEM = "operating system"


class Entropy(Protocol):
    """A source of uniform bytes; `stamp` is written on whatever is drawn from it."""

    @property
    def stamp(self) -> str: ...

    def take(self, count: int) -> bytes:
        """`count` fresh bytes."""
        ...


@dataclass(frozen=True, slots=True)  # slots: nobody hands over one whose `take` is their own
class OperatingSystemEntropy:
    """The operating system's cryptographic generator: the only source for releases."""

    @property
    def stamp(self) -> str:
        return OPERATING_SYSTEM

    def take(self, count: int) -> bytes:
        return os.urandom(count)


class InsecureSeededEntropy:
    """Reproducible bytes from a seed, for tests only: whoever knows the seed can
    subtract the noise.

    SHAKE-128 of the seed and a counter, one counter value a call; it advances, so two
    draws from one object differ.

    Args:
        seed: A whole number in [0, 2^128).

    Raises:
        InvalidParameterError: The seed is something else.

    Example:
        >>> InsecureSeededEntropy(7).take(4) == InsecureSeededEntropy(7).take(4)
        True
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**128:
            raise InvalidParameterError("seed", seed, "to be an integer in [0, 2^128)")
        self._key = b"leastnoise insecure seed" + seed.to_bytes(16, "little")
        self._calls = 0
        self._stamp = f"INSECURE seed {seed}: for tests only, not private"

    @property
    def stamp(self) -> str:
        return self._stamp

    def take(self, count: int) -> bytes:
        self._calls += 1
        return hashlib.shake_128(self._key + self._calls.to_bytes(16, "little")).digest(count)


def is_private(entropy: Entropy) -> bool:
    """Whether the bits are the operating system's: by the type itself, not by what an
    object says of itself."""
    return type(entropy) is OperatingSystemEntropy


def stamp_of(entropy: Entropy) -> str:
    """What is written on whatever is drawn from a source; only the package's own
    carries the operating system's name."""
    if is_private(entropy):
        return OPERATING_SYSTEM
    if type(entropy) is InsecureSeededEntropy:
        return entropy.stamp
    return f"CUSTOM source {type(entropy).__name__}: not known to be private"


def chosen(entropy: Entropy | None, not_private: bool) -> Entropy:
    """The source for what is to be published: the operating system's, or by explicit leave another.

    Whoever knows, or makes, the bits can take the noise away again. What an object says
    of itself does not count.
    """
    if entropy is None:
        return OperatingSystemEntropy()
    if not is_private(entropy) and not_private is not True:
        raise InvalidParameterError(
            "entropy",
            stamp_of(entropy),
            "to be left out: what another source draws is not private; for tests add "
            "not_private=True",
        )
    return entropy


def words(entropy: Entropy, count: int) -> Words:
    """`count` uniform 64-bit words."""
    return np.frombuffer(entropy.take(8 * count), dtype=np.uint64)
