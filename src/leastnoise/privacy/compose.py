"""Composition of privacy losses by tilted FFT, with a bound on everything that can go wrong.

Let S be the sum of the losses of all releases. With the tilt θ ≥ 0 and K(θ) the sum of their log-moment generating functions,

    δ(ε) = E[(1 − e^(ε−S))_+] = e^(K(θ)−θε) · Ẽ[e^(−θ(S−ε)) (1 − e^(ε−S))_+],

Ẽ being the expectation under the tilted law. At the saddle point, K'(θ) = ε, the tilted S is centred at ε and the second factor is
of moderate size, so its absolute error in the FFT is a relative error of δ: 1e-30 is as easy as 1e-3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import lapack

from leastnoise.errors import AccountingError
from leastnoise.privacy.single import LIGHT, ULP, SingleLoss, TableLoss
from leastnoise.shells import Floats

Parts = Sequence[tuple[SingleLoss, int]]

_MOST_EXACT_RELEASES = 64
_MOST_SUMS = 20_000
_KINK = 1e-4  # of ε, that a pitch may be
DEFAULT_ACCURACY = 5e-6
_SNAP = 1e-9  # of a pitch: losses this close to a grid point are moved onto it, which counts as rounding of the loss
_STEEPEST_STEP = 700.0  # the log of the largest number by which a tilt may weigh neighbouring points of the grid differently
_STEEPEST = 30.0  # log of the steepest tilt
_TILT_WIDTH = 0.02  # of the bracket of log θ: the bounds hardly feel it
_USUAL = 4.5  # log of the usual tilt less that of the flattest one: δ = 1e-6 to 1e-9 is 5 to 6 deviations out
# Each number out of an FFT of N numbers x is a sum of N products formed in log2 N stages, so its error is at most that many
# roundings of Σ|x|. Assumed is that a stage of pocketfft costs no more than eight half units in the last place.
_FFT_ERROR = 4.0 * ULP
_NEGLIGIBLE = 1e-30  # of the largest Fourier coefficient, which is 1
_WRAP = 27.0  # the window loses or wraps at most e^−27 = 2e-12 of the tilted mass at each end


@dataclass(frozen=True)
class Settings:
    """How finely to work: `accuracy` is the relative rise of ε that discretisation may cause."""

    accuracy: float = DEFAULT_ACCURACY
    most_points: int = 2**22


@dataclass(frozen=True)
class Saddle:
    """Where to look: tilt, centre and spread of the tilted sum."""

    theta: float
    centre: float
    deviation: float


@dataclass(frozen=True)
class Window:
    """The tilted law of the sum on grid points first … first+size−1 of pitch h, and what is known of its errors."""

    pitch: float
    first: int
    theta: float
    log_scale: float  # K(θ) of the discretised losses
    tilted: Floats
    point_error: float  # bound on the error of each entry of `tilted`
    lost_above: float  # bound on the tilted mass above the window
    lost_below: float  # and below it; both come back into the window at the other end
    centre: float
    releases: int
    loss_error: float  # rounding of the losses, all releases together
    mass_error: float  # relative rounding of the probabilities, all releases together

    @property
    def low(self) -> float:
        return self.first * self.pitch

    @property
    def high(self) -> float:
        return (self.first + self.tilted.size - 1) * self.pitch

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """V_j = Σ_{s≥j} q e^(−(θ+1)(s−j)) and W_j = Σ_{s≥j} q e^(−θ(s−j)) (1 − e^(−(s−j))), by recursions from above.

        V_j = q_j + e^(−(θ+1)h) V_{j+1} and W_j = e^(−θh) (W_{j+1} + (1 − e^(−h)) V_{j+1}): sums of positive terms. No difference
        cancels where the losses are small, and nothing overflows at any width.
        """
        h, decay = self.pitch, math.exp(-self.theta * self.pitch)
        discounted = running_sums(self.tilted[::-1], math.exp(-(self.theta + 1.0) * h))
        shifted = np.concatenate([[0.0], discounted[:-1]])
        gained = running_sums(decay * -math.expm1(-h) * shifted, decay)
        return discounted[::-1], gained[::-1]

    def _above(self, epsilon: float, index: int) -> float:
        """Σ_{s>ε} q e^(−θ(s−ε)) (1 − e^(ε−s)), the sum starting at `index`."""
        discounted, gained = self._sums
        gap = max(self.pitch * (self.first + index) - epsilon, 0.0)
        return math.exp(-self.theta * gap) * (
            float(gained[index]) - math.expm1(-gap) * float(discounted[index])
        )

    def _weight_above(self) -> float:
        """What an error of 1 at every point above ε comes to, at most: Σ_k e^(−θx_k) (1 − e^(−x_k)), x_k in (kh, (k+1)h].

        That is at most Σ_{k≥0} a^k (1 − e^(−(k+1)h)) = (1 − e^(−h))/((1 − a)(1 − a e^(−h))), a = e^(−θh).
        """
        h, size = self.pitch, float(self.tilted.size)
        flat = size * -math.expm1(-h * size)
        if self.theta * h < 1e-12:
            return flat
        return min(
            flat,
            -math.expm1(-h) / (-math.expm1(-self.theta * h) * -math.expm1(-(self.theta + 1.0) * h)),
        )

    def _wrapped(self, epsilon: float) -> float:
        """Bound on what mass from below the window adds to the sums above ε, W being the window's width.

        Either all of it, or, untilted, Σ_k δ(ε − kW) e^(−θkW) ≤ e^(−θW)/(1 − e^(−θW)): at a steep tilt a short window is enough.
        """
        fall = self.theta * self.pitch * self.tilted.size
        if fall < 1.0:
            return self.lost_below
        log_untilted = (
            -fall - math.log(-math.expm1(-fall)) - (self.log_scale - self.theta * epsilon)
        )
        return min(self.lost_below, math.exp(min(log_untilted, 0.0)))

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """log of the upper (or lower) bound on δ(ε) of the discretised losses; finite losses only."""
        at = epsilon - self.loss_error if upper else epsilon + self.loss_error
        index = math.floor(at / self.pitch) + 1 - self.first
        if index < 0:
            return 0.0 if upper else -math.inf
        size = self.tilted.size
        value = self._above(at, index) if index < size else 0.0
        error = self.point_error * self._weight_above() + 4.0 * ULP * size * value
        rounding = self.mass_error
        if upper:
            beyond = self.lost_above * math.exp(-self.theta * max(self.high - at, 0.0))
            total = (value + error + beyond) * (1.0 + rounding)
        else:
            total = (value - error - self.lost_above - self._wrapped(at)) * (
                1.0 - min(rounding, 1.0)
            )
        if math.isnan(total):  # never known to have happened; certifies nothing
            return 0.0 if upper else -math.inf
        return self.log_scale - self.theta * at + math.log(total) if total > 0 else -math.inf


def running_sums(values: Floats, ratio: float) -> Floats:
    """y_i = x_i + ratio·y_{i−1}, by LAPACK's substitution in a matrix of two diagonals. scipy.signal has a filter for it that is no
    faster and takes 0.4 s to import."""
    band = np.empty((2, values.size), order="F")
    band[0], band[1] = 1.0, -ratio
    solved, failed = lapack.dtbtrs(band, values, uplo="L", diag="U")
    if failed:
        raise AccountingError("The sums over the losses could not be formed.")
    return np.asarray(solved, dtype=np.float64).reshape(values.shape)


def cumulants(parts: Parts, theta: float) -> tuple[float, float, float]:
    """K, K', K'' of the sum of all losses."""
    total = np.zeros(3)
    for loss, count in parts:
        total += count * np.array(loss.cumulants(theta))
    return float(total[0]), float(total[1]), float(total[2])


