"""A private release from start to finish, on public data that come with scikit-learn: no network,
under a minute.

python examples/demo.py [folder]          (make demo: out/demo)

Needs: pip install ".[tables,plots]" scikit-learn
"""

import csv
import math
import sys
import time
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_diabetes

from leastnoise import BudgetExceededError, Ledger, Release, gaussian, load_plan, plots, release
from leastnoise.plots.style import OURS
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.report.guarantee import layout_in_words

EPSILON, DELTA = 1.0, 1e-6
# What the steward knows without looking at the table: plausible medical ranges (lower, upper) and
# the pitch values are rounded to.
BREAST_CANCER = {
    "mean radius": (5, 30, 0.01),
    "mean texture": (5, 40, 0.01),
    "mean perimeter": (40, 200, 0.1),
    "mean area": (100, 2000, 1),
    "mean smoothness": (0.05, 0.2, 0.0001),
    "mean compactness": (0, 0.4, 0.0001),
    "mean concavity": (0, 0.5, 0.0001),
    "mean concave points": (0, 0.2, 0.0001),
    "mean symmetry": (0.1, 0.3, 0.0001),
    "mean fractal dimension": (0.04, 0.1, 0.00001),
}
DIABETES = {
    "age (years)": (18, 90, 1),
    "sex (1 or 2)": (1, 2, 1),
    "body mass index (kg/m²)": (15, 45, 0.1),
    "blood pressure (mmHg)": (60, 140, 0.1),
    "total cholesterol (mg/dl)": (90, 310, 1),
    "LDL (mg/dl)": (40, 250, 1),
    "HDL (mg/dl)": (20, 100, 1),
    "cholesterol / HDL": (1.5, 10, 0.01),
    "log of triglycerides": (3, 6.5, 0.001),
    "blood sugar (mg/dl)": (50, 130, 1),
}
PLAN = """\
# Everything is declared here, before the data are touched.
name = "{name}"
epsilon = {epsilon}
delta = {delta}
relation = "replace"          # the number of patients is public: one patient may be another
one_row_per_person = true

[about]
title = "{title}"
curator = "the leastnoise demo"

[source]
csv = "{name}.csv"
"""
STATISTIC = """
[[statistic]]
kind = "mean"
name = "{name}"
column = "{name}"
lower = {lower}
upper = {upper}
pitch = {pitch}
missing = {middle}
public_n = {n}
"""


def main(folder: Path) -> None:
    began = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("ledger.db*"):  # the demo's own, of an earlier run: its budget is spent
        old.unlink()
    tables = {
        "diabetes": ("Diabetes study: ten averages", DIABETES, load_diabetes(scaled=False).data),
        "breast-cancer": (
            "Breast cancer study: ten averages",
            BREAST_CANCER,
            load_breast_cancer().data[:, :10],
        ),
    }
    print(
        f"Ten averages of each of two medical tables, with epsilon = {EPSILON:g} and delta = "
        f"{DELTA:g}."
    )
    factor = f"e^{EPSILON:g} = {math.exp(EPSILON):.2f}"
    print(
        f"Exchange any one patient for another: no result becomes more than {factor} times as "
        "likely,"
    )
    print(f"except with probability {DELTA:g}.\n")
    done: dict[str, Release] = {}
    true: dict[str, dict[tuple[str, str], float]] = {}
    with Ledger(folder / "ledger.db") as ledger:
        for name, (title, bounds, data) in tables.items():
            plan = write_plan(folder, name, title, bounds, data)
            ledger.open_dataset(name, epsilon=EPSILON, delta=DELTA)
            noise = mechanism(load_plan(plan))  # from the plan alone; release would design it too
            done[name] = release(
                plan, ledger=ledger, prepared=noise, last=True
            )  # all that may be spent
            true[name] = {
                (column, ""): float(mean)
                for column, mean in zip(bounds, data.mean(axis=0), strict=True)
            }
            show(title, len(data), done[name], true[name])
            done[name].to_html(folder / f"{name}.html")
            done[name].to_csv(folder / f"{name}-released.csv")
        print("The ledger")
        for dataset in ledger.datasets():
            print(
                f"  {dataset.name:<14} spent epsilon = {dataset.spent:.4f} of "
                f"{dataset.epsilon:g}, {dataset.releases} release"
            )
        print("  Asked for the same ten averages once more, it answers:")
        try:
            release(folder / "diabetes.toml", ledger=ledger)
        except BudgetExceededError as refusal:
            print(f"  {refusal}")
    draw(folder, done["diabetes"], true["diabetes"])
    print(f"\nWritten in {time.perf_counter() - began:.0f} s:")
    written = {
        "diabetes.html, breast-cancer.html": "the reports for the public",
        "diabetes-released.csv, breast-cancer-released.csv": "the numbers",
        "numbers.png": "what was released, and what Gaussian noise would have left uncertain",
        "noise.png": "the noise that was used, beside Gaussian noise with the same guarantee",
        "diabetes.toml, breast-cancer.toml": "the plans, to be copied and changed",
        "ledger.db": "the ledger",
    }
    for names, what in written.items():
        for name in names.split(", "):
            print(f"  {folder / name}")
        print(f"      {what}")


