"""Sums over a point w drawn uniformly from the cube [−1, 1]^d: S₁ = Σ w_i and S₂ = Σ w_i².

What the cut cube law asks for, with proven bounds on both sides (the proofs stand in
docs/mathematics.md#the-cut-cube):

    P = Pr[S₂ ≤ C]            and            A(ρ) = Pr[S₁ > α + β(C − S₂), S₂ ≤ C].

With φ(z₁, z₂) = ½∫ e^(z₁u + z₂u²) du over [−1, 1], both are Fourier integrals of φ^d, tilted by a
real θ to where they are largest. They are summed over a lattice of frequencies k:

1. *Aliases.* By Poisson's formula the sum over the whole lattice is the probability and tilted
   probabilities of other places: it is an upper bound as it stands, and Chernoff's bound says by
   how much it may be too high.
2. *Tail.* |φ(θ + ik)| ≤ M φ(θ)·min(2.6/√|k₂|, 2/(|k₁| − 2|k₂|)), M of the order 1, so that φ^d is
   summed beyond a box in closed form.
3. *Quadrature.* φ is entire: Gauss–Legendre panels with the bound of Bernstein's ellipse.
4. *Rounding.* A unit in the last place for each operation, on the sum of the sizes of all terms.

A tilt moves nothing but how much of the bounds 2–4 is felt, so it is found by a rough search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.losses.rounding import ULP

Complexes = NDArray[np.complex128]
FEWEST = 16  # answers: below, φ^d falls so slowly that the box of frequencies does not end
_FRESNEL = 2.6  # above |∫ e^(it²) dt| over every interval
_SLOPE = 2.25  # |k₁| beyond this times |k₂| has a phase without a stationary point
# What the tail may be of the largest term: about a tenth of that, of the sum. Of S₁ and S₂, where
# a smaller one takes time, and of S₂ alone.
_TAIL, _TAIL_OF_ONE = 1e-4, 1e-5
_ALIAS = 22.0  # e^−22 = 3e-10: what each alias may be of Chernoff's bound
_NODES = 16  # of a panel
_PHASE = 6.0  # by which a panel may turn: then e^−39 bounds its error
_FAINT = 1e-11  # terms below this are bounded and not summed
_NEWTON, _ROUGHLY = 60, 1e-4  # steps to a tilt, and what the last of them may still gain
_ROUGH = (96, 48)  # frequencies of rough searches
_MOST_WORK = 4e7  # frequencies times panels: a second
_SUM_ROUNDING = 1e-11  # relative: exponents up to 1,000 known to a few units in the last place
_X, _W = np.polynomial.legendre.leggauss(_NODES)


def panels(count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss–Legendre panels on [−1, 1]."""
    half = 1.0 / count
    centre = -1.0 + half * (2.0 * np.arange(count) + 1.0)
    return (centre[:, None] + half * _X).ravel(), np.tile(half * _W, count)


_STEEPEST = 160.0  # |θ₁| + 2|θ₂|: e^−39 then bounds the error of these panels for a real φ
_U, _WEIGHT = panels(32)


def log_phi(theta1: float, theta2: float) -> float:
    """log φ at a real place with |θ₁| + 2|θ₂| ≤ 160, 1e-14."""
    exponent = theta1 * _U + theta2 * _U**2
    top = float(exponent.max())
    return top + math.log(0.5 * float(np.sum(_WEIGHT * np.exp(exponent - top))))


