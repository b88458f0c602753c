"""The aggregates of a plan's blocks as ibis expressions: of a view after contribution bounding, and
of the checks, where each person is counted under one of them."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from leastnoise.errors import PlanError
from leastnoise.optional import required as extra
from leastnoise.releases.data import expressions as sql
from leastnoise.releases.data.formulas import holds
from leastnoise.releases.data.labels import key_label, label_within
from leastnoise.releases.data.table import Table
from leastnoise.releases.noise.sensitivity import (
    DISCOVERS,
    Answer,
    Block,
    ContributionBounds,
    contribution_bounds,
    is_checks,
    leaves_out,
    turn,
)
from leastnoise.releases.noise.spreads import one_view, view_keys, view_values
from leastnoise.releases.plan.keys import Key, above_in
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Values

_ALL_ROWS = 1 << 62
_NEVER = "z"  # after every digit of a digest


def query(plan: Plan, table: Table, block: Block) -> Any:
    """The aggregate of one block."""
    build = _checks_query if is_checks(block) else _bounded_query
    if block.marginal is not None and block.marginal.in_view:
        build = _view_query
    return build(plan, table, block)


def _bounded_query(plan: Plan, table: Table, block: Block) -> Any:
    """The aggregate of a view, after contribution bounding."""
    ibis = extra("ibis", "tables")
    places = places_of(block)
    columns = {
        f"ln_label{i}": key_label(ibis, table, key) for i, key in enumerate(_labelled(block))
    }
    columns |= {f"ln_place{i}": sql.place(ibis, table, values) for i, values in enumerate(places)}
    columns |= sql.person_column(ibis, plan, table)
    columns |= _value_told_apart(ibis, table, block)
    columns["ln_one"] = ibis.literal(1, type="int64")
    source = _of_complete_keys(ibis, plan, table, block)
    view = source.select(**columns)
    if block.apart == DISCOVERS:  # a row without a key has no group
        view = view.filter(view.ln_label0.notnull())
    if block.marginal is not None:
        view = _of_table(ibis, table, block, view)
    elif block.group_by:
        view = _with_keys(ibis, table, block, view)
    if "ln_value" in columns:
        view = _each_value_once(plan, view)
    if plan.person is not None:
        view = _bounded(ibis, plan, table, block, view.filter(view.ln_person.notnull()))
    if block.level is not None:
        return _by_place(block, view)
    wanted, keys = _sums(table, block, view), _key_names(block)
    keys += ["ln_outside"] if block.other is not None and block.marginal is not None else []
    return view.group_by(keys).aggregate(**wanted) if keys else view.aggregate(**wanted)


def _each_value_once(plan: Plan, view: Any) -> Any:
    """One row for each different value of a person: those are what is bounded."""
    view = view.filter(view.ln_value.notnull())
    return view if plan.person is None else view.distinct()


def _by_place(block: Block, view: Any) -> Any:
    """The rows of each place, whatever the level of the tree is: nodes are added up from places, in
    integers."""
    view = view.filter(view.ln_place0.notnull())
    return view.group_by([*_key_names(block), "ln_place0"]).aggregate(ln_rows=view.count())


def _view_query(plan: Plan, table: Table, block: Block) -> Any:
    """The aggregate of a marginal of the one view, whose rows are chosen before anything of the
    marginal is looked at, so that every marginal is of the same rows."""
    ibis = extra("ibis", "tables")
    view, keys, values = _one_view(ibis, plan, table)
    for key in dict.fromkeys((*plan.complete_keys, *_within(block))):
        # Rows that count nowhere, or are not in this table.
        view = view.filter(view[keys[key] + "_known"] == 1)
    named = {
        name: view[keys[key]] for name, key in zip(_key_names(block), block.group_by, strict=True)
    }
    named |= {f"ln_place{i}": view[values[one]] for i, one in enumerate(places_of(block))}
    view = view.select(ln_person=view.ln_person, ln_one=view.ln_one, **named)
    wanted = _sums(table, block, view)
    if not block.group_by:
        return view.aggregate(**wanted)
    return view.group_by(_key_names(block)).aggregate(**wanted)


def _within(block: Block) -> tuple[Key, ...]:
    return () if block.marginal is None else block.marginal.within


def _one_view(ibis: Any, plan: Plan, table: Table) -> tuple[Any, dict[Key, str], dict[Values, str]]:
    """The rows that the one view keeps, and the names of its columns.

    1. The first rows of each person in each cell of all keys, other keys among them, where that can
       be fewer than a person may have.
    2. The first rows of each person: of complete keys before those that count nowhere, with fewer
       undeclared keys before those with more, and else by digest.
    """
    bounds = one_view(plan)
    if bounds is None:
        raise PlanError("The groupings of this plan have views of their own.")
    keys = {key: f"ln_fine{i}" for i, key in enumerate(view_keys(plan))}
    values = {one: f"ln_at{i}" for i, one in enumerate(view_values(plan))}
    view = _rows_of_view(ibis, plan, table, keys, values)
    names, cells = list(values.values()), list(keys.values())
    if bounds.rows_in_cell < bounds.rows:
        order = [view.ln_digest, *_or_nothing(ibis, view, names)]
        window = ibis.window(group_by=["ln_person", *cells], order_by=order)
        view = view.mutate(ln_number=ibis.row_number().over(window))
        view = view.filter(view.ln_number < bounds.rows_in_cell)
    lost = [-view[keys[key] + "_known"] for key in plan.complete_keys]
    seen = [-view[name + "_known"] for name in cells]
    first = [reduce(operator.add, some) for some in (lost, seen) if some]
    # The keys and places themselves come last: rows that are alike in all are interchangeable.
    others = [*(view[name] for name in cells), *_or_nothing(ibis, view, names)]
    window = ibis.window(group_by="ln_person", order_by=[*first, view.ln_digest, *others])
    view = view.mutate(ln_turn=ibis.row_number().over(window))
    return view.filter(view.ln_turn < bounds.rows), keys, values


def _rows_of_view(
    ibis: Any, plan: Plan, table: Table, keys: dict[Key, str], values: dict[Values, str]
) -> Any:
    """All rows of persons, with their keys, whether these are declared, places and digest."""
    columns = {name: key_label(ibis, table, key) for key, name in keys.items()}
    columns |= {name: sql.place(ibis, table, one) for one, name in values.items()}
    columns |= sql.person_column(ibis, plan, table)
    one, zero = (ibis.literal(number, type="int64") for number in (1, 0))
    view = table.expression.select(ln_one=one, **columns)
    view = view.filter(view.ln_person.notnull())
    known = {name + "_known": view[name].notnull().ifelse(one, zero) for name in keys.values()}
    labels = {
        name: ibis.coalesce(view[name], sql.comparable(ibis, table, ibis.literal(key.other)))
        for key, name in keys.items()
    }
    view = view.mutate(**known, **labels)
    words = _row_words(ibis, plan, table, view, keys, values)
    return view.mutate(ln_digest=sql.digest(ibis, words))


def _or_nothing(ibis: Any, view: Any, names: list[str]) -> list[Any]:
    nothing = ibis.literal(-1, type="int64")
    return [ibis.coalesce(view[name], nothing) for name in names]


def _row_words(
    ibis: Any,
    plan: Plan,
    table: Table,
    view: Any,
    keys: dict[Key, str],
    values: dict[Values, str],
) -> Any:
    """What the digest of a row of the one view is of: person, keys and places."""
    words = sql.salted(ibis, plan, _person_words(ibis, table, view))
    for name in keys.values():
        words = words + "|" + sql.escaped(sql.text(ibis, table, view[name]))
    for name in values.values():
        words = words + "|" + ibis.coalesce(view[name].cast("string"), ibis.literal("-"))
    return words


def _person_words(ibis: Any, table: Table, view: Any) -> Any:
    """The id of a person as it stands in digests."""
    person = sql.text(ibis, table, view.ln_person)
    # Numbers need no escaping, and it takes time: 10 million ids a second or two.
    plain = view.ln_person.type().is_integer() or view.ln_person.type().is_uuid()
    return person if plain else sql.escaped(person)


def places_of(block: Block) -> list[Values]:
    """The columns of numbers that a block sums, each once."""
    values = (answer.values for answer in block.answers)
    return list(dict.fromkeys(one for one in values if one is not None))


def _value_told_apart(ibis: Any, table: Table, block: Block) -> dict[str, Any]:
    """The value of each row whose different ones a block counts, as it is compared."""
    if block.answers[0].measure != "distinct":
        return {}
    column = table.expression[block.answers[0].column]
    return {
        "ln_value": sql.comparable(ibis, table, column) if column.type().is_string() else column
    }


def _key_names(block: Block) -> list[str]:
    return [f"ln_key{i}" for i in range(len(block.group_by))]


def _labelled(block: Block) -> tuple[Key, ...]:
    """The keys whose labels a view needs: those of the grouping, and of a table those that say
    whether a row is in it."""
    about = block.marginal
    if about is None:
        return block.group_by
    every = (*about.hidden, *about.within)
    above = [one for key in block.group_by for one in key.path[:-1] if one in every]
    return tuple(dict.fromkeys((*block.group_by, *above, *about.within)))


def _of_complete_keys(ibis: Any, plan: Plan, table: Table, block: Block) -> Any:
    """The rows that count: of keys that are complete every other one counts nowhere. Where such
    keys are among those of the view, its cell of all other keys counts them."""
    source = table.expression
    if block.where is not None:
        source = source.filter(holds(ibis, plan, table, block.where))
    for key in plan.complete_keys:
        if key not in _labelled(block):
            source = source.filter(key_label(ibis, table, key).notnull())
    return source


def _of_table(ibis: Any, table: Table, block: Block, view: Any) -> Any:
    """The labels of each row of a table with margins, "other" where the key is hidden; rows that
    are not in the table are a cell of their own, or left out where it is not asked for."""
    labels = {key: view[f"ln_label{i}"] for i, key in enumerate(_labelled(block))}
    about = block.marginal
    if about is None:
        return view
    every = (*about.hidden, *about.within)

    def full(key: Key) -> Any:
        """The label, or that of the hidden key: of the keys that this one is within, its own."""
        above = above_in(key, every)
        other = sql.comparable(ibis, table, ibis.literal(key.other))
        if above is not None:
            own = sql.comparable(ibis, table, ibis.literal(key.own.other))
            other = label_within(ibis, table, full(above), own)
        return ibis.coalesce(labels[key], other)

    names = zip(_key_names(block), block.group_by, strict=True)
    keys = {name: full(key) for name, key in names}
    one, zero = (ibis.literal(number, type="int64") for number in (1, 0))
    lacking = [labels[key].isnull() for key in about.within]
    flag = reduce(operator.or_, lacking).ifelse(one, zero) if lacking else zero
    view = view.mutate(ln_outside=flag, **keys)
    return view if block.other is not None else view.filter(view.ln_outside == 0)


def _with_keys(ibis: Any, table: Table, block: Block, view: Any) -> Any:
    """The labels of each row; where one is not declared, those of the group of all other keys."""
    labels = [view[f"ln_label{i}"] for i in range(len(block.group_by))]
    declared = reduce(operator.and_, [label.notnull() for label in labels])
    others = [sql.comparable(ibis, table, ibis.literal(key.other)) for key in block.group_by]
    keys = {
        name: declared.ifelse(label, other)
        for name, label, other in zip(_key_names(block), labels, others, strict=True)
    }
    one, zero = (ibis.literal(number, type="int64") for number in (1, 0))
    return view.mutate(ln_other=declared.ifelse(zero, one), **keys)


def _bounded(ibis: Any, plan: Plan, table: Table, block: Block, view: Any) -> Any:
    """At most the declared rows and groups of each person, chosen by digest, all other keys last.

    1. The first groups of each person.
    2. The first rows in each of these groups, where that can be fewer than a person may have.
    3. The first rows of each person, where those together could still be too many.
    """
    limit = contribution_bounds(plan, block.group_by)
    keys = _key_names(block)
    start = sql.salted(ibis, plan, _person_words(ibis, table, view))
    for name in keys:
        start = start + "|" + sql.escaped(sql.text(ibis, table, view[name]))
    if keys:
        view, start = _first_groups(ibis, block, view, limit, start)
    words = start
    for name in _place_names(block):
        words = words + "|" + ibis.coalesce(view[name].cast("string"), ibis.literal("-"))
    if "ln_value" in view.columns:
        words = words + "|" + sql.escaped(sql.text(ibis, table, view.ln_value))
    view = view.mutate(ln_digest=sql.digest(ibis, words))
    in_group = limit.rows_in_group < limit.rows
    overall = limit.rows_in_group * limit.groups > limit.rows or not keys
    if keys and (in_group or not overall):
        view = _first_rows(ibis, block, view, keys, limit.rows_in_group)
    return _first_rows(ibis, block, view, [], limit.rows) if overall else view


def _place_names(block: Block) -> list[str]:
    return [f"ln_place{i}" for i in range(len(places_of(block)))]


def _first_groups(
    ibis: Any, block: Block, view: Any, limit: ContributionBounds, start: Any
) -> tuple[Any, Any]:
    """The rows in the first groups of each person, and what the digest of such a row begins with:
    the digest of person and keys, where there is one."""
    # Where all declared groups may count only the group of all other keys may be one too many.
    is_chosen = block.apart == DISCOVERS or limit.groups < len(block.groups)
    view = view.mutate(ln_order=sql.digest(ibis, start)) if is_chosen else view
    by_digest = [view.ln_order] if is_chosen else []
    # The keys themselves come last, so that the bound holds even if two digests are equal.
    order = [view.ln_other, *by_digest, *(view[name] for name in _key_names(block))]
    of_person = ibis.window(group_by="ln_person", order_by=order)
    view = view.mutate(ln_rank=ibis.dense_rank().over(of_person))
    view = view.filter(view.ln_rank < limit.groups)
    return view, view.ln_order if is_chosen else start


def _first_rows(ibis: Any, block: Block, view: Any, within: list[str], most: int) -> Any:
    """The first rows of each person, or of each of their groups."""
    keys = _key_names(block)
    nothing = ibis.literal(-1, type="int64")
    values = [ibis.coalesce(view[name], nothing) for name in _place_names(block)]
    values += [view.ln_value] if "ln_value" in view.columns else []
    known = [view.ln_other] if keys and not within else []
    others = [view[name] for name in keys if name not in within]
    order = [*known, view.ln_digest, *others, *values]
    window = ibis.window(group_by=["ln_person", *within], order_by=order)
    numbered = view.mutate(ln_number=ibis.row_number().over(window))
    kept = numbered.ln_number < most
    # Of other keys persons are counted: who has filled up their rows is one of them too.
    if block.other is not None and block.other.measure == "persons":
        kept = kept | (numbered.ln_other == 1)
    return numbered.filter(kept)


def _sums(table: Table, block: Block, view: Any) -> dict[str, Any]:
    """What is counted and summed of a view, by the names under which `counts` finds it."""
    wanted: dict[str, Any] = {"ln_rows": view.count()}
    asked = [*block.answers_of(0), *block.answers_of(len(block.cells) - 1)]
    if any(answer.measure == "persons" for answer in asked):
        wanted["ln_persons"] = view.ln_person.nunique()
    if "ln_value" in view.columns:
        wanted["ln_distinct"] = view.ln_value.nunique()

    def total(column: Any) -> Any:
        # DuckDB and PostgreSQL sum 64-bit integers in 128 bits and in decimals by themselves.
        is_wide = table.engine in ("duckdb", "postgres")
        return (column if is_wide else column.cast("decimal(38, 0)")).sum().cast("string")

    for i, values in enumerate(places_of(block)):
        column = view[f"ln_place{i}"]
        wanted[f"ln_n{i}"] = column.count()
        wanted[f"ln_sum{i}"] = total(column)
        if Answer("square", values, where=block.where) in block.answers:
            wanted[f"ln_squares{i}"] = total(column * column)
    return wanted


def _checks_query(plan: Plan, table: Table, block: Block) -> Any:
    """How many persons have an unreadable value, another key, a clipped value, or rows that are
    left out: each counted once.

    An unreadable value comes first, then a key that is not declared. Of several that are alike the
    one with the least digest of salt, person (or row) and number counts, so that all of them have
    their share.
    """
    ibis = extra("ibis", "tables")
    several = len(block.answers) > 1
    if plan.person is None:
        row = {"ln_row": _row_text(ibis, table, block)} if several else {}
        view = _fenced(table, table.expression.select(**_flags(ibis, plan, table, block), **row))
    else:
        view = _by_person(ibis, plan, table, block)
    flags = [view[f"ln_bad{i}"] for i in range(len(block.answers))]
    view = view.filter(reduce(operator.or_, flags))
    if not several:
        return view.aggregate(ln_bad0=view.count())
    who = view.ln_row if plan.person is None else sql.escaped(sql.text(ibis, table, view.ln_person))
    return _each_once(ibis, table, block, view, sql.salted(ibis, plan, who) + "|")


def _flags(ibis: Any, plan: Plan, table: Table, block: Block) -> dict[str, Any]:
    """Of each row: whether a check applies, or the group that its person's rows are counted in."""
    columns = {}
    for i, answer in enumerate(block.answers):
        where = answer.where
        has = ibis.literal(True) if where is None else holds(ibis, plan, table, where)
        if answer.measure == "unreadable":
            columns[f"ln_bad{i}"] = sql.unreadable(ibis, table, answer.column)
        elif answer.measure == "other keys":
            labels = (key_label(ibis, table, key) for key in answer.group_by)
            other = reduce(operator.or_, [label.isnull() for label in labels])
            columns[f"ln_bad{i}"] = other & has
        elif answer.values is not None:
            columns[f"ln_bad{i}"] = sql.beyond(ibis, table, answer.values)
        elif answer.group_by:
            text = _cell_text if answer.in_view else _group_text
            group = text(ibis, table, answer.group_by)
            columns[f"ln_group{i}"] = has.ifelse(group, ibis.null(group.type()))
        elif where is not None:
            columns[f"ln_has{i}"] = has.ifelse(1, 0)
    return columns


