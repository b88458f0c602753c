"""How designs, laws, releases and ledgers show themselves in a notebook, and a progress bar that works there.

The views are tables with small drawings as plain HTML and SVG, without scripts, so that they stay in a saved notebook and on a web
page. Text from outside (names of data sets, notes, statistics) is escaped. Nothing is computed that the objects do not state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from leastnoise.closed_form import GaussianNoise
from leastnoise.digits import above, below
from leastnoise.extras import required
from leastnoise.noise import Noise

if TYPE_CHECKING:
    from leastnoise.designer.design import Design
    from leastnoise.releases.ledger import Ledger
    from leastnoise.releases.run import Release

Item = TypeVar("Item")

_WIDTH, _HEIGHT, _BASE = 260, 90, 74  # of a drawing, and its axis
_OURS, _OTHER, _OVER = "#0b5cad", "#888888", "#b00020"
_POINTS = 121
_MOST_ROWS = 60


def noise_html(noise: Noise) -> str:
    """A law: its numbers and its density."""
    answers = "one answer" if noise.dimension == 1 else f"{noise.dimension} answers at once"
    rows = {
        "law": f"{type(noise).__name__}, {noise.domain}, {answers}",
        "standard deviation": f"{noise.std:.6g}",
        "± at 95 %": above(noise.interval(0.95)),
        "± at 99.9 %": above(noise.interval(0.999)),
    }
    if noise.step is not None:
        rows["step"] = f"{noise.step:.6g}"
    return _side_by_side(_facts(rows), density_svg(noise))


def design_html(design: Design) -> str:
    """A design: guarantee, accuracy, proof, rivals, and its density over that of the Gaussian law of the same deviation."""
    noise = design.noise
    draws = "independent draws" if noise.dimension == 1 else "one joint draw"
    if noise.dimension > 1 and not design.is_joint:
        draws = f"joint draws on {design.blocks} blocks"
    rows = {
        "noise": f"{design.origin}, {noise.domain}, {draws}",
        "guarantee": f"ε = {above(design.epsilon, 6)} at δ = {above(design.delta, 6)}",
        "exact ε above": below(design.epsilon_lower, 6),
        "standard deviation": f"{noise.std:.6g}",
        "± at 95 %": above(noise.interval(0.95)),
        "use": f"{design.compositions} release(s) of {design.batch} answer(s), sensitivity {_span(design.sensitivities)}",
    }
    if design.touched < design.batch:  # a condition of the guarantee
        rows["one person changes"] = f"at most {design.touched} of {design.batch} answers"
    if design.gap is not None and design.renyi_order is not None:
        rows["certificate"] = (
            f"order {design.renyi_order:.4g}, relative duality gap {design.gap:.1e}"
        )
    bars = {"this noise": design.epsilon, **design.rivals}
    return _side_by_side(
        _facts(rows),
        density_svg(noise, beside=GaussianNoise(noise.std))
        + bars_svg(bars, "ε at the same deviation"),
    )


def _span(values: Sequence[float]) -> str:
    """Numbers as one, or as a range."""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}, noise in proportion"


def release_html(release: Release) -> str:
    """A release: its guarantee and its numbers with error bars."""
    from leastnoise.releases.page import scales

    rows = {
        "release": release.plan.name,
        "guarantee": f"ε = {above(release.epsilon, 6)} at δ = {above(release.delta, 6)}",
        "engine": release.engine,
        "entropy": release.entropy,
        **({"before you read the numbers": " ".join(release.cautions)} if release.cautions else {}),
    }
    shown = release.rows[:_MOST_ROWS]
    ranges = scales(release)
    table = _table(
        ("statistic", "group", "value", "± at 95 %", ""),
        [
            (
                escape(row.statistic),
                escape(row.group),
                *row.shown(),
                ""
                if row.value is None
                else error_bar_svg(
                    row.in_words(), row.value, row.lower, row.upper, *ranges[row.statistic]
                ),
            )
            for row in shown
        ],
    )
    more = len(release.rows) - len(shown)
    return _facts(rows) + table + (f"<p>and {more} more</p>" if more else "")


def ledger_html(ledger: Ledger) -> str:
    """A ledger: each data set's budget and what is spent of it, then the latest releases."""
    datasets = ledger.datasets()
    if not datasets:
        return "<p>No data set has a budget yet.</p>"
    budgets = _table(
        ("data set", "rule", "δ", "ε spent", "of ε", "", "releases"),
        [
            (
                escape(one.name),
                escape(one.rule),
                above(one.delta, 6),
                above(one.spent),
                below(one.epsilon),
                gauge_svg(one.spent / one.epsilon),
                str(one.releases),
            )
            for one in datasets
        ],
    )
    entries = ledger.entries()[-_MOST_ROWS:]
    releases = _table(
        ("release", "time", "data set", "ε after it", "state", "note"),
        [
            (
                str(one.id),
                escape(one.time),
                escape(one.dataset),
                above(one.epsilon_after),
                "spent" if one.result_hash is None else "revealed",
                escape(" ".join(text for text in (one.note, one.stamp) if text)),
            )
            for one in entries
        ],
    )
    return budgets + (releases if entries else "")


# Drawings


