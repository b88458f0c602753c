"""Hierarchies in plans and tables: closed forms against dense least squares, and sums that agree to
the last digit."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from leastnoise.errors import InvalidParameterError, PlanError
from leastnoise.releases.estimates.combination import combined
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import is_checks
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.keys import Key, group_titles, keys_of
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import outlook
from leastnoise.releases.tables.exact_sums import grid_of, sums_of, with_exact_sums
from leastnoise.releases.tables.hierarchies import (
    Hierarchy,
    NestedMeasurement,
    nested_covariances,
    nested_estimate,
    nested_response,
    nested_table,
    nested_variances,
    spread_out,
    summed,
)
from leastnoise.releases.tables.integers import fitted_hierarchy, rounded_hierarchy

COUNTRY = {"country": ["x", "y"]}
REGION = {"region": {"within": COUNTRY, "values": {"y": ["a", "c", "d"], "x": ["a", "b"]}}}
DISTRICT = {
    "district": {
        "within": REGION,
        "values": [["1", "2"], ["1"], ["1", "2", "3", "4"], ["9"], ["5", "6"]],
    }
}
PAY = {"column": "pay", "lower": 0, "upper": 10, "pitch": 0.1, "missing": 0}


def counts(*groupings):
    names = (", ".join(one) or "total" for one in groupings)
    return tuple(
        Statistic("count", name=name, group_by=one)
        for name, one in zip(names, groupings, strict=True)
    )


def plan(statistics=None, relation="add/remove", **declared):
    asked = counts({}, COUNTRY, REGION, DISTRICT) if statistics is None else statistics
    return Plan("h", None, relation, asked, 1.0, 1e-6, one_row_per_person=True, **declared)


def rows(seed, size=400):
    rng = random.Random(seed)
    return [
        {
            "country": rng.choice(["x", "y", "z", None]),
            "region": rng.choice(["a", "b", "c", "d", "q", None]),
            "district": rng.choice(["1", "2", "3", "5", "9", None]),
            "sex": rng.choice(["f", "m", None]),
            "pay": rng.choice([0.0, 3.3, 9.7]),
        }
        for _ in range(size)
    ]


def arrow(listed):
    import pyarrow as pa

    kinds = dict.fromkeys(["country", "region", "district", "sex"], pa.string())
    kinds["pay"] = pa.float64()
    return pa.table({name: pa.array([r[name] for r in listed], k) for name, k in kinds.items()})


def without_noise(wanted, made, listed):
    from leastnoise.releases.release import carry_out

    def exactly(_, answers):
        return list(answers)

    return carry_out(wanted, made, lambda: exactly, lambda *_: None, table=arrow(listed))[1]


def released(wanted, made, listed, seed):
    from leastnoise.releases.release import release
    from leastnoise.sampling import InsecureSeededEntropy

    source = InsecureSeededEntropy(seed)
    return release(wanted, table=arrow(listed), prepared=made, entropy=source, not_private=True)


def check_sums(found):
    """That every node is the sum of its children, exactly, the hidden ones among them."""
    by_parent = {}
    for row in found:
        if row.keys:
            by_parent.setdefault(row.keys[:-1], []).append(row.value)
    values = {row.keys: row.value for row in found}
    assert len(by_parent) >= 8
    for parent, children in by_parent.items():
        total = sum(children)
        assert total == values[parent], parent


# Declarations


def test_a_nested_key():
    (region,) = keys_of(REGION, "count")
    assert region.labels == ("x\x1fa", "x\x1fb", "y\x1fa", "y\x1fc", "y\x1fd")
    assert region.titles == ("a", "b", "a", "c", "d")
    assert region.path_columns == ("country", "region")
    assert group_titles((region,))[2] == "country = y, region = a"
    (district,) = keys_of(DISTRICT, "count")
    assert district.within == region
    assert len(district.labels) == 10
    assert plan().columns_read == ("country", "region", "district")
    described = district.describe()
    assert described["within"]["within"]["column"] == "country"
    assert "within" not in Key("a", ("b",)).describe()


@pytest.mark.parametrize(
    "declared",
    [
        {"within": COUNTRY, "values": [["a"]]},
        {"within": COUNTRY, "values": ["a", "b"]},
        {"within": COUNTRY, "values": {"x": ["a"]}},
        {"within": COUNTRY, "values": [["a"], []]},
        {"within": {}, "values": [["a"]]},
        {"within": COUNTRY, "edges": [1, 2]},
        {"within": COUNTRY, "values": [["a", "a"], ["b"]]},
        {"within": COUNTRY, "values": [["1"], [1]]},
        {"within": COUNTRY, "values": [["A", "a"], ["b"]], "match": "casefold"},
    ],
)
def test_wrong_declarations(declared):
    with pytest.raises((PlanError, InvalidParameterError)):
        Statistic("count", group_by={"region": declared})


def test_a_grouping_names_no_column_twice():
    with pytest.raises(InvalidParameterError, match="within"):
        Statistic("count", group_by={**COUNTRY, **REGION})
    with pytest.raises(PlanError, match="own column"):
        Statistic("count", group_by={"country": {"within": COUNTRY, "values": [["a"], ["b"]]}})


def test_from_a_file():
    asked = {"kind": "count", "group_by": REGION}
    plain = {"name": "h", "epsilon": 1.0, "relation": "add/remove", "one_row_per_person": True}
    assert plan_from({**plain, "statistic": [asked]}).columns_read == ("country", "region")


def test_keys_of_other_kinds_and_spellings():
    declared = {"within": COUNTRY, "values": [["North", 1], ["NORTH", True]], "match": "casefold"}
    (key,) = keys_of({"region": declared}, "count")
    assert key.labels == ("x\x1fnorth", "x\x1f1", "y\x1fnorth", "y\x1ftrue")
    assert key.own.labels == ("north", "1", "true")
    assert key.titles == ("North", "1", "NORTH", "true")


# What is counted


@pytest.mark.parametrize("postprocess", [(), ("non-negative",), ("non-negative", "integer")])
def test_numbers_add_up_to_the_digit(postprocess):
    pytest.importorskip("ibis")
    wanted = plan(postprocess=postprocess)
    made = mechanism(wanted)
    (table,) = made.tables
    assert table.hierarchy is not None
    listed = rows(1)
    exact = without_noise(wanted, made, listed)
    check_sums(exact)
    for row in exact:
        if row.check is None:
            truth = sum(all(one[c] == key for c, key in row.keys) for one in listed)
            assert row.value == pytest.approx(truth, abs=1e-6)
    for seed in range(5):
        found = released(wanted, made, listed, seed).rows
        check_sums(found)
        if "integer" in postprocess:
            assert all(row.value == int(row.value) >= 0 for row in found)


def test_a_hierarchy_by_another_column():
    pytest.importorskip("ibis")
    sex = {"sex": ["f", "m"]}
    asked = counts({}, COUNTRY, REGION, sex, {**REGION, **sex})
    sums = tuple(
        Statistic("sum", name=f"pay {i}", group_by=one, **PAY)
        for i, one in enumerate([{}, COUNTRY, REGION, sex, {**REGION, **sex}])
    )
    wanted = plan((*asked, *sums))
    made = mechanism(wanted)
    assert made.tables
    listed = rows(2)
    for row in without_noise(wanted, made, listed):
        if row.check is None:
            inside = [one for one in listed if all(one[c] == key for c, key in row.keys)]
            truth = len(inside) if row.kind == "count" else sum(one["pay"] for one in inside)
            assert row.value == pytest.approx(truth, abs=1e-6)
    done = released(wanted, made, listed, 1)
    known = {(row.statistic, row.keys): row.value for row in done.rows}
    for country in ("x", "y"):
        at = (("country", country),)
        names = {"x": ["a", "b"], "y": ["a", "c", "d"]}[country]
        parts = [known["region", (*at, ("region", name))] for name in names]
        hidden = known["rows with other keys", (*at, ("region", "all other keys"))]
        assert sum(parts) + hidden == known["country", at]


def test_one_scan_counts_all_levels():
    pytest.importorskip("ibis")
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.data.opening import open_table
    from leastnoise.releases.data.scans import parted, scans

    for asked in (None, counts(COUNTRY, REGION)):
        wanted = plan(asked, goal="largest")
        made = mechanism(wanted)
        planned = scans(made.blocks)
        assert len(planned) == 1 < len(made.blocks)
        table = open_table(wanted, arrow(rows(8)))
        try:
            whole = aggregate(wanted, table, planned[0].block)
            alone = [aggregate(wanted, table, block) for block in made.blocks]
        finally:
            table.close()
        assert parted(planned[0], made.blocks, whole) == alone


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_neighbouring_tables(relation):
    """Brute force: no more cells of all measured marginals change than the noise is made for."""
    pytest.importorskip("ibis")
    from leastnoise.releases.data.counts import aggregate
    from leastnoise.releases.data.opening import open_table

    wanted = plan(counts(COUNTRY, REGION, DISTRICT), relation, goal="largest")
    made = mechanism(wanted)
    measured = [block for block in made.blocks if not is_checks(block)]

    def answers(listed):
        table = open_table(wanted, arrow(listed))
        try:
            return [aggregate(wanted, table, block) for block in measured]
        finally:
            table.close()

    listed = rows(11, 9)
    whole = answers(listed)
    allowed = sum(block.touched for block in measured)
    assert sum(law.uses for law in made.laws[:1]) == allowed
    most = 0
    for i in range(len(listed)):
        others = listed[:i] + listed[i + 1 :]
        beside = others if relation == "add/remove" else [*others, rows(100 + i, 1)[0]]
        changed = 0
        for before, after in zip(whole, answers(beside), strict=True):
            for cell, values in before.items():
                moved = [abs(a - b) for a, b in zip(values, after[cell], strict=True)]
                assert max(moved) <= 1
                changed += any(moved)
        most = max(most, changed)
    assert 1 < most <= allowed


def test_two_hierarchies_are_no_table():
    other = {"job": {"within": {"trade": ["t"]}, "values": [["u", "v"]]}}
    asked = counts({}, COUNTRY, REGION, {"trade": ["t"]}, other)
    assert mechanism(plan(asked)).tables == ()


# Errors


def test_stated_errors_hold():
    """Standard deviations and intervals of a hierarchy over repeated noise, differences too."""
    from leastnoise.releases.estimates import estimate
    from leastnoise.sampling import InsecureSeededEntropy, draw

    wanted = plan(counts({}, COUNTRY, REGION))
    made = mechanism(wanted)
    repeats = 800
    drawn = np.zeros((repeats, len(made.entries)))
    for number, law in enumerate(made.laws):
        own = [one for one in made.draws if one.law == number]
        noise = draw(law.noise, repeats * len(own), entropy=InsecureSeededEntropy(number))
        shaped = noise.floats().reshape(repeats, len(own), -1)
        for d, one in enumerate(own):
            for at, entry in enumerate(one.entries):
                drawn[:, entry] = shaped[:, d, at]
    found = [estimate.rows(wanted, made, one.tolist()) for one in drawn]
    values = np.array([[row.value for row in each] for each in found])
    told = np.array([row.noise_std for row in found[0]])
    assert np.std(values, axis=0) == pytest.approx(told, rel=0.12)
    widths = np.array([row.half_width for row in found[0]])
    held = np.mean(np.abs(values) <= widths, axis=0)
    assert np.all(held > 0.93)
    assert np.mean(held) < 0.98
    form = {("country", "country = x"): 1.0, ("region", "country = x, region = a"): -1.0}
    together = combined(wanted, made, found[0], form)
    places = [(row.statistic, row.group) for row in found[0]]
    moved = sum(factor * values[:, places.index(name)] for name, factor in form.items())
    assert np.std(moved) == pytest.approx(together.noise_std, rel=0.1)
    assert 0.93 < np.mean(np.abs(moved) <= together.half_width) < 0.98
    previewed = {one.statistic: one.noise_std for one in outlook(wanted, made)}
    for name in ("country", "region"):
        stds = [row.noise_std for row in found[0] if row.statistic == name]
        assert previewed[name] == pytest.approx(max(stds))


# Against dense least squares

TREE = Hierarchy((0, 2), ((0, 0, 0), (0, 0, 1, 2, 2, 2, 2)))
SIZES, FULL = (3, 2, 7, 3), (1, 2, 3)
EVERY = [(), (0,), (2,), (1,), (0, 1), (1, 2), (0, 3), (3,), (0, 1, 3), (2, 3), (1, 2, 3)]


def sums_matrix(marginal):
    whole = NestedMeasurement(SIZES, TREE, {FULL: 1.0})
    cells = np.eye(42).reshape(42, 2, 7, 3)
    return np.array([summed(whole, FULL, cell, marginal).ravel() for cell in cells]).T


@pytest.mark.parametrize(
    "support",
    [[(1, 2, 3)], [(2,), (0, 1), (1, 2)], [(), (0,), (1, 2)], [(0, 3), (1, 2), (3,)]],
)
def test_closed_forms_against_dense_least_squares(support):
    rng = np.random.default_rng(len(support))
    measured = NestedMeasurement(SIZES, TREE, {one: rng.uniform(0.3, 3.0) for one in support})
    matrices = {one: sums_matrix(one) for one in EVERY}
    seen = np.vstack([matrices[one] for one in support])
    weights = np.concatenate(
        [np.full(len(matrices[one]), measured.weights[one]) for one in support]
    )
    inverse = np.linalg.pinv(seen.T @ (weights[:, None] * seen))
    answers = {one: rng.normal(size=[SIZES[j] for j in one]) for one in support}
    noisy = np.concatenate([answers[one].ravel() for one in support])
    best = inverse @ seen.T @ (weights * noisy)
    published = [one for one in EVERY if any(measured.holds(seen, one) for seen in support)]
    found = nested_estimate(measured, answers, published)
    table = nested_table(measured, answers)
    for one in published:
        assert found[one].ravel() == pytest.approx(matrices[one] @ best)
        assert summed(measured, FULL, table, one).ravel() == pytest.approx(found[one].ravel())
        whole = matrices[one] @ inverse @ matrices[one].T
        level = TREE.level(one)
        column = TREE.columns[level - 1 : level] if level else ()
        own = nested_variances(measured, one)
        shaped = spread_out(measured, column, own if level else own[0], one)
        assert shaped.ravel() == pytest.approx(np.diag(whole))
        cell = tuple(int(rng.integers(SIZES[j])) for j in one)
        at = int(np.ravel_multi_index(cell, [SIZES[j] for j in one])) if one else 0
        response = nested_response(measured, (one, cell))
        row = (matrices[one] @ inverse @ seen.T * weights)[at]
        assert np.concatenate([response[s].ravel() for s in support]) == pytest.approx(row)
        covariances = nested_covariances(measured, (one, cell), [one])[one]
        assert covariances.ravel() == pytest.approx(whole[at])
    for one in set(EVERY) - set(published):
        with pytest.raises(InvalidParameterError):
            nested_estimate(measured, answers, [one])
        with pytest.raises(InvalidParameterError):
            nested_variances(measured, one)


def test_nodes_of_one_class_are_alike():
    measured = NestedMeasurement(SIZES, TREE, {(0,): 0.4, (2,): 1.0})
    for level, column in enumerate(TREE.columns, start=1):
        found = nested_variances(measured, (column,))
        for i, j in itertools.combinations(range(len(found)), 2):
            if TREE.classes[level][i] == TREE.classes[level][j]:
                assert found[i] == pytest.approx(found[j])
    assert TREE.classes[2] == (4, 4, 5, 6, 6, 6, 6)


def test_the_projection_of_a_hierarchy_is_not_below_zero_and_no_worse():
    rng = np.random.default_rng(3)
    measured = NestedMeasurement(SIZES, TREE, {(): 0.5, (0, 1): 0.7, (1, 2, 3): 1.0})
    truth = rng.poisson(0.4, (2, 7, 3)).astype(float)
    before = after = 0.0
    for _ in range(10):
        answers = {
            one: summed(measured, FULL, truth, one)
            + rng.normal(size=[SIZES[j] for j in one]) / np.sqrt(weight)
            for one, weight in measured.weights.items()
        }
        plain = fitted_hierarchy(measured, answers, non_negative=False)
        kept = fitted_hierarchy(measured, answers, non_negative=True)
        assert kept.min() >= 0.0
        for one, weight in measured.weights.items():
            before += weight * np.sum(summed(measured, FULL, plain - truth, one) ** 2)
            after += weight * np.sum(summed(measured, FULL, kept - truth, one) ** 2)
        whole = rounded_hierarchy(measured, kept, [(), (0,), (1, 2, 3)])
        assert summed(measured, FULL, whole[FULL], (0,)) == pytest.approx(whole[0,])
    assert after < before


# Exact sums


@pytest.mark.parametrize("size", [1.0, 1e4, 1e12])
def test_sums_are_exact(size):
    rng = np.random.default_rng(5)
    whole = NestedMeasurement(SIZES, TREE, {FULL: 1.0})
    table = rng.normal(size=(2, 7, 3)) * size
    values = {one: summed(whole, FULL, table, one) for one in sums_of([FULL, (0, 1)], TREE)}
    found = with_exact_sums(values, TREE)
    for one, exact in found.items():
        assert np.array_equal(summed(whole, FULL, found[FULL], one), exact)
        assert np.abs(exact - values[one]).max() <= 42 * grid_of(values)


def test_exact_sums_of_margins_without_their_table():
    """The published marginals of a table that is nowhere, whose sums agree all the same."""
    rng = np.random.default_rng(6)
    table = rng.normal(size=(3, 4, 5)) / 3.0
    wanted = sums_of([(0, 1), (1, 2), (0, 2)], None)
    values = {one: table.sum(axis=tuple(j for j in range(3) if j not in one)) for one in wanted}
    found = with_exact_sums(values)
    for pair, axis, one in itertools.product([(0, 1), (1, 2), (0, 2)], (0, 1), [()]):
        left = (pair[1 - axis],)
        assert np.array_equal(found[pair].sum(axis=axis), found[left])
        assert found[left].sum() == found[one]
    whole = {one: np.round(each) for one, each in values.items()}
    assert with_exact_sums({(): whole[()]})[()] == whole[()]


def test_a_plan_keeps_its_hash_but_for_a_hierarchy():
    flat = plan(counts(COUNTRY))
    assert "within" not in str(flat.describe())
    assert plan().hash != replace(plan(), goal="largest").hash


def test_hidden_cells_of_a_hierarchy_share_no_draws():
    """Who has a declared region and an undeclared district is in the cell of that region's other
    districts in a table with both columns, and in that of all other districts in a table with
    districts alone: two cells, whose draws would both move."""
    region = {"region": ["N", "S"]}
    district = {"district": {"within": region, "values": [["0", "1"], ["0"]]}}
    values = {"column": "v", "lower": 0, "upper": 10, "pitch": 1, "missing": "drop"}
    asked = (
        Statistic("count"),
        Statistic("count", name="r", group_by=region),
        Statistic("count", name="d", group_by=district),
        Statistic("mean", **values),
        Statistic("mean", name="md", group_by=district, **values),
    )
    wanted = Plan("h", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True)
    made = mechanism(wanted)
    nested = {b for b, block in enumerate(made.blocks) if any(k.within for k in block.group_by)}
    for draw in made.draws if made.tables else ():
        together = {made.entries[i].block for i in draw.entries}
        assert len(together) == 1 or not together & nested
