"""A release with many groups: counts and means by 5,000 groups, from a table to the page for the
public, on DuckDB.

    python -m benchmarks.release_groups [groups [rows]]

CPU seconds of each part, in one process; the first part has the imports.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.release import make_table

GROUPS, ROWS = 5_000, 1_000_000


def plan(path: Path, groups: int) -> Any:
    from leastnoise.releases.plan.plan import Plan
    from leastnoise.releases.plan.source import ParquetFile
    from leastnoise.releases.plan.statistic import Statistic

    by = {"region": [f"region {i}" for i in range(groups)]}
    amount = {"column": "amount", "lower": 0, "upper": 500, "pitch": 0.01, "missing": "drop"}
    statistics = (Statistic("count", group_by=by), Statistic("mean", group_by=by, **amount))
    unit = {"person": "person", "rows_per_person": 12, "groups_per_person": 6, "rows_per_group": 2}
    return Plan("groups", ParquetFile(str(path)), "add/remove", statistics, 1.0, 1e-6, **unit)


def main(groups: int = GROUPS, rows: int = ROWS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make_table(path, rows, groups)
        begun = time.process_time()
        from leastnoise.releases.release import release

        parts: dict[str, float] = {}

        def told(stage: str, share: float) -> None:
            if share == 1.0:
                parts[stage] = time.process_time() - begun - sum(parts.values())

        done = release(plan(path, groups), progress=told)
        parts["the release's object"] = time.process_time() - begun - sum(parts.values())
        for name in ("to_csv", "to_json", "to_html"):
            getattr(done, name)()
            parts[name] = time.process_time() - begun - sum(parts.values())
        means = [row for row in done.rows if row.kind == "mean"]
        silent = sum(row.value is None for row in means)
        print(
            f"{rows:,} rows, {groups:,} groups, {len(done.rows):,} numbers; {silent:,} of "
            f"{len(means):,} means of too few to say"
        )
        for name, seconds in parts.items():
            print(f"{name:<24} {seconds:7.2f} s of CPU")
        print(f"{'all':<24} {sum(parts.values()):7.2f} s of CPU")


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:3]))
