"""Pictures of what laws cost: δ(ε), ε against releases, σ against ε, batches, and all mechanisms at one setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leastnoise.designer.compare import Row
from leastnoise.designer.design import Design, design
from leastnoise.digits import above, below
from leastnoise.errors import InvalidParameterError, positive_integer
from leastnoise.plots import style
from leastnoise.plots.subjects import Laws, releases, subjects

_DELTAS = tuple(np.logspace(-12.0, -2.0, 41).tolist())
_BATCHES = (1, 5, 10, 20, 40)
_MOST_COUNTS = 9


def privacy_curves(
    laws: Laws,
    *,
    compositions: int | None = None,
    sensitivity: float | None = None,
    delta: float | None = None,
    deltas: Sequence[float] = _DELTAS,
    ax: Any = None,
) -> Any:
    """δ(ε) after `compositions` releases, upper bounds; `delta`, by default a design's own, is marked with the ε each law needs.

    Returns the axes.
    """
    _some("deltas", deltas)
    ax = style.axes_or_new(ax)
    n = releases(laws, compositions)
    marked = laws.delta if delta is None and isinstance(laws, Design) else delta
    largest = 0.0
    for subject in subjects(laws, sensitivity):
        loss = subject.loss(n)
        # By δ, not by ε: the curve of a law of pure differential privacy ends in a vertical drop.
        epsilons = [loss.epsilon(each) for each in deltas]
        largest = max([largest, *filter(math.isfinite, epsilons)])
        label = (
            subject.name if marked is None else f"{subject.name}: ε = {above(loss.epsilon(marked))}"
        )
        ax.plot(epsilons, list(deltas), label=label, **style.line(subject.name))
    if marked is not None:
        ax.axhline(marked, color=style.GREY, lw=0.8)
    ax.set(
        xlabel="ε",
        ylabel=f"δ(ε) after {_counted(n, 'release')}",
        yscale="log",
        ylim=(min(deltas), max(deltas)),
    )
    ax.set_xlim(0.0, 1.05 * largest or 1.0)  # room for the drop, which would lie on the frame
    ax.legend(
        title=None if marked is None else f"at δ = {style.power_of_ten(marked)}", framealpha=0.9
    )
    return ax


def epsilon_by_compositions(
    laws: Laws,
    *,
    delta: float | None = None,
    most: int = 100,
    sensitivity: float | None = None,
    ax: Any = None,
) -> Any:
    """ε at `delta` (by default a design's own) after 1 to `most` releases with the same noise. Returns the axes."""
    counts = release_counts(positive_integer("most", most))
    ax = style.axes_or_new(ax)
    at = _delta(laws, delta)
    for subject in subjects(laws, sensitivity):
        epsilons = [subject.loss(n).epsilon(at) for n in counts]
        label = subject.name if math.isfinite(epsilons[0]) else f"{subject.name}: infinite"
        ax.plot(counts, epsilons, label=label, **style.marked(subject.name))
    ax.set(
        xlabel="releases with this noise",
        ylabel=f"ε at δ = {style.power_of_ten(at)}",
        ylim=(0.0, None),
    )
    ax.set_xlim(0.0, 1.02 * most)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(subjects(laws, sensitivity)) > 1:
        ax.legend(framealpha=0.9)
    return ax


def sigma_by_epsilon(
    *,
    delta: float,
    sigmas: Sequence[float],
    sensitivity: float = 1.0,
    compositions: int = 1,
    batch: int = 1,
    domain: Any = "real",
    ax: Any = None,
) -> Any:
    """The noise against the ε it buys, designed anew at each of `sigmas`, with every rival. Returns the axes."""
    _some("sigmas", sigmas)
    ax = style.axes_or_new(ax)
    found = [
        design(
            delta=delta,
            sigma=sigma,
            sensitivity=sensitivity,
            compositions=compositions,
            batch=batch,
            domain=domain,
        )
        for sigma in sigmas
    ]
    for name in dict.fromkeys(
        name for best in found for name in best.rivals if name != "optimised product"
    ):
        known = [best for best in found if name in best.rivals]
        ax.plot(
            [best.rivals[name] for best in known],
            [best.sigma for best in known],
            label=name,
            **style.marked(name),
        )
    ax.plot(
        [best.epsilon for best in found],
        [best.sigma for best in found],
        label="our design",
        **style.marked(style.OURS),
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=f"ε at δ = {style.power_of_ten(delta)}",
        ylabel="standard deviation of the noise σ\n(units of the answer)",
        title=use_in_words(compositions, batch, sensitivity),
    )
    _plain_logarithms(ax.xaxis)
    _plain_logarithms(ax.yaxis)
    ax.legend(framealpha=0.9)
    return ax


def batch_comparison(
    *,
    delta: float,
    sigma: float,
    batches: Sequence[int] = _BATCHES,
    sensitivity: float = 1.0,
    domain: Any = "real",
    ax: Any = None,
) -> Any:
    """ε of answers released together: one joint design, the best independent noise, Gaussian noise, at the same σ on each.

    Returns the axes.
    """
    _some("batches", batches)
    ax = style.axes_or_new(ax)
    found = [
        design(delta=delta, sigma=sigma, batch=size, sensitivity=sensitivity, domain=domain)
        for size in batches
    ]
    gaussian = "Gaussian" if domain == "real" else "discrete Gaussian"
    alone = [
        design(delta=delta, sigma=sigma, compositions=size, sensitivity=sensitivity, domain=domain)
        for size in batches
    ]
    batch_lines(
        ax,
        list(batches),
        gaussian=[best.rivals[gaussian] for best in found],
        one_by_one=[best.epsilon for best in alone],
        joint=[best.epsilon for best in found],
    )
    for best in (each for each in found if each.batch >= 5):  # fewer crowd at the origin
        saved = 1.0 - best.epsilon / best.rivals[gaussian]
        ax.annotate(
            f"−{100 * saved:.0f} %",
            (best.batch, best.epsilon),
            xytext=(4, -13),
            textcoords="offset points",
            fontsize=8,
        )
    ax.text(
        0.98, 0.03, "in %: ε against Gaussian noise", transform=ax.transAxes, ha="right", fontsize=8
    )
    ax.set(
        xlabel="answers released together",
        ylabel=f"ε at δ = {style.power_of_ten(delta)}",
        title=f"noise of σ = {sigma:g} on every answer, sensitivity {below(sensitivity, 6)}",
        xlim=(0.0, 1.08 * max(batches)),
    )
    return ax


def batch_lines(
    ax: Any,
    answers: Sequence[int],
    *,
    gaussian: Sequence[float],
    one_by_one: Sequence[float],
    joint: Sequence[float],
) -> None:
    """ε by number of answers: Gaussian noise, our design on each answer alone, our design for all together."""
    ax.plot(answers, gaussian, label="Gaussian noise on each", **style.marked("Gaussian"))
    ax.plot(
        answers,
        one_by_one,
        label="our design, one by one",
        **{**style.marked(style.OURS), "marker": "o"},
    )
    ax.plot(answers, joint, label="our design, all together", **style.marked("joint"))
    ax.set_ylim(0.0, None)
    ax.legend(loc="upper left", framealpha=0.9)


def comparison(rows: Sequence[Row], *, by: str = "epsilon", ax: Any = None) -> Any:
    """All mechanisms of a `compare`: ε at equal σ (`by="epsilon"`), or the σ each needs for the best ε (`by="sigma"`).

    Returns the axes.
    """
    if by not in ("epsilon", "sigma"):
        raise InvalidParameterError("by", by, "to be 'epsilon' or 'sigma'")
    values = [row.epsilon_at_sigma if by == "epsilon" else row.sigma_at_epsilon for row in rows]
    shown = [
        (row.name, value) for row, value in zip(rows, values, strict=True) if value is not None
    ]
    if not shown:
        raise InvalidParameterError("rows", list(rows), "to hold at least one value to draw")
    ax = style.axes_or_new(ax, 6.4, 1.2 + 0.36 * len(rows))
    best = shown[0][1]
    colours = [style.COLOURS.get(style.family(name), "#555555") for name, _ in shown]
    lengths = [value if math.isfinite(value) else 0.0 for _, value in shown]
    bars = ax.barh(
        [style.plain(name) for name, _ in shown],
        lengths,
        color=colours,
        height=0.62,
        edgecolor="#222222",
        lw=0.6,
    )
    # Hatching tells the best from the rest without colour.
    bars[0].set_hatch("//")
    for bar, (_, value) in zip(bars, shown, strict=True):
        text = (
            f"{value:.4g}{_percent_more(value / best - 1.0)}"
            if math.isfinite(value)
            else "infinite: no guarantee at this δ"
        )
        ax.annotate(
            text,
            (bar.get_width(), bar.get_y() + bar.get_height() / 2),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.set_xlim(0.0, 1.5 * max(lengths) or 1.0)
    ax.locator_params(axis="x", nbins=5)  # more would touch where a tick has many digits
    ax.set_xlabel(
        "ε at the same σ" if by == "epsilon" else "σ needed for the best ε (units of the answer)"
    )
    return ax


def release_counts(most: int) -> list[int]:
    """Whole numbers from 1 to `most`, about evenly spread."""
    return sorted({max(1, round(x)) for x in np.linspace(1, most, min(most, _MOST_COUNTS))})


def _percent_more(share: float) -> str:
    """ "  +3.9 %"; nothing where the numbers shown would be the same."""
    if share < 0.0005:
        return ""
    return f"  +{100 * share:.1f} %" if share < 0.1 else f"  +{100 * share:.0f} %"


def _delta(laws: Laws, delta: float | None) -> float:
    if delta is not None:
        return delta
    if isinstance(laws, Design):
        return laws.delta
    raise InvalidParameterError("delta", delta, "to be given")


def _some(name: str, values: Sequence[float]) -> None:
    if len(values) == 0:
        raise InvalidParameterError(name, list(values), "to hold at least one number")


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def use_in_words(compositions: int, batch: int, sensitivity: float) -> str:
    return f"{_counted(compositions, 'release')} of {_counted(batch, 'answer')}, sensitivity {below(sensitivity, 6)}"


def _plain_logarithms(axis: Any) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    # 1, 2 and 5 of each decade, until there are so many that they would touch.
    axis.set_major_locator(
        LogLocator(base=10.0, subs=(1.0, 2.0, 5.0) if high < 500.0 * low else (1.0,))
    )
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
