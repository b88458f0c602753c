"""Table 1: how much less mean squared error than Gaussian noise, on three data sets,
ten queries, δ = 10⁻⁶.

Every mechanism is calibrated to the same (ε, δ) over the ten queries; the noise has the scale of
each query's sensitivity. For each query 100,000 noisy answers are simulated, their squared errors
averaged, over the ten queries too; 20 seeds give mean and standard deviation of 1 − MSE/MSE of the
Gaussian. The seeds make it a simulation: nothing here may release data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import optimize

from leastnoise.designer.design import design
from leastnoise.errors import AccountingError
from leastnoise.lattice.shells import Floats
from leastnoise.laws.classic import gaussian
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.plots import style
from leastnoise.plots.style import OURS, PUBLISHED
from leastnoise.reproduction.datasets import Query, datasets
from leastnoise.reproduction.published_run import (
    PublishedRun,
    effective_end,
    epsilon,
    run_published,
)
from leastnoise.reproduction.records import Record, row
from leastnoise.reproduction.sweep import DEFAULT, Options, sweep, wall_seconds

DELTA, QUERIES = 1e-6, 10
EPSILONS: tuple[float, ...] = (0.62, 0.69, 0.78, 0.84, 0.97, 1.05)
JOINT = "our joint design"
# Mean and standard deviation at every ε.
PRINTED = {
    name: tuple(zip(means, deviations, strict=True))
    for name, means, deviations in (
        (
            "Breast Cancer",
            (8.28, 9.14, 9.63, 8.61, 10.34, 11.48),
            (0.19, 0.19, 0.23, 0.17, 0.20, 0.18),
        ),
        ("Diabetes", (8.11, 9.06, 9.43, 8.48, 10.06, 11.12), (0.19, 0.21, 0.16, 0.17, 0.17, 0.22)),
        (
            "UCI Heart Disease",
            (8.14, 9.05, 9.50, 8.52, 10.20, 11.31),
            (0.22, 0.16, 0.26, 0.19, 0.20, 0.18),
        ),
    )
}
# At these σ optimised noise has just the printed ε.
LIKELY_SIGMAS = (20.0, 18.0, 16.0, 15.0, 13.0, 12.0)
_SEEDS, _DRAWS, _ITERATIONS = 20, 100_000, 10_000
_BINS = 2  # of Alg. 3, a sensitivity: at σ = 12 … 20 their spread is 1.4e-4 of the variance at most
_CALIBRATED = 1e-3  # how far below the wanted ε Alg. 3 may end
_ROUNDS = 4


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """The calibrated laws, the simulated improvements, and what the printed ones were
    probably computed from."""
    queries, missing = datasets(options.heart)
    epsilons, seeds, count, iterations = EPSILONS, _SEEDS, _DRAWS, _ITERATIONS
    if quick:
        epsilons, seeds, count, iterations = (0.62,), 2, 2_000, 20
    numbers = {name: _numbers(found) for name, found in queries.items()}
    same = {"iterations": iterations, "seeds": seeds, "draws": count, "datasets": numbers}
    wanted = [{"epsilon": target, **same} for target in epsilons]
    store = options.store_for("table1")
    cells = sweep(column, wanted, workers=options.workers, store=store, label="table1")
    table = {name: _improvements(cells, name) for name in queries}
    likely = [] if quick else list(map(_likely, LIKELY_SIGMAS, EPSILONS))
    return {
        "sweep_seconds": wall_seconds(cells),
        "setting": {"delta": DELTA, "queries": QUERIES}
        | {"epsilons": epsilons, "seeds": seeds, "draws": count},
        "rows": _rows(table, epsilons),
        "improvement": table,
        "printed": {name: PRINTED[name] for name in table},
        **{key: [cell[key] for cell in cells] for key in ("expected", "sigma", "published")},
        "queries": {name: [str(query) for query in found] for name, found in queries.items()},
        "missing": missing,
        "likely": likely,
        "notes": _notes(likely, missing),
    }


def _numbers(queries: list[Query]) -> Record:
    """What a cell needs of a data set."""
    return {
        "answers": [query.answer for query in queries],
        "sensitivities": [query.sensitivity for query in queries],
    }


def _improvements(cells: list[Record], dataset: str) -> Record:
    """Mean and standard deviation at every ε, by mechanism."""
    return {
        mechanism: [cell["improvement"][dataset][mechanism] for cell in cells]
        for mechanism in (PUBLISHED, OURS, JOINT)
    }


def column(cell: Record) -> Record:
    """One ε: three calibrated laws and their improvement over the Gaussian on every data set."""
    target, seeds, count = float(cell["epsilon"]), int(cell["seeds"]), int(cell["draws"])
    sigma_gaussian = gaussian_sigma(target)
    single = design(delta=DELTA, epsilon=target, compositions=QUERIES)
    joint = design(delta=DELTA, epsilon=target, batch=QUERIES)
    run = _published(target, 1.017 * single.sigma, int(cell["iterations"]))
    laws = {PUBLISHED: run.noise, OURS: single.lattice_noise(), JOINT: joint.lattice_noise()}
    improvement: Record = {}
    for index, (name, numbers) in enumerate(cell["datasets"].items()):
        seeded = [
            np.random.Generator(np.random.PCG64([seed, index, round(1000 * target)]))
            for seed in range(seeds)
        ]
        found = [_improved(laws, sigma_gaussian, numbers, count, one) for one in seeded]
        improvement[name] = {
            mechanism: _mean_and_std([values[mechanism] for values in found]) for mechanism in laws
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


def _improved(
    laws: Mapping[str, LatticeNoise],
    sigma_gaussian: float,
    numbers: Record,
    count: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """How many per cent less squared error than the Gaussian each law has, in `count` draws."""
    answers, scale = np.array(numbers["answers"]), np.array(numbers["sensitivities"])
    normal = generator.standard_normal((count, QUERIES))
    reference = _error(answers, scale * sigma_gaussian * normal)
    found = {}
    for mechanism, noise in laws.items():
        error = _error(answers, scale * _noise(noise, count, generator))
        found[mechanism] = 100.0 * (1.0 - error / reference)
    return found


def gaussian_sigma(target: float) -> float:
    """The standard deviation at which ten Gaussian answers of sensitivity 1 have just this ε."""

    def excess(sigma: float) -> float:
        return epsilon(gaussian(sigma), DELTA, QUERIES) - target

    return float(optimize.brentq(excess, 1.0, 200.0, xtol=1e-9))


def _published(target: float, sigma: float, iterations: int) -> PublishedRun:
    """Alg. 3 at the σ where it ends just below the wanted ε, by secant steps on log ε
    against log σ."""
    tried: list[tuple[float, float]] = []
    best: PublishedRun | None = None
    use: Record = {"delta": DELTA, "compositions": QUERIES, "bins": _BINS}
    for _ in range(_ROUNDS):
        run = run_published(sigma=sigma, iterations=iterations, **use)
        reached = epsilon(run.noise, DELTA, QUERIES)
        tried.append((math.log(sigma), math.log(reached)))
        if reached <= target and (best is None or run.noise.std < best.noise.std):
            best = run
            if reached > target * (1.0 - _CALIBRATED):
                break
        slope, (x, y) = -1.1, tried[-1]
        if len(tried) > 1 and x != tried[-2][0]:
            slope = min(max((y - tried[-2][1]) / (x - tried[-2][0]), -1.6), -0.7)
        sigma = math.exp(x + (math.log(target * (1.0 - 0.4 * _CALIBRATED)) - y) / slope)
    if best is None:
        raise AccountingError(
            f"Algorithm 3 did not come below epsilon={target!r} in {_ROUNDS} rounds."
        )
    return best


def _noise(noise: LatticeNoise, count: int, generator: np.random.Generator) -> Floats:
    """`count` draws for the ten queries, in sensitivities."""
    if noise.dimension == QUERIES:
        return simulated(noise, count, generator)
    return simulated(noise, count * QUERIES, generator).reshape(count, QUERIES)


def simulated(noise: LatticeNoise, count: int, generator: np.random.Generator) -> Floats:
    """Draws of a law from numpy's generator, one row each: fast and insecure, for
    simulations only."""
    d = noise.dimension
    reach = effective_end(noise)
    masses = noise.extended(reach)
    chosen = generator.random(count) * float(np.sum(masses))
    k = np.searchsorted(np.cumsum(masses), chosen, side="right")
    k = np.minimum(k, reach)[:, None]
    # The first coordinate on the surface of the cube of radius k: the ones before it
    # are inside, those after it anywhere.
    log_share = np.log(np.maximum(2.0 * k - 1.0, 1e-300) / (2.0 * k + 1.0))
    inside = generator.random((count, 1)) * -np.expm1(d * log_share)
    first = np.minimum(np.floor(np.log1p(-inside) / log_share), d - 1)
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
    """Our ε at a whole σ, and the improvement over a Gaussian calibrated to the
    rounded, printed ε."""
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
            method, ours, joint = (mechanisms[each][i][0] for each in (PUBLISHED, OURS, JOINT))
            verdict = f"{_verdict(ours, printed)}; joint design {joint:.1f} %"
            beside: Record = {"printed": printed, "method": method, "unit": "%"}
            rows.append(row(f"{name}, ε = {value:g}: MSE improvement", ours, verdict, **beside))
    return rows


def _verdict(ours: float, printed: float) -> str:
    if abs(ours - printed) < 0.3:  # the printed standard deviations are 0.16 to 0.26
        return "reproduced"
    return "surpassed" if ours > printed else "not reached"


def _notes(likely: list[Record], missing: str | None) -> list[str]:
    found = [
        "The improvement depends on ε and hardly on the data: every query gets the same law "
        "times its sensitivity, so the three data sets differ by the luck of the draw alone. "
        "The printed ones differ by more than that (0.1 to 0.4 between data sets, where the "
        "mean of 20 seeds is good to 0.04), which the paper does not explain.",
        "The printed ε are, to two digits, those of optimised noise at σ = 20, 18, 16, 15, 13 "
        "and 12 sensitivities; the printed improvements, with their dip at 0.84, are those "
        "over a Gaussian calibrated to the rounded ε (last table). We calibrate every "
        "mechanism to the printed ε itself instead: the dip goes away.",
        "Joint noise serves the ten answers with one draw; it needs them asked for together, "
        "as the ten queries of the table are.",
    ]
    if likely:
        last = likely[-1]
        needed = f"ε = {last['our_epsilon']:.4f}, not {last['printed_epsilon']:g}"
        found[1] += f" Noise of σ = {last['sigma']:g} needs {needed}."
    return found if missing is None else [*found, missing]


def draw(record: Record, path: Path) -> None:
    """Improvement against ε: one panel a data set, printed values with their spread."""
    names = list(record["improvement"])
    sheet = style.Sheet(1, len(names), 4.2 * len(names), 4.6, sharey=True)
    epsilons = record["setting"]["epsilons"]
    for axes, name in zip(sheet.axes, names, strict=True):
        printed = record["printed"][name][: len(epsilons)]
        lines = {"printed": (printed, {"color": "#444444", "fmt": "s"})}
        for mechanism, marker in ((PUBLISHED, "v"), (OURS, "o"), (JOINT, "D")):
            look = style.line("joint" if mechanism == JOINT else mechanism)
            values = record["improvement"][name][mechanism]
            lines[mechanism] = (values, {**look, "marker": marker})
        for label, (values, look) in lines.items():
            means, deviations = zip(*values, strict=True)
            axes.errorbar(epsilons, means, deviations, label=label, ms=5, capsize=3, **look)
        axes.set(title=name, xlabel="ε of the ten answers together")
        axes.set(yscale="log", ylim=(5, 110))
        ticks = [5, 7, 10, 15, 20, 30, 50, 70, 100]
        axes.set_yticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    sheet.axes[0].set_ylabel("less MSE than Gaussian noise (%)")
    handles, labels = sheet.axes[0].get_legend_handles_labels()
    sheet.figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    sheet.save(path)
