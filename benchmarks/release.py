"""A release from ten million rows of a million persons: count, sum and mean by 50 groups, on DuckDB.

    python -m benchmarks.release [rows]

Each line is a process of its own, so that its peak memory is its own:

    release            the whole thing: plan, design of the noise, bounded aggregate, noise, published numbers
    release, prepared  the same with the noise designed before (its time is not counted): what the table itself costs
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
from typing import Any

ROWS, PERSONS, GROUPS = 10_000_000, 1_000_000, 50


def make_table(path: Path, rows: int) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""COPY (SELECT CAST(floor(random() * {max(rows // 10, 1)}) AS BIGINT) AS person,
                             'region ' || CAST(CAST(floor(random() * {GROUPS}) AS INT) AS VARCHAR) AS region,
                             round(exp(3 + random() * 3), 2) AS amount
                      FROM range({rows})) TO '{path}' (FORMAT parquet)"""
        )


def plan(path: str) -> Any:
    from leastnoise.releases.plan import Plan, Statistic
    from leastnoise.releases.source import ParquetFile

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
    from leastnoise.releases.run import release

    times: dict[str, float] = {}
    begun = time.perf_counter()

    def note(stage: str, share: float) -> None:
        if share == 1.0:
            times[stage] = time.perf_counter() - begun

    done = release(plan(path), progress=note)
    return {"numbers": float(len(done.rows)), "gaussian factor": done.mechanism.gaussian_factor, **times}


def task_prepared(path: str) -> dict[str, float]:
    from leastnoise.releases.mechanism import mechanism
    from leastnoise.releases.run import release

    wanted = plan(path)
    begun, cpu = time.perf_counter(), time.process_time()
    made = mechanism(wanted)
    before = {"before": time.perf_counter() - begun, "cpu before": time.process_time() - cpu}
    release(wanted, prepared=made)
    return before


def task_bounded(path: str) -> dict[str, float]:
    from leastnoise.releases.sensitivity import blocks
    from leastnoise.releases.table import aggregate, open_table

    wanted = plan(path)
    table = open_table(wanted)
    found = [aggregate(wanted, table, block) for block in blocks(wanted)]
    return {"groups": float(len(found[0]))}


def task_plain(path: str) -> dict[str, float]:
    import duckdb

    with duckdb.connect() as connection:
        query = "SELECT region, count(*), sum(amount), avg(amount) FROM read_parquet(?) GROUP BY region"
        return {"groups": float(len(connection.execute(query, [path]).fetchall()))}


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


def main(rows: int = ROWS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make_table(path, rows)
        print(f"{rows:,} rows, {rows // 10:,} persons, {GROUPS} groups, {path.stat().st_size / 1e6:.0f} MB of Parquet")
        results: dict[str, dict[str, float]] = {}
        for name in TASKS:
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.release", "--task", name, str(path)], capture_output=True, text=True
            )
            if run.returncode:
                sys.exit(run.stderr)
            results[name] = json.loads(run.stdout.splitlines()[-1])
            extras = ", ".join(
                f"{key} {value:.3g}" for key, value in results[name].items() if key not in ("seconds", "cpu", "peak MB")
            )
            line = results[name]
            print(f"{name:<18} {line['seconds']:7.2f} s   {line['cpu']:7.2f} s of CPU   {line['peak MB']:6.0f} MB   {extras}")
        bounded = results["bounded aggregate"]
        for name in ("release", "release, prepared"):
            ratios = (f"{what} {results[name][what] / bounded[what]:.2f}" for what in ("seconds", "cpu", "peak MB"))
            print(f"{name} / bounded aggregate: {', '.join(ratios)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--task"]:
        child(sys.argv[2], sys.argv[3])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
