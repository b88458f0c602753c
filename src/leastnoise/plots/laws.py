"""Pictures of laws: their density or mass, and the distribution of their privacy loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastnoise.noise import Noise
from leastnoise.plots import style
from leastnoise.plots.subjects import Laws, own, subjects
from leastnoise.shells import Floats

_POINTS = 1201
_NEAR, _FAR = (
    1e-3,
    1e-9,
)  # the probability beyond either end of the picture, on linear and on logarithmic scale
_MOST_INTEGERS = 2_000


def density(
    laws: Laws, *, log: bool = False, sensitivity: float | None = None, ax: Any = None
) -> Any:
    """The noise on one answer: its density, or on the integers its probabilities.

    `laws` is a Design (drawn with its rivals at the same standard deviation), a Noise, or several by name. `log` shows the tails.
    Returns the axes.
    """
    drawn = subjects(laws, sensitivity)
    ax = style.axes_or_new(ax)
    main = own(laws)
    on_integers = main.domain == "integer"
    reach = max(
        float(main.quantile(_FAR if log else _NEAR, upper=True)), 3.0 if on_integers else 0.0
    )
    lowest = math.inf
    for subject in drawn:
        x, y = _curve(subject.noise, reach, on_integers)
        look = style.line(subject.name)
        if on_integers and not log and x.size <= 120:
            look = {
                **look,
                "marker": style.MARKERS.get(style.family(subject.name), "."),
                "ms": 3.5,
                "lw": 0.9,
            }
        seen = y > 0
        lowest = min(lowest, float(y[seen].min()))
        ax.plot(x[seen] if log else x, y[seen] if log else y, label=subject.name, **look)
    ax.set(
        xlabel="noise on one answer (units of the answer)",
        ylabel="probability of each integer" if on_integers else "density (1 / unit of the answer)",
        xlim=(-reach, reach),
    )
    ax.locator_params(axis="x", nbins=7)
    if log:
        top = float(_curve(main, reach, on_integers)[1].max())
        ax.set(yscale="log", ylim=(max(lowest, 1e-8 * top), 3.0 * top))
    else:
        ax.set_ylim(0.0, None)
    if len(drawn) > 1:
        ax.legend(loc="best" if log else "upper right", frameon=True, framealpha=0.9)
    return ax


def privacy_loss(laws: Laws, *, sensitivity: float | None = None, ax: Any = None) -> Any:
    """What one draw may reveal: the probability that its privacy loss is at least ℓ, for every ℓ.

    A law of pure differential privacy ends in a vertical drop at its ε; the others have a tail. Returns the axes.
    """
    drawn = subjects(laws, sensitivity)
    ax = style.axes_or_new(ax)
    for subject in drawn:
        x, y = loss_tail(subject.noise, subject.sensitivity)
        ax.plot(x, y, label=subject.name, **style.line(subject.name))
    ax.set(
        xlabel="privacy loss ℓ of one draw (nats)",
        ylabel="probability of a loss of at least ℓ",
        yscale="log",
        ylim=(_FAR, 1.5),
    )
    if len(drawn) > 1:
        ax.legend(loc="lower left", frameon=True, framealpha=0.9)
    return ax


def loss_tail(noise: Noise, sensitivity: float = 1.0) -> tuple[Floats, Floats]:
    """ℓ and the probability that the loss of one draw is at least ℓ, from the judge's table of losses; 1e-9 where it is less."""
    from leastnoise.privacy.loss import PrivacyLoss

    loss = PrivacyLoss.of(noise, sensitivity)
    ((single, _),) = loss.parts
    reach = (
        min(loss.epsilon(_FAR), single.largest) or 1.0
    )  # a law whose every loss is nothing or infinite
    table = single.table(reach / 400.0, -1.2 * reach, 1.2 * reach).merged()
    above = np.cumsum(np.exp(table.log_p[::-1]))[::-1] + table.infinite
    x = np.linspace(-1.05 * reach, 1.05 * reach, _POINTS)
    place = np.searchsorted(table.loss, x - 1e-9 * reach)
    beyond = np.append(above, table.infinite)[place]
    return x, np.asarray(np.maximum(beyond, _FAR), dtype=np.float64)


def _curve(noise: Noise, reach: float, on_integers: bool) -> tuple[Floats, Floats]:
    """Points of the density, or the probability of each integer (of every few, where there are very many)."""
    if not on_integers:
        x = np.linspace(-reach, reach, _POINTS)
        return x, noise.pdf(x)
    every = max(1, math.ceil(2.0 * reach / _MOST_INTEGERS))
    k = every * np.arange(math.floor(reach / every) + 1, dtype=np.float64)
    mass = noise.ccdf(k - 0.5) - noise.ccdf(
        k + 0.5
    )  # from the upper tail, which is exact however small
    return np.concatenate([-k[:0:-1], k]), np.concatenate([mass[:0:-1], mass])
