"""From a designed law to the law that is sampled, judged anew: `exact`.

The law that is judged, saved and sampled is one and the same object: integer weights of
sum 2^64 or 2^128 are floating-point masses without error (`leastnoise.sampling.weights`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from leastnoise.accountant.composition import DEFAULT
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.accountant.saddle import GridSettings
from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    at_least,
    open_unit,
    positive,
    positive_integer,
)
from leastnoise.lattice.steps import shift_in_steps
from leastnoise.laws.base import Noise
from leastnoise.sampling.weights import (
    BITS,
    PLAIN_TAIL,
    ShellLaw,
    integer_weights,
    rounded_weights,
)

# share of δ that ending the law may cost, all releases: ε moves by about 1e-9 of itself
_TAIL_SHARE = 1e-8
_Law = TypeVar("_Law", bound=Noise)
_Shells = TypeVar("_Shells", bound=ShellLaw)


def rounded(noise: _Shells, bits: int = 128, tail: float = PLAIN_TAIL, shift: int = 0) -> _Shells:
    """`noise` with integer weights of sum 2^bits; see `rounded_weights`. It is not judged."""
    return noise.of_weights(rounded_weights(noise, bits, tail, shift))


def exact(
    noise: _Law,
    *,
    delta: float,
    sensitivity: float = 1.0,
    compositions: int = 1,
    bits: int | None = None,
    tolerance: float = 1e-6,
) -> _Law:
    """The law of `noise` with integer weights: the one to judge, save and sample.

    64 bits a draw where they are enough, else 128: `bits=None` takes the first whose judged
    ε is within `tolerance` of the ε of `noise` for `compositions` releases at `delta`.

    Args:
        noise: A law on a lattice, such as `Design.lattice_noise()` gives, or one that is drawn by
            such a law, with a hidden count. It is judged for the changes that it is made for.
        delta: The δ of the guarantee, in (0, 1).
        sensitivity: How far one person moves each answer, in the units of the answers.
        compositions: How many releases are made with the law.
        bits: 64 or 128 random bits a draw; None for the fewest that are enough.
        tolerance: How much ε may grow, relative to itself.

    Returns:
        The law that is drawn, of the same kind; `noise` itself where it has integer weights.

    Raises:
        DesignError: No rounding keeps the guarantee within the tolerance.
        UnsupportedError: A closed form, or the ball law, which have no shells to be weighted.
        InvalidParameterError: A number is outside its range.

    Guarantees: symmetric; monotone if `noise` is; support ends where the mass that a shift can
    carry out of it is below 1e-8 of delta, all releases together, and the judge charges it; no
    variance above that of `noise`; ε above that of `noise` by at most `tolerance` of itself.

    Example:
        >>> from leastnoise import discrete_laplace
        >>> law = exact(discrete_laplace(3.0), delta=1e-6)
        >>> law.tail_ratio is None and law.variance <= 9.0 * (1.0 + 1e-12)
        True
    """
    delta, n = open_unit("delta", delta), positive_integer("compositions", compositions)
    sensitivity, tolerance = at_least("sensitivity", sensitivity), positive("tolerance", tolerance)
    if bits is not None and bits not in BITS:
        raise InvalidParameterError("bits", bits, "to be 64, 128 or None")
    use = _JudgedUse(delta, sensitivity, n)

    def weighted(law: Any) -> Any:
        already = integer_weights(law)
        if already is not None and bits in (None, already.bits):
            return law
        return _first_as_good(law, BITS if bits is None else (bits,), use, tolerance)

    return cast(_Law, noise.with_weights(weighted))


@dataclass(frozen=True)
class _JudgedUse:
    """What a law is rounded for."""

    delta: float
    sensitivity: float
    compositions: int

    def epsilon(self, law: Any, settings: GridSettings) -> float:
        """ε of the whole use, for the changes that the law is made for."""
        loss = PrivacyLoss.of(law, self.sensitivity, law.made_for)
        loss = replace(loss, settings=settings)
        return loss.compose(self.compositions).epsilon(self.delta)


def _first_as_good(law: Any, widths: tuple[int, ...], use: _JudgedUse, tolerance: float) -> Any:
    """The law rounded to the first number of bits that keeps its ε within the tolerance."""
    delta, n = use.delta, use.compositions
    m = shift_in_steps(use.sensitivity, law.step)
    # The judge's usual 5e-6 can drown the difference; then a finer look decides.
    fine = GridSettings(accuracy=0.1 * tolerance)
    after, good_enough = math.inf, None
    refusal: DesignError | None = None
    before = use.epsilon(law, DEFAULT)
    for width in widths:
        try:
            candidate = rounded(law, width, _TAIL_SHARE * delta / n, m)
        except DesignError as error:
            refusal = error
            continue
        after = use.epsilon(candidate, DEFAULT)
        if after <= before * (1.0 + tolerance):
            return candidate
        if good_enough is None:
            allowed = use.epsilon(law, fine) * (1.0 + tolerance)
            good_enough = candidate if use.epsilon(candidate, fine) <= allowed else None
    if good_enough is not None:
        return good_enough
    if refusal is not None and after == math.inf:
        raise refusal
    raise DesignError(
        f"Rounding to integer weights moves epsilon from {before:.9g} to {after:.9g}, more than "
        f"{tolerance:.1e} of itself; allow more bits or a larger tolerance."
    )


def as_drawn(
    noise: Noise, *, delta: float, sensitivity: float = 1.0, compositions: int = 1
) -> Noise:
    """The law that is drawn in the place of `noise`: itself where it is drawn exactly,
    else `exact(noise, …)`."""
    if noise.sampler().is_exact:
        return noise
    return exact(noise, delta=delta, sensitivity=sensitivity, compositions=compositions)
