"""What a formula is of one row, in plain Python: slow, and by the definitions alone."""

import math
import re
from datetime import date, datetime

from leastnoise.releases.plan.formula import Constant, Name
from leastnoise.releases.plan.keys import NUMBER, TRUTHS

PATTERNS = {
    "YYYY-MM-DD": r"(?P<Y>\d{4})-(?P<M>\d\d)-(?P<D>\d\d)",
    "DD.MM.YYYY": r"(?P<D>\d\d)\.(?P<M>\d\d)\.(?P<Y>\d{4})",
    "YYYY-MM-DD hh:mm:ss": (
        r"(?P<Y>\d{4})-(?P<M>\d\d)-(?P<D>\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
    ),
}
EPOCH = date(1970, 1, 1)


def value(formula, row, formats=None):
    """The value of a typed formula; None where it is missing or unknown."""
    if isinstance(formula, Constant):
        return _plain(formula.value)
    if isinstance(formula, Name):
        return _read(formula, row[formula.column], (formats or {}).get(formula.column))
    parts = [value(part, row, formats) for part in formula.parts]
    return _OPERATORS.get(formula.operator, _arithmetic)(formula, parts, row)


def _plain(one):
    if isinstance(one, datetime):
        return float((one - datetime(1970, 1, 1)).total_seconds())
    if isinstance(one, date):
        return float((one - EPOCH).days)
    return one


def tame(x):
    if x is None or math.isnan(x) or abs(x) > 1e150:
        return None
    return 0.0 if abs(x) < 1e-150 else x


def _number(one):
    if isinstance(one, str):
        if one in TRUTHS["true"] or one in TRUTHS["false"]:
            return float(one in TRUTHS["true"])
        return float(one) if re.search(NUMBER, one) and "\n" not in one else None
    return None if one is None else float(one)


def _read(name, one, form):
    if one is None:
        return None
    if name.kind in ("text", "any"):
        return one
    if name.kind == "number":
        return tame(_number(one))
    if name.kind == "truth":
        return {1.0: True, 0.0: False}.get(_number(one))
    return _moment(name.kind, one, form)


def _moment(kind, one, form):
    if isinstance(one, str):
        usual = "YYYY-MM-DD"
        found = re.fullmatch(PATTERNS[form or usual], one)
        if not found:
            return None
        try:
            day = date(int(found["Y"]), int(found["M"]), int(found["D"]))
        except ValueError:
            return None
        parts = {**{"h": "0", "m": "0", "s": "0"}, **found.groupdict()}
        clock = tuple(int(parts[part]) for part in "hms")
        if clock > (23, 59, 59) or clock[1] > 59 or clock[2] > 59:
            return None
    else:
        day = one.date() if isinstance(one, datetime) else one
        clock = (one.hour, one.minute, one.second) if isinstance(one, datetime) else (0, 0, 0)
    days = float((day - EPOCH).days)
    return days if kind == "date" else days * 86400 + clock[0] * 3600 + clock[1] * 60 + clock[2]


def _arithmetic(formula, parts, _row):
    name = formula.operator
    if any(part is None for part in parts):
        return None
    if name in ("year", "quarter", "month", "weekday"):
        day = date.fromordinal(int(parts[0]) + EPOCH.toordinal())
        found = {"year": day.year, "month": day.month, "quarter": (day.month + 2) // 3}
        return float(found.get(name, day.isoweekday()))
    if name == "/" and parts[1] == 0:
        return None
    compute = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
        "abs": abs,
        "min": min,
        "max": max,
    }
    found = compute[name](*parts)
    return tame(found) if name in "+-*/" else found


def _compared(formula, parts, _row):
    if any(part is None for part in parts):
        return None
    x, y = parts
    found = {"=": x == y, "!=": x != y}
    if formula.operator in found:
        return found[formula.operator]
    return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[formula.operator]


def _and(_formula, parts, _row):
    return False if False in parts else None if None in parts else True


def _or(_formula, parts, _row):
    return True if True in parts else None if None in parts else False


def _not(_formula, parts, _row):
    return None if parts[0] is None else not parts[0]


def _in(_formula, parts, _row):
    return None if parts[0] is None else parts[0] in parts[1:]


def _between(_formula, parts, _row):
    x, low, high = parts
    return _and(None, [_ordered(x, low), _ordered(high, x)], None)


def _ordered(x, low):
    return None if x is None or low is None else x >= low


def _missing(formula, parts, row):
    (part,) = formula.parts
    if isinstance(part, Name) and part.kind in ("any", "text"):
        one = row[part.column]
        if isinstance(one, str):
            return not one.strip(" \t\r\n\u00a0")
        return one is None or (isinstance(one, float) and math.isnan(one))
    return parts[0] is None


def _coalesce(_formula, parts, _row):
    return next((part for part in parts if part is not None), None)


def _case(_formula, parts, _row):
    for holds, then in zip(parts[0::2], parts[1::2], strict=False):
        if holds is True:
            return then
    return parts[-1] if len(parts) % 2 else None


_OPERATORS = dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), _compared)
_OPERATORS |= {"and": _and, "or": _or, "not": _not, "in": _in, "between": _between}
_OPERATORS |= {"missing": _missing, "coalesce": _coalesce, "case": _case}
