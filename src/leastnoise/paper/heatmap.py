"""Fig. 4 and 6: which law wins over σ and the number of compositions, and by how much.

The grid is not printed. Alg. 3 gets at most 1,500 iterations a cell with 13 bins a σ, four a sensitivity at least (their spread
costs 5e-4 of the divergence at most), N·Δ = 20σ and r = 0.9999.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.paper.common import Record, against_method, row
from leastnoise.paper.setting import NAMED_RIVALS, computed, setting
from leastnoise.paper.sweep import Options, sweep, wall_seconds
from leastnoise.plots import style
from leastnoise.plots.style import OURS, PUBLISHED

SIGMAS = (0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
COMPOSITIONS = (1, 2, 3, 5, 7, 10, 12, 14, 17, 20, 25, 30, 37, 45)
ITERATIONS = 1_500
MARGIN = 0.02
_ROUNDING = 1e-9
_BINS = 1e-3  # Alg. 3 counts as behind a rival only by more than its coarser bins can cost


def compute(name: str, delta: float, quick: bool, options: Options) -> Record:
    """The grid at one δ, with the share of cells where each method gains more than 2 % over the best rival."""
    sigmas, counts, iterations = (
        (SIGMAS, COMPOSITIONS, ITERATIONS) if not quick else ((4.0, 8.0), (2, 10), 40)
    )
    wanted = [setting(sigma, n, delta, iterations) for n in counts for sigma in sigmas]
    cells = sweep(
        computed, wanted, workers=options.workers, store=options.store_for(name), label=name
    )
    shares = {
        key: _share(cells, key) for key in ("published_gain", "published_solved_gain", "gain")
    }
    worse = [cell for cell in cells if cell["gain"] < -_ROUNDING]
    behind = [
        cell
        for cell in cells
        if (cell["published_gain"] if cell["published_gain"] is not None else -1.0) < -_BINS
    ]
    top = max(cells, key=lambda cell: cell["gain"])
    highest = max(cell["published_gain"] or 0.0 for cell in cells)
    solved_behind = [cell for cell in cells if (cell.get("published_solved_gain") or 0.0) < -_BINS]
    winners = {rival: sum(cell["best_rival"] == rival for cell in cells) for rival in NAMED_RIVALS}
    seconds = (
        sum(cell["seconds"] for cell in cells),
        sum(cell.get("published_seconds") or 0.0 for cell in cells),
    )
    return {
        "sweep_seconds": wall_seconds(cells),
        "setting": {
            "delta": delta,
            "sigmas": sigmas,
            "compositions": counts,
            "published_iterations": iterations,
            "margin": MARGIN,
        },
        "rows": [
            row(
                f"share of the {len(cells)} cells with more than 2 % gained",
                method=100.0 * shares["published_gain"],
                ours=100.0 * shares["gain"],
                digits=1,
                unit="%",
                verdict=against_method(shares["gain"], shares["published_gain"], more=True),
            ),
            row(
                "cells worse than a rival (Alg. 3: by more than 0.1 %)",
                method=float(len(behind)),
                ours=float(len(worse)),
                digits=0,
                verdict="none, as claimed" if not worse else "differs",
            ),
            row(
                f"largest gain (ours: σ = {top['sigma']:g}, N_c = {top['compositions']})",
                method=100.0 * highest,
                ours=100.0 * top["gain"],
                digits=2,
                unit="%",
                verdict=against_method(top["gain"], highest, more=True),
            ),
        ],
        "cells": [_kept(cell) for cell in cells],
        "shares": shares,
        "best_rival_count": winners,
        "worst_cell": min(cell["gain"] for cell in cells),
        "cell_seconds": {"ours": seconds[0], "published": seconds[1]},
        "notes": [
            f"Algorithm 3 is stopped after {iterations:,} iterations a cell. Its own program, solved exactly at the order where it "
            f"stopped, gains more than 2 % in {shares['published_solved_gain']:.0%} of the cells, ours in {shares['gain']:.0%}, "
            f"Algorithm 3 itself in {shares['published_gain']:.0%}.",
            f"The paper says its noise is never worse than a rival. Algorithm 3 as run here is in {len(behind)} of {len(cells)} "
            "cells, at small σ or few compositions: it stalls on its way to the Staircase, and its order stays too small there "
            f"(its program solved exactly at that order is behind in {len(solved_behind)}). The authors' settings are not printed. "
            "Our design is the rival itself where none can be beaten.",
            f"Best rival: {', '.join(f'{rival} {count}' for rival, count in winners.items())} cells.",
        ],
    }


def _share(cells: list[Record], key: str) -> float:
    return float(sum(cell.get(key) is not None and cell[key] > MARGIN for cell in cells)) / len(
        cells
    )


def _kept(cell: Record) -> Record:
    keys = (
        "sigma",
        "compositions",
        "rivals",
        "best_rival",
        "ours",
        "origin",
        "gain",
        "published",
        "published_gain",
    )
    return {
        key: cell.get(key)
        for key in (
            *keys,
            "published_order",
            "published_iterations",
            "published_solved",
            "published_solved_gain",
        )
    }


def draw(record: Record, path: Path) -> None:
    """Two maps: the winner by the paper's rule, the gain in % written in the cell."""
    setting_ = record["setting"]
    sheet = style.Sheet(1, 2, 15.0, 6.6, sharey=True)
    shares = record["shares"]
    pairs = (
        (PUBLISHED, "published_gain", shares["published_gain"]),
        (OURS, "gain", shares["gain"]),
    )
    for axes, (label, key, share) in zip(sheet.axes, pairs, strict=True):
        _map(axes, record["cells"], list(setting_["sigmas"]), list(setting_["compositions"]), key)
        axes.set(
            title=f"{label}: more than 2 % gained in {share:.0%} of the cells",
            xlabel="σ, in sensitivities",
        )
    sheet.axes[0].set_ylabel("compositions N_c")
    from matplotlib.patches import Patch

    names = [*NAMED_RIVALS, "optimised noise, more than 2 % better"]
    handles = [
        Patch(facecolor=_colour(name), label=name, edgecolor="#444444", lw=0.5) for name in names
    ]
    sheet.figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    sheet.figure.suptitle(
        f"Winner at δ = {style.power_of_ten(setting_['delta'])}; in each cell the gain in ε over the best rival, in %",
        fontsize=11,
    )
    sheet.save(path)


