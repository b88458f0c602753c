"""leastnoise: the noise that costs the least accuracy for a given differential-privacy guarantee.

The public names; each is imported when it is first used, so that `import leastnoise` and the
command line's help cost nothing.
"""

from __future__ import annotations

import importlib

# typing.TYPE_CHECKING without typing: while this loads the program is not yet guarded against an
# interrupt.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from leastnoise.accountant.bounds import Bounds as Bounds
    from leastnoise.accountant.constraints import Constraint as Constraint
    from leastnoise.accountant.curve import PrivacyCurve as PrivacyCurve
    from leastnoise.accountant.privacy_loss import PrivacyLoss as PrivacyLoss
    from leastnoise.accountant.renyi import epsilon_from_renyi as epsilon_from_renyi
    from leastnoise.accountant.renyi import moments_epsilon as moments_epsilon
    from leastnoise.accountant.renyi import renyi_divergence as renyi_divergence
    from leastnoise.artefact.exact import exact as exact
    from leastnoise.changes import Box as Box
    from leastnoise.changes import Changes as Changes
    from leastnoise.changes import Euclidean as Euclidean
    from leastnoise.changes import OneSided as OneSided
    from leastnoise.cost import Cost as Cost
    from leastnoise.designer.cactus import cactus as cactus
    from leastnoise.designer.design import design as design
    from leastnoise.designer.frontier import FrontierPoint as FrontierPoint
    from leastnoise.designer.frontier import frontier as frontier
    from leastnoise.designer.result import Design as Design
    from leastnoise.errors import AccountingError as AccountingError
    from leastnoise.errors import BudgetExceededError as BudgetExceededError
    from leastnoise.errors import DesignError as DesignError
    from leastnoise.errors import EngineError as EngineError
    from leastnoise.errors import InvalidFileError as InvalidFileError
    from leastnoise.errors import InvalidParameterError as InvalidParameterError
    from leastnoise.errors import LeastNoiseError as LeastNoiseError
    from leastnoise.errors import LedgerError as LedgerError
    from leastnoise.errors import PlanError as PlanError
    from leastnoise.errors import SeriesError as SeriesError
    from leastnoise.errors import UnsupportedError as UnsupportedError
    from leastnoise.laws.base import Noise as Noise
    from leastnoise.laws.classic import cube as cube
    from leastnoise.laws.classic import discrete_gaussian as discrete_gaussian
    from leastnoise.laws.classic import discrete_laplace as discrete_laplace
    from leastnoise.laws.classic import gaussian as gaussian
    from leastnoise.laws.classic import generalized_gaussian as generalized_gaussian
    from leastnoise.laws.classic import laplace as laplace
    from leastnoise.laws.correlated import correlated as correlated
    from leastnoise.laws.lattice import LatticeNoise as LatticeNoise
    from leastnoise.laws.sphere import sphere as sphere
    from leastnoise.ledger.ledger import Ledger as Ledger
    from leastnoise.ledger.records import Spend as Spend
    from leastnoise.releases.plan.file import load_plan as load_plan
    from leastnoise.releases.plan.plan import Plan as Plan
    from leastnoise.releases.plan.statistic import Statistic as Statistic
    from leastnoise.releases.rehearsal import rehearsed as rehearsed
    from leastnoise.releases.release import release as release
    from leastnoise.releases.result import Release as Release
    from leastnoise.series.opening import open_series as open_series
    from leastnoise.series.series import NoisyAnswer as NoisyAnswer
    from leastnoise.series.series import Series as Series
    from leastnoise.solver.schrodinger import schrodinger as schrodinger
    from leastnoise.solver.staircase import discrete_staircase as discrete_staircase
    from leastnoise.solver.staircase import staircase as staircase

_HOMES = {
    "changes": ("Box", "Changes", "Euclidean", "OneSided"),
    "laws.sphere": ("sphere",),
    "laws.correlated": ("correlated",),
    "laws.classic": (
        "cube",
        "discrete_gaussian",
        "discrete_laplace",
        "gaussian",
        "generalized_gaussian",
        "laplace",
    ),
    "artefact.exact": ("exact",),
    "cost": ("Cost",),
    "solver.schrodinger": ("schrodinger",),
    "solver.staircase": ("discrete_staircase", "staircase"),
    "designer.cactus": ("cactus",),
    "designer.design": ("design",),
    "designer.frontier": ("FrontierPoint", "frontier"),
    "designer.result": ("Design",),
    "errors": (
        *(
            "AccountingError",
            "BudgetExceededError",
            "DesignError",
            "EngineError",
            "InvalidFileError",
            "InvalidParameterError",
        ),
        *("LeastNoiseError", "LedgerError", "PlanError", "SeriesError", "UnsupportedError"),
    ),
    "laws.lattice": ("LatticeNoise",),
    "laws.base": ("Noise",),
    "accountant.bounds": ("Bounds",),
    "accountant.constraints": ("Constraint",),
    "accountant.curve": ("PrivacyCurve",),
    "accountant.privacy_loss": ("PrivacyLoss",),
    "accountant.renyi": ("epsilon_from_renyi", "moments_epsilon", "renyi_divergence"),
    "ledger.ledger": ("Ledger",),
    "ledger.records": ("Spend",),
    "releases.plan.plan": ("Plan",),
    "releases.plan.statistic": ("Statistic",),
    "releases.plan.file": ("load_plan",),
    "releases.result": ("Release",),
    "releases.rehearsal": ("rehearsed",),
    "releases.release": ("release",),
    "series.opening": ("open_series",),
    "series.series": ("NoisyAnswer", "Series"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"leastnoise.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
