"""Exact values by other means than the package's: whole numbers, fractions, and balls that enclose
what they stand for.

Nothing here imports `leastnoise.accountant`, `leastnoise.lattice.overlap` or
`leastnoise.lattice.shells`. A law enters as the numbers that define it (its shell masses, the ratio
of its tail, its dimension), read as exact fractions. A result is a flint `arb`, a midpoint and a
radius that enclose the exact value: "too small" is proven and not a matter of tolerance.

A pair (P, Q) of one release is a list of `Cells`: outcomes that share the ratio P/Q, with their
probabilities under both. Then δ(ε) = Σ max(0, P − e^ε Q) and e^((α−1)D_α) = Σ P (P/Q)^(α−1), over
the cells.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from flint import acb, arb, arb_poly, ctx, fmpq

from leastnoise import LatticeNoise

BITS = 320  # of a midpoint; losses of 700 and masses of 1e-300 lose at most 10 and 0 of them
_DROPPED = (
    arb(2) ** -220
)  # share of a sum at which a falling series is ended; the rest goes to the radius


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with midpoints of so many bits."""
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


Number: TypeAlias = float | int | Fraction | arb


def exact(value: Number) -> arb:
    """The number itself: a float is a fraction."""
    return value if isinstance(value, arb) else arb(fmpq(*value.as_integer_ratio()))


def between(low: arb, high: arb) -> arb:
    """A ball that holds both."""
    return low.union(high)


def surely_below(claimed: float, truth: arb) -> bool:
    """Whether `claimed` is proven to be less than the exact value."""
    return claimed < math.inf and (claimed == -math.inf or bool(exact(claimed) < truth))


def surely_above(claimed: float, truth: arb) -> bool:
    """Whether `claimed` is proven to be more than the exact value."""
    return claimed > -math.inf and (claimed == math.inf or bool(exact(claimed) > truth))


# --- one release of a lattice law ----------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """Outcomes that share one ratio of probabilities, taken together."""

    p: arb
    q: arb


def shell_count(dimension: int, k: int) -> int:
    """How many points of Z^d have max |x_l| = k."""
    return (2 * k + 1) ** dimension - (2 * k - 1) ** dimension if k else 1


def shared_points(shift: Sequence[int], i: int, j: int) -> int:
    """How many points lie on shell i around 0 and on shell j around `shift`, in whole numbers by
    inclusion and exclusion."""

    def inside(i: int, j: int) -> int:
        if i < 0 or j < 0:
            return 0
        return math.prod(max(0, min(i, v + j) - max(-i, v - j) + 1) for v in shift)

    return inside(i, j) - inside(i - 1, j) - inside(i, j - 1) + inside(i - 1, j - 1)


