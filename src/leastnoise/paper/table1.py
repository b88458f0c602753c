"""Table 1: how much less mean squared error than Gaussian noise, on three data sets, ten queries, δ = 10⁻⁶.

Every mechanism is calibrated to the same (ε, δ) over the ten queries; the noise has the scale of each query's sensitivity. For each
query 100,000 noisy answers are simulated, their squared errors averaged, over the ten queries too; 20 seeds give mean and
standard deviation of 1 − MSE/MSE of the Gaussian. The seeds make it a simulation: nothing here may release data.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy import optimize

from leastnoise.classic import gaussian
from leastnoise.designer.design import design
from leastnoise.errors import AccountingError, UnsupportedError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.paper.common import PublishedRun, Record, epsilon, row, run_published
from leastnoise.paper.datasets import datasets
from leastnoise.paper.sweep import DEFAULT, Options, sweep, wall_seconds
from leastnoise.plots import style
from leastnoise.plots.style import OURS, PUBLISHED
from leastnoise.shells import Floats

TITLE = "Table 1: MSE improvement over Gaussian noise, δ = 10⁻⁶, ten queries"
DELTA, QUERIES = 1e-6, 10
EPSILONS = (0.62, 0.69, 0.78, 0.84, 0.97, 1.05)
JOINT = "our joint design"
PRINTED = {
    "Breast Cancer": (
        (8.28, 0.19),
        (9.14, 0.19),
        (9.63, 0.23),
        (8.61, 0.17),
        (10.34, 0.20),
        (11.48, 0.18),
    ),
    "Diabetes": (
        (8.11, 0.19),
        (9.06, 0.21),
        (9.43, 0.16),
        (8.48, 0.17),
        (10.06, 0.17),
        (11.12, 0.22),
    ),
    "UCI Heart Disease": (
        (8.14, 0.22),
        (9.05, 0.16),
        (9.50, 0.26),
        (8.52, 0.19),
        (10.20, 0.20),
        (11.31, 0.18),
    ),
}
LIKELY_SIGMAS = (
    20.0,
    18.0,
    16.0,
    15.0,
    13.0,
    12.0,
)  # at which optimised noise has just the printed ε
_SEEDS, _DRAWS, _ITERATIONS = 20, 100_000, 10_000
_BINS = 2  # of Alg. 3, a sensitivity: at σ = 12 … 20 their spread is 1.4e-4 of the variance at most
_CALIBRATED = 1e-3  # how far below the wanted ε Alg. 3 may end
_ROUNDS = 4


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """The calibrated laws, the simulated improvements, and what the printed ones were probably computed from."""
    queries, missing = datasets(options.heart)
    epsilons, seeds, count, iterations = (
        (EPSILONS, _SEEDS, _DRAWS, _ITERATIONS) if not quick else ((0.62,), 2, 2_000, 20)
    )
    numbers = {
        name: {
            "answers": [q.answer for q in found],
            "sensitivities": [q.sensitivity for q in found],
        }
        for name, found in queries.items()
    }
    wanted = [
        {
            "epsilon": e,
            "iterations": iterations,
            "seeds": seeds,
            "draws": count,
            "datasets": numbers,
        }
        for e in epsilons
    ]
    cells = sweep(
        column, wanted, workers=options.workers, store=options.store_for("table1"), label="table1"
    )
    table = {
        name: {
            mechanism: [cell["improvement"][name][mechanism] for cell in cells]
            for mechanism in (PUBLISHED, OURS, JOINT)
        }
        for name in queries
    }
    likely = (
        []
        if quick
        else [_likely(sigma, e) for sigma, e in zip(LIKELY_SIGMAS, EPSILONS, strict=True)]
    )
    return {
        "sweep_seconds": wall_seconds(cells),
        "setting": {
            "delta": DELTA,
            "queries": QUERIES,
            "epsilons": epsilons,
            "seeds": seeds,
            "draws": count,
        },
        "rows": _rows(table, epsilons),
        "improvement": table,
        "printed": {name: PRINTED[name] for name in table},
        "expected": [cell["expected"] for cell in cells],
        "sigma": [cell["sigma"] for cell in cells],
        "published": [cell["published"] for cell in cells],
        "queries": {
            name: [f"{q.name} ({round(1.0 / q.sensitivity)} records)" for q in found]
            for name, found in queries.items()
        },
        "missing": missing,
        "likely": likely,
        "notes": _notes(likely, missing),
    }


def column(cell: Record) -> Record:
    """One ε: three calibrated laws and their improvement over the Gaussian on every data set."""
    target, seeds, count = float(cell["epsilon"]), int(cell["seeds"]), int(cell["draws"])
    sigma_gaussian = gaussian_sigma(target)
    single = design(delta=DELTA, epsilon=target, compositions=QUERIES)
    joint = design(delta=DELTA, epsilon=target, batch=QUERIES)
    run = _published(target, 1.017 * single.sigma, int(cell["iterations"]))
    laws = {PUBLISHED: run.noise, OURS: single.noise, JOINT: joint.noise}
    improvement: Record = {}
    for index, (name, numbers) in enumerate(cell["datasets"].items()):
        answers, scale = np.array(numbers["answers"]), np.array(numbers["sensitivities"])
        found: dict[str, list[float]] = {mechanism: [] for mechanism in laws}
        for seed in range(seeds):
            generator = np.random.Generator(np.random.PCG64([seed, index, round(1000 * target)]))
            reference = _error(
                answers, scale * sigma_gaussian * generator.standard_normal((count, QUERIES))
            )
            for mechanism, noise in laws.items():
                error = _error(answers, scale * _noise(noise, count, generator))
                found[mechanism].append(100.0 * (1.0 - error / reference))
        improvement[name] = {
            mechanism: _mean_and_std(values) for mechanism, values in found.items()
        }
    return {
        "improvement": improvement,
        "expected": {
            mechanism: 100.0 * (1.0 - (noise.std / sigma_gaussian) ** 2)
            for mechanism, noise in laws.items()
        },
        "sigma": {
            "Gaussian": sigma_gaussian,
            **{mechanism: noise.std for mechanism, noise in laws.items()},
        },
        "published": {**run.described(), "epsilon": epsilon(run.noise, DELTA, QUERIES)},
    }


def gaussian_sigma(target: float) -> float:
    """The standard deviation at which ten Gaussian answers of sensitivity 1 have just this ε."""
    return float(
        optimize.brentq(
            lambda sigma: epsilon(gaussian(sigma), DELTA, QUERIES) - target, 1.0, 200.0, xtol=1e-9
        )
    )


def _published(target: float, sigma: float, iterations: int) -> PublishedRun:
    """Alg. 3 at the σ where it ends just below the wanted ε, by secant steps on log ε against log σ."""
    tried: list[tuple[float, float]] = []
    best: PublishedRun | None = None
    for _ in range(_ROUNDS):
        run = run_published(
            sigma=sigma, delta=DELTA, compositions=QUERIES, iterations=iterations, bins=_BINS
        )
        reached = epsilon(run.noise, DELTA, QUERIES)
        tried.append((math.log(sigma), math.log(reached)))
        if reached <= target and (best is None or run.noise.std < best.noise.std):
            best = run
            if reached > target * (1.0 - _CALIBRATED):
                break
        slope = -1.1
        if len(tried) > 1 and tried[-1][0] != tried[-2][0]:
            slope = min(
                max((tried[-1][1] - tried[-2][1]) / (tried[-1][0] - tried[-2][0]), -1.6), -0.7
            )
        sigma = math.exp(
            tried[-1][0] + (math.log(target * (1.0 - 0.4 * _CALIBRATED)) - tried[-1][1]) / slope
        )
    if best is None:
        raise AccountingError(
            f"Algorithm 3 did not come below epsilon={target!r} in {_ROUNDS} rounds."
        )
    return best


def _noise(noise: Noise, count: int, generator: np.random.Generator) -> Floats:
    """`count` draws for the ten queries, in sensitivities."""
    if not isinstance(noise, LatticeNoise):
        raise UnsupportedError(f"The simulation draws from lattice laws only, not from {noise!r}.")
    if noise.dimension == QUERIES:
        return simulated(noise, count, generator)
    return simulated(noise, count * QUERIES, generator).reshape(count, QUERIES)


def simulated(noise: LatticeNoise, count: int, generator: np.random.Generator) -> Floats:
    """Draws of a law from numpy's generator, one row each: fast and insecure, for simulations only."""
    d = noise.dimension
    reach = noise.last + (
        0 if noise.tail_ratio is None else math.ceil(-40.0 / math.log(noise.tail_ratio))
    )
    masses = noise.extended(reach)
    k = np.searchsorted(
        np.cumsum(masses), generator.random(count) * float(np.sum(masses)), side="right"
    )
    k = np.minimum(k, reach)[:, None]
    # The first coordinate on the surface of the cube of radius k: the ones before it are inside, those after it anywhere.
    inside = generator.random((count, 1)) * -np.expm1(
        d * np.log(np.maximum(2.0 * k - 1.0, 1e-300) / (2.0 * k + 1.0))
    )
    ratio = np.log1p(-inside) / np.log(np.maximum(2.0 * k - 1.0, 1e-300) / (2.0 * k + 1.0))
    first = np.minimum(np.floor(ratio), d - 1)
    before = np.arange(d) < first
    width = np.where(before, k - 1, k)
    x = np.floor(generator.random((count, d)) * (2 * width + 1)) - width
    sign = 2.0 * generator.integers(0, 2, (count, 1)) - 1.0
    x = np.where(np.arange(d) == first, sign * k, x)
    if noise.domain == "real":
        x = x + generator.random((count, d)) - 0.5
    return np.asarray(noise.step * x, dtype=np.float64)


