"""Small tables and drawings as plain HTML and SVG, from plain rows and numbers.

For notebooks: without scripts, so that they stay in a saved notebook and on a web page.
Text is escaped here; cells of a `table` are HTML already. Laws, designs, releases and
ledgers build their cards of these, and nothing is computed that they do not state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from leastnoise.text.numbers import above

_WIDTH, _HEIGHT, _BASE = 260, 90, 74  # of a drawing, and its axis
_OURS, _OTHER, _OVER = "#0b5cad", "#888888", "#b00020"
MOST_ROWS = 60  # of a table; more are only counted


# Tables


def facts(rows: Mapping[str, str]) -> str:
    """Named texts, one a row."""
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td '
        f'style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{body}</table>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def side_by_side(left: str, right: str) -> str:
    """Two pieces of HTML, below each other where there is no room."""
    style = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"
    return f'<div style="{style}"><div>{left}</div><div>{right}</div></div>'


# Drawings


def curves_svg(
    curves: Sequence[tuple[Sequence[float], Sequence[float]]], reach: float, half_width: float
) -> str:
    """Densities from −reach to reach, ± half_width marked as what holds 95 %; the last
    curve is ours, one before it is drawn in grey behind it."""
    top = max(max(y) for _, y in curves) or 1.0
    paths = []
    for (x, y), colour in zip(curves, (_OTHER, _OURS)[-len(curves) :], strict=True):
        points = " ".join(
            f"{_across(a, reach):.1f},{_BASE - 66 * b / top:.1f}" for a, b in zip(x, y, strict=True)
        )
        stroke = f'stroke="{colour}" stroke-width="1.5"'
        paths.append(f'<polyline points="{points}" fill="none" {stroke}/>')
    for end in (-half_width, half_width):
        at, ends = f"{_across(end, reach):.1f}", f'y1="{_BASE - 4}" y2="{_BASE + 4}"'
        paths.append(f'<line x1="{at}" x2="{at}" {ends} stroke="{_OURS}"/>')
    axis = f'<line x1="4" x2="{_WIDTH - 4}" y1="{_BASE}" y2="{_BASE}" stroke="{_OTHER}"/>'
    shown = _text(_WIDTH / 2, _HEIGHT - 3, f"± {above(half_width)} (95 %)", "middle")
    label = f"density; 95 % of the noise within ± {above(half_width)}"
    return _svg(_HEIGHT, label, axis + "".join(paths) + shown)


def bars_svg(values: Mapping[str, float], label: str) -> str:
    """Named numbers as bars; an infinite one fills its row."""
    finite = [value for value in values.values() if math.isfinite(value)]
    top = max(finite, default=1.0) or 1.0
    drawn = []
    for row, (name, value) in enumerate(values.items()):
        width = 100.0 * min(value / top, 1.0) if math.isfinite(value) else 100.0
        y = 14 * row
        colour = _OURS if row == 0 else _OTHER
        size = f'width="{max(width, 1.0):.1f}" height="10"'
        drawn.append(f'<rect x="112" y="{y + 2}" {size} fill="{colour}"/>')
        drawn.append(_text(108, y + 11, name, "end"))
        drawn.append(_text(116 + width, y + 11, f"{value:.4g}", "start"))
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
    drawn += f'<rect x="4" y="4" width="{width:.1f}" height="8" fill="{colour}"/>'
    return _svg(16, f"{100 * share:.0f} % spent", drawn, 120)


def _across(x: float, reach: float) -> float:
    return 4 + (_WIDTH - 8) * (x + reach) / (2.0 * reach)


def _svg(height: float, label: str, content: str, width: int = _WIDTH) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{content}</svg>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    style = 'font-size="10" font-family="sans-serif" fill="currentColor"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style} text-anchor="{anchor}">{escape(text)}</text>'