def _log_phis(theta1: Floats, theta2: Floats) -> Floats:
    """The same at many places."""
    exponent = np.multiply.outer(theta1, _U) + np.multiply.outer(theta2, _U**2)
    top = exponent.max(axis=1)
    inner = np.exp(exponent - top[:, None]) @ (0.5 * _WEIGHT)
    return np.asarray(top + np.log(inner), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TiltedTransform:
    """φ(θ + ik)/φ(θ) on a lattice of frequencies, and all that bounds its powers elsewhere.

    Attributes:
        power: How many factors φ there are.
        theta: The tilt (θ₁, θ₂).
        pitch: The distance (h₁, h₂) of neighbouring frequencies; h₁ = 0 where there is no S₁.
        is_rough: For searches: a few frequencies are looked at, the others left out, and nothing is
            a bound.
    """

    power: int
    theta: tuple[float, float]
    pitch: tuple[float, float]
    is_rough: bool = False

    @cached_property
    def log_top(self) -> float:
        """log φ(θ)^d."""
        return self.power * log_phi(*self.theta)

    @cached_property
    def _spread(self) -> float:
        """M: the largest of the tilted density on [−1, 1], twice that where its level sets are not
        intervals."""
        t1, t2 = self.theta
        places = [-1.0, 1.0]
        if t2 != 0.0 and abs(t1) < 2.0 * abs(t2):
            places.append(-0.5 * t1 / t2)
        top = max(t1 * u + t2 * u * u for u in places)
        is_bathtub = t2 > 0.0 and abs(t1) < 2.0 * t2
        return (2.0 if is_bathtub else 1.0) * 0.5 * math.exp(top - log_phi(*self.theta)) * 1.0001

    @cached_property
    def reach(self) -> tuple[int, int]:
        """(n₁, n₂): frequencies up to n·h in each direction are looked at one by one."""
        if self.is_rough:
            return _ROUGH
        h1, h2 = self.pitch
        wide = 1.1 * (_FRESNEL * self._spread) ** 2
        while self._tail_beyond(wide) > (_TAIL if h1 else _TAIL_OF_ONE):
            wide *= 1.1
        n2 = max(math.ceil(wide / h2), 8)
        return (math.ceil(_SLOPE * n2 * h2 / h1) if h1 else 0), n2

    @cached_property
    def tail(self) -> float:
        """Σ |φ(θ + ik)/φ(θ)|^d over the lattice beyond `reach`, rounded up."""
        return 0.0 if self.is_rough else self._tail_beyond(self.reach[1] * self.pitch[1])

    def _tail_beyond(self, k2: float) -> float:
        """The same beyond the box |k₂| ≤ this, |k₁| ≤ 9/4 of it."""
        (h1, h2), d, m = self.pitch, self.power, self._spread
        if not h1:
            return 2.0 * _beyond((_FRESNEL * m) ** 2, 0.5 * d, k2, h2, (0.0, 1.0))
        k1 = _SLOPE * k2
        steep = 2.0 * m / (1.0 - 2.0 / _SLOPE)
        if steep >= k1:
            return math.inf
        wide = _beyond((_FRESNEL * m) ** 2, 0.5 * d, k2, h2, (2.0 * _SLOPE / h1, 1.0))
        return 2.0 * (wide + _beyond(steep, d, k1, h1, (2.0 / (_SLOPE * h2), 1.0)))

    @cached_property
    def error(self) -> float:
        """How far a computed φ(θ + ik)/φ(θ) may be from its value: quadrature and rounding."""
        t1, t2 = abs(self.theta[0]), abs(self.theta[1])
        count, turn = self._panel_count
        half, best = 1.0 / count, math.inf
        for tau in (1.5, 2.0, 2.5, 3.0):
            out = half * (math.cosh(tau) - 1.0)
            high = half * math.sinh(tau)
            log_m = (t1 + 2.0 * t2 * (1.0 + out)) * out + t2 * high**2
            log_m += turn * (1.0 + out) * high - 2.0 * (_NODES - 1.0) * tau
            bound = 64.0 / 15.0 * self._spread * math.exp(min(log_m, 600.0))
            best = min(best, bound / -math.expm1(-2.0 * tau))
        rounding = 4.0 * ULP * (_NODES * count + turn + 2.0 * (t1 + t2) + 64.0)
        return 2.0 * best + rounding

    @cached_property
    def _panel_count(self) -> tuple[int, float]:
        (h1, h2), (n1, n2) = self.pitch, self.reach
        turn = n1 * h1 + 2.0 * n2 * h2  # the largest |k₁| + 2|k₂|
        return max(
            16, math.ceil((turn + abs(self.theta[0]) + 2 * abs(self.theta[1])) / _PHASE)
        ), turn

    @cached_property
    def terms(self) -> tuple[Floats, Floats, Complexes, float]:
        """k₁ ≥ 0, k₂, the powers (φ(θ + ik)/φ(θ))^d that count there (twice for k₁ > 0, which stand
        for −k too), and a bound on what all the others and the errors of these add up to."""
        (h1, h2), (n1, n2), d = self.pitch, self.reach, self.power
        is_steep = abs(self.theta[0]) + 2.0 * abs(self.theta[1]) > _STEEPEST
        if is_steep or n1 * n2 * self._panel_count[0] > _MOST_WORK:
            raise AccountingError("The cut cube law is not judged so near to its largest loss.")
        u, weight = panels(self._panel_count[0])
        tilted = weight * np.exp(self.theta[0] * u + self.theta[1] * u**2 - log_phi(*self.theta))
        k1, k2 = h1 * np.arange(n1 + 1.0), h2 * np.arange(-n2, n2 + 1.0)
        left = np.asarray(np.exp(1j * np.multiply.outer(k1, u)) * (0.5 * tilted), np.complex128)
        half = u.size // 2  # u and −u, which are both nodes, have the same square
        left = left[:, half:] + left[:, :half][:, ::-1]
        ratio = _product(left, np.exp(1j * np.multiply.outer(k2, u[half:] ** 2)))
        size = np.abs(ratio)
        double = np.where(k1 > 0.0, 2.0, 1.0)[:, None]
        counts = size**d > _FAINT
        faint = double * (size + self.error) ** d
        rest = self.tail + float(np.sum(faint[~counts])) * (1.0 + 1e-6)
        # |x^d − y^d| ≤ d|x − y|·max^(d−1), and each factor of a power is rounded
        per_term = d * (self.error + 16.0 * ULP) * double * (size + self.error) ** (d - 1)
        rest += float(np.sum(per_term[counts])) * (1.0 + 1e-6)
        rows, columns = counts.any(axis=1), counts.any(axis=0)
        with np.errstate(divide="ignore"):
            powers = double * np.exp(d * (np.log(size) + 1j * np.angle(ratio)))
        powers = np.where(counts, powers, 0.0)[np.ix_(rows, columns)]
        return k1[rows], k2[columns], powers, rest


def _product(left: Complexes, right: Complexes) -> Complexes:
    """left @ right.T without BLAS: these are many small products, and threads of BLAS that wait for
    each other took ten times as long on a busy machine."""
    return np.asarray(np.einsum("ik,jk->ij", left, right), dtype=np.complex128)


def _beyond(
    base: float, power: float, start: float, pitch: float, line: tuple[float, float]
) -> float:
    """Σ (line₀·k + line₁)(base/k)^power over the lattice points k > start, rounded up."""
    slope, level = line
    q = (base / start) ** power
    if not q < 1.0 or power <= 2.0:
        raise AccountingError("The cut cube law of so few answers is not judged.")
    first = (slope * start + level) * q
    later = q * (slope * start**2 / (power - 2.0) + level * start / (power - 1.0)) / pitch
    return float((first + later) * (1.0 + 1e-9))


# Pr[S₂ ≤ C]


@dataclass(frozen=True, eq=False)
class SumOfSquares:
    """The law of S₂ for so many answers, with the tilt that suits places up to `top`."""

    transform: TiltedTransform

    @staticmethod
    def near(answers: int, top: float) -> SumOfSquares:
        """Tilt and lattice."""
        if answers < FEWEST - 1:
            raise AccountingError(
                f"Expected at least {FEWEST} answers for the cut cube law, not {answers}."
            )

        def level(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            return answers * log_phi(0.0, -tilt) + tilt * top - log_tilt

        found = optimize.minimize_scalar(level, bounds=(-6.0, 7.0), method="bounded")
        tilt = math.exp(float(found.x))
        # what lies a period lower is Pr[S₂ < 0] = 0; the others fall by e^(−tilt·period)
        period = max(1.01 * top, (3.0 * _ALIAS - float(found.fun) - float(found.x)) / tilt)
        pitch = 2.0 * math.pi / period
        return SumOfSquares(TiltedTransform(answers, (0.0, -tilt), (0.0, pitch)))

    def share(self, squares: Floats) -> tuple[Floats, Floats]:
        """Bounds below and above Pr[S₂ ≤ c] for each c."""
        k, powers, rest = self.transform.terms[1:]
        tilt, pitch = -self.transform.theta[1], self.transform.pitch[1]
        parts = powers[0] / (tilt - 1j * k)
        scale, summed = self._summed(squares, parts)
        allowed = rest / tilt + _SUM_ROUNDING * float(np.sum(np.abs(parts)))
        alias = 1.0 / math.expm1(0.999 * tilt * 2.0 * math.pi / pitch)
        held = squares > 0.0
        low = np.where(held, scale * (summed - allowed) - alias, 0.0)
        high = np.where(held, scale * (summed + allowed), 0.0)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def density(self, squares: Floats) -> Floats:
        """The density of S₂ at each c, not a bound."""
        scale, summed = self._summed(squares, self.transform.terms[2][0])
        return np.asarray(np.where(squares > 0.0, np.maximum(scale * summed, 0.0), 0.0))

    def _summed(self, squares: Floats, parts: Complexes) -> tuple[Floats, Floats]:
        k, pitch = self.transform.terms[1], self.transform.pitch[1]
        scale = np.exp(self.transform.log_top - self.transform.theta[1] * squares)
        summed = _product(np.exp(-1j * np.multiply.outer(squares, k)), parts[None, :])[:, 0].real
        return scale * (pitch / (2.0 * math.pi)), summed


def ball_share(answers: int, square: float) -> tuple[float, float]:
    """Bounds below and above Pr[S₂ ≤ C]: the share of the cube that its ball keeps."""
    low, high = SumOfSquares.near(answers, square).share(np.array([square]))
    return float(low[0]), float(high[0])


# Pr[S₁ > α + β(C − S₂), S₂ ≤ C]


@dataclass(frozen=True, eq=False)
class AboveCone:
    """Bounds on A = Pr[S₁ > α + β(C − S₂), S₂ ≤ C] for one C, given β and any α, with the tilt
    that suits a pair (α, β)."""

    transform: TiltedTransform
    square: float  # C
    shifts: tuple[tuple[float, float], tuple[float, float]]  # of θ, for aliases on either side

    @staticmethod
    def near(
        answers: int,
        square: float,
        alpha: float,
        beta: float,
        least_beta: float,
        is_rough: bool = False,
    ) -> AboveCone:
        """Tilt and lattice for places near (α, β), to be asked for no β below `least_beta`."""
        _, theta = best_tilt(answers, square, alpha, beta)

        def period(axis: int, sign: float, most: float) -> tuple[float, float]:
            shifts = most * np.geomspace(1.0, 1e-3, 40)
            moved = [np.full(shifts.size, each) for each in theta]
            moved[axis] = moved[axis] + sign * shifts
            bound = answers * _log_phis(moved[0], moved[1]) - moved[0] * alpha - moved[1] * square
            periods = (bound - at + _ALIAS) / shifts
            best = int(np.argmin(periods))
            return float(periods[best]), float(shifts[best])

        # up to ½θ₁ the tilted density is monotone, so that its level sets are intervals
        theta = theta[0], min(theta[1], 0.5 * theta[0] * min(least_beta, 1.0))
        at = _chernoff(answers, theta, alpha, square)
        # so that Chernoff's bound serves from about half of β on
        half = 0.5 * (theta[0] * beta - theta[1])
        back = theta[0] if theta[1] <= 0.0 else half / beta
        first = period(0, -1.0, back), period(0, 1.0, 20.0)
        second = period(1, -1.0, 40.0), period(1, 1.0, half)
        pitch = tuple(2.0 * math.pi / max(low[0], high[0]) for low, high in (first, second))
        shifts = tuple((low[1], high[1]) for low, high in (first, second))
        transform = TiltedTransform(answers, theta, (pitch[0], pitch[1]), is_rough)
        return AboveCone(transform, square, (shifts[0], shifts[1]))

    def at(self, beta: Floats) -> ConeSums:
        """The same for an array of β, each to be asked for any α."""
        (t1, t2), (k1, k2, powers, rest) = self.transform.theta, self.transform.terms
        steep = t1 * beta - t2
        if not np.all(steep > 0.0):
            raise AccountingError("The tilt of the cut cube law does not serve every radius.")
        turned = powers * np.exp(-1j * self.square * k2)
        z1, z2 = t1 + 1j * k1, t2 + 1j * k2
        sums = np.empty((beta.size, k1.size), dtype=np.complex128)
        for i, each in enumerate(beta):
            sums[i] = (turned / (each * z1[:, None] - z2)).sum(axis=1)
        sums /= z1
        # |z₁| ≥ θ₁ and |βz₁ − z₂| ≥ βθ₁ − θ₂
        allowed = (rest + _SUM_ROUNDING * float(np.sum(np.abs(turned)))) / (t1 * steep)
        h1, h2 = self.transform.pitch
        log_unit = self.transform.log_top - t2 * self.square + math.log(h1 * h2 / (4 * math.pi**2))
        return ConeSums(self, beta, sums, allowed, log_unit)


@dataclass(frozen=True, eq=False)
class ConeSums:
    """For each β: the sums over k₂, and what their errors add up to."""

    cone: AboveCone
    beta: Floats
    sums: Complexes
    allowed: Floats
    log_unit: float

    def upper(self, alpha: Floats) -> Floats:
        """Above Pr[S₁ > α + β(C − S₂), S₂ ≤ C], an α for each β."""
        return self._scale(alpha) * (self._summed(alpha) + self.allowed)

    def lower(self, alpha: Floats) -> Floats:
        """Below it."""
        value = self._scale(alpha) * (self._summed(alpha) - self.allowed)
        aliases = self._aliases(alpha)
        known = np.isfinite(value) & np.isfinite(aliases)
        below = np.where(known, value, 0.0) - np.where(known, aliases, 0.0)
        return np.asarray(np.maximum(below, 0.0), dtype=np.float64)

    def _scale(self, alpha: Floats) -> Floats:
        with np.errstate(over="ignore"):
            scale = np.exp(self.log_unit - self.cone.transform.theta[0] * alpha)
        return np.asarray(scale, dtype=np.float64)

    def _summed(self, alpha: Floats) -> Floats:
        k1 = self.cone.transform.terms[0]
        turn = np.exp(-1j * np.multiply.outer(alpha, k1))
        return np.asarray(np.einsum("ij,ij->i", self.sums, turn).real, dtype=np.float64)

    def _aliases(self, alpha: Floats) -> Floats:
        """Σ over the other places, by Chernoff's bound at tilts moved towards them."""
        cone, d = self.cone, self.cone.transform.power
        (t1, t2), (h1, h2) = cone.transform.theta, cone.transform.pitch
        total = np.zeros(alpha.size)
        for one in (-1, 0, 1):
            for two in (-1, 0, 1):
                if one == two == 0:
                    continue
                # of both, half: so that the bound still holds
                part = 0.5 if one and two else 1.0
                move1 = part * one * cone.shifts[0][one > 0]
                move2 = part * two * cone.shifts[1][two > 0]
                moved1, moved2 = max(t1 + move1, 0.0), t2 + move2
                log_bound = d * log_phi(moved1, moved2) - moved1 * alpha - moved2 * cone.square
                for move, pitch in ((move1, h1), (move2, h2)):
                    if move:  # Σ over m ≥ 1 of e^(−m·fall)
                        fall = abs(move) * 2.0 * math.pi / pitch
                        log_bound = log_bound - fall - math.log(-math.expm1(-fall))
                with np.errstate(over="ignore"):
                    bound = np.exp(log_bound) * (1.0 + 1e-9)
                total += np.where(moved2 <= moved1 * self.beta, bound, np.inf)
        return total


def _chernoff(answers: int, theta: tuple[float, float], alpha: float, square: float) -> float:
    return answers * log_phi(*theta) - theta[0] * alpha - theta[1] * square


def best_tilt(
    answers: int, square: float, alpha: float, beta: float
) -> tuple[float, tuple[float, float]]:
    """θ where the integrand of A is least at k = 0, and its logarithm there: about log A.

    d·log φ(θ) − θ₁α − θ₂C − log θ₁ − log(θ₁β − θ₂) is convex, so Newton's method finds it, with
    steps that are halved until it falls; twelve of them, where a search without slopes takes a
    hundred values.
    """

    def level(place: Floats) -> float:
        first, steep = float(place[0]), float(place[0] * beta - place[1])
        if not (first > 0.0 and steep > 0.0):
            return math.inf
        chernoff = _chernoff(answers, (first, float(place[1])), alpha, square)
        return chernoff - math.log(first) - math.log(steep)

    first = math.exp(-1.0)
    place = np.array([first, first * beta - max(first * beta, 0.1)])
    value = level(place)
    for _ in range(_NEWTON):
        step, gain = _newton(answers, square, alpha, beta, place)
        share = 1.0
        while (moved := level(place + share * step)) > value - 0.1 * share * gain:
            share *= 0.5
            if share < 1e-6:
                return value, (float(place[0]), float(place[1]))
        place, value = place + share * step, moved
        if gain < _ROUGHLY or abs(place[0]) + 2.0 * abs(place[1]) > 4.0 * _STEEPEST:
            break
    return value, (float(place[0]), float(place[1]))


def _newton(
    answers: int, square: float, alpha: float, beta: float, place: Floats
) -> tuple[Floats, float]:
    """Newton's step from a tilt, and by how much the integrand is expected to fall."""
    powers = np.stack([_U, _U**2, _U**3, _U**4])
    exponent = place[0] * powers[0] + place[1] * powers[1]
    weight = _WEIGHT * np.exp(exponent - np.max(exponent))
    m1, m2, m3, m4 = powers @ weight / np.sum(weight)
    steep = place[0] * beta - place[1]
    cone = np.array([beta, -1.0]) / steep
    slope = answers * np.array([m1, m2]) - (alpha, square) - cone
    slope[0] -= 1.0 / place[0]
    spread = np.array([[m2 - m1 * m1, m3 - m1 * m2], [m3 - m1 * m2, m4 - m2 * m2]])
    curve = answers * spread + np.outer(cone, cone)
    curve[0, 0] += 1.0 / place[0] ** 2
    step = -np.linalg.solve(curve, slope)
    return step, -float(slope @ step)
