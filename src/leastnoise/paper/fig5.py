"""Fig. 5: pointwise minimum of the privacy curves over δ, σ = 8."""

from __future__ import annotations

from leastnoise.paper import pointwise
from leastnoise.paper.common import Record
from leastnoise.paper.pointwise import draw
from leastnoise.paper.sweep import DEFAULT, Options

__all__ = ["PRINTED_RANGE", "SIGMA", "TITLE", "compute", "draw"]

TITLE = "Fig. 5: pointwise minimum of the privacy curves, σ = 8"
SIGMA = 8.0
PRINTED_RANGE = (1.2, 1.8)


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """Both panels of Fig. 5."""
    return pointwise.compute("fig5", SIGMA, PRINTED_RANGE, quick, options)
