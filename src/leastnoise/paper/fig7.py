"""Fig. 7: pointwise minimum of the privacy curves over δ, σ = 5."""

from __future__ import annotations

from leastnoise.paper import pointwise
from leastnoise.paper.common import Record
from leastnoise.paper.pointwise import draw
from leastnoise.paper.sweep import DEFAULT, Options

__all__ = ["PRINTED_RANGE", "SIGMA", "TITLE", "compute", "draw"]

TITLE = "Fig. 7: pointwise minimum of the privacy curves, σ = 5"
SIGMA = 5.0
PRINTED_RANGE = (2.0, 2.8)


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """Both panels of Fig. 7."""
    return pointwise.compute("fig7", SIGMA, PRINTED_RANGE, quick, options)
