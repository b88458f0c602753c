"""One released number with its error, as it is shown and as it is written to files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from leastnoise.releases.noise.sensitivity import Answer
from leastnoise.text.numbers import ends, uncertain

# The kinds of rows that are no statistics of the plan.
CHECKS = ("other keys", "unreadable", "clipped", "left out")
COUNTS = ("count", "persons", "distinct", "histogram", *CHECKS)
TOO_FEW = "too few to say"  # what stands in the place of a mean or variance of hardly any values
AT_LEAST = (
    "at least: each person is counted under one check, and upper adds the checks that may "
    "hide this one"
)


@dataclass(frozen=True)
class ReleasedRow:
    """One released number. `noise_std` and `half_width` (95 %) are from noise alone, before any
    post-processing but "totals".

    `value` is None for a mean or variance of too few values to say; its noise has no size then
    (NaN). The rows of the checks are of kind "other keys" (with the columns of the grouping as
    `group`) and "unreadable" and "clipped" (with the column) and "left out" (with the bound);
    `check` says of what. Where `is_hidden`, `value` ± `half_width` is about the persons counted
    under this check, and `lower` to `upper` about all whom its name fits: others of them may be
    counted under another check.
    """

    statistic: str
    kind: str
    group: str
    value: float | None
    noise_std: float
    half_width: float
    unprocessed: float | None = None  # the value before post-processing, where there was any
    keys: tuple[tuple[str, str], ...] = ()  # the columns of the grouping, with this group's keys
    interval: tuple[float, float] | None = None  # where it is another one than value ± half_width
    # Of a check: what it counts, with its column, bounds or grouping; persons once if it says so.
    check: Answer | None = None
    is_hidden: bool = False  # of a check: whether another one may count persons whom it is about

    @property
    def number(self) -> float:
        """The value, NaN where there are too few values to say."""
        return math.nan if self.value is None else self.value

    @property
    def lower(self) -> float:
        """Lower end of the 95 % interval."""
        return self.number - self.half_width if self.interval is None else self.interval[0]

    @property
    def upper(self) -> float:
        """Upper end of the 95 % interval."""
        return self.number + self.half_width if self.interval is None else self.interval[1]

    @property
    def is_count(self) -> bool:
        """Whether it is a number of rows or persons."""
        return self.kind in COUNTS

    def shown(self) -> tuple[str, str]:
        """The value and its ±, for people: never narrower than they are, and nothing beside "too
        few to say".

        Of a check that others may hide the ends of the interval in the place of the ±.
        """
        if self.value is None:
            return TOO_FEW, ""
        value, width = uncertain(self.value, self.half_width, whole=self.is_count)
        return value, ends(self.lower, self.upper, self.half_width) if self.is_hidden else width

    def in_words(self) -> str:
        """The same as one text: 17.23 ± 0.52, or 180 to 390 of a check that others may hide."""
        value, width = self.shown()
        return width if self.is_hidden else " ± ".join(part for part in (value, width) if part)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON data: null where there is no number, whole counts as whole numbers."""
        return {
            "statistic": self.statistic,
            "kind": self.kind,
            "group": self.group,
            "keys": dict(self.keys),
            "value": self._told(self.value),
            "lower": self._told(self.lower),
            "upper": self._told(self.upper),
            "noise_std": self._told(self.noise_std, whole=False),
            "half_width_95": self._told(self.half_width, whole=False),
            "unprocessed": self._told(self.unprocessed),
            "note": TOO_FEW if self.value is None else AT_LEAST if self.is_hidden else "",
        }

    def _told(self, number: float | None, *, whole: bool = True) -> float | int | None:
        if number is None or math.isnan(number):
            return None
        return int(number) if whole and self.is_count and number.is_integer() else number
