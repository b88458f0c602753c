"""The slow form of the engine's work: contribution bounding, snapping and sums in plain Python,
exact arithmetic throughout."""

import hashlib
import math
import re

from leastnoise.releases.noise.sensitivity import contribution_bounds, is_checks
from leastnoise.releases.noise.spreads import one_view, view_keys, view_values
from leastnoise.releases.plan.keys import NUMBER, groups

BLANKS = " \t\r\n\u00a0"
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")


def plain(text):
    """The number that a text plainly is."""
    return float(text) if re.search(NUMBER, text) and "\n" not in text else None


def number(value):
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        return float(value in TRUE) if value in TRUE + FALSE else plain(value)
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
            inside = key.edges[i] <= x < key.edges[i + 1] or (
                i == len(key.labels) - 1 and x == key.edges[-1]
            )
            if inside:
                return name
        return None
    found = [
        name
        for declared, name in zip(key.values, key.labels, strict=True)
        if same(value, declared, key.match)
    ]
    return found[0] if found else None


def same(value, declared, match):
    """Whether a row's value is the declared key. One by one, where the engine looks up labels."""
    if value is None:
        return False
    if isinstance(declared, bool):
        return (
            value in (TRUE if declared else FALSE) if isinstance(value, str) else value is declared
        )
    if not isinstance(declared, str):
        if isinstance(value, str):
            return plain(value) == declared if abs(declared) < 2**53 else value == str(declared)
        return float(value) == declared if isinstance(value, float) else int(value) == declared
    if not isinstance(value, str):
        return (str(value).lower() if isinstance(value, bool) else str(value)) == declared
    if match == "exact":
        return value == declared
    value, declared = value.strip(BLANKS), declared.strip(BLANKS)
    if match == "trim":
        return value == declared
    return len(value) == len(declared) and all(
        a == b or a.lower() == b.lower() for a, b in zip(value, declared, strict=True)
    )


def escaped(text):
    return text.replace("~", "~0").replace("|", "~1")


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()[:12]


def group_of(row, block):
    """The labels of a row's group, that of all other keys where one of them is not declared."""
    labels = tuple(label(row[key.column], key) for key in block.group_by)
    return tuple(key.other for key in block.group_by) if None in labels else labels


def kept_in_view(plan, rows, block):
    """The rows of a marginal of the one view: (person, group, {values: place})."""
    keys, values, bounds = view_keys(plan), view_values(plan), one_view(plan)
    of_person: dict = {}
    for row in rows:
        if row[plan.person] is not None:
            labels = [label(row[key.column], key) for key in keys]
            places = [place(row[one.column], one) for one in values]
            of_person.setdefault(row[plan.person], []).append((labels, places))
    chosen = []
    for person, mine in of_person.items():

        def order(row, person=person):
            labels, places = row
            named = [
                key.other if one is None else one for key, one in zip(keys, labels, strict=True)
            ]
            shown = [
                "-" if at is None else str(at - one.first)
                for one, at in zip(values, places, strict=True)
            ]
            text = md5("|".join([*map(escaped, (plan.salt, str(person), *named)), *shown]))
            lost = sum(one is None and key.complete for key, one in zip(keys, labels, strict=True))
            return lost, labels.count(None), text

        mine.sort(key=order)
        in_cell: dict = {}
        first = []
        for row in mine:
            cell = tuple(row[0])
            in_cell[cell] = in_cell.get(cell, 0) + 1
            if in_cell[cell] <= bounds.rows_in_cell:
                first.append(row)
        for labels, places in first[: bounds.rows]:
            known = dict(zip(keys, labels, strict=True))
            if any(known[key] is None for key in (*plan.complete_keys, *block.marginal.within)):
                continue
            group = tuple(known[key] or key.other for key in block.group_by)
            chosen.append((person, group, dict(zip(values, places, strict=True))))
    return chosen


def kept_rows(plan, rows, block):
    """The rows that count: (person, group, {values: place})."""
    if block.marginal is not None and block.marginal.in_view:
        return kept_in_view(plan, rows, block)
    others = tuple(key.other for key in block.group_by)
    places = list(
        dict.fromkeys(answer.values for answer in block.answers if answer.values is not None)
    )
    kept = []
    for row in rows:
        group = group_of(row, block)
        person = None if plan.person is None else row[plan.person]
        if plan.person is not None and person is None:
            continue
        kept.append(
            (person, group, {values: place(row[values.column], values) for values in places})
        )
    if plan.person is None:
        return kept
    limit = contribution_bounds(plan, block.group_by)
    grouped = len(groups(block.group_by)) > limit.groups and bool(block.group_by)
    chosen = []
    for someone in {person for person, _, _ in kept}:
        mine = [row for row in kept if row[0] == someone]

        def start(row):
            return "|".join([escaped(plan.salt), escaped(str(row[0])), *map(escaped, row[1])])

        def text(row):
            first = md5(start(row)) if grouped else start(row)
            shown = ["-" if v is None else str(v - values.first) for values, v in row[2].items()]
            return md5("|".join([first, *shown]))

        if block.group_by:
            declared = {(md5(start(row)), row[1]) for row in mine if row[1] != others}
            order = [group for _, group in sorted(declared)] + [others]  # the other keys come last
            mine = [row for row in mine if row[1] in order[: limit.groups]]
        mine.sort(key=text)
        rest = []
        if (
            block.other is not None and block.other.measure == "persons"
        ):  # no bound on rows where persons are counted
            rest = [row for row in mine if row[1] == others]
            mine = [row for row in mine if row[1] != others]
        in_group: dict = {}
        for row in mine:
            in_group.setdefault(row[1], []).append(row)
        mine = [row for some in in_group.values() for row in some[: limit.rows_in_group]]
        mine.sort(key=lambda row: (bool(block.group_by) and row[1] == others, text(row)))
        chosen += mine[: limit.rows] + rest
    return chosen


