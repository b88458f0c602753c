"""Mechanisms of other libraries in the ledger: known by their privacy loss, not by a law.

The loss is kept bit for bit, arrays as base64 of little-endian doubles, so that an audit can recompute what it costs. Whether it is
the loss of the mechanism that was run, and for the same neighbours as the data set's other releases, cannot be seen from here.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leastnoise.errors import InvalidParameterError, UnsupportedError, positive
from leastnoise.privacy.single import GaussianLoss, LaplaceLoss, SingleLoss, TableLoss, WorstOf
from leastnoise.shells import Floats

_MOST_POINTS = 1 << 20
_KIND = "loss"


def is_loss(content: Mapping[str, Any]) -> bool:
    """Does stored content describe a loss rather than a law?"""
    return content.get("kind") == _KIND


def loss_as_json(loss: SingleLoss) -> dict[str, Any]:
    """One loss as plain JSON data."""
    if isinstance(loss, (GaussianLoss, LaplaceLoss)):
        if loss.infinite or loss.deviation:
            raise UnsupportedError(
                "A closed form with unbounded losses cannot be kept in a ledger: spend a table instead."
            )
        if isinstance(loss, GaussianLoss):
            return {"kind": _KIND, "form": "gaussian", "mu": positive("mu", loss.mu).hex()}
        return {"kind": _KIND, "form": "laplace", "ratio": positive("ratio", loss.ratio).hex()}
    if isinstance(loss, TableLoss):
        return {"kind": _KIND, "form": "table", "tables": [_table_as_json(loss)]}
    if isinstance(loss, WorstOf) and loss.tables:
        return {
            "kind": _KIND,
            "form": "worst",
            "tables": [_table_as_json(table) for table in loss.tables],
        }
    raise UnsupportedError(
        f"A {type(loss).__name__} cannot be kept in a ledger: spend its law instead."
    )


def loss_from_json(content: Mapping[str, Any]) -> SingleLoss:
    """The inverse of `loss_as_json`."""
    form = content["form"]
    if form == "gaussian":
        return GaussianLoss(positive("mu", float.fromhex(content["mu"])))
    if form == "laplace":
        return LaplaceLoss(positive("ratio", float.fromhex(content["ratio"])))
    tables = tuple(_table_from_json(table) for table in content["tables"])
    if form == "table" and len(tables) == 1:
        return tables[0]
    if form == "worst" and tables:
        return WorstOf(
            tables, chosen_anew=False
        )  # the two directions of an asymmetric pair are stored like this
    raise ValueError(f"unknown form of loss {form!r}")


def _table_as_json(table: TableLoss) -> dict[str, Any]:
    # 1e-12 may be more than a small δ sets aside: only what the stated rounding of the probabilities explains is not missing.
    whole = _checked(table, min(table.mass_error, 1e-12))
    numbers = {
        name: float(getattr(whole, name)).hex()
        for name in ("infinite", "deviation", "raised", "loss_rounding", "mass_error")
    }
    return {
        "loss": _packed(whole.loss),
        "log_p": _packed(whole.log_p),
        "releases": whole.releases,
        **numbers,
    }


def _table_from_json(content: Mapping[str, Any]) -> TableLoss:
    return _checked(
        TableLoss(
            _unpacked(content["loss"]),
            _unpacked(content["log_p"]),
            float.fromhex(content["infinite"]),
            float.fromhex(content["deviation"]),
            int(content["releases"]),
            float.fromhex(content["raised"]),
            float.fromhex(content["loss_rounding"]),
            float.fromhex(content["mass_error"]),
        )
    )


def _checked(table: TableLoss, rounding: float = 1e-12) -> TableLoss:
    """The table with all its mass: what its author lost beyond the rounding of a sum is counted as infinite loss."""
    if table.loss.size != table.log_p.size or not 0 < table.loss.size <= _MOST_POINTS:
        raise InvalidParameterError(
            "loss", table.loss.size, f"to have 1 to {_MOST_POINTS} values: take a larger interval"
        )
    numbers = (table.infinite, table.deviation, table.raised, table.loss_rounding, table.mass_error)
    if (
        not np.all(np.isfinite(table.loss))
        or np.any(np.isnan(table.log_p))
        or not all(0.0 <= x < math.inf for x in numbers)
    ):
        raise InvalidParameterError("loss", "a table", "to hold finite losses and probabilities")
    mass = math.fsum(np.exp(table.log_p).tolist()) + table.infinite
    if not abs(mass - 1.0) < 1e-6:
        raise InvalidParameterError("loss", mass, "to have probabilities with a sum of 1")
    missing = 1.0 - mass
    return replace(table, infinite=table.infinite + missing) if missing > rounding else table


def _packed(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
