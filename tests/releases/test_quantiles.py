"""Quantiles from trees of counts: the least squares, the choice of the tree, the intervals, what
one person changes, and whole releases."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from leastnoise.errors import InvalidParameterError, PlanError  # noqa: E402
from leastnoise.laws.lattice import LatticeNoise  # noqa: E402
from leastnoise.releases.data.counts import aggregate  # noqa: E402
from leastnoise.releases.data.opening import open_table  # noqa: E402
from leastnoise.releases.data.scans import parted, scans  # noqa: E402
from leastnoise.releases.estimates.reconstructed import symmetric  # noqa: E402
from leastnoise.releases.explanation import explained  # noqa: E402
from leastnoise.releases.noise.mechanism import mechanism  # noqa: E402
from leastnoise.releases.noise.one_view import loss_of  # noqa: E402
from leastnoise.releases.noise.sensitivity import blocks, is_checks  # noqa: E402
from leastnoise.releases.noise.spreads import one_view  # noqa: E402
from leastnoise.releases.noise.tree_levels import TreeAsked, chosen_trees  # noqa: E402
from leastnoise.releases.plan.plan import Plan  # noqa: E402
from leastnoise.releases.plan.source import CsvFile  # noqa: E402
from leastnoise.releases.plan.statistic import Statistic  # noqa: E402
from leastnoise.releases.preview import outlook  # noqa: E402
from leastnoise.releases.rehearsal import rehearsed  # noqa: E402
from leastnoise.releases.release import release  # noqa: E402
from leastnoise.releases.tables.count_trees import (  # noqa: E402
    CountTree,
    TreeQuantiles,
    best_branchings,
    tree_counts,
)
from leastnoise.releases.tables.intervals import (  # noqa: E402
    ErrorPart,
    SymmetricLaw,
    half_width,
)
from leastnoise.sampling.entropy import InsecureSeededEntropy  # noqa: E402
from leastnoise.series.plans import needed  # noqa: E402
from releases import reference_release, tables, three_sets  # noqa: E402

# What designs need for 1 to 4 draws of one count, at ε = 1 and δ = 1e-6.
SIGMAS = {1: 1.357, 2: 2.799, 3: 4.223, 4: 5.640}
TREES = [(5,), (2, 3), (3, 2, 4), (2, 2, 2, 3)]


def design_matrix(tree):
    """Which places are in which measured node, level after level."""
    levels = range(1, tree.levels + 1)
    return np.vstack([np.kron(np.eye(tree.nodes(k)), np.ones((1, tree.width(k)))) for k in levels])


# Least squares


@pytest.mark.parametrize("branchings", TREES)
@pytest.mark.parametrize("q", [0.05, 0.5])
def test_counts_weights_and_variances_are_those_of_dense_least_squares(branchings, q):
    tree = CountTree(branchings)
    matrix = design_matrix(tree)
    solved = np.linalg.pinv(matrix)
    answers = np.random.default_rng(1).normal(size=len(matrix))
    measured = np.split(answers, np.cumsum([tree.nodes(k) for k in range(1, tree.levels)]))
    assert np.allclose(tree_counts(tree, measured), solved @ answers, atol=1e-12)
    for t in range(tree.places + 1):
        form = ((np.arange(tree.places) < t) - q) @ solved
        assert tree.variances(np.array([t]), q)[0] == pytest.approx(form @ form, abs=1e-12)
        weights, counts = tree.weights(np.array([t]), q)
        listed = np.repeat(weights[:, 0], counts[:, 0].astype(int))
        assert np.allclose(np.sort(listed), np.sort(form), atol=1e-12)


@pytest.mark.parametrize("branchings", [(7,), (4, 8, 8), (5, 3)])
def test_the_mean_variance_is_the_mean_of_the_variances(branchings):
    tree = CountTree(branchings)
    each = tree.variances(np.arange(tree.places), 0.3)
    assert tree.mean_variance(0.3) == pytest.approx(each.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (256, {1: 10.86, 2: 7.01, 3: 7.43, 4: 8.07}),
        (4096, {1: 43.4, 2: 14.34, 3: 12.39, 4: 12.59}),
        (65536, {1: 173.7, 2: 28.8, 3: 20.4, 4: 18.66}),
    ],
)
def test_the_noise_of_the_best_tree_of_each_depth(places, expected):
    """The best of each depth is as good as the table's, which has powers of two alone."""
    for levels, noise in expected.items():
        tree = best_branchings(places, levels)
        found = SIGMAS[levels] * math.sqrt(tree.mean_variance(0.5))
        assert 0.98 * noise < found < 1.001 * noise, (levels, tree)


