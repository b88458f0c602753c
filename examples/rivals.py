"""The rivals of the paper's Figure 1 at σ = 8, sensitivity 1, 10 releases, δ = 1e-6, judged side by
side."""

from leastnoise import (
    PrivacyLoss,
    cube,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
    staircase,
)

SIGMA, COMPOSITIONS, DELTA = 8.0, 10, 1e-6
rivals = {
    "Gaussian": (gaussian(SIGMA), COMPOSITIONS),
    "Laplace": (laplace(SIGMA), COMPOSITIONS),
    "Staircase": (staircase(SIGMA), COMPOSITIONS),
    "discrete Gaussian": (discrete_gaussian(SIGMA), COMPOSITIONS),
    "discrete Laplace": (discrete_laplace(SIGMA), COMPOSITIONS),
    "cube, 10 answers at once": (cube(SIGMA, COMPOSITIONS), 1),
}

print(
    f"10 answers, each with noise of standard deviation {SIGMA:g} for sensitivity 1; the epsilon "
    f"they cost at delta = {DELTA:g}\n"
)
print(f"{'noise':26}{'epsilon between':>24}{'± at 95 %':>14}")
for name, (noise, compositions) in rivals.items():
    bounds = PrivacyLoss.of(noise, sensitivity=1.0).compose(compositions).epsilon_bounds(DELTA)
    print(f"{name:26}{bounds.lower:>13.5f} .. {bounds.upper:.5f}{noise.interval(0.95):>14.2f}")