def _by_person(ibis: Any, plan: Plan, table: Table, block: Block) -> Any:
    """The persons, each with the checks that apply to any of their rows."""
    columns = {**_flags(ibis, plan, table, block), **sql.person_column(ibis, plan, table)}
    view = table.expression.select(**columns)
    view = view.filter(view.ln_person.notnull())
    beside = {}
    for i, answer in enumerate(block.answers):
        is_grouping = answer.group_by and answer.measure == "left out"
        if is_grouping and (answer.in_view or leaves_out(plan, answer.group_by)[1]):
            in_group = ibis.window(group_by=["ln_person", f"ln_group{i}"])
            beside[f"ln_beside{i}"] = view.count().over(in_group)
    view = view.mutate(**beside) if beside else view
    found = {f"ln_bad{i}": _has(plan, view, i, answer) for i, answer in enumerate(block.answers)}
    return view.group_by("ln_person").aggregate(**found)


def _each_once(ibis: Any, table: Table, block: Block, view: Any, start: Any) -> Any:
    """How many are counted under each check: everybody under the first of those that apply."""
    orders = {}
    for i, answer in enumerate(block.answers):
        order = ibis.literal(str(turn(answer))) + sql.digest(ibis, start + str(i))
        orders[f"ln_order{i}"] = view[f"ln_bad{i}"].ifelse(order, ibis.literal(_NEVER))
    view = _fenced(table, view.mutate(**orders))
    view = _fenced(table, view.mutate(ln_least=ibis.least(*(view[name] for name in orders))))
    # The first of equal digests: a person is counted once, whatever the digests are.
    places = range(len(block.answers))
    chosen = ibis.cases(*((view[f"ln_order{i}"] == view.ln_least, i) for i in places), else_=-1)
    view = _fenced(table, view.mutate(ln_column=chosen))
    return view.aggregate(**{f"ln_bad{i}": (view.ln_column == i).sum() for i in places})


