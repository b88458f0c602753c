"""Tables as CSV that are safe to open in a spreadsheet, which runs some texts as formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = frozenset("=+-@\t\r＝＋－＠")  # what a formula may begin with


def guarded(cell: Any) -> Any:
    """A text marked as text, by an apostrophe, where a spreadsheet would run it; any
    other cell as it is.

    Example:
        >>> guarded("=1+1"), guarded("1+1"), guarded(-1)
        ("'=1+1", '1+1', -1)
    """
    return "'" + cell if isinstance(cell, str) and cell[:1] in _FORMULA else cell


def csv_text(rows: Iterable[Sequence[Any]], delimiter: str = ",") -> str:
    """The rows as CSV, one a line. Cells are written as they are: guard what is not ours."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
