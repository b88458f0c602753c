"""JSON has no infinity. What is written for people and scripts says "inf"; what is drawn, null.

`infinity_as_text` is for answers that are read as numbers: an infinite ε is an answer. Pictures and
records of experiments only need to know that there is no finite number: `finite_or_none`. NaN is no
answer of this package; it is left as it is, for the JSON encoder to refuse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def infinity_as_text(data: Any) -> Any:
    """Plain data with "inf" and "-inf" for its infinities.

    Example:
        >>> infinity_as_text({"epsilon": math.inf, "delta": (0.5, -math.inf)})
        {'epsilon': 'inf', 'delta': [0.5, '-inf']}
    """
    if isinstance(data, float) and math.isinf(data):
        return str(float(data))
    if isinstance(data, Mapping):
        return {key: infinity_as_text(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [infinity_as_text(value) for value in data]
    return data


def finite_or_none(number: float) -> float | None:
    """The number as a float, None where it is not finite."""
    return float(number) if math.isfinite(number) else None
