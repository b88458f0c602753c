"""Questions asked one after another: ε of one kept draw beside independent and Gaussian noise
(σ = 8, s = 1, δ = 1e-6), variance at ε = 1, and the time of one answer.

The time of an answer is the median of 100, without designing; its numbers are erased on the disk
before it is revealed, and most of the wall-clock time is waiting for that.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from leastnoise import PrivacyLoss, design
from leastnoise.ledger.ledger import Ledger
from leastnoise.series.law import series_law
from leastnoise.series.opening import open_series

DELTA, SIGMA = 1e-6, 8.0
SIZES = (2, 3, 5, 10, 20, 40)
ANSWERS = 100


def law_table() -> None:
    print(
        f"{'questions':>9} | {'kept':>8} {'independent':>12} {'Gaussian':>9} | "
        f"{'law':>14} {'CPU s':>6} {'CPU s, independent':>19}"
    )
    for d in SIZES:
        start = time.process_time()
        law, epsilon = series_law(d, DELTA, sigma=SIGMA)
        middle = time.process_time()
        independent = design(delta=DELTA, sigma=SIGMA, compositions=d)
        end = time.process_time()
        print(
            f"{d:>9} | {epsilon:8.4f} {independent.epsilon:12.4f} "
            f"{independent.rivals['Gaussian']:9.4f} | "
            f"{law.origin + f' x {law.uses}':>14} {middle - start:6.2f} {end - middle:19.2f}",
            flush=True,
        )


def curve_table() -> None:
    """What docs/mathematics.md#one-kept-draw says of the whole curve."""
    kept, _ = series_law(10, DELTA, epsilon=1.0)
    independent = design(delta=DELTA, epsilon=1.0, compositions=10)
    ratio = independent.noise.variance / kept.noise.variance
    print(f"\nten questions at epsilon = 1: {ratio:.2f} times less variance than independent noise")
    print(f"{'':12} {'sigma':>7} {'delta(0)':>9} {'delta(0.5)':>11} {'delta(0.9)':>11}")
    for name, sigma, loss in (
        ("kept", kept.noise.std, PrivacyLoss.of(kept.noise)),
        ("independent", independent.sigma, PrivacyLoss.of(independent.noise).compose(10)),
    ):
        print(
            f"{name:12} {sigma:7.3f} {loss.delta(0.0):9.4f} {loss.delta(0.5):11.2e} "
            f"{loss.delta(0.9):11.2e}"
        )


def answer_times(folder: Path) -> None:
    print(f"\n{'one answer':38} {'CPU ms':>8} {'wall ms':>8}")
    ledger = Ledger(folder / "ledger")
    ledger.open_dataset("data", epsilon=50.0, delta=10 * DELTA)
    charged: dict[str, Any] = {"ledger": ledger, "dataset": "data"}
    cases: list[tuple[str, int, dict[str, Any]]] = [
        ("plain file, 100 questions", ANSWERS, {}),
        ("plain file, 10,000 questions", 10_000, {}),
        ("encrypted, 100 questions", ANSWERS, {"passphrase": "a passphrase"}),
        ("with a ledger, 100 questions", ANSWERS, charged),
    ]
    for place, (name, questions, options) in enumerate(cases):
        path = folder / f"{place}.series"
        series = open_series(path, questions=questions, sigma=SIGMA, delta=DELTA, **options)
        times = []
        for k in range(ANSWERS):
            cpu, wall = time.process_time(), time.perf_counter()
            series.answer(1203.7 + k, sensitivity=0.3)
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        cpu, wall = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name:38} {cpu:8.2f} {wall:8.2f}", flush=True)
    ledger.close()


def main() -> None:
    law_table()
    curve_table()
    with tempfile.TemporaryDirectory() as folder:
        answer_times(Path(folder))