def _fenced(table: Table, view: Any) -> Any:
    """The view computed once: PostgreSQL would write out each column wherever it is used, thirty
    columns of checks a million times, and run out of memory."""
    return view.limit(_ALL_ROWS) if table.engine == "postgres" else view


def _has(plan: Plan, view: Any, i: int, answer: Answer) -> Any:
    """Whether a check applies to a person, over all of that person's rows."""
    if answer.measure != "left out":
        return view[f"ln_bad{i}"].any()
    if not answer.group_by:
        rows = view.count() if answer.where is None else view[f"ln_has{i}"].sum()
        return rows > contribution_bounds(plan, ()).rows
    if answer.in_view:
        bounds = one_view(plan)
        return (view[f"ln_beside{i}"] > (1 if bounds is None else bounds.rows_in_cell)).any()
    group, limit = view[f"ln_group{i}"], contribution_bounds(plan, answer.group_by)
    many, long = leaves_out(plan, answer.group_by)
    found = [group.nunique() > limit.groups] if many else []
    if long:
        found.append((group.notnull() & (view[f"ln_beside{i}"] > limit.rows_in_group)).any())
    return found[0] if len(found) == 1 else found[0] | found[1]


def _group_text(ibis: Any, table: Table, group_by: tuple[Key, ...]) -> Any:
    """The declared group of a row as one text; null where it is in none."""
    words = [sql.escaped(sql.text(ibis, table, key_label(ibis, table, key))) for key in group_by]
    joined = reduce(lambda before, word: before + "|" + word, words)
    return sql.comparable(ibis, table, joined)


def _cell_text(ibis: Any, table: Table, group_by: tuple[Key, ...]) -> Any:
    """The cell of a row in the table of these keys as one text, other keys among them."""
    labels = [
        ibis.coalesce(sql.text(ibis, table, key_label(ibis, table, key)), ibis.literal(key.other))
        for key in group_by
    ]
    joined = reduce(lambda before, word: before + "|" + word, map(sql.escaped, labels))
    return sql.comparable(ibis, table, joined)


def _row_text(ibis: Any, table: Table, block: Block) -> Any:
    """What stands in the columns of text, and the places of the numbers, as one text."""
    words = ibis.literal("")
    for answer in block.answers:
        if answer.values is not None:
            found = sql.place(ibis, table, answer.values).cast("string")
        elif answer.group_by:
            found = _group_text(ibis, table, answer.group_by)
            found = sql.text(ibis, table, found)
        elif table.expression[answer.column].type().is_string():
            compared = sql.comparable(ibis, table, table.expression[answer.column])
            found = sql.escaped(sql.text(ibis, table, compared))
        else:
            continue
        words = words + ibis.coalesce(found, ibis.literal("-")) + "|"
    return words
