"""Fig. 6: the winner over σ and compositions at δ = 10⁻⁹."""

from __future__ import annotations

from leastnoise.paper import heatmap
from leastnoise.paper.common import Record
from leastnoise.paper.heatmap import draw
from leastnoise.paper.sweep import DEFAULT, Options

__all__ = ["DELTA", "TITLE", "compute", "draw"]

TITLE = "Fig. 6: the winner over σ and compositions, δ = 10⁻⁹"
DELTA = 1e-9


def compute(quick: bool = False, options: Options = DEFAULT) -> Record:
    """The grid of Fig. 6."""
    return heatmap.compute("fig6", DELTA, quick, options)
