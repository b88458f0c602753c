"""leastnoise: the noise that costs the least accuracy for a given differential-privacy guarantee.

The public names; each is imported when it is first used, so that `import leastnoise` and the command line's help cost nothing.
"""

from __future__ import annotations

import importlib

# typing.TYPE_CHECKING without typing: while this loads the program is not yet guarded against an interrupt.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from leastnoise.ball import sphere as sphere
    from leastnoise.classic import cube as cube
    from leastnoise.classic import discrete_gaussian as discrete_gaussian
    from leastnoise.classic import discrete_laplace as discrete_laplace
    from leastnoise.classic import discrete_staircase as discrete_staircase
    from leastnoise.classic import gaussian as gaussian
    from leastnoise.classic import generalized_gaussian as generalized_gaussian
    from leastnoise.classic import laplace as laplace
    from leastnoise.classic import staircase as staircase
    from leastnoise.cost import Cost as Cost
    from leastnoise.designer.cactus import cactus as cactus
    from leastnoise.designer.design import Design as Design
    from leastnoise.designer.design import design as design
    from leastnoise.errors import AccountingError as AccountingError
    from leastnoise.errors import BudgetExceededError as BudgetExceededError
    from leastnoise.errors import DesignError as DesignError
    from leastnoise.errors import EngineError as EngineError
    from leastnoise.errors import InvalidFileError as InvalidFileError
    from leastnoise.errors import InvalidParameterError as InvalidParameterError
    from leastnoise.errors import LeastNoiseError as LeastNoiseError
    from leastnoise.errors import LedgerError as LedgerError
    from leastnoise.errors import PlanError as PlanError
    from leastnoise.errors import UnsupportedError as UnsupportedError
    from leastnoise.lattice import LatticeNoise as LatticeNoise
    from leastnoise.noise import Noise as Noise
    from leastnoise.privacy.loss import Bounds as Bounds
    from leastnoise.privacy.loss import PrivacyLoss as PrivacyLoss
    from leastnoise.privacy.renyi import epsilon_from_renyi as epsilon_from_renyi
    from leastnoise.privacy.renyi import moments_epsilon as moments_epsilon
    from leastnoise.privacy.renyi import renyi_divergence as renyi_divergence
    from leastnoise.releases.ledger import Ledger as Ledger
    from leastnoise.releases.plan import Plan as Plan
    from leastnoise.releases.plan import Statistic as Statistic
    from leastnoise.releases.plan_file import load_plan as load_plan
    from leastnoise.releases.run import Release as Release
    from leastnoise.releases.run import release as release
    from leastnoise.sampling.weights import exact as exact

_HOMES = {
    "ball": ("sphere",),
    "classic": (
        *(
            "cube",
            "discrete_gaussian",
            "discrete_laplace",
            "discrete_staircase",
            "gaussian",
            "generalized_gaussian",
        ),
        *("laplace", "staircase"),
    ),
    "cost": ("Cost",),
    "designer.cactus": ("cactus",),
    "designer.design": ("Design", "design"),
    "errors": (
        *(
            "AccountingError",
            "BudgetExceededError",
            "DesignError",
            "EngineError",
            "InvalidFileError",
            "InvalidParameterError",
        ),
        *("LeastNoiseError", "LedgerError", "PlanError", "UnsupportedError"),
    ),
    "lattice": ("LatticeNoise",),
    "noise": ("Noise",),
    "privacy.loss": ("Bounds", "PrivacyLoss"),
    "privacy.renyi": ("epsilon_from_renyi", "moments_epsilon", "renyi_divergence"),
    "releases.ledger": ("Ledger",),
    "releases.plan": ("Plan", "Statistic"),
    "releases.plan_file": ("load_plan",),
    "releases.run": ("Release", "release"),
    "sampling.weights": ("exact",),
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