def is_unreadable_value(value):
    return isinstance(value, str) and bool(value.strip(BLANKS)) and number(value) is None


def checked(plan, rows, block):
    """Each person, or row, under one of the checks: an unreadable value first, then other keys."""
    answers = block.answers
    found = [0] * len(answers)
    if plan.person is None:
        units = [
            ("".join(check_text(answer, row, rows) for answer in answers), [row]) for row in rows
        ]
    else:
        persons = {row[plan.person] for row in rows} - {None}
        units = [
            (escaped(str(person)), [row for row in rows if row[plan.person] == person])
            for person in persons
        ]
    for who, mine in units:
        bad = [i for i, answer in enumerate(answers) if applies(plan, answer, mine)]
        if bad:
            order = ["unreadable", "other keys"]
            first = {
                i: order.index(answers[i].measure) if answers[i].measure in order else 2
                for i in bad
            }
            found[
                min(bad, key=lambda i: (first[i], md5(f"{escaped(plan.salt)}|{who}|{i}"), i))
            ] += 1
    return {(): tuple(found)}


def applies(plan, answer, mine):
    if answer.measure == "unreadable":
        return any(is_unreadable_value(row[answer.column]) for row in mine)
    if answer.measure == "clipped":
        return any(is_clipped(answer.values, row[answer.column]) for row in mine)
    if not answer.group_by:
        return len(mine) > plan.rows_per_person
    if answer.in_view:
        cells = [tuple(label(row[key.column], key) for key in answer.group_by) for row in mine]
        return max(cells.count(cell) for cell in cells) > plan.rows_per_group
    inside = [tuple(label(row[key.column], key) for key in answer.group_by) for row in mine]
    declared = [group for group in inside if None not in group]
    if answer.measure == "other keys":
        return len(declared) < len(inside)
    limit = contribution_bounds(plan, answer.group_by)
    return len(set(declared)) > limit.groups or any(
        declared.count(group) > limit.rows_in_group for group in declared
    )


def is_clipped(values, value):
    x = number(value)
    if x is None or math.isnan(x) or (math.isinf(x) and values.infinite == "missing"):
        return False
    return not values.lower <= x <= values.upper


def check_text(answer, row, rows):
    if answer.values is None:
        return row_text(row[answer.column], rows, answer.column)
    at = place(row[answer.column], answer.values)
    return ("-" if at is None else str(at - answer.values.first)) + "|"


def row_text(value, rows, name):
    """What a column of text adds to the text of a row; nothing in a column of other things."""
    if not any(isinstance(row[name], str) for row in rows):
        return ""
    return ("-" if value is None else escaped(value)) + "|"


def aggregate(plan, rows, block):
    if is_checks(block):
        return checked(plan, rows, block)
    kept = kept_rows(plan, rows, block)
    if block.level is not None:
        return nodes(kept, block)
    result = {}
    for cell, group in enumerate(block.cells):
        here = [row for row in kept if row[1] == group]
        result[group] = tuple(one(answer, here) for answer in block.answers_of(cell))
    return result


def nodes(kept, block):
    """The rows in each node of a level of a tree, one row after the other."""
    (values,) = (answer.values for answer in block.answers)
    width = block.level.tree.width(block.level.level)
    result = dict.fromkeys(block.cells, (0,))
    for _, group, places in kept:
        if places[values] is not None:
            cell = (*group, str((places[values] - values.first) // width))
            if cell in result:
                result[cell] = (result[cell][0] + 1,)
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


def largest_changes(block, before, after):
    """How far each answer moved as a share of its sensitivity, after seeing that nothing moved more
    than derived.

    The number of moved groups, that of all other keys among them where its noise is not its own, is
    at most what one person touches.
    """
    moved = {
        group: [abs(x - y) for x, y in zip(before[group], after[group], strict=True)]
        for group in before
    }
    if is_checks(block):
        assert sum(map(bool, moved[()])) <= block.touched
        assert max(moved[()]) <= 1
        return [float(change) for change in moved[()]]
    cells = block.cells if block.other_is_free else block.groups
    assert sum(any(moved[group]) for group in cells) <= block.touched
    if block.other is not None:
        assert moved[block.cells[-1]][0] <= block.other_sensitivity
    shares = []
    for place, sensitivity in enumerate(block.sensitivities):
        change = max(moved[group][place] for group in block.groups)
        assert change <= sensitivity
        shares.append(change / sensitivity)
    return shares
