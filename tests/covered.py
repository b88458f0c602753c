"""How much of the code that a guarantee rests on the tests have run through: lines and, counted
alone, branches. `make check`.

`coverage report` adds lines and branches up, so that a branch never taken hides behind the lines
around it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import coverage

PACKAGES = (
    "lattice",
    "losses",
    "sampling",
    "laws",
    "accountant",
    "artefact",
    "ledger",
    "releases",
    "series",
    "proof",
)
LEAST = 95.0  # per cent
_COUNTED = (("covered_lines", "num_statements"), ("covered_branches", "num_branches"))


def main() -> int:
    """Print a table and what is missing; 1 if a package is below `LEAST` in lines or in
    branches."""
    found = coverage.Coverage()
    found.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        found.json_report(outfile=str(report))
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    failed = False
    print(f"{'':12} {'lines':>8} {'branches':>10}")
    for package in PACKAGES:
        mine = {
            path: file
            for path, file in files.items()
            if f"leastnoise/{package}/" in path.replace("\\", "/")
        }
        lines, branches = (_share(mine, covered, total) for covered, total in _COUNTED)
        failed |= lines < LEAST or branches < LEAST
        print(f"{package:12} {lines:7.1f}% {branches:9.1f}%")
        for path, file in mine.items():
            missed = [str(line) for line in file["missing_lines"]]
            missed += [
                f"{start}→{end if end > 0 else 'end'}"
                for start, end in file["missing_branches"]
                if end not in file["missing_lines"]
            ]
            if missed:
                print(f"  {Path(path).name:20} {' '.join(missed)}")
    print(f"Expected at least {LEAST:g} % of each." if failed else "")
    return int(failed)


def _share(files: dict[str, Any], covered: str, total: str) -> float:
    return (
        100.0
        * sum(file["summary"][covered] for file in files.values())
        / sum(file["summary"][total] for file in files.values())
    )


if __name__ == "__main__":
    sys.exit(main())