def _error(answers: Floats, noise: Floats) -> float:
    """The squared error of the noisy answers, averaged over draws and queries."""
    return float(np.mean(((answers + noise) - answers) ** 2))


def _mean_and_std(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1))


def _likely(sigma: float, printed_epsilon: float) -> Record:
    """Our ε at a whole σ, and the improvement over a Gaussian calibrated to the rounded, printed ε."""
    ours = design(delta=DELTA, sigma=sigma, compositions=QUERIES).epsilon
    return {
        "sigma": sigma,
        "printed_epsilon": printed_epsilon,
        "our_epsilon": ours,
        "improvement_at_printed": 100.0 * (1.0 - (sigma / gaussian_sigma(printed_epsilon)) ** 2),
    }


def _rows(table: Record, epsilons: tuple[float, ...]) -> list[Record]:
    rows = []
    for name, mechanisms in table.items():
        for i, value in enumerate(epsilons):
            printed = PRINTED[name][EPSILONS.index(value)][0]
            ours = mechanisms[OURS][i][0]
            rows.append(
                row(
                    f"{name}, ε = {value:g}: MSE improvement",
                    printed=printed,
                    method=mechanisms[PUBLISHED][i][0],
                    ours=ours,
                    unit="%",
                    verdict=f"{_verdict(ours, printed)}; joint design {mechanisms[JOINT][i][0]:.1f} %",
                )
            )
    return rows