def test_the_tool_chooses_the_levels():
    def chosen(places, others=(), trees=1):
        return chosen_trees([TreeAsked(places, 1)] * trees, others, 1.0, 1e-6)

    assert [chosen(16**k)[0].branchings for k in (2, 3, 4)] == [(16,) * k for k in (2, 3, 4)]
    assert chosen(2)[0].branchings == (2,)
    assert chosen(101)[0].places >= 101
    # Beside many answers a level more costs those too.
    assert chosen(65536, [1] * 20)[0].levels < 4
    # Every choice is at least as good as all other depths, by the proxy that it is made with.
    assert len({tree.branchings for tree in chosen(256, trees=2)}) == 1


# Intervals


def enumerated(tree, masses):
    """Every outcome of the noise on all nodes, and its probability."""
    reach = len(masses) - 1
    law = {k: masses[abs(k)] for k in range(-reach, reach + 1)}
    nodes = sum(tree.nodes(k) for k in range(1, tree.levels + 1))
    for noise in itertools.product(law, repeat=nodes):
        yield np.array(noise, dtype=float), math.prod(law[k] for k in noise)


@pytest.mark.parametrize("branchings", [(3,), (2, 2)])
@pytest.mark.parametrize("q", [0.2, 0.5])
def test_intervals_hold_the_quantile_in_95_of_100_by_enumeration(branchings, q):
    """Every outcome of a small law, for tables whose quantile is anywhere."""
    tree, masses = CountTree(branchings), (0.6, 0.2)
    law = SymmetricLaw(np.array(masses), 1.0)
    ends = np.cumsum([tree.nodes(k) for k in range(1, tree.levels)])
    outcomes = list(enumerated(tree, masses))
    for table in ((4, 0, 1, 3), (1, 1, 1, 1)):
        counts = np.array(table[: tree.places], dtype=float)
        true = int(np.argmax(np.cumsum(counts) >= q * counts.sum() - 1e-9))
        exact = design_matrix(tree) @ counts
        held, known = 0.0, {}
        for noise, probability in outcomes:
            measured = exact + noise
            known_key = tuple(np.round(tree_counts(tree, np.split(measured, ends)), 9))
            if known_key not in known:
                found = TreeQuantiles.of(tree, np.split(measured, ends), law, tree.places - 1)
                at = found.quantile(q)
                assert at.first <= at.place <= at.last
                known[known_key] = at.first <= true <= at.last
            held += probability * known[known_key]
        assert held >= 0.95, (table, held)


def test_the_tail_of_many_places_at_once_is_that_of_one_by_one():
    tree, q = CountTree((4, 5)), 0.3
    law = symmetric(LatticeNoise.from_weights([1.0], 0.7, domain="integer"))
    known = TreeQuantiles(tree, np.zeros(21), law, 19)
    t = np.arange(1, 20)
    stds = np.sqrt(law.variance * tree.variances(t, q))
    weights, counts = tree.weights(t, q)
    widths = []
    for column in range(len(t)):
        pairs = zip(weights[:, column], counts[:, column], strict=True)
        widths.append(half_width([ErrorPart(law, w, int(n)) for w, n in pairs if n], 0.95))
    # At the half-widths, which are up to 0.2 % too large, 95 % are held.
    held = known._held(t, stds, q, np.array(widths) / stds, 0.005)
    assert held == pytest.approx(0.95, abs=0.002)


def test_the_quantiles_rise_and_stay_at_places_that_values_can_have():
    tree = CountTree((4, 4))
    law = symmetric(LatticeNoise.from_weights([1.0], 0.5, domain="integer"))
    rng = np.random.default_rng(2)
    for _ in range(20):
        measured = [rng.normal(2, 3, tree.nodes(k)) for k in (1, 2)]
        known = TreeQuantiles.of(tree, measured, law, 12)
        found = [known.quantile(q) for q in (0.01, 0.3, 0.5, 0.9, 0.99)]
        assert [one.place for one in found] == sorted(one.place for one in found)
        assert all(0 <= one.first <= one.place <= one.last <= 12 for one in found)


