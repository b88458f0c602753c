"""The numbers of the page's pictures: one list a law, with as many digits as a picture shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leastnoise.errors import LeastNoiseError
from leastnoise.files.infinity import finite_or_none
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.text.numbers import rounded_up

OURS = "this design"
_REACH = 6.0  # standard deviations that the picture of the laws shows on each side
_POINTS = 240


def one_a_law(
    laws: Sequence[tuple[str, Noise, int]], values: Callable[[Noise, int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """`values` of every (name, law, draws); a known law that cannot be judged is left out, ours
    never."""
    found = []
    for name, noise, draws in laws:
        try:
            found.append({"name": name, **values(noise, draws)})
        except LeastNoiseError:
            if name == OURS:
                raise
    return found


def chances(main: Noise, laws: Sequence[tuple[str, Noise]]) -> dict[str, Any]:
    """The chance of each size of the noise on one answer, from 0 outwards: a density, or for
    integers a probability. The picture reaches as far as the `main` law."""
    reach = _REACH * main.std
    if main.domain == "integer":
        x: Floats = np.unique(np.round(np.linspace(0.0, max(math.ceil(reach), 4), _POINTS + 1)))
    else:
        x = np.linspace(0.0, reach, _POINTS + 1)

    def chance(noise: Noise, _: int) -> dict[str, Any]:
        if noise.domain == "real":
            return {"y": digits(noise.pdf(x))}
        if noise.dimension == 1:
            return {"y": digits(noise.pmf(x))}
        return {"y": digits(noise.ccdf(x - 1.0) - noise.ccdf(x))}

    return {
        "x": digits(x),
        "series": one_a_law([(name, noise, 1) for name, noise in laws], chance),
        "is_density": main.domain == "real",
    }


def digits(values: Sequence[float] | Floats) -> list[float | None]:
    """Six digits are more than a picture shows."""
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [finite_or_none(float(f"{number:.6g}")) for number in numbers]


def digits_up(values: Sequence[float]) -> list[float | None]:
    """The same of upper bounds, which must stay ones."""
    return [rounded_up(value, 6) if math.isfinite(value) else None for value in values]