def _verdict(ours: float, printed: float) -> str:
    if abs(ours - printed) < 0.3:  # the printed standard deviations are 0.16 to 0.26
        return "reproduced"
    return "surpassed" if ours > printed else "not reached"


def _notes(likely: list[Record], missing: str | None) -> list[str]:
    found = [
        "The improvement depends on ε and hardly on the data: every query gets the same law times its sensitivity, so the three "
        "data sets differ by the luck of the draw alone. The printed ones differ by more than that (0.1 to 0.4 between data sets, "
        "where the mean of 20 seeds is good to 0.04), which the paper does not explain.",
        "The printed ε are, to two digits, those of optimised noise at σ = 20, 18, 16, 15, 13 and 12 sensitivities; the printed "
        "improvements, with their dip at 0.84, are those over a Gaussian calibrated to the rounded ε (last table). We calibrate "
        "every mechanism to the printed ε itself instead: the dip goes away.",
        "Joint noise serves the ten answers with one draw; it needs them asked for together, as the ten queries of the table are.",
    ]
    if likely:
        last = likely[-1]
        found[1] += (
            f" Noise of σ = {last['sigma']:g} needs ε = {last['our_epsilon']:.4f}, not {last['printed_epsilon']:g}."
        )
    return found if missing is None else [*found, missing]


def draw(record: Record, path: Path) -> None:
    """Improvement against ε: one panel a data set, printed values with their spread."""
    names = list(record["improvement"])
    sheet = style.Sheet(1, len(names), 4.2 * len(names), 4.6, sharey=True)
    epsilons = record["setting"]["epsilons"]
    for axes, name in zip(sheet.axes, names, strict=True):
        printed = record["printed"][name][: len(epsilons)]
        axes.errorbar(
            epsilons,
            [v[0] for v in printed],
            [v[1] for v in printed],
            label="printed",
            color="#444444",
            fmt="s",
            ms=5,
            capsize=3,
        )
        for mechanism, marker in ((PUBLISHED, "v"), (OURS, "o"), (JOINT, "D")):
            values = record["improvement"][name][mechanism]
            look = style.line("joint" if mechanism == JOINT else mechanism)
            axes.errorbar(
                epsilons,
                [v[0] for v in values],
                [v[1] for v in values],
                label=mechanism,
                marker=marker,
                ms=5,
                capsize=3,
                **look,
            )
        axes.set(title=name, xlabel="ε of the ten answers together")
        axes.set(yscale="log", ylim=(5, 110))
        axes.set_yticks(
            [5, 7, 10, 15, 20, 30, 50, 70, 100],
            ["5", "7", "10", "15", "20", "30", "50", "70", "100"],
        )
        axes.minorticks_off()
    sheet.axes[0].set_ylabel("less MSE than Gaussian noise (%)")
    handles, labels = sheet.axes[0].get_legend_handles_labels()
    sheet.figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    sheet.save(path)