@pytest.mark.parametrize(
    ("branchings", "sigma", "rows", "mean"),
    [((16, 16), 2.799, 300, 3.5), ((16, 16), 2.799, 10_000, 0.2), ((16,) * 3, 4.223, 300, 8.2)],
)
def test_rank_errors_of_a_median_are_those_stated(branchings, sigma, rows, mean):
    """Bell-shaped values; how far half of the rows is from the ranks at the published place."""
    tree, rng = CountTree(branchings), np.random.default_rng(7)
    law = SymmetricLaw(np.array([1.0]), 1.0)
    errors = []
    for _ in range(300):
        values = np.clip(rng.normal(0.5, 1 / 6, rows), 0, 0.9999) * tree.places
        counts = np.bincount(values.astype(int), minlength=tree.places)
        levels = range(1, tree.levels + 1)
        exact = [counts.reshape(tree.nodes(k), -1).sum(axis=1) for k in levels]
        ratio = math.exp(-math.sqrt(2.0) / sigma)
        noise = [rng.geometric(1 - ratio, (2, tree.nodes(k))) for k in levels]
        measured = [one + two[0] - two[1] for one, two in zip(exact, noise, strict=True)]
        place = TreeQuantiles.of(tree, measured, law, tree.places - 1)
        rising = place._rising >= 0.5 * place.number
        at = int(np.argmax(rising))
        below, up_to = counts[:at].sum(), counts[: at + 1].sum()
        errors.append(max(below - 0.5 * rows, 0.5 * rows - up_to, 0.0))
    assert np.mean(errors) == pytest.approx(mean, rel=0.15, abs=0.15)


# What one person can change


def level_counts(plan, rows, asked):
    table = open_table(plan, tables.columns(rows))
    try:
        found = {}
        for scan in scans(asked):
            counted = aggregate(plan, table, scan.block)
            found |= zip(scan.serves, parted(scan, asked, counted), strict=True)
        return [found[b] for b in range(len(asked))]
    finally:
        table.close()


@pytest.mark.parametrize("number", range(3))
def test_one_scan_counts_every_level_as_the_slow_reference_does(number):
    plan, rows = tables.quantile_plans()[number], tables.table(5, size=150)
    asked = [block for block in blocks(plan) if not is_checks(block) and block.where is None]
    trees = [block for block in asked if block.level is not None]
    assert len(scans(trees)) == 2
    assert max(block.level.level for block in trees) > 1
    found = level_counts(plan, rows, asked)
    assert found == [reference_release.aggregate(plan, rows, block) for block in asked]


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("number", range(3))
def test_no_person_changes_a_level_by_more_than_derived(relation, number):
    """Neighbouring tables, in the slow reference: the sum over the nodes of a level, the largest,
    and how many; and some pair reaches the sum."""
    plan = tables.quantile_plans(relation)[number]
    asked = [b for b in blocks(plan) if b.level is not None and b.where is None]
    rng, reached = random.Random(3), 0.0
    kind = "rows" if plan.person is None else "ids"
    for seed in range(12):
        rows = [row | {"name": str(row["id"])} for row in tables.table(seed, 80, 6)]
        other = tables.neighbour_of(rows, kind, relation, rng)
        other = [row | {"name": str(row["id"])} for row in other]
        for block in asked:
            one, two = (reference_release.aggregate(plan, each, block) for each in (rows, other))
            moved = [abs(one[cell][0] - two[cell][0]) for cell in one]
            change = block.spreads[0].change
            assert sum(moved) <= change.total
            assert max(moved) <= change.largest == block.sensitivities[0]
            assert sum(map(bool, moved)) <= change.touched
            reached = max(reached, sum(moved) / change.total)
    assert reached > (0.99 if relation == "add/remove" else 0.7)


def test_every_spread_over_the_levels_costs_no_more_than_is_charged():
    """Persons of three rows: all ways to spread them over the nodes of each level."""
    asked = (Statistic("median", column="x", lower=0, upper=255, pitch=1, missing="drop"),)
    plan = Plan("s", None, "add/remove", asked, 1.0, 1e-6, person="p", rows_per_person=3)
    made = mechanism(plan)
    levels = [block for block in made.blocks if block.level is not None]
    noise = made.laws[0].noise
    assert len(levels) == 2
    assert made.laws[0].shifts == ((3, 2),)
    spreads = [(3,), (2, 1), (1, 1, 1), (2,), (1,)]
    worst = max(
        loss_of(noise, (*one, *two)).epsilon(1e-6)
        for one, two in itertools.product(spreads, repeat=2)
    )
    assert worst <= made.epsilon


def test_the_draws_of_all_levels_are_paid_for():
    asked = (
        Statistic("median", column="x", lower=0, upper=255, pitch=1, missing="drop"),
        Statistic("quantile", at=0.9, column="x", lower=0, upper=255, pitch=1, missing="drop"),
        Statistic("count"),
    )
    plan = Plan("s", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True)
    made = mechanism(plan)
    assert [block.level.level for block in made.blocks if block.level is not None] == [1, 2]
    assert made.laws[0].uses == 3
    assert made.laws[0].noise.std == pytest.approx(4.223 / (1 - 0.015), rel=0.01)
    replaced = mechanism(replace(plan, relation="replace", statistics=asked[:2]))
    assert replaced.laws[0].uses == 4