def geometric_sum(f: Callable[[int], int], start: int, ratio: fmpq, degree: int) -> fmpq:
    """Σ_{k≥0} ratio^k f(start + k) for a polynomial f of that degree: Σ_n Δ^n f(start)
    ratio^n/(1−ratio)^(n+1)."""
    differences = [f(start + k) for k in range(degree + 1)]
    total, factor = fmpq(0), 1 / (1 - ratio)
    for _ in range(degree + 1):
        total += differences[0] * factor
        factor *= ratio / (1 - ratio)
        differences = [b - a for a, b in itertools.pairwise(differences)]
    return total


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """A lattice law as fractions: `masses` of shells 0 … N, not normalised, and the ratio of the
    tail (0: none)."""

    masses: tuple[fmpq, ...]
    ratio: fmpq
    dimension: int

    @staticmethod
    def of(noise: LatticeNoise) -> ExactLaw:
        masses = tuple(fmpq(*float(mass).as_integer_ratio()) for mass in noise.shell_masses)
        ratio = fmpq(0) if noise.tail_ratio is None else fmpq(*noise.tail_ratio.as_integer_ratio())
        return ExactLaw(masses, ratio, noise.dimension)

    @property
    def last(self) -> int:
        return len(self.masses) - 1

    @cached_property
    def total(self) -> fmpq:
        """Mass of all shells and the tail."""
        inner = sum(self.masses, fmpq(0))
        if self.ratio == 0:
            return inner
        d, n = self.dimension, self.last
        beyond = geometric_sum(lambda k: shell_count(d, k), n + 1, self.ratio, d) * self.ratio
        return inner + self.masses[-1] / shell_count(d, n) * beyond

    @cached_property
    def _heights(self) -> list[arb]:
        total = arb(self.total)
        return [
            arb(mass) / (shell_count(self.dimension, k) * total)
            for k, mass in enumerate(self.masses)
        ]

    def height(self, k: int) -> arb:
        """Probability of one point at radius k."""
        if k <= self.last:
            return self._heights[k]
        return arb(0) if self.ratio == 0 else self._heights[-1] * arb(self.ratio) ** (k - self.last)

    def is_monotone(self) -> bool:
        """Whether the probability of a point never rises with its radius, as fractions."""
        heights = [mass / shell_count(self.dimension, k) for k, mass in enumerate(self.masses)]
        return all(b <= a for a, b in itertools.pairwise(heights))

    def cells(self, shift: Sequence[int]) -> list[Cell]:
        """Every pair of shells for this shift; where both are in the tail P/Q is r^k, k = −m … m,
        and each k is one exact sum."""
        m = max(abs(v) for v in shift)
        v = tuple(abs(v) for v in shift)
        explicit = self.last + (2 * m + 2 if self.ratio != 0 else 0)
        found = [
            Cell(count * self.height(i), count * self.height(j))
            for i in range(explicit + 1)
            for j in self._partners(v, i, m)
            if (count := shared_points(v, i, j)) and not self.height(i).is_zero()
        ]
        if self.ratio == 0:
            return found
        start = explicit + 1
        for k in range(-m, m + 1):
            points = geometric_sum(
                lambda i, k=k: shared_points(v, i, i - k), start, self.ratio, self.dimension
            )
            if points != 0:
                p = arb(points) * self.height(start)
                found.append(Cell(p, p / arb(self.ratio) ** k))
        return found

    def _partners(self, v: Sequence[int], i: int, m: int) -> Iterable[int]:
        if self.dimension == 1:
            return {abs(i - m), i + m}
        return range(max(i - m, 0), i + m + 1)

    def shifts(self, m: int) -> list[tuple[int, ...]]:
        """Every shift of the box |v_l| ≤ m up to signs and order, without 0."""
        return [
            v
            for v in itertools.combinations_with_replacement(range(m + 1), self.dimension)
            if any(v)
        ]


@dataclass(frozen=True, eq=False)
class Pair:
    """A pair (P, Q): cells of finite loss in ascending order of P/Q, and the P-mass where Q has
    none."""

    cells: tuple[Cell, ...]
    infinite: arb

    @staticmethod
    def of(cells: Iterable[Cell]) -> Pair:
        infinite, finite = arb(0), []
        for cell in cells:
            if cell.q.is_zero():
                infinite += cell.p
            elif not cell.p.is_zero():
                finite.append(cell)
        finite.sort(key=lambda cell: (cell.p / cell.q).mid())
        merged: list[Cell] = []
        # equal ratios, as enclosures cannot tell them apart, are one cell: 90 digits of the losses
        # agree
        for cell in finite:
            if merged and (merged[-1].p / merged[-1].q).overlaps(cell.p / cell.q):
                merged[-1] = Cell(merged[-1].p + cell.p, merged[-1].q + cell.q)
            else:
                merged.append(cell)
        return Pair(tuple(merged), infinite)

    @cached_property
    def ratios(self) -> list[arb]:
        return [cell.p / cell.q for cell in self.cells]

    @cached_property
    def losses(self) -> list[arb]:
        return [ratio.log() for ratio in self.ratios]

    @cached_property
    def _above(self) -> tuple[list[arb], list[arb]]:
        """P- and Q-mass of the cells from the i-th on."""
        above_p, above_q = [arb(0)], [arb(0)]
        for cell in reversed(self.cells):
            above_p.append(above_p[-1] + cell.p)
            above_q.append(above_q[-1] + cell.q)
        return above_p[::-1], above_q[::-1]

    def delta(self, epsilon: Number) -> arb:
        """δ(ε); the cell whose loss is ε within the enclosures adds a ball around 0."""
        threshold = exact(epsilon).exp()
        i = bisect_right(self.ratios, threshold.mid(), key=lambda ratio: ratio.mid())
        above_p, above_q = self._above
        total = above_p[i] - threshold * above_q[i]
        for k in (
            i - 1,
            i,
        ):  # at the kink the order is not decided, and either way it is within a rounding of 0
            if 0 <= k < len(self.cells) and self.ratios[k].overlaps(threshold):
                slack = (self.cells[k].p - threshold * self.cells[k].q).abs_upper()
                total += arb(0, slack)
        return self.infinite + total.nonnegative_part()

    def renyi(self, order: Number) -> arb:
        """D_α; of the finite losses alone where P has infinite ones (a sub-probability)."""
        if order == math.inf:
            return self.losses[-1]
        if order == 1:
            return sum(
                (cell.p * loss for cell, loss in zip(self.cells, self.losses, strict=True)), arb(0)
            )
        above = exact(order) - 1
        moment = sum(
            (
                cell.p * (above * loss).exp()
                for cell, loss in zip(self.cells, self.losses, strict=True)
            ),
            arb(0),
        )
        return moment.log() / above


