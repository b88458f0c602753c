"""The figures and tables of *Optimizing Noise Distributions for Differential Privacy*
(ICML 2025), computed anew.

`compute` gives a JSON record of a figure (the published setting, the printed values,
what the published method gives when run here, what this package gives), `draw` a
picture of it; `reproduce` does both and writes them down. The table of figures is
`figures.FIGURES`; what each module does is in README.md of this folder.
"""

from leastnoise.reproduction.figures import NAMES
from leastnoise.reproduction.run import compute, draw, reproduce
from leastnoise.reproduction.sweep import Options, SweepWorkers

__all__ = ["NAMES", "Options", "SweepWorkers", "compute", "draw", "reproduce"]
