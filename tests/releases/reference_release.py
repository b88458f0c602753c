"""The slow form of the engine's work: contribution bounding, snapping and sums in plain Python, exact arithmetic throughout."""

import hashlib
import math
import re

from leastnoise.releases.sensitivity import bounds
from leastnoise.releases.table import NUMBER


def number(value):
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if value in ("true", "True", "TRUE", "false", "False", "FALSE"):
            return float(value.lower() == "true")
        return float(value) if re.search(NUMBER, value) and "\n" not in value else None
    return None if value is None else float(value)


def place(value, values):
    x = number(value)
    if x is None or math.isnan(x) or (values.infinite == "missing" and math.isinf(x)):
        return None if values.substitute is None else values.substitute
    x = min(max(x, values.lower), values.upper)
    return min(max(math.floor(x / values.pitch + 0.5), values.first), values.last)


def label(value, key):
    if key.edges:
        x = number(value)
        if x is None:
            return None
        for i, name in enumerate(key.labels):
            inside = key.edges[i] <= x < key.edges[i + 1] or (i == len(key.labels) - 1 and x == key.edges[-1])
            if inside:
                return name
        return None
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def escaped(text):
    return text.replace("~", "~0").replace("|", "~1")


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()[:12]


def kept_rows(plan, rows, block):
    """The rows that count: (person, group, {values: place})."""
    places = list(dict.fromkeys(answer.values for answer in block.answers if answer.values is not None))
    kept = []
    for row in rows:
        group = tuple(label(row[key.column], key) for key in block.group_by)
        person = None if plan.person is None else row[plan.person]
        if any(part not in key.labels for part, key in zip(group, block.group_by, strict=True)):
            continue
        if plan.person is not None and person is None:
            continue
        kept.append((person, group, {values: place(row[values.column], values) for values in places}))
    if plan.person is None:
        return kept
    limit = bounds(plan, block.group_by)
    grouped = len(block.groups) > limit.groups and bool(block.group_by)
    chosen = []
    for someone in {person for person, _, _ in kept}:
        mine = [row for row in kept if row[0] == someone]

        def start(row):
            return "|".join([escaped(plan.salt), escaped(str(row[0])), *map(escaped, row[1])])

        def text(row):
            first = md5(start(row)) if grouped else start(row)
            shown = ["-" if v is None else str(v - values.first) for values, v in row[2].items()]
            return md5("|".join([first, *shown]))

        if grouped:
            order = sorted({(md5(start(row)), row[1]) for row in mine})[: limit.groups]
            mine = [row for row in mine if (md5(start(row)), row[1]) in order]
        mine.sort(key=text)
        in_group: dict = {}
        for row in mine:
            in_group.setdefault(row[1], []).append(row)
        mine = sorted((row for some in in_group.values() for row in some[: limit.rows_in_group]), key=text)
        chosen += mine[: limit.rows]
    return chosen


def aggregate(plan, rows, block):
    kept = kept_rows(plan, rows, block)
    result = {}
    for group in block.groups:
        here = [row for row in kept if row[1] == group]
        result[group] = tuple(one(answer, here) for answer in block.answers)
    return result


def one(answer, here):
    if answer.measure == "rows":
        return len(here)
    if answer.measure == "persons":
        return len({person for person, _, _ in here})
    ks = [places[answer.values] for _, _, places in here if places[answer.values] is not None]
    if answer.measure == "present":
        return len(ks)
    if answer.measure == "sum":
        return sum(ks)
    middle, w = answer.values.first + answer.values.last, answer.values.last - answer.values.first
    if answer.measure == "centred":
        return sum(2 * k - middle for k in ks)
    return sum(2 * (2 * k - middle) ** 2 - w**2 for k in ks)
