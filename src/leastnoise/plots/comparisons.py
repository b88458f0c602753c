"""Pictures of designs beside known mechanisms: σ against ε, batches, and all at one setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from leastnoise.changes import BOX, Changes
from leastnoise.designer.compare import ComparedLaw
from leastnoise.designer.design import design
from leastnoise.designer.result import OPTIMISED_PRODUCT, Design
from leastnoise.errors import InvalidParameterError
from leastnoise.plots import style
from leastnoise.text.numbers import below

_BATCHES = (1, 5, 10, 20, 40)
_FEW_LINES = 7  # in a legend
_ROOM = 0.05  # share of the width that a longer one gets for each of its lines
_HANDLE = 3.6  # letters that a line has in the legend: the dashes of a law are told apart by then


def sigma_by_epsilon(
    *,
    delta: float,
    sigmas: Sequence[float],
    sensitivity: float = 1.0,
    compositions: int = 1,
    batch: int = 1,
    domain: Any = "real",
    changes: Changes | None = None,
    ax: Any = None,
) -> Any:
    """The noise against the ε it buys, designed anew at each of `sigmas`, with every rival.

    Args:
        delta: Probability with which the guarantee may fail, in (0, 1).
        sigmas: Standard deviations of the noise on one answer, in its units.
        sensitivity: How much one person can move one answer, in its units.
        compositions: Releases that the guarantee covers.
        batch: Answers a release.
        domain: "real", or "integer" for answers that are whole numbers.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `sigmas` is empty, or a number is out of range.
        DesignError: No law is found for one of them.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import plots
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> _ = plots.sigma_by_epsilon(delta=1e-6, sigmas=[4.0, 8.0], ax=ax)
        >>> ax.get_title()
        '1 release of 1 answer, sensitivity 1'
    """
    style.check_some("sigmas", sigmas)
    ax = style.axes_or_new(ax)
    use: dict[str, Any] = {"sensitivity": sensitivity, "compositions": compositions}
    use |= {"batch": batch, "domain": domain, "changes": changes}
    found = [design(delta=delta, sigma=sigma, **use) for sigma in sigmas]
    names = dict.fromkeys(name for best in found for name in best.rivals)
    lines = {name: [best for best in found if name in best.rivals] for name in names}
    lines.pop(OPTIMISED_PRODUCT, None)
    for name, known in [*lines.items(), (style.OURS, found)]:
        epsilons = [best.rivals.get(name, best.epsilon) for best in known]
        ax.plot(epsilons, [best.sigma for best in known], label=name, **style.marked(name))
    said = style.use_in_words(compositions, batch, sensitivity)
    ax.set(xscale="log", yscale="log")
    ax.set_title(said + style.moved_in_words(found[0].changes), wrap=True)
    ax.set_xlabel(f"ε at δ = {style.power_of_ten(delta)}")
    ax.set_ylabel("standard deviation of the noise σ\n(units of the answer)")
    if len(lines) > _FEW_LINES:  # the lines fall: a long legend fits before and below them
        low, high = ax.get_xlim()
        ax.set_xlim(low * (low / high) ** (_ROOM * len(lines)), high)
    _plain_logarithms(ax.xaxis)
    _plain_logarithms(ax.yaxis)
    place = "lower left" if len(lines) > _FEW_LINES else "best"
    ax.legend(framealpha=0.9, loc=place, handlelength=_HANDLE)
    return ax


def batch_comparison(
    *,
    delta: float,
    sigma: float,
    batches: Sequence[int] = _BATCHES,
    sensitivity: float = 1.0,
    domain: Any = "real",
    changes: Changes | None = None,
    ax: Any = None,
) -> Any:
    """ε of answers released together: one joint design, the best independent noise, Gaussian noise,
    at the same σ on each; where all answers move the same way also correlated Gaussian noise.

    Args:
        delta: Probability with which the guarantee may fail, in (0, 1).
        sigma: Standard deviation of the noise on every answer, in its units.
        batches: Numbers of answers released together.
        sensitivity: How much one person can move one answer, in its units.
        domain: "real", or "integer" for answers that are whole numbers.
        changes: Which vectors of changes one person can make, in sensitivities; any signs by
            default. Where only their length is known, nothing is drawn for answers one by one.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `batches` is empty, or a number is out of range.
        DesignError: No law is found for one of them.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import plots
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> _ = plots.batch_comparison(delta=1e-6, sigma=8.0, batches=[1, 2], ax=ax)
        >>> ax.get_xlabel()
        'answers released together'
    """
    style.check_some("batches", batches)
    ax = style.axes_or_new(ax)
    each: dict[str, Any] = {"delta": delta, "sigma": sigma}
    each |= {"sensitivity": sensitivity, "domain": domain}
    found = [design(batch=size, changes=changes, **each) for size in batches]
    each_gaussian = "Gaussian" if domain == "real" else "discrete Gaussian"
    known = [_best_gaussian(best, each_gaussian) for best in found]
    is_correlated = found[-1].changes.is_one_sided
    is_length = found[0].changes.ranges_of(found[0].batch) is None
    batch_lines(
        ax,
        list(batches),
        gaussian=[best.rivals[each_gaussian] for best in found],
        correlated=known if is_correlated else None,
        one_by_one=None if is_length else _one_by_one(found, each),
        joint=[best.epsilon for best in found],
    )
    _write_savings(ax, found, known)
    if is_length or found[-1].touched < found[-1].batch:
        ax.set_ylim(0.0, 1.6 * ax.get_ylim()[1])  # lines that are level would meet the legend
    title = f"noise of σ = {sigma:g} on every answer, sensitivity {below(sensitivity, 6)}"
    ax.set_title(title + style.moved_in_words(changes or BOX), wrap=True)
    ax.set(xlabel="answers released together", xlim=(0.0, 1.08 * max(batches)))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel(f"ε at δ = {style.power_of_ten(delta)}")
    return ax


def _one_by_one(found: Sequence[Design], use: Mapping[str, Any]) -> list[float]:
    """ε of our own noise on each answer alone, of which a person is seen in some."""
    return [design(compositions=best.touched, **use).epsilon for best in found]


def _best_gaussian(best: Design, independent: str) -> float:
    """ε of the best Gaussian noise at the σ of a design."""
    own = best.rivals[independent]
    return min(own, best.rivals.get("correlated Gaussian", own))


def _write_savings(ax: Any, found: Sequence[Design], known: Sequence[float]) -> None:
    """Beside each design, how much less its ε is than that of the Gaussian noise."""
    last = max(best.batch for best in found)
    for best, gaussian in zip(found, known, strict=True):
        if best.batch < 5:  # fewer crowd at the origin
            continue
        saved = f"−{100 * (1.0 - best.epsilon / gaussian):.0f} %"
        # the last would leave the frame
        place, ha = ((-2, -15), "center") if best.batch == last else ((4, -13), "left")
        look = {"textcoords": "offset points", "fontsize": 8, "ha": ha}
        ax.annotate(saved, (best.batch, best.epsilon), xytext=place, **look)
    kind = "correlated Gaussian" if found[-1].changes.is_one_sided else "Gaussian"
    note = f"in %: ε against {kind} noise"
    ax.text(0.98, 0.03, note, transform=ax.transAxes, ha="right", fontsize=8)


def batch_lines(
    ax: Any,
    answers: Sequence[int],
    *,
    gaussian: Sequence[float],
    one_by_one: Sequence[float] | None,
    joint: Sequence[float],
    correlated: Sequence[float] | None = None,
) -> None:
    """ε by number of answers: Gaussian noise, our design on each answer alone, our design for all
    together, and correlated Gaussian noise; what is None is not drawn."""
    single = {**style.marked(style.OURS), "marker": "o"}
    known = style.marked("correlated Gaussian")
    ax.plot(answers, gaussian, label="Gaussian noise on each", **style.marked("Gaussian"))
    if correlated is not None:
        ax.plot(answers, correlated, label="Gaussian noise, correlated", **known)
    if one_by_one is not None:
        ax.plot(answers, one_by_one, label="our design, one by one", **single)
    ax.plot(answers, joint, label="our design, all together", **style.marked("joint"))
    ax.set_ylim(0.0, None)
    ax.legend(loc="upper left", framealpha=0.9)


def comparison(rows: Sequence[ComparedLaw], *, by: str = "epsilon", ax: Any = None) -> Any:
    """All mechanisms of a comparison as bars, the best hatched.

    Args:
        rows: What `leastnoise.designer.compare.compare` returned, the best first.
        by: "epsilon" for the ε of each at equal σ, "sigma" for the σ each needs for the best ε.
        ax: The axes to draw on; new ones by default.

    Returns:
        The matplotlib axes.

    Raises:
        InvalidParameterError: `by` is neither, or no row has a value to draw.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> from leastnoise import plots
        >>> from leastnoise.designer.compare import compare
        >>> ax = plots.Sheet(1, 1, 6.4, 4.4).axes[0]
        >>> rows = compare(delta=1e-6, sigma=8.0)
        >>> len(plots.comparison(rows, ax=ax).patches) == len(rows)
        True
    """
    if by not in ("epsilon", "sigma"):
        raise InvalidParameterError("by", by, "to be 'epsilon' or 'sigma'")
    shown = _shown(rows, by)
    if not shown:
        raise InvalidParameterError("rows", list(rows), "to hold at least one value to draw")
    ax = style.axes_or_new(ax, 6.4, 1.2 + 0.36 * len(rows))
    best = next(iter(shown.values()))
    lengths = [value if math.isfinite(value) else 0.0 for value in shown.values()]
    look = {"height": 0.62, "edgecolor": "#222222", "lw": 0.6}
    colours = [style.line(name)["color"] for name in shown]
    bars = ax.barh([style.plain(name) for name in shown], lengths, color=colours, **look)
    # Hatching tells the best from the rest without colour.
    bars[0].set_hatch("//")
    beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
    for bar, value in zip(bars, shown.values(), strict=True):
        end = (bar.get_width(), bar.get_y() + bar.get_height() / 2)
        ax.annotate(_value_in_words(value, best), end, **beside)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.set_xlim(0.0, 1.5 * max(lengths) or 1.0)
    ax.locator_params(axis="x", nbins=5)  # more would touch where a tick has many digits
    needed = "σ needed for the best ε (units of the answer)"
    ax.set_xlabel("ε at the same σ" if by == "epsilon" else needed)
    return ax


def _shown(rows: Sequence[ComparedLaw], by: str) -> dict[str, float]:
    """The value of each mechanism that has one."""
    if by == "epsilon":
        return {row.name: row.epsilon_at_sigma for row in rows}
    found = {row.name: row.sigma_at_epsilon for row in rows}
    return {name: sigma for name, sigma in found.items() if sigma is not None}


def _value_in_words(value: float, best: float) -> str:
    """ "1.234  +3.9 %"; no percentage where the numbers shown would be the same."""
    if not math.isfinite(value):
        return "infinite: no guarantee at this δ"
    more = value / best - 1.0
    if more < 0.0005:
        return f"{value:.4g}"
    return f"{value:.4g}  +{100 * more:.{1 if more < 0.1 else 0}f} %"


def _plain_logarithms(axis: Any) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    # 1, 2 and 5 of each decade, until there are so many that they would touch.
    subs = (1.0, 2.0, 5.0) if high < 500.0 * low else (1.0,)
    axis.set_major_locator(LogLocator(base=10.0, subs=subs))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
