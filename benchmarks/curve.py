"""The whole privacy curve: how long 400 points take beside asking the judge for each, and what an
attacker can do with laws of the same ε and δ.

Times are of the processor, the quickest of five; "one by one" asks `PrivacyLoss.delta` for 20 of
the points and multiplies.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from leastnoise import PrivacyLoss, cube, design, discrete_gaussian, gaussian, laplace, sphere

DELTA = 1e-6


def seconds(call: Callable[[], object], runs: int = 5) -> float:
    """CPU time of the quickest run."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def laws() -> dict[str, PrivacyLoss]:
    """Releases at ε = 1, δ = 1e-6 or nearby."""
    ten = design(delta=DELTA, epsilon=1.0, compositions=10).noise
    return {
        "Gaussian, ten answers": PrivacyLoss.of(gaussian(4.22468)),
        "Laplace, one answer": PrivacyLoss.of(laplace(2.0**0.5)),
        "cube, ten answers": PrivacyLoss.of(cube(6.633, 10)),
        "sphere, ten answers": PrivacyLoss.of(sphere(9.6116, 10)),
        "ours, ten releases": PrivacyLoss.of(ten).compose(10),
        "Laplace, ten releases": PrivacyLoss.of(laplace(14.0)).compose(10),
        "discrete Gaussian, ten releases": PrivacyLoss.of(discrete_gaussian(13.4)).compose(10),
    }


def main() -> None:
    print(
        f"{'':34}{'curve':>9}{'one by one':>12}{'advantage':>11}{'TPR at 1 %':>12}{'μ':>8}{'ρ':>8}"
    )
    for name, loss in laws().items():
        curve = loss.curve(delta=DELTA)
        whole = seconds(lambda loss=loss: loss.curve(delta=DELTA))
        some = curve.epsilon[::20]
        single = 20 * seconds(
            lambda loss=loss, some=some: [loss.delta(float(epsilon)) for epsilon in some], 1
        )
        rate = float(np.asarray(curve.true_positive_rate(0.01)))
        mu, rho = curve.gaussian_mu(apart=DELTA), curve.zcdp(apart=DELTA)
        print(
            f"{name:34}{1e3 * whole:6.1f} ms{1e3 * single:9.0f} ms{curve.advantage:11.4f}"
            f"{100 * rate:10.2f} %{mu:8.4f}{rho:8.4f}"
        )


if __name__ == "__main__":
    main()
