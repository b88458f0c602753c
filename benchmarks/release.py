"""A release from ten million rows of a million persons: count, sum and mean by 50 groups, on
DuckDB.

    python -m benchmarks.release [rows [repetitions]]

Every run is a process of its own, so that its peak memory is its own; the kinds take turns. Medians
are shown, with the least and the largest value seen. CPU is that of the whole process, imports
included.

    release            the whole thing: plan, design of the noise, bounded aggregate, noise,
                       published numbers
    release, prepared  the same with the noise designed before (its time is not counted): what the
                       table itself costs
    bounded aggregate  the same bounded aggregate without noise
    plain aggregate    GROUP BY over all rows, no bounds: what a release without privacy would run
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

ROWS, PERSONS, GROUPS = 10_000_000, 1_000_000, 50


def make_table(path: Path, rows: int, groups: int = GROUPS) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""COPY (SELECT CAST(floor(random() * {max(rows // 10, 1)}) AS BIGINT) AS person,
                             'region ' || CAST(CAST(floor(random() * {groups}) AS INT) AS VARCHAR)
                                 AS region,
                             round(exp(3 + random() * 3), 2) AS amount
                      FROM range({rows})) TO '{path}' (FORMAT parquet)"""
        )


def plan(path: str) -> Any:
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.source import ParquetFile
    from leastnoise.releases.plan.statistic import Statistic

    by = {"region": [f"region {i}" for i in range(GROUPS)]}
    amount = {"column": "amount", "lower": 0, "upper": 500, "pitch": 0.01, "missing": "drop"}
    statistics = (
        Statistic("count", group_by=by),
        Statistic("sum", group_by=by, **amount),
        Statistic("mean", group_by=by, **amount),
    )
    return Plan(
        "benchmark",
        ParquetFile(path),
        "add/remove",
        statistics,
        1.0,
        1e-6,
        person="person",
        rows_per_person=12,
        groups_per_person=6,
        rows_per_group=2,
    )


def task_release(path: str) -> dict[str, float]:
    from leastnoise.releases.release import release

    times: dict[str, float] = {}
    begun = time.perf_counter()

    def note(stage: str, share: float) -> None:
        if share == 1.0:
            times[stage] = time.perf_counter() - begun

    done = release(plan(path), progress=note)
    return {
        "numbers": float(len(done.rows)),
        "gaussian factor": done.mechanism.gaussian_factor,
        **times,
    }


def task_prepared(path: str) -> dict[str, float]:
    from leastnoise.releases.noise.mechanism import mechanism
    from leastnoise.releases.release import release

    wanted = plan(path)
    begun, cpu = time.perf_counter(), time.process_time()
    made = mechanism(wanted)
    before = {"before": time.perf_counter() - begun, "cpu before": time.process_time() - cpu}
    release(wanted, prepared=made)
    return before


def task_bounded(path: str) -> dict[str, float]:
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.data.opening import open_table
    from leastnoise.releases.noise.sensitivity import blocks

    wanted = plan(path)
    table = open_table(wanted)
    found = [aggregate(wanted, table, block) for block in blocks(wanted)]
    return {"groups": float(len(found[0]))}


def task_plain(path: str) -> dict[str, float]:
    import duckdb

    with duckdb.connect() as connection:
        query = (
            "SELECT region, count(*), sum(amount), avg(amount) FROM read_parquet(?) GROUP BY region"
        )
        return {"groups": float(len(connection.execute(query, [path]).fetchall()))}


MEASURED = ("seconds", "cpu", "peak MB")
TASKS = {
    "release": task_release,
    "release, prepared": task_prepared,
    "bounded aggregate": task_bounded,
    "plain aggregate": task_plain,
}


def child(name: str, path: str) -> None:
    begun = time.perf_counter()
    told = TASKS[name](path)
    seconds = time.perf_counter() - begun - told.pop("before", 0.0)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - told.pop("cpu before", 0.0)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak MB": used.ru_maxrss / 1024.0, **told}))


def measured(name: str, path: Path) -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.release", "--task", name, str(path)],
        capture_output=True,
        text=True,
    )
    if run.returncode:
        sys.exit(run.stderr)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def main(rows: int = ROWS, repetitions: int = 3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make_table(path, rows)
        print(
            f"{rows:,} rows, {rows // 10:,} persons, {GROUPS} groups, "
            f"{path.stat().st_size / 1e6:.0f} MB of Parquet"
        )
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in TASKS}
        for _ in range(repetitions):
            for name in TASKS:
                runs[name].append(measured(name, path))
        middle = {
            name: {what: median(run[what] for run in some) for what in some[0]}
            for name, some in runs.items()
        }
        print(
            f"{'median of ' + str(repetitions):<18} {'seconds':>22} {'CPU seconds':>22} "
            f"{'peak MB':>18}"
        )
        for name, some in runs.items():
            cells = []
            for what, width in (("seconds", 7), ("cpu", 7), ("peak MB", 5)):
                ends = [
                    f"{end(run[what] for run in some):.{0 if what == 'peak MB' else 2}f}"
                    for end in (min, max)
                ]
                cells.append(
                    f"{middle[name][what]:{width}.{0 if what == 'peak MB' else 2}f} "
                    f"({'–'.join(ends)})"
                )
            told = ", ".join(
                f"{key} {value:.3g}"
                for key, value in middle[name].items()
                if key not in ("seconds", "cpu", "peak MB")
            )
            print(f"{name:<18} {cells[0]:>22} {cells[1]:>22} {cells[2]:>18}   {told}")
        bounded = middle["bounded aggregate"]
        for name in ("release", "release, prepared"):
            ratios = (f"{what} {middle[name][what] / bounded[what]:.2f}" for what in MEASURED)
            print(f"{name} / bounded aggregate: {', '.join(ratios)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--task"]:
        child(sys.argv[2], sys.argv[3])
    else:
        main(*(int(number) for number in sys.argv[1:3]))