def pairs_of(noise: LatticeNoise, m: int, most: int = 12) -> list[Pair]:
    """The pairs of the shifts up to m steps in each coordinate: all of them, or, where a law that
    does not rise has many, every so manyth and the corner, which is the worst (worst-shift
    theorem)."""
    law = ExactLaw.of(noise)
    shifts = law.shifts(m)
    if len(shifts) > most and law.is_monotone():
        shifts = [*shifts[:: -(-len(shifts) // most)], shifts[-1]]
    return [Pair.of(law.cells(v)) for v in shifts]


def largest(values: Iterable[arb]) -> arb:
    """The largest of several enclosed numbers."""
    found = None
    for value in values:
        found = value if found is None else found.max(value)
    if found is None:
        raise ValueError("Expected at least one value.")
    return found


# --- composition ---------------------------------------------------------------------------------


def composed(parts: Sequence[tuple[Pair, int]]) -> Pair:
    """Every sequence of outcomes, counted by how often each cell occurs: exact, for few cells or
    few releases."""
    total = [Cell(arb(1), arb(1))]
    infinite = arb(0)
    for pair, count in parts:
        counted = _types(pair.cells, count)
        total = [Cell(a.p * b.p, a.q * b.q) for a in total for b in counted]
        infinite += (1 - infinite) * ever(pair.infinite, count)
    return Pair(Pair.of(total).cells, infinite)


def ever(probability: arb, releases: int) -> arb:
    """1 − (1 − p)^n, to all digits of a small p and of one next to 1."""
    if probability < 0.5:
        return -(releases * (-probability).log1p()).expm1()
    never, square, left = arb(1), 1 - probability, releases
    while left:  # flint's power of a ball that holds 0 is NaN
        never, square, left = never * square if left % 2 else never, square * square, left // 2
    return 1 - never


def count_of_types(cells: int, releases: int) -> int:
    return math.comb(releases + cells - 1, cells - 1)


def _types(cells: Sequence[Cell], releases: int) -> list[Cell]:
    """n!·∏ p^k/k! for every way to write n as a sum of one k for each cell."""
    if releases == 1:
        return list(cells)
    scale = arb(math.factorial(releases))
    powers = []
    for cell in cells:
        p, q = [arb(1)], [arb(1)]
        for k in range(1, releases + 1):
            p.append(p[-1] * cell.p / k)
            q.append(q[-1] * cell.q / k)
        powers.append((p, q))
    found: list[Cell] = []

    def extend(index: int, left: int, p: arb, q: arb) -> None:
        its_p, its_q = powers[index]
        if index == len(cells) - 1:
            found.append(Cell(p * its_p[left], q * its_q[left]))
            return
        for k in range(left + 1):
            extend(index + 1, left - k, p * its_p[k], q * its_q[k])

    extend(0, releases, scale, scale)
    return found


def binomial_delta(low: Cell, high: Cell, infinite: arb, releases: int, epsilon: Number) -> arb:
    """δ(ε) of n releases with two finite losses, those of `low` and `high`: a binomial sum.

    The terms from the first k with a positive part on; they rise, then fall faster and faster. What
    lies more than 14 deviations below the mean (Hoeffding: below e^−392) and what is left of the
    falling terms goes to the radius.
    """
    n = releases
    threshold = exact(epsilon).exp()
    ratio_low, ratio_high = low.p / low.q, high.p / high.q
    # p-ratio of k high and n−k low outcomes exceeds e^ε from this k on.
    step = (ratio_high / ratio_low).log()
    first = ((exact(epsilon) - n * ratio_low.log()) / step).floor()
    start = max(int(first.lower().floor().unique_fmpz()), 0)
    both = low.p + high.p
    mean = n * float(high.p / both)
    early = max(start, math.floor(mean - 14.0 * math.sqrt(n)) if mean > 14.0 * math.sqrt(n) else 0)
    total = arb(0) if early == start else between(arb(0), arb(2) ** -500)
    p = arb.bin_uiui(n, early) * high.p**early * low.p ** (n - early)
    q = arb.bin_uiui(n, early) * high.q**early * low.q ** (n - early)
    odds_p, odds_q = high.p / low.p, high.q / low.q
    for k in range(early, n + 1):
        gained = (p - threshold * q).nonnegative_part()
        total += gained
        if (
            k > mean
            and k - early > 4
            and p * (n - k) * odds_p < (k + 1) * p
            and p < total * _DROPPED
        ):
            fall = odds_p * (n - k) / (k + 1)
            total += between(arb(0), p * fall / (1 - fall))
            break
        p = p * odds_p * (n - k) / (k + 1)
        q = q * odds_q * (n - k) / (k + 1)
    return total + ever(infinite, n)


def after(two: Pair, releases: int, delta: Callable[[arb], arb], epsilon: Number) -> arb:
    """δ(ε) of n releases with two finite losses followed by anything whose δ is known at every ε:
    given k high outcomes the rest is asked at ε less their loss."""
    low, high = two.cells
    p = low.p**releases
    total = arb(0)
    for k in range(releases + 1):
        loss = k * two.losses[1] + (releases - k) * two.losses[0]
        total += p * delta(exact(epsilon) - loss)
        p = p * (high.p / low.p) * (releases - k) / (k + 1)
    return total + ever(two.infinite, releases)


def gaussian_delta(mu: Number, epsilon: Number) -> arb:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle and Wang 2018), with 64 bits more than the
    cancellation can take."""
    with precision(BITS + 400):
        mu, epsilon = exact(mu), exact(epsilon)
        root = arb(2).sqrt()
        first, second = ((epsilon / mu + sign * mu / 2) / root for sign in (-1, 1))
        return (first.erfc() - epsilon.exp() * second.erfc()) / 2


def laplace_delta(ratio: Number, releases: int, epsilon: Number) -> arb:
    """δ(ε) of n releases of Laplace noise, λ = sensitivity/scale.

    A loss is λ with probability ½, −λ with ½e^(−λ), and has the density ¼e^((ℓ−λ)/2) between. The
    sum of m of the last kind has the density (¼)^m e^(−mλ/2) e^(s/2) g_m(s), g_m the m-fold
    convolution of the indicator of (−λ, λ), a spline of degree m − 1: Σ_i (−1)^i C(m, i) (s + mλ −
    2λi)_+^(m−1)/(m−1)!. What is integrated against it is e^(s/2) − e^(ε−c) e^(−s/2).
    """
    with precision(BITS + 40 * releases):
        size, epsilon = exact(ratio), exact(epsilon)
        total = arb(0)
        for inside in range(releases + 1):
            for top in range(releases - inside + 1):
                bottom = releases - inside - top
                ways = math.factorial(releases) // (
                    math.factorial(inside) * math.factorial(top) * math.factorial(bottom)
                )
                weight = ways * (-bottom * size).exp() / arb(2) ** (top + bottom)
                total += weight * _laplace_inside(size, inside, epsilon - (top - bottom) * size)
        return total


def _laplace_inside(size: arb, m: int, gap: arb) -> arb:
    """E[(1 − e^(gap − s))_+] over the sum s of m losses of the continuous kind, as a
    sub-probability."""
    if m == 0:
        return (1 - gap.exp()).nonnegative_part()
    top = m * size
    low = gap.max(-top)
    if low >= top:
        return arb(0)
    total = arb(0)
    for i in range(m + 1):
        knot = 2 * size * i - top
        start = low.max(knot)
        if start >= top:
            break
        # y = s − knot runs from start − knot to top − knot.
        up = (knot / 2).exp() * _power_exponential(m - 1, arb(1) / 2, start - knot, top - knot)
        down = (gap - knot / 2).exp() * _power_exponential(
            m - 1, -arb(1) / 2, start - knot, top - knot
        )
        total += (-1) ** i * math.comb(m, i) * (up - down)
    return total * (-top / 2).exp() / (arb(4) ** m * math.factorial(m - 1))


def _power_exponential(power: int, rate: arb, low: arb, high: arb) -> arb:
    """∫ y^power e^(rate·y) dy from low to high, by parts."""

    def antiderivative(y: arb) -> arb:
        term, total = arb(1) / rate, arb(0)
        # e^(ry) Σ_k (−1)^(n−k) n!/(k!) y^k / r^(n−k+1), without powers: flint's y**k is NaN for a
        # ball that holds 0, as a knot is.
        for k in range(power, -1, -1):
            total = total * y + term
            term *= -k / rate
        return total * (rate * y).exp()

    return antiderivative(high) - antiderivative(low)


def laplace_renyi(ratio: arb, order: Number) -> arb:
    """Mironov 2017, Table II, with so many bits that divergences of 1e-400, differences of numbers
    near 1, keep theirs."""
    if order == math.inf:
        return ratio
    with precision(2 * BITS + 2000):
        if order == 1:
            return ratio + (-ratio).expm1()
        a = exact(order)
        first = a / (2 * a - 1) * ((a - 1) * ratio).exp()
        return (first + (a - 1) / (2 * a - 1) * (-a * ratio).exp()).log() / (a - 1)


@dataclass(frozen=True, eq=False)
class LatticeLoss:
    """A release whose finite losses are whole multiples of `step`, each to within `slack`: loss
    (lowest + k)·step has mass p[k].

    Powers of the polynomial Σ p_k x^k are exact compositions for hundreds of releases.
    """

    p: arb_poly
    lowest: int
    step: arb
    slack: arb
    infinite: arb

    @staticmethod
    def of(pair: Pair, step: arb) -> LatticeLoss:
        places = [round(float(loss / step)) for loss in pair.losses]
        lowest = min(places)
        masses = [arb(0)] * (max(places) - lowest + 1)
        slack = arb(0)
        for place, loss, cell in zip(places, pair.losses, pair.cells, strict=True):
            masses[place - lowest] += cell.p
            slack = slack.max(abs(loss - place * step))
        return LatticeLoss(arb_poly(masses), lowest, step, slack, pair.infinite)

    def composed(self, releases: int) -> LatticeLoss:
        infinite = ever(self.infinite, releases)
        return LatticeLoss(
            self.p**releases, releases * self.lowest, self.step, releases * self.slack, infinite
        )

    @cached_property
    def _sums(self) -> tuple[list[arb], list[arb]]:
        """Σ p and Σ p e^(−loss) from each place on."""
        masses = self.p.coeffs()
        fall = (-self.step).exp()
        above_p, above_q = [arb(0)], [arb(0)]
        discount = (-(self.lowest + len(masses) - 1) * self.step).exp()
        for mass in reversed(masses):
            above_p.append(above_p[-1] + mass)
            above_q.append(above_q[-1] + mass * discount)
            discount /= fall
        return above_p[::-1], above_q[::-1]

    def delta(self, epsilon: Number) -> arb:
        low, high = (self._delta(exact(epsilon) + sign * self.slack) for sign in (1, -1))
        return self.infinite + between(low, high)

    def _delta(self, epsilon: arb) -> arb:
        place = (epsilon / self.step).floor()
        total = arb(0)
        above_p, above_q = self._sums
        # At a kink the floor is one of two places, and both give the same sum.
        for at in {
            int(place.lower().floor().unique_fmpz()),
            int(place.upper().floor().unique_fmpz()),
        }:
            index = min(max(at + 1 - self.lowest, 0), len(above_p) - 1)
            value = (above_p[index] - epsilon.exp() * above_q[index]).nonnegative_part()
            total = value if total.is_zero() else total.union(value)
        return total


# --- the sphere law ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sphere:
    """The loss of the density ∝ e^(−‖z‖) on R^d moved by a distance D, from the radius of z.

    r = ‖z‖ has the law Gamma(d), the cosine t of its angle to the shift a density ∝ (1 −
    t²)^((d−3)/2), and the loss is ℓ = ‖z − v‖ − r. Given r, ℓ fixes t = (D² − 2rℓ − ℓ²)/(2rD), and
    |dt/dℓ| = (r + ℓ)/(rD). With y = r − (D − ℓ)/2 ≥ 0 one finds 1 − t² = (D² − ℓ²) y (y + D)/(rD)²,
    so that the density of ℓ is, up to a constant,

        e^(ℓ/2) (D² − ℓ²)^q ∫_0^∞ e^(−y) (y (y + D))^q ((y + D/2)² − ℓ²/4) dy,   q = (d − 3)/2:

    two integrals over y, computed as enclosures, and with ℓ = D cos u an entire function of u.
    """

    dimension: int
    distance: arb

    @cached_property
    def ratio(self) -> arb:
        """∫ e^(−y) (y(y+D))^q (y + D/2)² dy over ∫ e^(−y) (y(y+D))^q dy, with y = x²."""
        d, distance = self.dimension, acb(self.distance)
        top = acb(d).sqrt() + 16  # e^(−y) y^(d−1) is below e^−250 of its largest value beyond
        scale = acb(d).lgamma() if d > 1 else acb(0)

        def integrand(square: bool) -> Callable[[acb, bool], acb]:
            def value(x: acb, analytic: bool) -> acb:
                y = x * x
                root = (y + distance).sqrt(analytic=analytic) if d % 2 == 0 else None
                inner = (y + distance) ** ((d - 3) // 2) if root is None else root ** (d - 3)
                factor = (y + distance / 2) ** 2 if square else acb(1)
                return 2 * (-y - scale).exp() * x ** (d - 2) * inner * factor

            return value

        above, below = (
            acb.integral(integrand(square), acb(0), top).real for square in (True, False)
        )
        return above / below

    def _integral(self, factor: Callable[[acb], acb], low: arb, high: arb) -> arb:
        """∫ over u of sin^(d−2)u · (ratio − D² cos²u/4) · e^(D cos u/2) · factor."""
        d, distance, ratio = self.dimension, acb(self.distance), acb(self.ratio)

        def integrand(u: acb, analytic: bool) -> acb:
            cosine = u.cos()
            shape = u.sin() ** (d - 2) * (ratio - (distance * cosine) ** 2 / 4)
            return shape * factor(distance * cosine)

        # To a share of itself, however small it is: a δ of 1e-118 was a ball around 0.
        return acb.integral(integrand, acb(low), acb(high), abs_tol=arb(2) ** -2000).real

    @cached_property
    def total(self) -> arb:
        return self._integral(
            lambda loss: ((loss - acb(self.distance)) / 2).exp(), arb(0), arb.pi()
        )

    def delta(self, epsilon: Number) -> arb:
        """E[(1 − e^(ε−ℓ))_+]; for ε < 0 from the symmetry of the pair."""
        epsilon = exact(epsilon)
        if epsilon >= self.distance:
            return arb(0)
        if epsilon < 0:
            other = self.delta(-epsilon) if -epsilon < self.distance else arb(0)
            return 1 - epsilon.exp() * (1 - other)
        last = (epsilon / self.distance).acos()
        middle = acb(self.distance)

        def gain(loss: acb) -> acb:
            return ((loss - middle) / 2).exp() - (acb(epsilon) - (loss + middle) / 2).exp()

        return self._integral(gain, arb(0), last) / self.total

    def renyi(self, order: Number) -> arb:
        if order == math.inf:
            return self.distance
        above = exact(order) - 1
        d = acb(self.distance)
        if order == 1:
            mean = self._integral(lambda loss: loss * ((loss - d) / 2).exp(), arb(0), arb.pi())
            return mean / self.total
        moment = self._integral(
            lambda loss: ((acb(above) + arb(1) / 2) * (loss - d)).exp(), arb(0), arb.pi()
        )
        return (moment / self.total).log() / above + self.distance
