"""The radial profile of the range law, optimised: whole answers that all move up or all move down,
at the same standard deviation.

*plain* is the ε of h_t ∝ e^(−t/b), *optimised* that of the best profile found by the convex program
and descent, *gain* what it takes off, *design* the law that is taken and its ε; *seconds* the time
of the processor for it.
"""

from __future__ import annotations

import time

from leastnoise import OneSided, design
from leastnoise.designer.request import Request
from leastnoise.designer.search import attempted

ROWS = ((2, 1, 3.0), (2, 2, 6.0), (2, 3, 9.0), (3, 1, 3.0), (5, 1, 3.0), (5, 1, 8.0), (10, 1, 5.0))
USES = ((1, 1e-6), (3, 1e-6), (10, 1e-6), (1, 1e-2), (3, 1e-2))


def main() -> None:
    print(
        f"{'answers':>7} {'steps':>5} {'sigma':>5} {'uses':>4} {'delta':>5} {'plain':>9} "
        f"{'optimised':>9} {'gain':>7}  {'design':<20} {'epsilon':>8} {'seconds':>7}"
    )
    for answers, steps, sigma in ROWS:
        for uses, delta in USES:
            asked = {
                **{"delta": delta, "batch": answers, "compositions": uses, "domain": "integer"},
                **{"sensitivity": steps, "changes": OneSided()},
            }
            ours = attempted(Request.of(**asked), sigma).epsilon
            begun = time.process_time()
            best = design(**asked, sigma=sigma)
            spent = time.process_time() - begun
            plain = best.rivals["range"]
            print(
                f"{answers:>7} {steps:>5} {sigma:>5g} {uses:>4} {delta:>5.0e} {plain:>9.5f} "
                f"{ours:>9.5f} {max(1.0 - ours / plain, 0.0):>7.2%}  {best.origin:<20} "
                f"{best.epsilon:>8.5f} {spent:>7.1f}"
            )
