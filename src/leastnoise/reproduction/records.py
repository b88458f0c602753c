"""Records of figures as JSON, rows of comparison with the paper, verdicts on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastnoise.files.infinity import finite_or_none
from leastnoise.text.numbers import rounded

Record = dict[str, Any]

_DIGITS = 7  # of a number in a file


def row(
    quantity: str,
    ours: float | None,
    verdict: str,
    *,
    printed: float | None = None,
    method: float | None = None,
    digits: int = 2,
    unit: str = "",
) -> Record:
    """One line of the README: a quantity as printed, by the published method run here,
    and by this package."""
    reference = printed if printed is not None else method
    ratio = ours / reference if ours is not None and reference else None
    values = {"printed": printed, "published_method": method, "ours": ours, "ratio": ratio}
    return {"quantity": quantity, **values, "verdict": verdict, "digits": digits, "unit": unit}


def agreement(value: float, printed: float, digits: int) -> str:
    """Whether a value is the printed one up to a unit of its last digit (the paper
    rounds some values and cuts others)."""
    return "agrees" if abs(value - printed) <= 10.0**-digits * 1.000001 else "differs"


def less_is_better(ours: float, printed: float, digits: int) -> str:
    """The verdict on a quantity that should be small."""
    if ours < printed - 0.5 * 10.0**-digits:
        return "surpassed"
    return "reproduced" if agreement(ours, printed, digits) == "agrees" else "not reached"


def more_is_better(ours: float, printed: float, digits: int) -> str:
    """The verdict on a quantity that should be large."""
    return less_is_better(-ours, -printed, digits)


def order_verdict(found: float | None, printed: float, digits: int, otherwise: str) -> str:
    """The verdict on the order that the moments rule finds; None where its value falls for ever."""
    if found is None:
        return "differs: the rule's value falls for ever, α → ∞"
    agrees = agreement(found, printed, digits) == "agrees"
    return "reproduced" if agrees else f"differs: {otherwise}"


def against_method(ours: float, method: float, *, more: bool = False) -> str:
    """The verdict where nothing is printed: ours against the published method run here."""
    if ours == method:
        return "as Alg. 3"
    return "better than Alg. 3" if (ours > method) == more else "worse than Alg. 3"


def gain_row(quantity: str, ours: float, method: float, digits: int = 2) -> Record:
    """A share gained by our design and by the published method, in per cent."""
    verdict = against_method(ours, method, more=True)
    beside: Record = {"method": 100.0 * method, "digits": digits, "unit": "%"}
    return row(quantity, 100.0 * ours, verdict, **beside)


def behind_row(quantity: str, ours: int, method: int) -> Record:
    """How often our design and the published method are worse than a rival."""
    verdict = "differs" if ours else "none, as claimed"
    return row(quantity, float(ours), verdict, method=float(method), digits=0)


def sampled(x: ArrayLike, digits: int = 6) -> list[float]:
    """A list for the record, to so many significant digits."""
    return [rounded(float(value), digits) for value in np.asarray(x, dtype=np.float64).ravel()]


def compact(value: Any) -> Any:
    """The record with its numbers to seven digits, infinities as null, so that the
    files stay small and valid JSON."""
    if isinstance(value, Mapping):
        return {str(key): compact(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [compact(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return finite_or_none(rounded(float(value), _DIGITS))
    return value


def write_json(path: Path, record: Record) -> None:
    """The record as JSON, one key a line at the top, lists of numbers on one line."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(compact(value), ensure_ascii=False)}"
        for key, value in record.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_json(path: Path) -> Record:
    """A record written by `write_json`."""
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record
