"""Fig. 5 and 7: a law for every δ, and the curve of their ε against those of the
rivals, continuous and discrete."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leastnoise.laws.base import Domain
from leastnoise.plots import style
from leastnoise.plots.style import OURS, PUBLISHED
from leastnoise.reproduction.cell import NAMED_RIVALS, cell_at, computed
from leastnoise.reproduction.records import Record, behind_row, gain_row, row
from leastnoise.reproduction.sweep import Options, sweep, wall_seconds

COMPOSITIONS = 10
ITERATIONS = 3_000
KINDS: dict[Domain, str] = {"real": "continuous", "integer": "discrete"}
_LISTED = ("delta", "ours", "published", "origin", "gain", "published_gain")
# the "range of greatest improvement" is where the gain exceeds the paper's own 2 % (Fig. 4)
MARGIN = 0.02


def compute(
    name: str, sigma: float, printed: tuple[float, float], quick: bool, options: Options
) -> Record:
    """Both domains; `printed` is the range of ε in which the paper sees its greatest
    improvement."""
    exponents = (-3.0, -6.0, -9.0) if quick else tuple(np.arange(-1.0, -12.01, -0.5))
    iterations = 60 if quick else ITERATIONS
    wanted = [
        cell_at(sigma, COMPOSITIONS, 10.0**exponent, iterations, domain)
        for domain in KINDS
        for exponent in exponents
    ]
    store = options.store_for(name)
    cells = sweep(computed, wanted, workers=options.workers, store=store, label=name)
    panels = {
        domain: _panel([cell for cell in cells if cell["domain"] == domain]) for domain in KINDS
    }
    rows = [entry for domain in KINDS for entry in _rows(KINDS[domain], panels[domain], printed)]
    return {
        "sweep_seconds": wall_seconds(cells),
        "setting": {"sigma": sigma, "compositions": COMPOSITIONS}
        | {"published_iterations": iterations, "printed_range": printed},
        "rows": rows,
        "panels": panels,
        "notes": [
            f"The range of the greatest gain is where it exceeds {MARGIN:.0%}. Algorithm 3 has "
            f"{iterations:,} iterations a point; at large and small δ, where Gaussian or "
            "Staircase is best, it ends behind them."
        ],
    }


def _rows(kind: str, panel: Record, printed: tuple[float, float]) -> list[Record]:
    low, high = panel["range"]
    overlap = min(high, printed[1]) - max(low, printed[0])
    inside = overlap > 0.5 * min(high - low, printed[1] - printed[0])
    agrees = f"agrees: {low:.2f} to {high:.2f}, printed {printed[0]:g} to {printed[1]:g}"
    verdict = agrees if inside else "differs, see note"
    middle, theirs = 0.5 * (low + high), 0.5 * (printed[0] + printed[1])
    peaks = (panel["peak_gain"], panel["published_peak_gain"])
    behind = (panel["behind"], panel["published_behind"])
    return [
        gain_row(f"{kind}: largest gain in ε over the best rival", *peaks),
        row(f"{kind}: middle of the ε with more than 2 % gained", middle, verdict, printed=theirs),
        behind_row(f"{kind}: δ at which a rival is better", *behind),
    ]


def _panel(cells: list[Record]) -> Record:
    listed = {key: [cell[key] for cell in cells] for key in _LISTED}
    gain, ours = np.array(listed["gain"]), np.array(listed["ours"])
    published = np.array(listed["published_gain"], dtype=np.float64)  # None becomes nan
    near = ours[gain > min(MARGIN, 0.5 * float(np.max(gain)))]
    return {
        **listed,
        "rivals": {name: [cell["rivals"].get(name) for cell in cells] for name in NAMED_RIVALS},
        "peak_gain": float(np.max(gain)),
        "published_peak_gain": float(np.nanmax(published)),
        "range": [float(np.min(near)), float(np.max(near))],
        "behind": int(np.sum(gain < -1e-9)),
        "published_behind": int(np.sum(published < -1e-3)),
    }


def draw(record: Record, path: Path) -> None:
    """δ against ε above, the gain below."""
    sheet = style.Sheet(2, 2, 11.5, 7.4, sharex="col", height_ratios=(2.2, 1.0))
    low, high = record["setting"]["printed_range"]
    for column, (domain, kind) in enumerate(KINDS.items()):
        panel = record["panels"][domain]
        curve, gain = sheet.axes[column], sheet.axes[2 + column]
        lines = {**panel["rivals"], PUBLISHED: panel["published"], OURS: panel["ours"]}
        for name, values in lines.items():
            curve.semilogy(values, panel["delta"], label=name, **style.line(name))
        curve.set(title=f"{kind}, σ = {record['setting']['sigma']:g}, ten compositions", ylabel="δ")
        curve.legend(loc="lower left")
        for name, key in ((PUBLISHED, "published_gain"), (OURS, "gain")):
            values = [np.nan if value is None else 100.0 * value for value in panel[key]]
            gain.plot(panel["ours"], values, **style.line(name))
        gain.axvspan(low, high, color="#999999", alpha=0.18, lw=0)
        gain.axhline(0.0, color="#777777", lw=0.8)
        label = {"ha": "center", "va": "bottom", "fontsize": 8, "color": "#444444"}
        gain.text(0.5 * (low + high), -3.7, "printed range", **label)
        gain.set(xlabel="ε", ylabel="gain over the\nbest rival (%)")
        gain.set(xlim=(0, max(panel["ours"]) * 1.2), ylim=(-4.0, 100.0 * panel["peak_gain"] * 1.15))
    sheet.save(path)
