"""Laws as the ledger keeps them: canonical JSON under its SHA-256, so that an audit can
recompute what they cost.

A mechanism of another library is known by its privacy loss, not by a law. The loss is kept bit for
bit, arrays as base64 of little-endian doubles. Whether it is the loss of the mechanism that was
run, and for the same neighbours as the data set's other releases, cannot be seen from here.
"""

from __future__ import annotations

import base64
import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import Changes, checked_changes
from leastnoise.errors import (
    InvalidParameterError,
    LeastNoiseError,
    LedgerError,
    UnsupportedError,
    positive,
)
from leastnoise.files.canonical import canonical, text_digest
from leastnoise.lattice.shells import Floats
from leastnoise.laws.base import Noise
from leastnoise.ledger import event_log
from leastnoise.losses.base import Loss
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.laplace import LaplaceLoss
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

_MOST_POINTS = 1 << 20
_KIND = "loss"
# What a ledger keeps of a loss, by its class: a form and the name of its one number, or tables.
_CLOSED_FORMS: dict[type[Any], tuple[str, str]] = {
    GaussianLoss: ("gaussian", "mu"),
    LaplaceLoss: ("laplace", "ratio"),
}
_TABLE_FORMS: dict[type[Any], str] = {TableLoss: "table", WorstOf: "worst"}


@dataclass(frozen=True)
class StoredLaw:
    """A law, or a loss of one mechanism, with its canonical text and the hash of that text."""

    hash: str
    text: str
    law: Noise | PrivacyLoss


def as_stored(noise: Noise | PrivacyLoss) -> tuple[tuple[StoredLaw, int], ...]:
    """What is kept of a law, or of every part of a loss and how often it counts."""
    if not isinstance(noise, PrivacyLoss):
        return ((_stored(noise.describe(), noise), 1),)
    found = []
    for part, count in noise.parts:
        content = loss_as_json(part)
        as_read = PrivacyLoss(((loss_from_json(content), 1),))
        found.append((_stored(content, as_read), count))
    return tuple(found)


def _stored(content: Mapping[str, Any], law: Noise | PrivacyLoss) -> StoredLaw:
    text = canonical(dict(content))
    return StoredLaw(text_digest(text), text, law)


def law_at(connection: sqlite3.Connection, law_hash: str) -> Noise | PrivacyLoss:
    """The law kept under a hash, or the loss of another library's mechanism, bit for bit."""
    content = event_log.stored_law(connection, law_hash)
    try:
        if content.get("kind") == _KIND:
            return PrivacyLoss(((loss_from_json(content), 1),))
        return Noise.from_description(content)
    except (KeyError, TypeError, ValueError, ArithmeticError, LeastNoiseError) as error:
        raise LedgerError(
            f"The law {law_hash[:16]}… of the ledger does not describe a law: {error}"
        ) from None


def loss_of_draw(law: Noise | PrivacyLoss, sensitivity: float, changes: Changes) -> Loss:
    """The loss of one draw of what is kept under one hash."""
    if isinstance(law, PrivacyLoss):
        return law.parts[0][0]
    return law.loss(sensitivity, checked_changes(changes, law.dimension))


def loss_as_json(loss: Loss) -> dict[str, Any]:
    """One loss as plain JSON data."""
    kind = type(loss)
    if kind in _CLOSED_FORMS:
        form, name = _CLOSED_FORMS[kind]
        return {"kind": _KIND, "form": form, name: positive(name, getattr(loss, name)).hex()}
    if kind not in _TABLE_FORMS or not loss.tables:
        raise UnsupportedError(
            f"A {kind.__name__} cannot be kept in a ledger: spend its law instead."
        )
    tables = [_table_as_json(table) for table in loss.tables]
    return {"kind": _KIND, "form": _TABLE_FORMS[kind], "tables": tables}


def loss_from_json(content: Mapping[str, Any]) -> Loss:
    """The inverse of `loss_as_json`."""
    form = content["form"]
    for kind, (known, name) in _CLOSED_FORMS.items():
        if form == known:
            loss: Loss = kind(positive(name, float.fromhex(content[name])))
            return loss
    tables = tuple(_table_from_json(table) for table in content["tables"])
    if form == "table" and len(tables) == 1:
        return tables[0]
    if form == "worst" and tables:
        # The two directions of an asymmetric pair are stored like this.
        return WorstOf(tables, chosen_anew=False)
    raise ValueError(f"unknown form of loss {form!r}")


def _table_as_json(table: TableLoss) -> dict[str, Any]:
    # 1e-12 may be more than a small δ sets aside: only what the stated rounding of the
    # probabilities explains is not missing.
    whole = _checked(table, min(table.mass_error, 1e-12))
    numbers = {
        name: float(getattr(whole, name)).hex()
        for name in ("infinite", "deviation", "raised", "loss_rounding", "mass_error")
    }
    arrays = {"loss": _packed(whole.loss), "log_p": _packed(whole.log_p)}
    return {**arrays, "releases": whole.releases, **numbers}


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
    """The table with all its mass: what its author lost beyond rounding counts as infinite loss."""
    if table.loss.size != table.log_p.size or not 0 < table.loss.size <= _MOST_POINTS:
        raise InvalidParameterError(
            "loss", table.loss.size, f"to have 1 to {_MOST_POINTS} values: take a larger interval"
        )
    numbers = (table.infinite, table.deviation, table.raised, table.loss_rounding, table.mass_error)
    is_plain = np.all(np.isfinite(table.loss)) and not np.any(np.isnan(table.log_p))
    if not is_plain or not all(0.0 <= x < math.inf for x in numbers):
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