def saddle_for_delta(parts: Parts, delta: float) -> Saddle:
    """The saddle point whose approximate δ, e^(K−θK')/(θ(1+θ)√(2πK'')), is `delta`."""

    def excess(theta: float) -> float:
        k, mean, variance = cumulants(parts, theta)
        if not variance > 0:
            return -math.inf
        return (
            k
            - theta * mean
            - math.log(theta * (1 + theta))
            - 0.5 * math.log(2 * math.pi * variance)
            - math.log(delta)
        )

    return _saddle(parts, _tilt(parts, excess))


def saddle_for_epsilon(parts: Parts, epsilon: float) -> Saddle:
    """The tilt with K'(θ) = ε; 0 if the sum lies above ε on average."""
    if cumulants(parts, 0.0)[1] >= epsilon:
        return _saddle(parts, 0.0)
    return _saddle(parts, _tilt(parts, lambda theta: epsilon - cumulants(parts, theta)[1]))


def _tilt(parts: Parts, lack: Callable[[float], float]) -> float:
    """The tilt θ at which `lack`, which falls as θ grows, changes sign, to 1 %.

    1. Start from the usual tilt and step by factors of e until the sign changes or the range ends.
    2. Halve the bracket of log θ until it is 2 % wide.

    The range ends where θ is so flat that it means nothing beside the deviation of the sum, and where the sum sits at its largest
    value almost surely: beyond that a tilt gains nothing and only magnifies the splitting of the losses. Any tilt gives valid
    bounds.
    """

    def is_too_flat(log_theta: float) -> bool:
        theta = math.exp(log_theta)
        return log_theta < _STEEPEST and lack(theta) > 0 and _below_largest(parts, theta) >= 0.5

    flattest = -0.5 * math.log(max(cumulants(parts, 0.0)[2], 1e-300)) - 3.0
    usual = flattest + _USUAL
    if is_too_flat(usual):
        low, high = usual, usual + 1.0
        while is_too_flat(high):
            low, high = high, high + 1.0
    else:
        low, high = usual - 1.0, usual
        while not is_too_flat(low):
            if low < flattest:
                return math.exp(low)
            low, high = low - 1.0, low
    while high - low > _TILT_WIDTH:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_too_flat(middle) else (low, middle)
    return math.exp(0.5 * (low + high))


