"""At home in other people's tools. One file each; the foreign library is imported when its adapter is used, never before.

opendp         a design as an OpenDP measurement, scalar or vector                                  leastnoise[opendp]
dp_accounting  a law as a PrivacyLossDistribution or a DpEvent, and theirs as a loss of ours         leastnoise[dp-accounting]
notebook       designs and laws as HTML tables with small drawings; a progress bar                   leastnoise[notebook]
scipy_stats    a law as a frozen scipy distribution, for analysis
schemas        the JSON formats as JSON Schemas, for other languages
distance       the loss of a sampled law at any distance between neighbours, for the adapters
"""

from __future__ import annotations

import importlib
from typing import Any


def required(module: str, extra: str) -> Any:
    """The foreign module, or an ImportError that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise
        raise ImportError(f"This needs {module.split('.')[0]}: pip install 'leastnoise[{extra}]'", name=error.name) from None