def density_svg(noise: Noise, beside: Noise | None = None) -> str:
    """The law of the noise on one answer; `beside`, if given, in grey behind it."""
    reach = max(noise.interval(0.998), 1e-300)
    curves = [
        _curve(law, noise.domain == "integer", reach)
        for law in ([] if beside is None else [beside]) + [noise]
    ]
    top = max(float(y.max()) for _, y in curves) or 1.0
    paths = []
    for (x, y), colour in zip(curves, (_OTHER, _OURS)[-len(curves) :], strict=True):
        points = " ".join(
            f"{_across(a, reach):.1f},{_BASE - 66 * b / top:.1f}"
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
        )
        paths.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
    half = noise.interval(0.95)
    ends = "".join(
        f'<line x1="{_across(x, reach):.1f}" x2="{_across(x, reach):.1f}" y1="{_BASE - 4}" y2="{_BASE + 4}" stroke="{_OURS}"/>'
        for x in (-half, half)
    )
    label = f"density; 95 % of the noise within ± {above(half)}"
    axis = f'<line x1="4" x2="{_WIDTH - 4}" y1="{_BASE}" y2="{_BASE}" stroke="{_OTHER}"/>'
    return _svg(
        _HEIGHT,
        label,
        axis
        + "".join(paths)
        + ends
        + _text(_WIDTH / 2, _HEIGHT - 3, f"± {above(half)} (95 %)", "middle"),
    )


def bars_svg(values: Mapping[str, float], label: str) -> str:
    """Named numbers as bars; an infinite one fills its row."""
    finite = [value for value in values.values() if math.isfinite(value)]
    top = max(finite, default=1.0) or 1.0
    drawn = []
    for row, (name, value) in enumerate(values.items()):
        width = 100.0 * min(value / top, 1.0) if math.isfinite(value) else 100.0
        y = 14 * row
        colour = _OURS if row == 0 else _OTHER
        drawn.append(
            f'<rect x="112" y="{y + 2}" width="{max(width, 1.0):.1f}" height="10" fill="{colour}"/>'
        )
        drawn.append(
            _text(108, y + 11, name, "end") + _text(116 + width, y + 11, f"{value:.4g}", "start")
        )
    return _svg(14 * len(values) + 2, label, "".join(drawn))


def error_bar_svg(
    label: str, value: float, lower: float, upper: float, low: float, high: float
) -> str:
    """A number with its interval on the scale from `low` to `high`."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return ""
    left, middle, right = (4 + 112 * (x - low) / span for x in (lower, value, upper))
    drawn = (
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="8" y2="8" stroke="{_OTHER}" stroke-width="2"/>'
    )
    return _svg(16, label, drawn + f'<circle cx="{middle:.1f}" cy="8" r="3" fill="{_OURS}"/>', 120)


def gauge_svg(share: float) -> str:
    """How much of something is used up."""
    width = 112 * min(max(share, 0.0), 1.0)
    colour = _OVER if share > 0.9 else _OURS
    drawn = f'<rect x="4" y="4" width="112" height="8" fill="none" stroke="{_OTHER}"/>'
    return _svg(
        16,
        f"{100 * share:.0f} % spent",
        drawn + f'<rect x="4" y="4" width="{width:.1f}" height="8" fill="{colour}"/>',
        120,
    )


def _curve(noise: Noise, on_integers: bool, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of the density; on the integers the probability of each (of a group of neighbours, where there are very many)."""
    if not on_integers:
        x = np.linspace(-reach, reach, _POINTS)
        return x, noise.pdf(x)
    every = max(1, math.ceil(2.0 * reach / 400.0))
    x = every * np.arange(
        -math.floor(reach / every), math.floor(reach / every) + 1, dtype=np.float64
    )
    return x, noise.ccdf(x - 0.5 * every) - noise.ccdf(x + 0.5 * every)


def _across(x: float, reach: float) -> float:
    return 4 + (_WIDTH - 8) * (x + reach) / (2.0 * reach)


def _svg(height: float, label: str, content: str, width: int = _WIDTH) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{content}</svg>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    style = 'font-size="10" font-family="sans-serif" fill="currentColor"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style} text-anchor="{anchor}">{escape(text)}</text>'


# Tables


def _facts(rows: Mapping[str, str]) -> str:
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{body}</table>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _side_by_side(left: str, right: str) -> str:
    return f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"><div>{left}</div><div>{right}</div></div>'


# Progress


def progress(
    items: Iterable[Item], description: str = "", *, total: int | None = None
) -> Iterator[Item]:
    """The items, with a bar that works in a notebook and in a terminal: tqdm's where it is installed, else rich's."""
    try:
        bar = required("tqdm.auto", "notebook").tqdm
    except ImportError:
        track = required("rich.progress", "notebook").track
        yield from track(items, description or "working", total=total)
        return
    yield from bar(items, desc=description or None, total=total)


def stages() -> Callable[[str, float], None]:
    """For `release(..., progress=stages())`: one bar for each stage, filled by its share."""
    tqdm = required("tqdm.auto", "notebook").tqdm
    bars: dict[str, Any] = {}

    def told(stage: str, share: float) -> None:
        if stage not in bars:
            bars[stage] = tqdm(
                total=100, desc=stage, bar_format="{desc}: {percentage:3.0f} %|{bar}| {elapsed}"
            )
        bars[stage].n = round(100 * min(max(share, 0.0), 1.0))
        bars[stage].refresh()
        if share >= 1.0:
            bars[stage].close()

    return told
