"""The program of the published method: problem (22) of *Optimizing Noise Distributions for
Differential Privacy*, its two constraints, and g_α(p, t) of Theorem 3.6 with its derivatives.

Everything is computed in logarithms: p^(1−α) and g itself leave the range of doubles (Alg. 2's
start at σ = 1, Δ = 0.01, N = 2000, r = 0.9999 has log g = 3163 at α = 125).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastnoise.cost import Cost
from leastnoise.errors import InvalidParameterError, at_least, one_of
from leastnoise.lattice.shells import Floats

SMALLEST = float(np.finfo(np.float64).tiny)
_START_TOLERANCE = 1e-6  # how far a caller's start may miss the two constraints, relatively
_WITHIN_DOUBLES = 300.0  # the most that a logarithm may travel over m bins
_TAIL = 1e-13  # the share of a tail's cost that may be left out, where it has no closed form


@dataclass(frozen=True)
class PaperProgram:
    """Problem (22): the two rows of A, and g_α(p, t) of Theorem 3.6 with its derivatives."""

    mass: Floats
    cost: Floats
    shifts: int
    tail_ratio: float

    @staticmethod
    def of(
        sensitivity: float, *, step: float, last: int, tail_ratio: float, domain: str, cost: Cost
    ) -> PaperProgram:
        """The program of a law p_0, …, p_N, N = `last`, on bins of width `step`."""
        one_of("domain", domain, ("real", "integer"))
        n, r = last, tail_ratio
        if domain == "integer" and step != 1.0:
            raise InvalidParameterError("step", step, "to be 1 for the integer domain")
        m = round(at_least("sensitivity", sensitivity) / step)
        if m < 1 or abs(m * step - sensitivity) > 1e-9 * sensitivity:
            raise InvalidParameterError(
                "step", step, f"to divide sensitivity={sensitivity} into whole bins"
            )
        if m > n:
            raise InvalidParameterError(
                "last", n, f"to be at least sensitivity/step = {m}, as eq. (23) assumes"
            )
        mass = np.full(n + 1, 2.0)
        mass[0], mass[n] = 1.0, 2.0 / (1.0 - r)  # eq. (16) and (18)
        each = mass * cost.average(np.arange(n + 1), step, domain)  # Prop. 3.5
        each[n] = 2.0 * _tail_cost(cost, n, r, step, domain)
        return PaperProgram(mass, each, m, r)

    def checked_start(self, p0: Floats, budget: float) -> Floats:
        """A read-only copy of p0, if it is strictly positive and meets both constraints."""
        p = np.array(p0, dtype=np.float64)
        if p.shape != self.mass.shape or not np.all(np.isfinite(p)) or np.any(p < SMALLEST):
            raise InvalidParameterError(
                "p0", p, f"to hold {self.mass.size} positive probabilities p_0, …, p_N"
            )
        for name, total, target in (
            ("mass", self.mass @ p, 1.0),
            ("cost", self.cost @ p, budget),
        ):
            if abs(total / target - 1.0) > _START_TOLERANCE:
                raise InvalidParameterError(f"{name} of p0", float(total), f"to be {target}")
        return read_only(p)

    def project(self, p: Floats, gradient: Floats) -> Floats:
        """g − B⁺B g, B = A M⁻¹ (lines 7–9): QR gives the projector Bᵀ(B Bᵀ)⁻¹B without squaring its
        condition."""
        rows = np.stack([self.mass * p, self.cost * p], axis=1)
        basis, _ = np.linalg.qr(rows / np.linalg.norm(rows, axis=0))
        # Once lets the constraints drift by 4e-14 in 3,000 iterations (σ = 4, m = 20, N = 1600),
        # twice by 9e-16.
        once = gradient - basis @ (basis.T @ gradient)
        return np.asarray(once - basis @ (basis.T @ once), dtype=np.float64)

    def log_objectives(self, p: Floats, order: float) -> Floats:
        """log g_α(p, t) for t = 1, …, m."""
        line = self._line(p)
        powers = order * np.diff(line)
        travelled = np.cumsum(np.abs(powers))
        reach = float(np.max(travelled[self.shifts :] - travelled[: -self.shifts]))
        # A term that is once too small for a double stays zero below. It could have grown again by
        # e^(2·reach) at most, to e^−108, which is nothing beside g ≥ 1.
        if reach <= _WITHIN_DOUBLES:
            return self._by_products(line, powers, order)
        return np.array(
            [_log_sum(self._log_terms(line, order, t)) for t in range(1, self.shifts + 1)]
        )

    def _by_products(self, line: Floats, powers: Floats, order: float) -> Floats:
        """The terms of shift t are those of t − 1 times (p_|j+t|/p_|j+t−1|)^α: a product in place
        of an exponential."""
        width = line.size - self.shifts
        ratio, term = np.exp(powers), np.exp(line[:width])
        total = np.empty(self.shifts)
        for t in range(self.shifts):
            term *= ratio[t : t + width]
            total[t] = np.sum(term)
        before, after = self._log_ends(line, order, np.arange(1, self.shifts + 1))
        return np.asarray(np.log(total + np.exp(before) + np.exp(after)), dtype=np.float64)

    def log_objective(self, p: Floats, order: float, shift: int) -> Floats:
        """log g_α(p, t), eq. (23); p may be a stack of laws."""
        return _log_sum(self._log_terms(self._line(p), order, shift))

    def log_gradient(self, p: Floats, order: float, shift: int) -> Floats:
        """p_i ∂ log g_α(p, t)/∂p_i, i = 0, …, N: M⁻¹∇g of line 6, over g.

        A term p_a^α p_b^(1−α) gives α of itself to a and 1 − α to b; all bins beyond N are
        multiples of p_N.
        """
        line = self._line(p)
        share = _shares(self._log_terms(line, order, shift))
        inner = share[:-2]
        whole = np.zeros_like(line)
        whole[: inner.size] += (1.0 - order) * inner
        whole[shift : shift + inner.size] += order * inner
        middle = line.size // 2
        folded = whole[middle:].copy()
        folded[1:] += whole[middle - 1 :: -1]
        gradient = folded[: p.size].copy()
        gradient[-1] += float(np.sum(folded[p.size :])) + float(share[-2] + share[-1])
        return gradient

    def log_moments(self, p: Floats, order: float, shift: int) -> tuple[float, float, float]:
        """Λ = log g_α(p, t), Λ' and Λ'' in α: mean and variance of log(p_a/p_b) under the terms of
        g."""
        line = self._line(p)
        terms = self._log_terms(line, order, shift)
        share = _shares(terms)
        slope = shift * math.log(self.tail_ratio)
        width = terms.size - 2
        ratio = np.concatenate([line[shift : shift + width] - line[:width], [-slope, slope]])
        mean = float(share @ ratio)
        return float(_log_sum(terms)), mean, float(share @ (ratio - mean) ** 2)

    def _line(self, p: Floats) -> Floats:
        """log p_|i| for i = −(N+m), …, N+m along the last axis."""
        log_p = np.log(p)
        beyond = log_p[..., -1:] + np.arange(1, self.shifts + 1) * math.log(self.tail_ratio)
        half = np.concatenate([log_p, beyond], axis=-1)
        return np.concatenate([half[..., :0:-1], half], axis=-1)

    def _log_terms(self, line: Floats, order: float, shift: int) -> Floats:
        """Logarithms of the terms of eq. (23): p_|t+j|^α p_|j|^(1−α), j = −(N+m), …, N, then the
        two geometric ends.

        Eq. (23) starts at j = −(N+t); a start at −(N+m) gives all shifts equally many terms and
        leaves less to the end.
        """
        width = line.shape[-1] - self.shifts
        terms = np.empty((*line.shape[:-1], width + 2))
        inner, base = terms[..., :width], line[..., :width]
        np.subtract(line[..., shift : shift + width], base, out=inner)
        inner *= order
        inner += base
        terms[..., -2], terms[..., -1] = self._log_ends(line, order, shift)
        return terms

    def _log_ends(self, line: Floats, order: float, shift: Any) -> tuple[Any, Any]:
        """Logarithms of the two geometric ends, j < −(N+m) and j > N."""
        log_r = math.log(self.tail_ratio)
        end = line[..., -1] + log_r - math.log1p(-self.tail_ratio)  # log Σ_{i>N+m} p_i
        return end - order * shift * log_r, end + (order * shift - self.shifts) * log_r


def _tail_cost(cost: Cost, n: int, r: float, step: float, domain: str) -> float:
    """Σ_{i≥N} r^(i−N) A_i."""
    if cost.exponent == 2.0:
        # The fraction of eq. (21), written without cancellation.
        square = n * n / (1.0 - r) + 2.0 * n * r / (1.0 - r) ** 2 + r * (1.0 + r) / (1.0 - r) ** 3
        within = 1.0 / (12.0 * (1.0 - r)) if domain == "real" else 0.0
        return step**2 * (square + within)
    # A_i grows no faster than i^growth, so beyond `far` less than _TAIL is left.
    far = 1.0
    while far * math.log(r) + (cost.growth + 1.0) * math.log1p(far / n) > math.log(_TAIL):
        far *= 2.0
    beyond = np.arange(math.ceil(far), dtype=np.float64)
    return float(r**beyond @ cost.average(n + beyond, step, domain))


def read_only(p: Floats) -> Floats:
    """A copy that cannot be changed."""
    own = p.copy()
    own.flags.writeable = False
    return own


def _log_sum(terms: Floats) -> Floats:
    """log Σ exp along the last axis."""
    top = np.max(terms, axis=-1, keepdims=True)
    total = np.sum(np.exp(terms - top), axis=-1)
    return np.asarray(np.log(total) + top[..., 0], dtype=np.float64)


def _shares(terms: Floats) -> Floats:
    """exp(terms)/Σ exp(terms)."""
    scaled = np.exp(terms - np.max(terms))
    return np.asarray(scaled / np.sum(scaled), dtype=np.float64)