def _colour(name: str) -> str:
    from matplotlib.colors import to_hex

    strong = style.COLOURS.get(name, style.COLOURS[OURS])
    if name in NAMED_RIVALS:  # rivals pale, so that the optimised region stands out also in grey
        red, green, blue = (0.45 * int(strong[i : i + 2], 16) / 255 + 0.55 for i in (1, 3, 5))
        return str(to_hex((red, green, blue)))
    return strong


def _map(axes: Any, cells: list[Record], sigmas: list[float], counts: list[int], key: str) -> None:
    axes.grid(False)
    for cell in cells:
        i, j = sigmas.index(cell["sigma"]), counts.index(cell["compositions"])
        gain = cell[key]
        won = gain is not None and gain > MARGIN
        colour = _colour("optimised" if won else cell["best_rival"])
        axes.add_patch(_square(i, j, colour))
        text = "–" if gain is None else _percent(100.0 * gain)
        axes.text(
            i, j, text, ha="center", va="center", fontsize=7.5, color="white" if won else "#222222"
        )
    axes.set(xlim=(-0.5, len(sigmas) - 0.5), ylim=(-0.5, len(counts) - 0.5))
    axes.set_xticks(np.arange(len(sigmas)), [f"{sigma:g}" for sigma in sigmas], fontsize=8)
    axes.set_yticks(np.arange(len(counts)), [str(n) for n in counts], fontsize=8)


def _percent(value: float) -> str:
    if abs(value) < 0.05:
        return "0"
    return (f"{value:.1f}" if abs(value) < 10 else f"{value:.0f}").replace("-", "−")


def _square(i: int, j: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((i - 0.5, j - 0.5), 1.0, 1.0, facecolor=colour, edgecolor="white", lw=0.8)
