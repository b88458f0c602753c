"""Two releases with one ledger: ten means from a CSV file, and statistics by ward of a table in
memory.

python examples/release_tables.py [folder for the reports]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from leastnoise import Ledger, Release, release

HERE = Path(__file__).resolve().parent


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    size = 20_000
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 6_000, size),
            "ward": rng.choice(["north", "south", "west", "closed"], size),
            "days": rng.gamma(2.0, 3.0, size).round(1),
        }
    )


def show(done: Release, folder: Path) -> None:
    print(
        f"{done.plan.name}: epsilon = {done.epsilon:.4f} at delta = {done.delta:g}, {done.engine}"
    )
    for row in done.rows:
        print(f"  {row.statistic:<28} {row.group:<14} {row.in_words()}")
    print(
        f"  Gaussian noise with the same guarantee would be {done.mechanism.gaussian_factor:.2f} "
        "times as large."
    )
    done.to_html(folder / f"{done.plan.name}.html")
    done.to_json(folder / f"{done.plan.name}.json")


def main(folder: Path) -> None:
    with Ledger(folder / "ledger.db") as ledger:
        ledger.open_dataset("heart", epsilon=2.0, delta=1e-6)
        ledger.open_dataset("visits", epsilon=2.0, delta=1e-6)
        show(release(HERE / "release_visits.toml", table=visits(), ledger=ledger), folder)
        show(release(HERE / "release_heart.toml", ledger=ledger), folder)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
