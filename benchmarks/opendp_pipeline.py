"""Whole releases against OpenDP's own pipelines, at the same (epsilon, delta), on the same data,
bounds and contribution structure.

    pip install 'opendp[polars]==0.16.0'    # OpenDP reads plans of exactly one version of polars
    python -m benchmarks.opendp_pipeline

OpenDP is used as its documentation shows: `dp.Context` over a polars frame, one query, its own
sensitivities, composition and calibration. Laplace noise under pure epsilon, or Gaussian noise
under zero-concentrated privacy whose rho is the largest that OpenDP's own conversion turns into
(epsilon, delta). Delta is 1e-6.

- Ten means of each data set of the paper's Table 1; one row is one person, a person may be
  replaced, n is public.
- Count, sum and mean of a column by 50 groups; a person has at most 2 rows in a group and is in at
  most 6 groups. OpenDP is asked for counts and sums and its mean is their ratio, which spends less
  than asking it for all three.

`std` is the standard deviation that each tool states, `rmse` the root mean squared error measured
over repeated releases, both as a share of the range of the values (for counts: rows), averaged in
quadrature over the numbers of one kind.
"""

from __future__ import annotations

import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

DELTA = 1e-6
EPSILONS = (0.5, 1.05, 3.0)
TRIALS = 40
GROUPS, IN_GROUPS, IN_GROUP, UPPER = 50, 6, 2, 100.0

Numbers = Mapping[str, np.ndarray]  # kind of statistic -> its numbers, in a fixed order


@dataclass(frozen=True)
class Job:
    """One release done by both: how each tool does it, the true numbers, and the unit that errors
    are shown in."""

    name: str
    ours: Callable[
        [float], tuple[Numbers, Callable[[], Numbers]]
    ]  # epsilon -> (stated deviations, one release)
    theirs: Callable[[Mapping[str, float]], tuple[Numbers, Callable[[], Numbers]]]
    truth: Numbers
    unit: Mapping[str, np.ndarray]


