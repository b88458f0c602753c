"""How the columns of a table are read where their use does not say it: [columns] of a plan.

    [columns]
    smoker = "truth"                                       # number, text, truth, date or time
    admitted = { kind = "date", format = "DD.MM.YYYY" }    # in a column of text
    seen = { kind = "time", zone = "Europe/Berlin" }       # an instant, as clocks show it there

A day in a column of text is one only where every sign is as the format says and the calendar has
such a day; anything else is missing. Without a format it is YYYY-MM-DD, a time YYYY-MM-DD hh:mm:ss.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args
from zoneinfo import ZoneInfo

from leastnoise.errors import PlanError, one_of
from leastnoise.releases.plan.formula import Kind
from leastnoise.releases.plan.source import text

FIELDS = {"YYYY": 4, "MM": 2, "DD": 2, "hh": 2, "mm": 2, "ss": 2}  # with their digits
_KINDS = tuple(kind for kind in get_args(Kind) if kind != "any")
_DAY = ("YYYY", "MM", "DD")
_USUAL = {"date": "YYYY-MM-DD", "time": "YYYY-MM-DD hh:mm:ss"}


@dataclass(frozen=True)
class Reading:
    """What a column holds.

    Attributes:
        column: Its name.
        kind: "number", "text", "truth", "date" or "time".
        format: How a date or time is written in a column of text: YYYY, MM, DD, hh, mm and ss, and
            the signs between them.
        zone: Where the clocks are that show an instant as day and hour: "Europe/Berlin", "UTC".
    """

    column: str
    kind: Kind
    format: str = ""
    zone: str = ""

    def __post_init__(self) -> None:
        text("columns", self.column)
        one_of(f"columns.{self.column}", self.kind, _KINDS)
        if self.kind not in _USUAL and (self.format or self.zone):
            raise PlanError(
                f"[columns] {self.column} is a {self.kind}: format and zone are for days and times."
            )
        if self.kind in _USUAL:
            object.__setattr__(self, "format", self.format or _USUAL[self.kind])
            self._check_format()
        if self.zone:
            self._check_zone()

    def _check_format(self) -> None:
        text(f"columns.{self.column}.format", self.format)
        fields, between = self.fields, re.sub("|".join(FIELDS), "", self.format)
        lacking = [name for name in _DAY if name not in fields]
        if lacking or len(set(fields)) < len(fields) or re.search(r"[^\W_]", between):
            raise PlanError(
                f"[columns] {self.column}: the format {self.format!r} cannot be read: write YYYY, "
                "MM and DD once each, for a time hh, mm and ss as well, with signs that are no "
                "letters and digits between them, such as DD.MM.YYYY."
            )

    def _check_zone(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError):
            raise PlanError(
                f"[columns] {self.column}: there is no zone {self.zone!r}; write one such as "
                "Europe/Berlin, or UTC."
            ) from None

    @property
    def fields(self) -> list[str]:
        """The fields of the format, in the order in which they are written."""
        return re.findall("|".join(FIELDS), self.format)

    def describe(self) -> dict[str, str]:
        return {"kind": self.kind, "format": self.format, "zone": self.zone}


def readings_of(declared: Any) -> tuple[Reading, ...]:
    """The columns as they are declared: `Reading`s, or a table such as {"smoker": "truth"}."""
    if isinstance(declared, tuple) and all(isinstance(one, Reading) for one in declared):
        return declared
    if not isinstance(declared, Mapping):
        raise PlanError('[columns] is a table: declare in it what columns are, smoker = "truth".')
    return tuple(_reading_of(column, about) for column, about in declared.items())


def _reading_of(column: str, about: Any) -> Reading:
    if isinstance(about, str):
        return Reading(column, about)  # type: ignore[arg-type]  # checked there
    known = {"kind", "format", "zone"}
    if not isinstance(about, Mapping) or "kind" not in about or set(about) - known:
        raise PlanError(
            f'[columns] {column} needs its kind: declare {column} = "date", or '
            f'{column} = {{ kind = "date", format = "DD.MM.YYYY" }}.'
        )
    return Reading(column, **about)
