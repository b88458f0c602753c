"""Pictures of laws: their density or mass, and the distribution of their privacy loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Changes
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.plots import style
from leastnoise.plots.drawn_laws import Laws, drawn_laws

_POINTS = 1201
# The probability beyond either end of the picture, on linear and on logarithmic scale.
_NEAR, _FAR = 1e-3, 1e-9
_MOST_INTEGERS = 2_000
_MOST_MARKERS = 120


def density(
    laws: Laws, *, log: bool = False, sensitivity: float | None = None, ax: Any = None
) -> Any:
    """The noise on one answer: its density, or on the integers its probabilities.

    Args:
        laws: A Design (drawn with its rivals at the same cost), a Noise, or several by name; the
            last one decides how far the picture reaches, and whether it is of integers.
        log: Whether the vertical axis is logarithmic, which shows the tails.
        sensitivity: Of the laws; a picture of densities does not depend on it, and a Design has
            its own.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `laws` is none of these.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import gaussian, laplace, plots
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> _ = plots.density({"Laplace": laplace(8.0), "Gaussian": gaussian(8.0)}, ax=ax)
        >>> ax.get_ylabel()
        'density (1 / unit of the answer)'
    """
    drawn = drawn_laws(laws, sensitivity)
    ax = style.axes_or_new(ax)
    main = drawn[-1].noise
    on_integers = main.domain == "integer"
    least = 3.0 if on_integers else 0.0
    reach = max(float(main.quantile(_FAR if log else _NEAR, upper=True)), least)
    lowest = math.inf
    for law in drawn:
        x, y = _curve(law.noise, reach, on_integers)
        seen = y > 0
        lowest = min(lowest, float(y[seen].min()))
        if log:
            x, y = x[seen], y[seen]
        look = style.line(law.name)
        if on_integers and not log and x.size <= _MOST_MARKERS:
            look = {**style.marked(law.name), "ms": 3.5, "lw": 0.9}
        ax.plot(x, y, label=law.name, **look)
    what = "probability of each integer" if on_integers else "density (1 / unit of the answer)"
    ax.set(xlabel="noise on one answer (units of the answer)", ylabel=what, xlim=(-reach, reach))
    ax.locator_params(axis="x", nbins=7)
    if log:
        top = float(_curve(main, reach, on_integers)[1].max())
        ax.set(yscale="log", ylim=(max(lowest, 1e-8 * top), 3.0 * top))
    else:
        ax.set_ylim(0.0, None)
    if len(drawn) > 1:
        ax.legend(loc="best" if log else "upper right", frameon=True, framealpha=0.9)
    return ax


def privacy_loss(
    laws: Laws,
    *,
    sensitivity: float | None = None,
    changes: Changes | None = None,
    ax: Any = None,
) -> Any:
    """What one draw may reveal: the probability that its privacy loss is at least ℓ, for every ℓ.

    A law of pure differential privacy ends in a vertical drop at its ε; the others have a tail.

    Args:
        laws: A Design (drawn with its rivals), a Noise, or several by name.
        sensitivity: How much one person can move one answer; 1 by default, and left out for a
            Design, which has its own.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default, and left out for a Design, which has its own.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `laws` is none of these, or a sensitivity or changes stand beside a
            Design.
        UnsupportedError: A law cannot be judged for such changes.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import gaussian, plots
        >>> ax = plots.privacy_loss(gaussian(8.0), ax=plots.Sheet(1, 1, 6.4, 4.4).axes[0])
        >>> ax.get_xlabel()
        'privacy loss ℓ of one draw (nats)'
    """
    drawn = drawn_laws(laws, sensitivity, changes)
    ax = style.axes_or_new(ax)
    for law in drawn:
        x, y = loss_tail(law.noise, law.sensitivity, law.changes)
        ax.plot(x, y, label=law.name, **style.line(law.name))
    ax.set_xlabel("privacy loss ℓ of one draw (nats)")
    ax.set(ylabel="probability of a loss of at least ℓ", yscale="log", ylim=(_FAR, 1.5))
    if len(drawn) > 1:
        ax.legend(loc="lower left", frameon=True, framealpha=0.9)
    return ax


def loss_tail(
    noise: Noise, sensitivity: float = 1.0, changes: Changes = BOX
) -> tuple[Floats, Floats]:
    """ℓ and the probability that the loss of one draw is at least ℓ, from the judge's table of
    losses; 1e-9 where it is less."""
    loss = PrivacyLoss.of(noise, sensitivity, changes)
    ((single, _),) = loss.parts
    # 1 for a law whose every loss is nothing or infinite
    reach = min(loss.epsilon(_FAR), single.largest) or 1.0
    table = single.table(reach / 400.0, -1.2 * reach, 1.2 * reach).merged()
    above = np.cumsum(np.exp(table.log_p[::-1]))[::-1] + table.infinite
    x = np.linspace(-1.05 * reach, 1.05 * reach, _POINTS)
    place = np.searchsorted(table.loss, x - 1e-9 * reach)
    beyond = np.append(above, table.infinite)[place]
    return x, np.asarray(np.maximum(beyond, _FAR), dtype=np.float64)


def _curve(noise: Noise, reach: float, on_integers: bool) -> tuple[Floats, Floats]:
    """Points of the density, or the probability of each integer (of every few, where there are very
    many)."""
    if not on_integers:
        x = np.linspace(-reach, reach, _POINTS)
        return x, noise.pdf(x)
    every = max(1, math.ceil(2.0 * reach / _MOST_INTEGERS))
    k = every * np.arange(math.floor(reach / every) + 1, dtype=np.float64)
    # from the upper tail, which is exact however small
    mass = noise.ccdf(k - 0.5) - noise.ccdf(k + 0.5)
    return np.concatenate([-k[:0:-1], k]), np.concatenate([mass[:0:-1], mass])