def rho_for(epsilon: float, delta: float = DELTA) -> float:
    """The largest rho that OpenDP's conversion certifies as (epsilon, delta)."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain, metric = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def made(scale: float) -> Any:
        return dp.c.make_fix_delta(
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(domain, metric, scale=scale)), delta=delta
        )

    scale = dp.binary_search_param(made, d_in=1.0, d_out=(epsilon, delta), bounds=(1e-2, 1e4))
    return 0.5 / scale**2


def context(frame: Any, unit: Any, loss: Mapping[str, float], margin: Any) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    loss_of = dp.loss_of(**loss)
    return dp.Context.compositor(
        data=frame, privacy_unit=unit, privacy_loss=loss_of, split_evenly_over=1, margins=[margin]
    )


def stated(query: Any) -> dict[tuple[str, str], float]:
    """(column, aggregate) -> scale of the noise that OpenDP adds there."""
    return {(row["column"], row["aggregate"]): row["scale"] for row in query.summarize().to_dicts()}


def spread(loss: Mapping[str, float]) -> float:
    """Standard deviation of the noise over its scale: Gaussian under rho, Laplace under epsilon."""
    return 1.0 if "rho" in loss else math.sqrt(2.0)


def released(
    plan: Any, table: Any, order: Callable[[Any], Numbers]
) -> tuple[Numbers, Callable[[], Numbers]]:
    """Our stated deviations and a release, both by kind."""
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.release import release

    made = mechanism(plan)

    def once() -> Any:
        return release(plan, table=table, prepared=made)

    first = once()
    deviations = order({(row.statistic, row.group): row.noise_std for row in first.rows})
    return deviations, lambda: order({(row.statistic, row.group): row.value for row in once().rows})


# Ten means


def ten_means(name: str, folder: str) -> Job:
    import polars as pl

    from leastnoise.releases.plan.plan import Plan
    from releases import three_sets

    base = three_sets.plan(name, folder)
    bounds: Any = three_sets.BOUNDS[name]
    n = three_sets.SIZES[name]
    source = base.source
    header = source.columns is None
    frame = pl.read_csv(
        source.path,
        has_header=header,
        new_columns=None if header else list(source.columns),
        infer_schema=False,
    )
    numbers = {
        column: frame[column].cast(pl.Float64, strict=False).fill_null((low + high) / 2).to_numpy()
        for column, (low, high, _) in bounds.items()
    }
    frame = pl.DataFrame(numbers)
    truth = np.array(
        [np.mean(np.clip(numbers[column], low, high)) for column, (low, high, _) in bounds.items()]
    )
    unit = np.array([high - low for low, high, _ in bounds.values()])

    def ours(epsilon: float) -> tuple[Numbers, Callable[[], Numbers]]:
        fields = {key: getattr(base, key) for key in base.__dataclass_fields__} | {
            "epsilon": epsilon,
            "delta": DELTA,
        }
        return released(
            Plan(**fields),
            None,
            lambda found: {"mean": np.array([found[column, ""] for column in bounds])},
        )

    def theirs(loss: Mapping[str, float]) -> tuple[Numbers, Callable[[], Numbers]]:
        import opendp.prelude as dp

        # A replaced row is one row less and one more; the length of the frame is public.
        margin = dp.polars.Margin(by=[], invariant="lengths", max_length=n, max_groups=1)

        unit_of = dp.unit_of(contributions=2)

        def filled(column: str) -> Any:
            low, high, _ = bounds[column]
            return pl.col(column).fill_nan((low + high) / 2).fill_null((low + high) / 2).dp

        def limits(column: str) -> tuple[float, float]:
            return float(bounds[column][0]), float(bounds[column][1])

        query = (
            context(frame.lazy(), unit_of, loss, margin)
            .query()
            .select([filled(column).mean(limits(column)) for column in bounds])
        )
        scales, measurement = (
            stated(query),
            query.resolve(),
        )  # calibrated once, then drawn from as often as wanted

        def once() -> Numbers:
            return {"mean": measurement(frame.lazy()).collect().select(list(bounds)).to_numpy()[0]}

        return {
            "mean": np.array([spread(loss) * scales[column, "Sum"] / n for column in bounds])
        }, once

    return Job(f"{name}, ten means", ours, theirs, {"mean": truth}, {"mean": unit})


# Count, sum and mean by group


def by_group() -> Job:
    import polars as pl

    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.statistic import Statistic

    rng = np.random.default_rng(5)
    rows = []
    for person in range(
        20_000
    ):  # the bounds hold in the table, so that both tools count the same rows
        for group in rng.choice(GROUPS, size=int(rng.integers(1, IN_GROUPS + 1)), replace=False):
            rows += [
                (person, f"g{group}", x)
                for x in rng.gamma(2.0, 15.0, size=int(rng.integers(1, IN_GROUP + 1)))
            ]
    frame = pl.DataFrame(
        rows, schema={"id": pl.Int64, "g": pl.String, "x": pl.Float64}, orient="row"
    )
    keys = [f"g{i}" for i in range(GROUPS)]
    clipped = frame.with_columns(pl.col("x").clip(0.0, UPPER))
    table = clipped.group_by("g").agg(
        pl.len(), pl.col("x").sum().alias("sum"), pl.col("x").mean().alias("mean")
    )
    truth = {row["g"]: row for row in table.to_dicts()}

    def column(name: str) -> np.ndarray:
        return np.array([float(truth[key][name]) for key in keys])

    def ours(epsilon: float) -> tuple[Numbers, Callable[[], Numbers]]:
        by = {"g": keys}
        x = {"column": "x", "lower": 0, "upper": UPPER, "pitch": 0.01, "missing": 0, "group_by": by}
        asked = (
            Statistic("count", name="count", group_by=by),
            Statistic("sum", name="sum", **x),
            Statistic("mean", name="mean", **x),
        )
        limits = {
            "rows_per_person": IN_GROUPS * IN_GROUP,
            "groups_per_person": IN_GROUPS,
            "rows_per_group": IN_GROUP,
        }
        plan = Plan("by group", None, "add/remove", asked, epsilon, DELTA, person="id", **limits)
        kinds = ("count", "sum", "mean")
        return released(
            plan,
            frame,
            lambda found: {k: np.array([found[k, f"g = {key}"] for key in keys]) for k in kinds},
        )

    def theirs(loss: Mapping[str, float]) -> tuple[Numbers, Callable[[], Numbers]]:
        import opendp.prelude as dp

        limits = [
            dp.polars.Bound(by=[], per_group=IN_GROUPS * IN_GROUP),
            dp.polars.Bound(by=["g"], num_groups=IN_GROUPS, per_group=IN_GROUP),
        ]
        margin = dp.polars.Margin(
            by=["g"], invariant="keys", max_length=len(rows), max_groups=GROUPS
        )

        total_of = pl.col("x").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, UPPER))
        made = context(frame.lazy(), dp.unit_of(contributions=limits), loss, margin)
        query = made.query().group_by("g").agg(dp.len(signed=True), total_of)
        scales, measurement = stated(query), query.resolve()
        count_std, sum_std = (
            spread(loss) * scales["len", "Frame Length"],
            spread(loss) * scales["x", "Sum"],
        )
        count, total = column("len"), column("sum")
        mean_std = np.sqrt((sum_std / count) ** 2 + (total * count_std / count**2) ** 2)

        def once() -> Numbers:
            found = {row["g"]: row for row in measurement(frame.lazy()).collect().to_dicts()}
            n, s = (np.array([float(found[key][name]) for key in keys]) for name in ("len", "x"))
            return {"count": n, "sum": s, "mean": s / np.maximum(n, 1.0)}

        return {
            "count": np.full(GROUPS, count_std),
            "sum": np.full(GROUPS, sum_std),
            "mean": mean_std,
        }, once

    one = np.ones(GROUPS)
    unit = {"count": one, "sum": UPPER * one, "mean": UPPER * one}
    return Job(
        f"by {GROUPS} groups",
        ours,
        theirs,
        {"count": column("len"), "sum": column("sum"), "mean": column("mean")},
        unit,
    )


def root_mean_square(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def measured(once: Callable[[], Numbers], job: Job, kind: str, draws: list[Numbers]) -> float:
    """The error of one kind over repeated releases, which are kept for the other kinds."""
    while len(draws) < TRIALS:
        draws.append(once())
    return root_mean_square([(draw[kind] - job.truth[kind]) / job.unit[kind] for draw in draws])


def compared(job: Job, epsilon: float) -> list[dict[str, Any]]:
    """One line for each kind of number: stated and measured errors of every tool."""
    tools = {
        "ours": job.ours(epsilon),
        "OpenDP Gaussian": job.theirs({"rho": rho_for(epsilon)}),
        "OpenDP Laplace": job.theirs({"epsilon": epsilon}),
    }
    draws: dict[str, list[Numbers]] = {tool: [] for tool in tools}
    lines = []
    for kind in job.truth:
        line: dict[str, Any] = {"release": job.name, "kind": kind, "epsilon": epsilon}
        for tool, (deviations, once) in tools.items():
            line[f"{tool} std"] = root_mean_square(deviations[kind] / job.unit[kind])
            line[f"{tool} rmse"] = measured(once, job, kind, draws[tool])
        lines.append(line)
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    import polars

    if polars.__version__ != "1.36.1":
        print(
            f"OpenDP 0.16 reads plans of polars 1.36.1 only, this is {polars.__version__}: pip "
            "install 'opendp[polars]==0.16.0'"
        )
        return
    tools = ("ours", "OpenDP Gaussian", "OpenDP Laplace")
    print(
        f"standard deviation as stated / root mean squared error of {TRIALS} releases; as a share "
        "of the range, counts in rows"
    )
    heads = " ".join(f"{tool:>21}" for tool in tools)
    print(f"{'release':<26} {'kind':<6} {'eps':>5} {heads} {'best of theirs / ours':>22}")
    with tempfile.TemporaryDirectory() as folder:
        jobs = [ten_means(name, folder) for name in ("breast_cancer", "diabetes", "heart")]
        for job in [*jobs, by_group()]:
            for line in (line for epsilon in EPSILONS for line in compared(job, epsilon)):
                cells = " ".join(
                    f"{line[f'{tool} std']:10.5g}/{line[f'{tool} rmse']:10.5g}" for tool in tools
                )
                gains = [
                    min(line[f"{tool} {what}"] for tool in tools[1:]) / line[f"ours {what}"]
                    for what in ("std", "rmse")
                ]
                verdict = "better" if min(gains) > 1.0 else "NOT BETTER"
                start = f"{line['release']:<26} {line['kind']:<6} {line['epsilon']:5.2f}"
                print(f"{start} {cells} {gains[0]:10.2f}/{gains[1]:5.2f} {verdict}", flush=True)


if __name__ == "__main__":
    main()