def _below_largest(parts: Parts, theta: float) -> float:
    """Expected number of releases whose loss, under the tilt, is not its largest."""
    return sum(count * loss.share_below_largest(theta) for loss, count in parts)


def exactly(parts: Parts) -> TableLoss | None:
    """The composed loss as a table of every sum of losses, where there are few enough; None otherwise."""
    if (
        any(not isinstance(loss, TableLoss) for loss, _ in parts)
        or sum(count for _, count in parts) > _MOST_EXACT_RELEASES
    ):
        return None
    if _surely_many_sums(parts):
        return None
    total = TableLoss(np.zeros(1), np.zeros(1), releases=0)
    for loss, count in parts:
        for _ in range(count):
            if not isinstance(loss, TableLoss) or total.loss.size * loss.loss.size > _MOST_SUMS:
                return None
            total = total.followed_by(loss)
    return total


def _surely_many_sums(parts: Parts) -> bool:
    """Whether the first two releases alone have too many sums of losses, from a sample of the losses: merging equal ones, as a
    designed law's are thousands, takes as long as the rest of the judge's work."""
    two = [
        loss for loss, count in parts for _ in range(min(count, 2)) if isinstance(loss, TableLoss)
    ][:2]
    if len(two) < 2 or two[0].loss.size * two[1].loss.size <= _MOST_SUMS:
        return False
    sample = two[0].loss[:: max(1, two[0].loss.size // 64)]
    return np.unique(np.round(sample, 9)).size * two[1].loss.size > _MOST_SUMS


def pitch_for(parts: Parts, saddle: Saddle, epsilon: float, accuracy: float) -> float:
    """The grid pitch at which splitting raises ε by about `accuracy`·ε: it adds a variance of about h²/6 a release, and with it
    (θ+1)/2 of that to ε. One kind of bounded loss gets a grid on which its largest loss is a point and not split."""
    releases = (
        _below_largest(parts, saddle.theta) if len(parts) == 1 else sum(count for _, count in parts)
    )
    if saddle.theta == 0.0:  # the sum lies above ε on average, and its own place is what matters
        epsilon = max(epsilon, saddle.centre)
    # The deviation of the plain sum, not of the tilted one, which rare large losses can make many times ε.
    spread = math.sqrt(cumulants(parts, 0.0)[2])
    pitch = math.sqrt(
        12.0 * accuracy * max(epsilon, 1e-3 * spread) / (max(releases, 0.1) * (saddle.theta + 1.0))
    )
    coarser = max(
        1.0, math.sqrt(accuracy / DEFAULT_ACCURACY)
    )  # where the number of grid points forces a lower accuracy
    # Where single losses are heavy a kink of the profile is moved by up to a pitch, so the pitch itself is kept small too.
    is_smooth = all(loss.heaviest < LIGHT for loss, _ in parts)
    kink = coarser * max(_KINK * epsilon, (1e-3 if is_smooth else 3e-5) * spread)
    pitch = min(pitch, kink, min(0.25 * coarser, 50.0) / (saddle.theta + 1.0))
    for loss, _ in parts:
        if not math.isfinite(loss.largest):
            pitch = min(pitch, 0.25 * math.sqrt(loss.cumulants(0.0)[2]))
    return aligned(parts, pitch)


def aligned(parts: Parts, pitch: float) -> float:
    """At most `pitch`, a whole part of the loss that matters most where there is only one kind of loss."""
    anchor = parts[0][0].anchor
    if len(parts) == 1 and math.isfinite(anchor) and anchor > 0:
        return anchor / math.ceil(anchor / pitch)
    return pitch


def compose(parts: Parts, saddle: Saddle, pitch: float, most_points: int) -> tuple[Window, float]:
    """The tilted law of the sum near `saddle.centre`, and the mass of infinite loss that truncation added, all releases."""
    tables = [(_discretised(loss, saddle, pitch, most_points), count) for loss, count in parts]
    grids = [_Grid.of(table, pitch, saddle.theta) for table, _ in tables]
    counts = [count for _, count in parts]
    below, above = _reach(grids, counts, saddle)
    if not (below + above) / pitch < 2.0 * most_points:
        raise AccountingError(
            f"Composing {sum(counts)} releases needs more than {most_points} grid points."
        )
    size = fft.next_fast_len(math.ceil((below + above) / pitch) + 8, real=True)
    if size > most_points:
        raise AccountingError(
            f"Composing {sum(counts)} releases to the requested accuracy needs {size} grid points, more than {most_points}."
        )
    first = math.floor((saddle.centre - below) / pitch) - 2
    unit = _FFT_ERROR * math.log2(size + 2.0)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    smallest = np.ones(size // 2 + 1)
    coefficient_error = 0.0
    for grid, count in zip(grids, counts, strict=True):
        folded = np.bincount(grid.index % size, weights=grid.tilted, minlength=size).astype(
            np.float64, copy=False
        )
        one = fft.rfft(folded)
        size_of_one = np.abs(one)
        spectrum *= _power(one, size_of_one, count)
        smallest = np.minimum(smallest, size_of_one)
        coefficient_error += count * (unit + 4.0 * ULP)  # Σ folded = 1
    tilted = np.roll(fft.irfft(spectrum, size), -(first % size))
    size_of = np.abs(spectrum)
    # |∏(a+e) − ∏a| ≤ Σ count·|e|·|∏a|/|a| to first order; the factor 2 covers the rest while Σ count·|e| is below |a|/2, and where
    # it is not, both products of two factors or more are below (3 Σ count·|e|)².
    if coefficient_error > 0.01:
        raise AccountingError(
            f"Floating-point error of {sum(counts)} compositions cannot be bounded; use fewer grid points."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = np.where(smallest > 0, np.minimum(size_of / smallest, 1.0), 1.0)
    point_error = (
        (2.0 * coefficient_error * float(np.sum(leverage)) + unit * float(np.sum(size_of)))
        * 2.0
        / size
    )
    point_error += _NEGLIGIBLE * len(counts) + 10.0 * coefficient_error**2
    window = Window(
        pitch=pitch,
        first=first,
        theta=saddle.theta,
        log_scale=sum(count * grid.log_scale for grid, count in zip(grids, counts, strict=True)),
        tilted=np.maximum(tilted, 0.0),
        point_error=point_error,
        lost_above=_outside(grids, counts, saddle, (first + size - 1) * pitch, 1.0),
        lost_below=_outside(grids, counts, saddle, first * pitch, -1.0),
        centre=saddle.centre,
        releases=sum(counts),
        loss_error=sum(count * (table.loss_rounding + _SNAP * pitch) for table, count in tables),
        mass_error=sum(
            count * (table.mass_error + ULP * table.loss.size) for table, count in tables
        ),
    )
    both = zip(tables, parts, strict=True)
    truncated = sum(
        count * max(table.infinite - loss.infinite, 0.0) for (table, count), (loss, _) in both
    )
    return window, truncated


def _power(values: NDArray[np.complex128], sizes: Floats, count: int) -> NDArray[np.complex128]:
    """values^count; entries whose power is below 1e-30 are 0, which for many releases is nearly all of them."""
    if count == 1:
        return values
    kept = sizes > _NEGLIGIBLE ** (1.0 / count)
    result = np.zeros_like(values)
    result[kept] = values[kept] ** count
    return result


@dataclass(frozen=True, eq=False)
class _Grid:
    """One release on the grid: point indices and the tilted probabilities there, which sum to 1; log_scale = K(θ)."""

    index: NDArray[np.int64]
    tilted: Floats
    log_scale: float
    pitch: float

    @staticmethod
    def of(table: TableLoss, pitch: float, theta: float) -> _Grid:
        """Connect-the-Dots: a loss ℓ between grid points gives (1 − e^(−(ℓ−lower)))/(1 − e^(−h)) of its mass to the upper one."""
        if not table.spread / pitch < 1e15:
            raise AccountingError(
                f"A loss of {table.spread:.3g} cannot be put on a grid of pitch {pitch:.3g}."
            )
        if theta * pitch > _STEEPEST_STEP:
            raise AccountingError(
                f"A tilt of {theta:.3g} cannot be put on a grid of pitch {pitch:.3g}."
            )
        lower = np.floor(table.loss / pitch)
        part = np.clip(table.loss - lower * pitch, 0.0, pitch)
        over = part > (1.0 - _SNAP) * pitch
        lower, part = lower + over, np.where(over | (part < _SNAP * pitch), 0.0, part)
        whole = -math.expm1(-pitch)
        up = -np.expm1(-part) / whole
        down = np.exp(-part) * -np.expm1(part - pitch) / whole
        tilt = table.log_p + theta * pitch * lower
        top = float(tilt.max()) if np.isfinite(tilt.max()) else 0.0
        base = np.exp(tilt - top)
        index = np.concatenate([lower, lower + 1.0]).astype(np.int64)
        points, weights = _added_up(
            index, np.concatenate([base * down, base * up * math.exp(theta * pitch)])
        )
        total = float(weights.sum())
        if not total > 0:
            raise AccountingError(
                "A release has no finite privacy loss: the shifted law shares no point with the law."
            )
        weights = weights / total
        held = weights > 0
        return _Grid(points[held], weights[held], top + math.log(total), pitch)

    def log_moment(self, tau: float) -> float:
        """log Ẽ[e^(τL)]."""
        exponent = self._log_tilted + tau * self.pitch * self.index
        top = float(exponent.max())
        return top + math.log(float(np.sum(np.exp(exponent - top))))

    @cached_property
    def _log_tilted(self) -> Floats:
        return np.log(self.tilted)


def _added_up(index: NDArray[np.int64], weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Distinct indices and the sums of their weights; by sorting where the indices are few and far apart."""
    low = int(index.min())
    span = int(index.max()) - low + 1
    if span <= 8 * index.size:
        return np.arange(low, low + span), np.asarray(
            np.bincount(index - low, weights=weights), dtype=np.float64
        )
    order = np.argsort(index, kind="stable")
    index, weights = index[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(index) > 0]))
    return index[starts], np.add.reduceat(weights, starts)


def _discretised(loss: SingleLoss, saddle: Saddle, pitch: float, most_points: int) -> TableLoss:
    """The loss as a table; unbounded losses are cut where the rest matters less than 1e-14 of δ."""
    if isinstance(loss, TableLoss):
        return loss
    low, high = -loss.largest, loss.largest
    if not math.isfinite(high):
        # Gaussian: the loss is normal, also under the tilt, with mean (θ+½)μ² and deviation μ; 17 deviations leave 1e-64 of it.
        reach = 17.0 * math.sqrt(loss.cumulants(0.0)[2])
        low, high = loss.cumulants(0.0)[1] - reach, loss.cumulants(saddle.theta)[1] + reach
    if (high - low) / pitch > most_points:
        raise AccountingError(
            f"One release needs more than {most_points} grid points of pitch {pitch:.3g}."
        )
    return loss.table(pitch, low, high)


def _reach(grids: Sequence[_Grid], counts: Sequence[int], saddle: Saddle) -> tuple[float, float]:
    """How far below and above the centre the window must go so that at most e^−27 of the tilted mass is outside (Chernoff)."""
    reaches = []
    for sign in (-1.0, 1.0):
        bounds = [
            (
                sum(
                    count * grid.log_moment(sign * tau)
                    for grid, count in zip(grids, counts, strict=True)
                )
                + _WRAP
            )
            / tau
            for tau in _chernoff_rates(saddle)
        ]
        farthest = sum(
            c * int(g.index[-1 if sign > 0 else 0]) * g.pitch
            for g, c in zip(grids, counts, strict=True)
        )
        reach = min(min(bounds) - sign * saddle.centre, sign * (farthest - saddle.centre))
        reaches.append(max(reach, 0.0) + 4.0 * grids[0].pitch)
    below, above = reaches
    if saddle.theta > 0.0:
        # A window of width W lets in e^(−θW) from below; 32 + log(1/δ) = 32 + θc − K is more than enough for θW.
        moment = sum(count * grid.log_scale for grid, count in zip(grids, counts, strict=True))
        width = (32.0 + max(saddle.theta * saddle.centre - moment, 0.0)) / saddle.theta
        below = min(below, max(width - above, 4.0 * saddle.deviation) + 4.0 * grids[0].pitch)
    return below, above


def _outside(
    grids: Sequence[_Grid], counts: Sequence[int], saddle: Saddle, end: float, sign: float
) -> float:
    """Chernoff bound on the tilted mass above (sign 1) or below (sign −1) the window's end."""
    farthest = sum(
        c * int(g.index[-1 if sign > 0 else 0]) * g.pitch
        for g, c in zip(grids, counts, strict=True)
    )
    if sign * (farthest - end) <= 0.0:
        return 0.0
    exponents = [
        sum(count * grid.log_moment(sign * tau) for grid, count in zip(grids, counts, strict=True))
        - sign * tau * end
        for tau in _chernoff_rates(saddle)
    ]
    return math.exp(min(min(exponents), 0.0))


def _chernoff_rates(saddle: Saddle) -> tuple[float, ...]:
    """Rates around √(2·27)/deviation, the best one for a normal sum."""
    best = math.sqrt(2.0 * _WRAP) / max(saddle.deviation, 1e-300)
    return 0.5 * best, best, 2.0 * best


def _saddle(parts: Parts, theta: float) -> Saddle:
    _, mean, variance = cumulants(parts, theta)
    return Saddle(theta, mean, math.sqrt(max(variance, 0.0)))