# Releases


def table(rows=4000, seed=1):
    rng = np.random.default_rng(seed)
    ages = np.clip(rng.normal(50, 15, rows).round(), 0, 110)
    return pa.table({"age": ages, "ward": rng.choice(["A", "B", "C"], rows)})


AGE = {"column": "age", "lower": 0, "upper": 100, "pitch": 1, "missing": "drop"}


def released(statistics, given, seed=1, **more):
    shared = {"one_row_per_person": True, **more}
    plan = Plan("q", None, "add/remove", statistics, 1.0, 1e-6, **shared)
    source = InsecureSeededEntropy(seed)
    return release(plan, table=given, entropy=source, not_private=True)


def test_quantiles_by_group_in_every_form():
    asked = (
        Statistic("quantile", at=[0.05, 0.5, 0.95], group_by={"ward": ["A", "B"]}, **AGE),
        Statistic("median", where="ward = 'C'", **AGE),
        Statistic("count"),
    )
    given = table()
    done = released(asked, given)
    ages = np.minimum(np.array(given["age"]), 100)
    wards = np.array(given["ward"])
    rows = [row for row in done.rows if row.kind == "quantile"]
    assert len(rows) == 7
    for row, (ward, q) in zip(
        rows, [*itertools.product("AB", (0.05, 0.5, 0.95)), ("C", 0.5)], strict=True
    ):
        true = np.quantile(ages[wards == ward], q, method="inverted_cdf")
        assert row.lower <= row.value <= row.upper
        assert row.lower <= true <= row.upper
        assert row.upper - row.lower <= 16
        assert row.half_width == max(row.value - row.lower, row.upper - row.value)
    assert rows[0].group == "ward = A, quantile = 0.05"
    assert rows[-1].statistic == "median of age where ward = 'C'"
    assert rows[-1].group == ""
    kept = done.as_dict()["statistics"][0]
    assert kept["keys"] == {"ward": "A", "quantile": "0.05"}
    assert kept["noise_std"] is None
    assert "ward = A, quantile = 0.05" in done.to_csv()
    assert f"<td>{rows[0].statistic}" in done.to_html()
    assert f"{rows[0].lower:g} to {rows[0].upper:g}" in done.to_html()
    assert done.to_arrow()["quantile"].to_pylist()[:3] == ["0.05", "0.5", "0.95"]
    with pytest.raises(PlanError, match="a place among noisy counts"):
        done.combine({asked[1].name: 1.0})


def test_of_hardly_any_values_nothing_is_said():
    done = released((Statistic("median", **AGE),), table(3))
    assert done.rows[0].value is None
    assert done.rows[0].in_words() == "too few to say"


def test_values_beyond_the_bounds_count_as_the_bounds():
    given = pa.table({"age": [-5.0] * 300 + [500.0] * 700})
    done = released((Statistic("quantile", at=[0.1, 0.9], **AGE),), given)
    assert [(row.value, row.lower, row.upper) for row in done.rows[:2]] == [
        (0.0, 0.0, 0.0),
        (100.0, 100.0, 100.0),
    ]


def test_previews_explanations_and_rehearsals_know_quantiles():
    asked = (Statistic("quantile", at=[0.25, 0.75], group_by={"ward": ["A", "B"]}, **AGE),)
    plan = Plan("q", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True)
    made = mechanism(plan)
    (ahead,) = (row for row in outlook(plan, made) if row.kind == "quantile")
    assert ahead.of_ranks
    assert ahead.groups == 2
    # The tree of 101 places is a little smaller than that of 256, whose median has 7.01.
    assert 4.0 < ahead.noise_std < 7.01
    said = explained(plan, made).statistics[0]
    assert "quantiles at 0.25, 0.75 of age in each of 2 groups by ward" in said.published
    assert "2 levels of finer and finer bins (10 × 11)" in said.one_person
    assert "misplaces it by about" in said.error
    shown = rehearsed(plan)
    middle = shown.value("quantiles of age by ward", "ward = A, quantile = 0.25")
    assert 10 < middle < 40
    # Who has another key is counted although a tree has no cell for it.
    assert [row.group for row in shown.rows if row.kind == "other keys"] == ["ward"]


