"""How far from the best possible: ours, and the floors that are proven over all noise.

Every row has a certificate that the check in integers accepted. "before" is what n copies of
the least profile prove. Times are of CPU, of the search with its check, and of the check alone.
"""

from __future__ import annotations

import time

from leastnoise import design
from leastnoise.designer.floor import floor_under
from leastnoise.floors.checking import fault_of

BEFORE = {(1.0, 3): 3.881, (2.0, 3): 2.034, (4.0, 3): 1.027, (8.0, 3): 0.5127}
BEFORE |= {(1.0, 10): 11.97, (2.0, 10): 5.690, (4.0, 10): 2.676, (8.0, 10): 1.270}
BEFORE |= {(2.0, 30): 11.66, (4.0, 30): 5.218, (8.0, 30): 2.414}
ONE = [(1.0, delta) for delta in (1e-6, 1e-3, 0.05, 0.1, 0.25, 0.5)]
ONE += [(epsilon, delta) for epsilon in (0.1, 0.5, 2.0) for delta in (1e-3, 0.05, 0.25, 0.5)]


def main() -> None:
    """Print three tables."""
    print("One release, one real answer, variance:")
    print(f"{'ε':>5}{'δ':>8}{'ours':>12}{'no noise below':>16}{'above by':>10}{'s':>6}")
    for epsilon, delta in ONE:
        _print_one(f"{epsilon:5g}{delta:8g}", {"epsilon": epsilon, "delta": delta})
    print("\nOne release of d integers together, sensitivity 1, ε = 1, variance:")
    print(f"{'d':>5}{'δ':>8}{'ours':>12}{'no noise below':>16}{'above by':>10}{'s':>6}")
    for answers, delta in [(1, 1e-6), (1, 1e-3), (2, 1e-6), (2, 1e-3), (2, 1e-2), (2, 0.1)]:
        asked = {"epsilon": 1.0, "delta": delta, "batch": answers, "domain": "integer"}
        _print_one(f"{answers:5d}{delta:8g}", asked)
    print("\nn releases with independent noise of standard deviation σ, δ = 1e-6, ε:")
    head = f"{'σ':>5}{'n':>8}{'Gaussian':>12}{'ours':>9}{'no noise below':>16}{'above by':>10}"
    print(f"{head}{'before':>9}{'s':>6}{'check':>7}")
    for (sigma, n), before in BEFORE.items():
        best = design(delta=1e-6, sigma=sigma, compositions=n)
        start = time.process_time()
        floor = floor_under(best)
        took = time.process_time() - start
        if floor is None:
            print(f"{sigma:5g}{n:8d}   none found")
            continue
        start = time.process_time()
        fault_of(floor)
        checked = time.process_time() - start
        print(
            f"{sigma:5g}{n:8d}{best.rivals['Gaussian']:12.4f}{best.epsilon:9.4f}"
            f"{floor.epsilon:16.4f}{best.epsilon / floor.epsilon - 1.0:10.1%}{before:9.4f}"
            f"{took:6.1f}{checked:7.1f}",
            flush=True,
        )


def _print_one(head: str, asked: dict[str, object]) -> None:
    best = design(**asked)  # type: ignore[arg-type]
    start = time.process_time()
    floor = floor_under(best)
    took = time.process_time() - start
    if floor is None:
        print(f"{head}   none found")
        return
    ours, least = best.noise.variance, floor.variance
    print(f"{head}{ours:12.6f}{least:16.6f}{ours / least - 1.0:10.3%}{took:6.1f}", flush=True)


if __name__ == "__main__":
    main()
