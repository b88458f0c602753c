"""Fig. 1: privacy curves at σ = 8, s = 1, ten compositions; the optimised noise is made
for δ = 10⁻⁶."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.designer.cactus import cactus
from leastnoise.designer.design import design
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import gaussian, laplace
from leastnoise.plots import style
from leastnoise.plots.style import OURS, PUBLISHED
from leastnoise.reproduction import records
from leastnoise.reproduction.published_run import HALVINGS_AS_PRINTED, epsilon, run_published
from leastnoise.reproduction.records import Record, row, sampled
from leastnoise.reproduction.sweep import DEFAULT, Options
from leastnoise.solver.staircase import staircase

SIGMA, COMPOSITIONS, DELTA = 8.0, 10, 1e-6
PRINTED = {"optimised": 1.62, "Laplace": 1.76, "Staircase": 1.76, "Gaussian": 1.74, "Cactus": 1.74}
PRINTED_GAIN = 6.89
ITERATIONS = 20_000


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """ε at the target δ for every law, and over a range of δ."""
    at: Record = {"sigma": SIGMA, "delta": DELTA, "compositions": COMPOSITIONS}
    began = time.perf_counter()
    best = design(**at)
    seconds = time.perf_counter() - began
    iterations = 100 if quick else ITERATIONS
    run = run_published(**at, iterations=iterations)
    stalled = run_published(**at, iterations=iterations, halvings=HALVINGS_AS_PRINTED)
    laws: dict[str, Noise] = {
        "Gaussian": gaussian(SIGMA),
        "Laplace": laplace(SIGMA),
        "Staircase": staircase(SIGMA),
        "Cactus": cactus(SIGMA),
        PUBLISHED: run.noise,
        OURS: best.noise,
    }
    epsilons = {name: epsilon(noise, DELTA, COMPOSITIONS) for name, noise in laws.items()}
    literal = epsilon(stalled.noise, DELTA, COMPOSITIONS)
    # by δ: the curves of Laplace and Staircase end in a vertical drop
    grid = np.logspace(-2.0, -12.0, 6 if quick else 61)
    curves = {name: _curve(noise, grid) for name, noise in laws.items()}
    rivals = {name: epsilons[name] for name in ("Gaussian", "Laplace", "Staircase", "Cactus")}
    least = min(rivals.values())
    gains = {name: 100.0 * (1.0 - epsilons[name] / least) for name in (PUBLISHED, OURS)}
    printed = PRINTED["optimised"]
    verdict = records.less_is_better(epsilons[OURS], printed, 2)
    beside: Record = {"printed": printed, "method": epsilons[PUBLISHED]}
    rows = [row("optimised noise: ε at δ = 10⁻⁶", epsilons[OURS], verdict, **beside)]
    for name, value in rivals.items():
        verdict = records.agreement(value, PRINTED[name], 2)
        rows.append(row(f"{name}: ε", value, verdict, printed=PRINTED[name]))
    printed = PRINTED_GAIN
    verdict = records.more_is_better(gains[OURS], printed, 2)
    beside = {"printed": printed, "method": gains[PUBLISHED], "unit": "%"}
    rows.append(row("gain in ε over the best rival", gains[OURS], verdict, **beside))
    return {
        "setting": at,
        "rows": rows,
        "epsilon": epsilons,
        "published": run.described(),
        "published_with_ten_halvings": {**stalled.described(), "epsilon": literal},
        "grid": sampled(grid),
        "curves": curves,
        "notes": [
            f"Algorithm 3 with the ten halvings it prints stops at ε = {literal:.4f} (order "
            f"{stalled.result.renyi_order:.2f}, {stalled.iterations} iterations); with sixteen "
            f"halvings it goes on to {epsilons[PUBLISHED]:.4f} (order "
            f"{run.result.renyi_order:.2f}, {run.iterations} iterations, {run.seconds:.0f} s). "
            f"Our design takes {seconds:.1f} s.",
            f"Laplace and Staircase need {rivals['Laplace']:.4f} and {rivals['Staircase']:.4f}: "
            "the printed 1.76 is cut, not rounded. The printed 6.89 % is (1.74 − 1.62)/1.74 of "
            "the rounded values.",
        ],
    }


def _curve(noise: Noise, grid: Floats) -> list[float]:
    loss = PrivacyLoss.of(noise, 1.0).compose(COMPOSITIONS)
    return sampled([loss.epsilon(float(delta)) for delta in grid])


def draw(record: Record, path: Path) -> None:
    """δ against ε on a logarithmic scale, with the target marked."""
    sheet = style.Sheet(1, 2, 11.0, 4.9)
    for axes, (low, high) in zip(sheet.axes, ((0.6, 2.6), (1.55, 1.85)), strict=True):
        for name, curve in record["curves"].items():
            label = f"{name}: ε = {record['epsilon'][name]:.3f}"
            axes.semilogy(curve, record["grid"], label=label, **style.line(name))
        axes.axhline(DELTA, color="#777777", lw=0.8)
        axes.set(xlim=(low, high), xlabel="ε", ylabel="δ(ε) after 10 releases")
    whole, near = sheet.axes
    whole.set(ylim=(1e-12, 1e-2), title="σ = 8, s = 1, ten compositions")
    near.set(ylim=(1e-7, 1e-5), title="around the target δ = 10⁻⁶")
    handles, labels = whole.get_legend_handles_labels()
    look = {"ncols": 3, "title": "ε at δ = 10⁻⁶", "frameon": False}
    sheet.figure.legend(handles, labels, loc="outside lower center", **look)
    sheet.save(path)