def test_the_quantiles_that_the_papers_bounds_start_from():
    """Table 1 of the paper starts from the 5 % and 95 % quantiles, assumed to be released."""
    if not three_sets.HEART.exists():
        pytest.skip("the heart data are not there")
    known = [line.split(",") for line in three_sets.HEART.read_text().split()]
    source = CsvFile(str(three_sets.HEART), three_sets.HEART_COLUMNS)
    names = ("age", "trestbps", "chol", "thalach")
    shared = {"at": [0.05, 0.95], "pitch": 5, "missing": "drop"}
    asked = tuple(
        Statistic("quantile", name=name, column=name, lower=low, upper=high, **shared)
        for name, (low, high, _) in three_sets.BOUNDS["heart"].items()
        if name in names
    )
    plan = Plan("heart", source, "add/remove", asked, 4.0, 1e-6, one_row_per_person=True)
    done = release(plan, entropy=InsecureSeededEntropy(5), not_private=True)
    rows = [row for row in done.rows if row.kind == "quantile"]
    held = 0
    for row in rows:
        at = three_sets.HEART_COLUMNS.index(row.statistic)
        low, high, _ = three_sets.BOUNDS["heart"][row.statistic]
        values = np.clip([float(line[at]) for line in known], low, high)
        places = np.clip(np.floor(values / 5 + 0.5) * 5, low, high)
        q = float(dict(row.keys)["quantile"])
        held += row.lower <= np.quantile(places, q, method="inverted_cdf") <= row.upper
    assert len(rows) == 8
    assert held >= 7


# Refusals


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": []}, "rising numbers"),
        ({"at": [0.5, 0.5]}, "rising numbers"),
        ({"at": [0.0]}, r"\(0, 1\)"),
        ({"at": 1.0}, r"\(0, 1\)"),
        ({"at": ["x"]}, "at"),
    ],
)
def test_quantiles_are_rising_numbers_between_0_and_1(given, said):
    with pytest.raises(InvalidParameterError, match=said):
        Statistic("quantile", **AGE, **given)


def test_what_quantiles_cannot_have_is_refused():
    with pytest.raises(PlanError, match="leave at out"):
        Statistic("median", at=[0.2], **AGE)
    with pytest.raises(PlanError, match="it is for quantiles"):
        Statistic("mean", at=[0.2], **AGE)
    with pytest.raises(PlanError, match="declare a weight instead of sigma"):
        Statistic("median", sigma=3.0, **AGE)
    with pytest.raises(PlanError, match="declares no missing"):
        Statistic("median", column="age", lower=0, upper=100, pitch=1)
    with pytest.raises(InvalidParameterError, match="1,000,001 counts, and may have 100,000"):
        Statistic("median", **(AGE | {"upper": 10**6}))
    with pytest.raises(InvalidParameterError, match="202,000 counts"):
        Statistic("median", **(AGE | {"group_by": {"g": list(range(2000))}}))


def test_a_series_has_no_quantiles():
    asked = (Statistic("median", **AGE),)
    plan = Plan("q", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True)
    with pytest.raises(PlanError, match="release it by itself"):
        needed(plan)


def test_a_column_called_quantile_keeps_its_name():
    one = Statistic("quantile", at=[0.2, 0.4], group_by={"quantile": ["A"]}, **AGE)
    assert one.parts == ((("quantile at", "0.2"),), (("quantile at", "0.4"),))


def test_plans_without_quantiles_keep_their_hash():
    plain = Statistic("mean", **AGE).describe()
    assert "at" not in plain
    assert Statistic("median", **AGE).describe()["at"] == [0.5]


def test_complete_keys_of_a_tree_alone_are_no_keys_of_the_one_view():
    """A key that only a quantile declares as complete says of every statistic which rows count."""
    days = {"column": "days", "lower": 0, "upper": 7, "pitch": 1, "missing": "drop"}
    complete = {"ward": {"values": ["A"], "complete": True}}
    tree = Statistic("quantile", **days, at=(0.5,), group_by=complete)
    counts = (Statistic("count"), Statistic("count", group_by={"days": [1, 2, 3]}, name="by days"))
    bounds = {"person": "id", "rows_per_person": 3, "groups_per_person": 3}
    plan = Plan("c", None, "add/remove", (*counts, tree), 1.0, 1e-6, **bounds)
    assert one_view(plan) is None
    rows = [("a", "A", 1), ("a", "B", 2), ("b", "A", 3), ("b", "A", 3)]
    columns = dict(zip(("id", "ward", "days"), map(list, zip(*rows, strict=True)), strict=True))
    made = mechanism(plan)
    table = open_table(plan, pa.table(columns))
    found = [aggregate(plan, table, block) for block in made.blocks]
    # The row of ward B counts nowhere.
    assert found[0] == {(): (3,)}
    assert found[1] == {("1",): (1,), ("2",): (0,), ("3",): (2,)}
