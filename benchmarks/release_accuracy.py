"""The accuracy of a release against OpenDP's Gaussian and Laplace mechanisms at the same (epsilon,
delta).

    python -m benchmarks.release_accuracy

Ten means of each data set of the paper's Table 1 (one row is one person, a person may be replaced,
n public), and counts and sums by groups with contribution bounds. OpenDP's mechanisms get the same
bounded integers and choose their own scale: Gaussian noise by its conversion from zero-concentrated
to approximate privacy, Laplace noise by pure privacy. Errors are measured, root mean squared over
repeated releases, in units of each answer's sensitivity.
"""

from __future__ import annotations

import math
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

DELTA = 1e-6
TRIALS = 200
EPSILONS = (0.62, 1.05, 3.0)


def opendp_scales(epsilon: float, l1: float, l2: float) -> dict[str, float]:
    """Noise scale by OpenDP for a vector of integers on a fine lattice that one person moves by at
    most l1 and l2."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    unit = (
        1 << 20
    )  # lattice points in one unit of sensitivity, so that its discrete noise is as fine as ours
    domain = dp.vector_domain(dp.atom_domain(T=int))

    def gaussian(scale: float) -> Any:
        space = domain, dp.l2_distance(T=float)
        return dp.c.make_fix_delta(
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta=DELTA
        )

    def laplace(scale: float) -> Any:
        return dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)

    largest = 1e4 * unit
    g = dp.binary_search_param(
        gaussian, d_in=l2 * unit, d_out=(epsilon, DELTA), bounds=(0.2 * l2 * unit, largest)
    )
    b = dp.binary_search_param(
        laplace, d_in=math.ceil(l1) * unit, d_out=epsilon, bounds=(0.01 * unit, largest)
    )
    return {"Gaussian": g / unit, "Laplace": b / unit}


def opendp_noise(kind: str, scale: float, count: int) -> Any:
    """Draws of OpenDP's noise in units of sensitivity."""
    import opendp.prelude as dp

    unit = 1 << 20
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if kind == "Gaussian":
        made = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale * unit)
    else:
        made = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale * unit)
    return np.array(made([0] * count), dtype=np.float64) / unit


def ours(plan: Any, table: Any) -> tuple[Any, float]:
    """(mechanism, measured root mean squared error of the noisy answers in units of sensitivity).

    Of the answers that the plan asks for: the checks beside them have a share of ε of their own.
    """
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.data.opening import open_table
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.noise.sensitivity import is_checks
    from leastnoise.releases.release import _drawn, _noisy
    from leastnoise.sampling import OperatingSystemEntropy

    made = mechanism(plan)
    opened = open_table(plan, table)
    counts = [aggregate(plan, opened, block) for block in made.blocks]
    opened.close()
    asked, truth, scales = [], [], []
    for place, entry in enumerate(made.entries):
        block = made.blocks[entry.block]
        if is_checks(block) or entry.group >= len(
            block.groups
        ):  # the last is the cell of all other keys
            continue
        asked.append(place)
        truth.append(
            counts[entry.block][block.groups[entry.group]][block.answers.index(entry.answer)]
            * float(entry.answer.unit)
        )
        scales.append(entry.sensitivity * float(entry.answer.unit))
    added = partial(_drawn, OperatingSystemEntropy())
    noisy = (np.array(_noisy(made, counts, added))[asked] for _ in range(TRIALS))
    errors = [(one - truth) / scales for one in noisy]
    return made, float(np.sqrt(np.mean(np.square(errors))))


def compare(name: str, epsilon: float, plan: Any, table: Any, l1: float, l2: float) -> None:
    made, error = ours(plan, table)
    theirs = {}
    for kind, scale in opendp_scales(epsilon, l1, l2).items():
        theirs[kind] = float(
            np.sqrt(np.mean(np.square(opendp_noise(kind, scale, TRIALS * len(made.entries)))))
        )
    best = min(theirs.values())
    verdict = "better" if error < best else "WORSE"
    print(
        f"{name:<26} {epsilon:5.2f} {error:9.3f} {theirs['Gaussian']:11.3f} "
        f"{theirs['Laplace']:10.3f} {best / error:7.2f}   "
        f"{verdict}; {made.layout}, {made.laws[0].noise.dimension} a draw",
        flush=True,
    )


def main() -> None:
    from releases import three_sets

    print("root mean squared error in units of sensitivity, delta = 1e-6")
    print(f"{'release':<26} {'eps':>5} {'ours':>9} {'Gaussian':>11} {'Laplace':>10} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for epsilon in EPSILONS:
            for name in ("breast_cancer", "diabetes", "heart"):
                compare(
                    f"{name}, ten means",
                    epsilon,
                    three_sets.plan(name, folder, epsilon),
                    None,
                    10.0,
                    math.sqrt(10.0),
                )
    for epsilon in EPSILONS:
        for groups, touched in ((5, 1), (20, 2), (50, 6)):
            plan, table = grouped(groups, touched, epsilon)
            compare(
                f"3 sums by {groups}, in {touched}",
                epsilon,
                plan,
                table,
                3.0 * touched,
                math.sqrt(3.0 * touched),
            )


def grouped(groups: int, touched: int, epsilon: float) -> tuple[Any, Any]:
    """Count, sum and another sum by group; a person is in at most `touched` groups, with one row in
    each."""
    import pyarrow as pa

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    rng = np.random.default_rng(0)
    keys = [f"g{i}" for i in range(groups)]
    table = pa.table(
        {
            "id": rng.integers(0, 1000, 5000),
            "g": rng.choice(keys, 5000),
            "x": rng.uniform(0, 10, 5000),
            "y": rng.uniform(0, 1, 5000),
        }
    )
    by = {"g": keys}
    stats = (
        Statistic("count", group_by=by),
        Statistic(
            "sum", name="x", column="x", lower=0, upper=10, pitch=0.01, missing="drop", group_by=by
        ),
        Statistic(
            "sum", name="y", column="y", lower=0, upper=1, pitch=0.001, missing="drop", group_by=by
        ),
    )
    bounds = {
        "person": "id",
        "rows_per_person": touched,
        "groups_per_person": touched,
        "rows_per_group": 1,
    }
    return Plan("grouped", None, "add/remove", stats, epsilon, DELTA, **bounds), table


if __name__ == "__main__":
    main()
