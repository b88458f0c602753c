"""Tables with margins: the root of the mean variance of all published numbers at ε = 1, δ = 1e-6.

    python -m benchmarks tables

today: every grouping measured by itself. Least squares: the same measured, then put together. One
law: the best marginals found, with the noise designed for them. Gaussian: the optimum over
residuals (ResidualPlanner), from its closed form. Beside each the largest standard deviation.

Then persons with several rows: a histogram of ten groups through a plan, with the noise of as many
draws as groups with all rows in each, of the cube of ten answers, of the best that a plan had
before, and now. Then the heart data by sex, angina and disease, if they are beside the repository:
the errors of 30 releases against the truth.
"""

from __future__ import annotations

import math
import time
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.search import designed, gaussian_mu
from leastnoise.releases.tables.reconstruction import Measurement, variance
from leastnoise.releases.tables.residuals import residual_noise
from leastnoise.releases.tables.strategy import Wanted, candidates, judged_again, search

EPSILON, DELTA = 1.0, 1e-6
HEART = Path(__file__).resolve().parents[2] / "shared" / "data" / "processed.cleveland.data"
Marginals = list[tuple[int, ...]]


def ways(count: int, *sizes: int) -> Marginals:
    return [part for size in sizes for part in combinations(range(count), size)]


CASES: dict[str, tuple[tuple[int, ...], Marginals, Marginals | None]] = {
    "2 x 5, all four": ((2, 5), ways(2, 0, 1, 2), None),
    "the same with hidden keys": ((3, 6), ways(2, 0, 1, 2), None),
    "2^6, 1- and 2-way": ((2,) * 6, ways(6, 1, 2), None),
    "2^6, up to 3-way": ((2,) * 6, ways(6, 1, 2, 3), None),
    "(2,5,7,16), 1-way": ((2, 5, 7, 16), ways(4, 1), None),
    "(2,5,7,16), up to 2-way": ((2, 5, 7, 16), ways(4, 1, 2), None),
    "(2,5,7,16), up to 3-way": ((2, 5, 7, 16), ways(4, 1, 2, 3), None),
    "tree 1, 10, 100": ((10, 10), [(), (0,), (0, 1)], [(), (0,), (0, 1)]),
    "2^10, 1- and 2-way": ((2,) * 10, ways(10, 1, 2), None),
}


@cache
def sigma(uses: int) -> float:
    spec = LawSpec(1, uses, 1.0, None, "integer")
    return designed(spec, DELTA, epsilon=EPSILON).noise.std


def main() -> None:
    gaussian = 1.0 / gaussian_mu(EPSILON, DELTA)

    def proxy(uses: float) -> float:
        return min(math.sqrt(2.0) * uses / EPSILON, gaussian * math.sqrt(uses)) ** 2

    print(f"{'':26} {'today':>7} {'least squares':>15} {'one law':>15} {'Gaussian':>15}  measured")
    for name, (sizes, published, listed) in CASES.items():
        today = sigma(len(published)) ** 2
        weights = dict.fromkeys(published, 1.0)
        about = Wanted(sizes, weights, "mean", dict.fromkeys(published, 1.2 * today))
        exact = Wanted(sizes, weights, "mean", dict.fromkeys(published, today))
        possible = listed or list(candidates(about))
        begun = time.process_time()
        found = search(about, possible, dict.fromkeys(possible, 1), proxy)
        spent = time.process_time() - begun
        best = min(
            (judged_again(exact, one, sigma(one.uses) ** 2) for one in found),
            key=lambda one: one.goal,
        )
        measured = Measurement(sizes, dict.fromkeys(published, 1.0 / today))
        residual = residual_noise(exact)
        print(
            f"{name:26} {math.sqrt(today):7.3f} "
            f"{_pair([variance(measured, one) for one in published])} "
            f"{_pair(best.variances)} "
            f"{_pair([gaussian**2 * residual.variance(one) for one in published])}  "
            f"{_named(best.support)}, found in {spent:.2f} s"
        )
    rows_of_persons()
    if HEART.exists():
        heart()


def _pair(variances: Any) -> str:
    return f"{math.sqrt(np.mean(variances)):7.3f}/{math.sqrt(max(variances)):7.3f}"


def _named(support: Any) -> str:
    if len(support) > 6:
        return f"{len(support)} marginals"
    return " ".join("{" + "".join(str(j + 1) for j in one) + "}" for one in support)


