"""A designed law as a scipy distribution, for analysis (never for releases): what an analyst of
noisy answers needs to know."""

import numpy as np
from scipy import stats

from leastnoise import design

best = design(delta=1e-6, epsilon=1.0, compositions=10)
noise = best.noise.as_scipy()
far = 2 * noise.sf(4 * noise.std())
print(
    f"noise: standard deviation {noise.std():.3f}, 95 % within ± {noise.ppf(0.975):.3f}, beyond "
    f"4σ {far:.2e}"
)

# Is a difference of 12 between two noisy answers more than noise? Simulate the difference of two
# draws.
generator = np.random.default_rng(20250701)
difference = noise.rvs(100_000, random_state=generator) - noise.rvs(100_000, random_state=generator)
print(f"|difference| > 12 by noise alone: {np.mean(np.abs(difference) > 12):.4f}")

# A goodness-of-fit test of exact draws against the law.
drawn = best.noise.sample(2_000)
print(
    "Kolmogorov–Smirnov distance of 2,000 exact draws: "
    f"{stats.kstest(drawn, noise.cdf).statistic:.4f}"
)
