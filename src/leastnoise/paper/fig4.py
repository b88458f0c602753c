"""Fig. 4: the winner over σ and compositions at δ = 10⁻⁶."""

from __future__ import annotations

from leastnoise.paper import heatmap
from leastnoise.paper.common import Record
from leastnoise.paper.heatmap import draw
from leastnoise.paper.sweep import DEFAULT, Options

__all__ = ["DELTA", "TITLE", "compute", "draw"]

TITLE = "Fig. 4: the winner over σ and compositions, δ = 10⁻⁶"
DELTA = 1e-6


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """The grid of Fig. 4."""
    return heatmap.compute("fig4", DELTA, quick, options)