def write_plan(
    folder: Path, name: str, title: str, bounds: dict[str, tuple[float, float, float]], data
) -> Path:
    """The table as CSV and its plan as TOML."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(bounds)
        writer.writerows(data.tolist())
    text = PLAN.format(name=name, title=title, epsilon=EPSILON, delta=DELTA)
    for column, (lower, upper, pitch) in bounds.items():
        middle = (lower + upper) / 2
        text += STATISTIC.format(
            name=column, lower=lower, upper=upper, pitch=pitch, middle=middle, n=len(data)
        )
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def show(title: str, patients: int, done: Release, true: dict[tuple[str, str], float]) -> None:
    """The numbers beside the true ones, which only a demo on public data may print."""
    made = done.mechanism
    print(f"{title}, {patients} patients")
    std = f"{made.laws[0].noise.std:.3g}"
    print(
        f"  The noise: {layout_in_words(done)}, its standard deviation {std} times what one "
        "patient can change."
    )
    print(f"  {'':<26}{'true*':>10}   {'released':>9} ± 95 %")
    for row in (one for one in done.rows if (one.statistic, one.group) in true):
        noisy, half = row.shown()
        print(f"  {row.statistic:<26}{true[row.statistic, row.group]:>10.4g}   {noisy:>9} ± {half}")
    print(
        "  * printed because these data are public and this is a demo. A real release never shows "
        "it."
    )
    print(
        f"  Gaussian noise this accurate would have cost epsilon = {made.gaussian_epsilon:.2f} "
        f"instead of {done.epsilon:.2f};"
    )
    print(
        f"  with epsilon = {done.epsilon:.2f} its error would have been "
        f"{made.gaussian_factor:.2f} times as large.\n"
    )


def draw(folder: Path, done: Release, true: dict[tuple[str, str], float]) -> None:
    numbers = plots.Sheet(1, 1, 9.0, 5.2)
    plots.release_bars(done, true=true, ax=numbers.axes[0])
    numbers.save(folder / "numbers.png")
    law = done.mechanism.laws[0].noise
    factor = done.mechanism.gaussian_factor
    noise = plots.Sheet(1, 2, 11.0, 4.4)
    for axes, log in zip(noise.axes, (False, True), strict=True):
        plots.density({"Gaussian": gaussian(factor * law.std), OURS: law}, log=log, ax=axes)
        axes.set_xlabel("noise on one answer (sensitivities)")
        axes.set_ylabel("density (1 / sensitivity)")
    noise.figure.suptitle(
        f"Both give epsilon = {done.epsilon:.3g} at delta = {done.delta:g} for ten answers "
        "released together"
    )
    noise.save(folder / "noise.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out") / "demo")
