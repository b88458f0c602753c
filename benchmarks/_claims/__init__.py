"""What every number of the solver and of the search buys: one table (`solver`, `designer`), and the
settings it is measured on (`settings`)."""

from benchmarks._claims.designer import DESIGNER
from benchmarks._claims.record import Claim, Limit
from benchmarks._claims.solver import SOLVER

CLAIMS: tuple[Claim | Limit, ...] = (*SOLVER, *DESIGNER)

__all__ = ["CLAIMS", "Claim", "Limit"]
