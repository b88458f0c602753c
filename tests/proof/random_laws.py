"""Laws at random, as files have them, with the ε that the first judge states of them."""

from __future__ import annotations

import random

import numpy as np

from leastnoise import LatticeNoise, LeastNoiseError, cube, discrete_gaussian, exact, sphere
from leastnoise.artefact import certify


def _line(draw, sensitivity):
    size = draw.randrange(3, 60)
    falls = [
        draw.choice([0.0, 0.0, draw.expovariate(8.0), draw.uniform(0.0, 0.4)]) for _ in range(size)
    ]
    if draw.random() < 0.2:  # that rises here and there
        falls = [fall - 0.05 * draw.random() for fall in falls]
    domain = draw.choice(["integer", "real"])
    step = 1.0 if domain == "integer" else sensitivity / draw.randrange(1, 4) * (1.0 + 1e-9)
    tail = draw.uniform(0.3, 0.9)
    return LatticeNoise.from_log_weights(-np.cumsum(falls), tail, step=step, domain=domain)


def _kind(draw, sensitivity):
    kind = draw.choice(["line"] * 6 + ["normal", "cube", "cube", "sphere"])
    if kind == "line":
        return _line(draw, sensitivity)
    if kind == "normal":
        return discrete_gaussian(draw.uniform(1.0, 20.0))
    if kind == "cube":
        return cube(draw.uniform(3.0, 20.0), draw.randrange(2, 13))
    return sphere(draw.uniform(5.0, 40.0), draw.randrange(2, 70))


def random_artefact(seed):
    """A law that is certified for random releases, sensitivity and δ; some seeds give none that has
    a finite ε, and are drawn again."""
    draw = random.Random(seed)
    while True:
        sensitivity = float(draw.choice([1, 1, 2]))
        noise = _kind(draw, sensitivity)
        most = 3 if noise.dimension > 1 else 20
        delta, releases = 10.0 ** -draw.uniform(2.0, 10.0), draw.choice([1, 1, 2, 3, 5, 10, 20])
        use = {"delta": delta, "compositions": min(releases, most), "sensitivity": sensitivity}
        try:
            if not noise.sampler().is_exact:
                noise = exact(noise, **use)
            found = certify(noise, **use)
        except LeastNoiseError:
            continue
        if found.guarantee.epsilon > 1e-3:
            return found