def rows_of_persons() -> None:
    """A histogram of ten groups, and all margins of 2 × 5 groups, of persons with several rows."""
    from leastnoise.releases.noise.layout import layouts
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.noise.search import best
    from leastnoise.releases.noise.sensitivity import blocks
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic
    from leastnoise.releases.preview import outlook

    def plan(asked: Any, rows: int, groups: int, in_group: int | None) -> Any:
        bounds = {"rows_per_person": rows, "groups_per_person": groups, "rows_per_group": in_group}
        return Plan("p", None, "add/remove", asked, EPSILON, DELTA, person="id", **bounds)

    print(f"\n{'histogram of ten groups':26} {'draws':>7} {'cube':>7} {'before':>7} {'now':>7}")
    histogram = (Statistic("histogram", group_by={"g": tuple("ABCDEFGHIJ")}),)
    for bounds in ((4, 4, None), (4, 2, None), (8, 2, None), (10, 5, None), (10, 5, 2)):
        wanted = plan(histogram, *bounds)
        alone = blocks(wanted)
        before = best(layouts(alone, blocks(wanted, joint=True)), EPSILON, DELTA)[1].scale
        most, made = alone[0].sensitivities[0], mechanism(wanted)
        print(
            f"{str(bounds[:2]) + ('' if bounds[2] is None else f', {bounds[2]} in one'):26} "
            f"{most * sigma(bounds[1]):7.2f} {most * math.sqrt(44.0):7.2f} {most * before:7.2f} "
            f"{made.std(0):7.2f}  {made.layout}"
        )
    a, b = {"a": ("x", "y")}, {"b": tuple("ABCDE")}
    asked = tuple(
        Statistic("count", name=name, group_by=by)
        for name, by in (("total", {}), ("by a", a), ("by b", b), ("a x b", {**a, **b}))
    )
    wanted = plan(asked, 10, 5, None)
    alone = blocks(wanted)
    before = 10 * best(layouts(alone, blocks(wanted, joint=True)), EPSILON, DELTA)[1].scale
    made = mechanism(wanted)
    print(f"2 x 5 with margins, 10 rows a person in 5 groups: {before:.2f} on every number before")
    for one in outlook(wanted, made)[:4]:
        print(f"  {one.statistic:24} separately {one.separate_std:6.2f}, now {one.noise_std:6.2f}")


def heart(releases: int = 30) -> None:
    """Errors of releases of the heart data against the truth, with all margins of three columns."""
    import pyarrow as pa

    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy

    keys = {"sex": [0, 1], "exang": [0, 1], "num": [0, 1, 2, 3, 4]}
    places = {"sex": 1, "exang": 8, "num": 13}
    lines = [line.split(",") for line in HEART.read_text(encoding="ascii").split()]
    rows = [{name: float(line[at]) for name, at in places.items()} for line in lines]
    asked = tuple(
        Statistic(
            "count",
            name=" x ".join(part) or "total",
            group_by={name: {"values": keys[name], "complete": True} for name in part},
        )
        for size in range(4)
        for part in combinations(keys, size)
    )
    plan = Plan("heart", None, "add/remove", asked, EPSILON, DELTA, one_row_per_person=True)
    made = mechanism(plan)
    table = pa.table({name: [row[name] for row in rows] for name in keys})
    errors: dict[str, list[float]] = {}
    held = 0
    for seed in range(releases):
        source = InsecureSeededEntropy(seed)
        done = release(plan, table=table, prepared=made, entropy=source, not_private=True)
        for row in done.rows:
            if row.check is None:
                truth = sum(all(one[c] == float(k) for c, k in row.keys) for one in rows)
                errors.setdefault(row.statistic, []).append(row.number - truth)
                held += row.lower <= truth <= row.upper
    separately = made.separate[(), made.tables[0].answers[0]]
    print(f"\nheart data, {releases} releases: root mean square error against the truth")
    print(f"(each grouping measured by itself: {separately:.2f} on every number)")
    for name, found in errors.items():
        print(f"  {name:24} {math.sqrt(np.mean(np.square(found))):6.2f}")
    total = sum(map(len, errors.values()))
    print(f"  intervals that hold the truth: {100.0 * held / total:.1f} %")


if __name__ == "__main__":
    main()
