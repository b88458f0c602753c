"""The figures and tables of *Optimizing Noise Distributions for Differential Privacy* (ICML 2025), computed anew.

One module a figure or table: `compute` gives a JSON record (the published setting, the printed values, what the published method
gives when run here, what this package gives), `draw` a picture of it. `reproduce` does both and writes them down.

common    records, rows of comparison, the published method as run here
style     palette and axes of the pictures
sweep     many cells over processes, any executor or a Dask scheduler; finished cells are kept
setting   one cell (σ, N_c, δ): the rivals, the published method, our design
pages     README.md and BEYOND.md out of the records
"""

from leastnoise.paper.run import NAMES, compute, draw, reproduce
from leastnoise.paper.sweep import Options, Workers

__all__ = ["NAMES", "Options", "Workers", "compute", "draw", "reproduce"]
