"""A law for one answer whose support has no end, drawn exactly: what Rényi divergences need.

`leastnoise.exact` ends a law where its tail no longer matters to δ. Moved by one step
such a law has places the other has not, and every Rényi divergence is infinite. Here
the law goes on: the places −N … N have integer weights of sum 2^128 less the weight of
the two tails, and a tail goes on geometrically with a ratio r that is a floating-point
number, hence a fraction whose denominator is a power of two, so that "one place more"
is decided exactly by comparing random bits with its numerator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import UnsupportedError
from leastnoise.lattice.radial import Radial
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling.alias import AliasTable
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lattice import within_bins

_BITS = 128
_TAIL = 2.0**-60  # mass of the two tails, about: the weights at their start have 60 bits
_SLOPE = 64  # shells over which the ratio of a law without a geometric tail of its own is measured


@dataclass(frozen=True, eq=False)
class UntruncatedLaw:
    """`noise` is judged, `weights` (of −N … N, then one of each tail) and
    `noise.tail_ratio` are drawn; they agree to the last bit of a floating-point number,
    which is the rounding the judge allows for."""

    noise: LatticeNoise
    weights: tuple[int, ...]

    @staticmethod
    def of(noise: Noise, tail: float = _TAIL) -> UntruncatedLaw:
        """The law with tails that go on, of mass about `tail`, or less where it has less."""
        law = noise.radial
        if law is None or law.dimension != 1 or noise.step is None:
            raise UnsupportedError(
                "Rényi divergences are for laws of one answer, or the ball law: a joint law on a "
                "lattice is sampled with an end, and then they are infinite. Use the (epsilon, "
                "delta) measure for it."
            )
        p = _places(law, tail)
        ratio = _ratio_at_end(law, p)
        one_tail = float(p[-1]) * ratio / (1.0 - ratio)
        total = float(p[0]) + 2.0 * (math.fsum(p[1:]) + one_tail)
        scale = (1 << _BITS) / total * (1.0 - 2.0**-40)
        half = [int(value * scale) for value in p[1:].tolist()]
        outer = int(one_tail * scale)
        if 0 in half or outer == 0:
            raise UnsupportedError(
                "The law has places of less than 2^-128; its tail is too steep to be drawn exactly."
            )
        centre = (1 << _BITS) - 2 * (sum(half) + outer)
        shells = [centre, *(2 * weight for weight in half), 2 * outer]
        masses = np.array([math.ldexp(weight, -_BITS) for weight in shells])
        # the first place of the tail from its own weight: in a steep one that is a few units
        masses[-1] *= 1.0 - ratio
        judged = LatticeNoise(masses, ratio, noise.step, noise.domain)
        return UntruncatedLaw(judged, (*half[::-1], centre, *half, outer, outer))

    def sampler(self) -> UntruncatedLaw:
        """Itself, for `leastnoise.sampling.release`."""
        return self

    @property
    def dimension(self) -> int:
        return 1

    @property
    def is_joint(self) -> bool:
        return False

    @property
    def only_whole(self) -> bool:
        return False

    @property
    def is_exact(self) -> bool:
        return True

    @property
    def pitch(self) -> Fraction:
        return self.noise.sampler().pitch

    @property
    def unit(self) -> Fraction:
        return self.noise.sampler().unit

    @property
    def last(self) -> int:
        """N, the last place with a weight of its own."""
        return (len(self.weights) - 3) // 2

    def integers(self, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64]:
        """Noise in whole units, a draw of its own for each answer."""
        bins = self.bins(math.prod(shape), entropy)
        units = bins if self.noise.domain == "integer" else within_bins(bins, entropy)
        return units.reshape(shape)

    def bins(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Whole steps of noise."""
        drawn = np.asarray(self._table.draw(count, entropy), dtype=np.int64)
        for index in np.flatnonzero(np.abs(drawn) > self.last):
            more = _successes(self.noise.tail_ratio or 0.0, entropy)
            drawn[index] += more if drawn[index] > 0 else -more
        return drawn

    @cached_property
    def _table(self) -> AliasTable:
        n = self.last
        places = range(-n, n + 1)
        return AliasTable.of(list(self.weights), [*places, -n - 1, n + 1], _BITS)


def _places(law: Radial, tail: float) -> Floats:
    """The probabilities of 0 … N, N being where at most `tail` is left on both sides."""
    listed = law.extended(max(_far_enough(law, tail), 1))
    beyond = np.append(np.cumsum(listed[::-1])[::-1][1:], 0.0)
    last = max(int(np.argmax(beyond <= tail)), 1)
    p = 0.5 * listed[: last + 1]
    p[0] *= 2.0
    if not np.all(p > 0.0):
        raise UnsupportedError(
            "The law has places of no probability; its Rényi divergences are infinite."
        )
    return p


def _ratio_at_end(law: Radial, p: Floats) -> float:
    """The ratio of the law's own tail, or of one that goes on as the last places fall."""
    last = p.size - 1
    if law.tail_ratio is not None and last >= law.last:
        return law.tail_ratio
    back = max(last - _SLOPE, 0)
    if not p[back] > p[last]:
        return 0.5
    return math.exp((math.log(float(p[last])) - math.log(float(p[back]))) / (last - back))


def _far_enough(law: Radial, tail: float) -> int:
    """A shell beyond which less than `tail` is left, or the last one."""
    if law.tail_ratio is None or law.tail_mass <= tail:
        return law.last
    return law.last + math.ceil(math.log(tail / law.tail_mass) / math.log(law.tail_ratio))


def _successes(ratio: float, entropy: Entropy) -> int:
    """How often in a row an event of probability `ratio` happens: exact, because a
    float is a fraction of a power of two."""
    numerator, denominator = ratio.as_integer_ratio()
    bits = denominator.bit_length() - 1
    size = -(-bits // 8)
    count = 0
    while int.from_bytes(entropy.take(size), "little") >> (8 * size - bits) < numerator:
        count += 1
    return count
