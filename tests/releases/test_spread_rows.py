"""Persons with several rows: what is charged for them, what is kept of them, and that no table of
rows moves a release by more than was charged."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from leastnoise import Ledger, Plan, Statistic
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import DesignError
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.data.scans import parted, scans
from leastnoise.releases.noise import log_concave, margins, one_view, spreads
from leastnoise.releases.noise import mechanism as noise_of_plans
from leastnoise.releases.noise.layout import layouts_of
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.releases.noise.sensitivity import is_checks
from leastnoise.releases.preview import outlook
from leastnoise.releases.release import release
from leastnoise.releases.report.guarantee import law, margins_in_words, unit
from leastnoise.sampling.entropy import InsecureSeededEntropy
from releases import reference_release
from releases.spread_plans import PLANS, counts, histogram, made_of, mean, plan, rows_of

# Laws


@pytest.mark.parametrize(
    "shifts", [((10, 1),), ((2, 5),), ((10, 1), (3, 1)), ((2, 50),), ((200, 1),), ((1, 3), (7, 2))]
)
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_what_is_drawn_is_log_concave_and_costs_what_was_asked(shifts, delta):
    designed, _ = log_concave.of_epsilon(0.8, shifts, delta)
    drawn = log_concave.drawn(designed, shifts, delta)
    assert drawn.tail_ratio is None
    assert drawn.sampler().is_exact
    assert one_view.is_log_concave(drawn)
    assert drawn.std == pytest.approx(designed.std, rel=1e-6)
    assert log_concave.loss_of_shifts(drawn, shifts).epsilon(delta) <= 0.8 * (1.0 + 2e-6)


def test_few_large_shifts_want_laplace_and_many_small_ones_gauss():
    assert log_concave.of_epsilon(1.0, ((10, 1),), 1e-6)[1] == "discrete Laplace"
    gauss, name = log_concave.of_epsilon(1.0, ((2, 50),), 1e-6)
    assert name == "discrete Gaussian"
    assert gauss.std == pytest.approx(4.2247 * math.sqrt(200), rel=2e-3)
    assert log_concave.of_sigma(60.0, ((2, 50),), 1e-6)[1] == "discrete Gaussian"
    assert log_concave.named_exponent(1.5) == "exp(−(k/b)^1.5)"


def test_laws_that_cannot_be_had(monkeypatch):
    with pytest.raises(DesignError, match=r"between 0\.05 and 20000"):
        log_concave.of_sigma(30_000.0, ((1, 1),), 1e-6)
    monkeypatch.setattr(log_concave, "MOST_INTEGERS", 50)
    with pytest.raises(DesignError, match="No integer noise"):
        log_concave.of_epsilon(0.123, ((100, 1),), 1e-6)


def test_a_staircase_is_never_judged_by_one_spread():
    """The law that is drawn decides, whatever a spec says."""
    falls = [math.exp(-(k // 4)) for k in range(40)]
    stairs = LatticeNoise.from_weights(falls, None, domain="integer")
    with pytest.raises(DesignError, match="log-concave"):
        noise_of_plans._check_spread([SampledLaw(stairs, 1, "", shifts=((4, 1),))])
    noise_of_plans._check_spread([SampledLaw(stairs, 1, "")])


def test_a_law_is_widened_where_what_is_drawn_costs_more():
    designed, name = log_concave.of_epsilon(0.9, ((3, 1),), 1e-6)
    assert log_concave.widened(designed.std, name, 1.01).std == pytest.approx(1.01 * designed.std)


def test_rounding_that_bends_a_law_is_refused(monkeypatch):
    monkeypatch.setattr(log_concave, "_BENDS", ())
    designed, _ = log_concave.of_epsilon(0.9, ((3, 1),), 1e-6)
    with pytest.raises(DesignError, match="not be log-concave"):
        log_concave.drawn(designed, ((3, 1),), 1e-7)


# What is charged


DRAWS = {2: 2.8140, 4: 5.6475, 5: 7.0520}  # design(1, 1e-6, compositions=…), in sensitivities


@pytest.mark.parametrize(
    ("bounds", "before", "now"),
    [((4, 4), 22.59, 5.64), ((4, 2), 11.26, 5.64), ((8, 2), 22.51, 11.31), ((10, 5), 66.33, 14.14)],
)
def test_the_histogram_of_ten_groups(bounds, before, now):
    """From 66.3 to 14.1 with 10 rows and 5 groups a person; 1.5 % of ε is for the checks."""
    made = mechanism(histogram(*bounds))
    assert made.layout == "spread"
    assert made.std(0) == pytest.approx(now / 0.985, rel=1e-3)
    assert min(made.alternatives[name] for name in ("joint", "by group")) >= 2.0
    # Before: so many draws with all rows in each, or the cube of ten answers, √44.
    assert before == pytest.approx(min(bounds[0] * DRAWS[bounds[1]], bounds[0] * 44**0.5), rel=1e-3)
    assert made.laws[0].shifts == ((bounds[0], 1),)
    assert [(one.sensitivity, one.uses) for one in made.spends] == [(bounds[0], 1), (1.0, 1)]


def test_the_release_has_this_noise(ibis_table):
    asked = histogram(10, 5)
    table = ibis_table([(f"p{i}", "x", "P", 1, "ABCDEFGHIJ"[i % 10]) for i in range(200)])
    made = mechanism(asked)
    errors = []
    for seed in range(8):
        source = InsecureSeededEntropy(seed)
        done = release(asked, table=table, prepared=made, entropy=source, not_private=True)
        found = [row for row in done.rows if row.check is None]
        assert all(row.noise_std == pytest.approx(made.std(0)) for row in found)
        errors += [row.value - 20 for row in found]
    assert np.std(errors) == pytest.approx(14.35, rel=0.3)
    assert all(error == int(error) for error in errors)
    told = law(done)
    assert "all rows of a person in one group" in told["layout_in_words"]
    assert "1 answer by 10 units" in told["laws"][0]["one_person_changes"]


@pytest.fixture
def ibis_table():
    pytest.importorskip("ibis")
    pa = pytest.importorskip("pyarrow")

    def made(rows):
        names = ("id", "a", "b", "v", "g")
        return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})

    return made


def test_where_rows_cannot_be_many_in_a_group_nothing_changes():
    assert mechanism(histogram(10, 5, 2)).layout == "joint"
    assert not any(law.shifts for law in mechanism(histogram(3, 3, 1)).laws)


def test_the_ledger_keeps_and_charges_it(tmp_path):
    made = mechanism(histogram(10, 5))
    with Ledger(tmp_path / "a.ledger") as ledger:
        ledger.open_dataset("d", epsilon=3.0, delta=1e-6)
        for number in "12":
            ledger.spend("d", made.spends, plan_hash=number)
        drawn = ledger.entries("d")[0].draws
        stored = ledger.law(drawn[0].law_hash)
        spent = ledger.dataset("d").spent
    assert drawn[0].sensitivity == 10.0
    assert one_view.is_log_concave(stored)
    twice = [PrivacyLoss.of(stored, 10.0).compose(2), PrivacyLoss.of(made.laws[1].noise).compose(2)]
    assert spent >= twice[0].compose(twice[1]).epsilon(1e-6) * (1 - 1e-5)
    with Ledger(tmp_path / "a.ledger") as again:
        assert again.dataset("d").spent == spent
        assert again.check(every_entry=True).ok


# The one view


def test_which_plans_have_one_view():
    """Public numbers decide: no grouping lets in fewer rows than a person may have."""
    assert spreads.one_view(plan(counts(), 10, 5)) == one_view.OneView(10, 10, 10)
    assert spreads.one_view(plan(counts(), 4, 2, 2)) == one_view.OneView(4, 4, 2)
    assert spreads.one_view(plan(counts(), 10, 2, 2)) is None
    assert spreads.one_view(plan(counts(sigma=9.0), 10, 5)) is None
    one_row = Plan("p", None, "replace", counts(), 1.0, 1e-6, one_row_per_person=True)
    assert spreads.one_view(one_row) is None


def cells_of_person(rows, in_cell, cells):
    """Every multiset of kept rows of a person, as numbers in the fine cells."""
    for kept in itertools.product(range(in_cell + 1), repeat=cells):
        if sum(kept) <= rows:
            yield kept


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize(("rows", "in_cell"), [(3, 3), (2, 2), (3, 1), (4, 2)])
def test_no_person_moves_a_marginal_by_more_than_its_spread(relation, rows, in_cell):
    """All that a person may keep on a 2 × 3 table with values in {0, 5, 10}: every vector of
    changes, rounded to the unit of the noise, is within its bound, and costs no more."""
    small = {"a": ("x",)}, {"b": ("P", "Q")}  # with other keys 2 × 3 cells
    asked = (
        Statistic("count", name="all"),
        Statistic("count", name="a", group_by=small[0]),
        mean("m", {**small[0], **small[1]}),
    )
    wanted = plan(asked, rows, rows, None if in_cell == rows else in_cell, relation)
    view = one_view.OneView(rows, rows, in_cell)
    axes = {1: (0, 1), 2: (1,), 3: (0,), 6: ()}
    for answer in {answer for block in asked_blocks(wanted) for answer in block.answers}:
        worths = {"rows": (1,), "present": (0, 1), "centred": (-10, 0, 10)}[answer.measure]
        sums = {}
        for kept in cells_of_person(rows, in_cell, 6):
            for values in itertools.product(*(set(_sums(worths, n)) for n in kept)):
                sums.setdefault(tuple(values), kept)
        for cells, over in axes.items():
            most, spread = spreads.view_spread(wanted, view, answer, cells)
            marginals = {
                tuple(np.array(one).reshape(2, 3).sum(axis=over).ravel().tolist()) for one in sums
            }
            changes = marginals if relation == "add/remove" else _extreme_pairs(marginals)
            for change in changes:
                sizes = sorted((-(-abs(one) // spread.unit) for one in change), reverse=True)
                assert sum(sizes) <= spread.change.total
                assert sizes[0] <= spread.change.largest <= -(-most // spread.unit)
                assert sum(map(bool, sizes)) <= spread.change.touched


def _sums(worths, count):
    return (sum(some) for some in itertools.combinations_with_replacement(worths, count))


def _extreme_pairs(marginals):
    rng = random.Random(1)
    some = rng.sample(sorted(marginals), min(len(marginals), 150))
    return {tuple(np.subtract(x, y).tolist()) for x, y in itertools.product(some, repeat=2)}


def asked_blocks(wanted):
    return [block for block in noise_of_plans.blocks(wanted) if not is_checks(block)]


@pytest.mark.parametrize("name", PLANS)
def test_engine_and_slow_form_count_the_same(name, ibis_table):
    """DuckDB's integers of every block are those of plain Python."""
    made, wanted, rng = made_of(name), PLANS[name], random.Random(5)
    listed = rows_of(rng, ["p1", "P1", "p2 ", "", "é", "~|", None], 9)
    table = open_table(wanted, ibis_table([tuple(row.values()) for row in listed]))
    for block in made.blocks:
        found = aggregate(wanted, table, block)
        assert found == reference_release.aggregate(wanted, listed, block), block
    for scan in scans(made.blocks):
        whole = aggregate(wanted, table, scan.block)
        for b, counted in zip(scan.serves, parted(scan, made.blocks, whole), strict=True):
            assert counted == reference_release.aggregate(wanted, listed, made.blocks[b])


@pytest.mark.parametrize("name", PLANS)
def test_neighbours_move_by_no_more_than_is_charged(name):
    """Tables with and without a person who has as many rows as they like: over all entries of a
    law, in its units, the sorted changes are within what its spread lets."""
    made, wanted, rng = made_of(name), PLANS[name], random.Random(7)
    furthest = Counter()
    for _ in range(60):
        others = rows_of(rng, ["p1", "p2", None], 4)
        person = rows_of(rng, ["q"], rng.choice([1, 3, 12]))
        instead = rows_of(rng, ["q"], 12) if wanted.relation == "replace" else []
        before, after = others + person, others + instead
        moved = changes_by_answer(wanted, made, before, after)
        for (b, answer), sizes in moved.items():
            block = made.blocks[b]
            if is_checks(block):
                assert sum(sizes) <= block.touched
                continue
            entry = next(e for e in made.entries if (e.block, e.answer) == (b, answer))
            if entry.spread is None:
                assert max(sizes) <= 1
                continue
            change = entry.spread.change
            assert sum(sizes) <= change.total
            assert max(sizes) <= change.largest
            assert sum(map(bool, sizes)) <= change.touched
            furthest[b, answer] = max(furthest[b, answer], Fraction(sum(sizes), change.total))
    # What is charged is needed; of sums some person would have to have the widest values only.
    assert max(furthest.values()) >= (0.4 if name == "sums" else 1)


def changes_by_answer(wanted, made, before, after):
    """|change| of every entry, rounded to the unit of the noise as the sampler does it."""
    found: dict = {}
    for b, block in enumerate(made.blocks):
        one, other = (reference_release.aggregate(wanted, rows, block) for rows in (before, after))
        for entry in (entry for entry in made.entries if entry.block == b):
            cell = block.cells[entry.group]
            place = block.answers_of(entry.group).index(entry.answer)
            pair = (Fraction(counted[cell][place], entry.sensitivity) for counted in (one, other))
            rounded = [math.floor(x + Fraction(1, 2)) if entry.spread else x for x in pair]
            found.setdefault((b, entry.answer), []).append(abs(rounded[0] - rounded[1]))
    return found


@pytest.mark.parametrize("name", ["counts", "two in a cell", "replaced", "one grouping"])
def test_the_charge_covers_every_exact_delta(name):
    """δ of all measured marginals together for every kind of neighbour, by enumeration of the
    laws that are drawn, is no more than what the ledger is charged for."""
    made, wanted, rng = made_of(name), PLANS[name], random.Random(3)
    charged = {
        number: tuple((float(s), n) for s, n in sampled.parts)
        for number, sampled in enumerate(made.laws)
    }
    seen = set()
    for _ in range(40):
        person = rows_of(rng, ["q"], 8)
        instead = rows_of(rng, ["q"], 8) if wanted.relation == "replace" else []
        moved = changes_by_answer(wanted, made, person, instead)
        for number, sampled in enumerate(made.laws):
            if not sampled.shifts:
                continue
            of_law = {
                made.entries[i].block for d in made.draws if d.law == number for i in d.entries
            }
            sizes = tuple(
                sorted(int(x) for (b, _), each in moved.items() if b in of_law for x in each if x)
            )
            if not sizes or sizes in seen:
                continue
            seen.add(sizes)
            for epsilon in (0.3, 1.0):
                paid = log_concave.loss_of_shifts(sampled.noise, charged[number])
                actual = log_concave.loss_of_shifts(sampled.noise, tuple(Counter(sizes).items()))
                assert actual.delta_bounds(epsilon).lower <= paid.delta(epsilon)
    assert len(seen) > 3


@pytest.mark.parametrize("name", ["means", "counts", "replaced"])
def test_margins_are_no_worse_than_separately(name, ibis_table):
    wanted, made = PLANS[name], made_of(name)
    assert made.is_one_view
    assert made.epsilon <= 1.0
    for one in outlook(wanted, made):
        if one.separate_std is not None:
            assert one.noise_std <= one.separate_std * (1 + 1e-9)
    rng = random.Random(2)
    listed = rows_of(rng, [f"p{i}" for i in range(60)], 12)
    table = ibis_table([tuple(row.values()) for row in listed])
    source = InsecureSeededEntropy(4)
    done = release(wanted, table=table, prepared=made, entropy=source, not_private=True)
    assert sum(row.value is not None for row in done.rows) > 5
    assert "the same rows" in margins_in_words(made)
    assert "for all groupings" in unit(wanted, made)


def test_counts_of_one_view_add_up(ibis_table):
    listed = rows_of(random.Random(2), [f"p{i}" for i in range(60)], 12)
    table = ibis_table([tuple(row.values()) for row in listed])
    source, made = InsecureSeededEntropy(4), made_of("counts")
    done = release(PLANS["counts"], table=table, prepared=made, entropy=source, not_private=True)
    values = {(row.statistic, row.group): row.value for row in done.rows}
    of_a = [values["a", f"a = {key}"] for key in "xy"]
    hidden = values["rows with other keys", "a"]
    assert values["all", ""] == pytest.approx(math.fsum([*of_a, hidden]), abs=1e-6)


def test_a_view_of_one_row_a_cell():
    """Where every cell moves by one unit any law may be designed."""
    wanted = plan(counts(), 2, 2, 1)
    (table,) = margins.margin_tables(wanted, noise_of_plans.blocks(wanted))
    possible = margins.possible_marginals(wanted, table, 0)
    (cells,) = layouts_of([possible[0, 1]])
    assert [(spec.uses, spec.shifts) for spec in cells.specs] == [(2, ())]
    (by_a,) = layouts_of([possible[0,]])
    assert [spec.shifts for spec in by_a.specs] == [((2, 1),)]


def test_persons_in_other_keys_are_not_free_beside_a_spread():
    """A person may have all rows in declared groups and another key too: one change more than the
    spread has, which is counted among the checks."""
    made = mechanism(histogram(3, 2))
    assert made.layout == "spread"
    assert all(block.other is None for block in made.blocks)
    assert {answer.measure for answer in made.blocks[-1].answers} == {"other keys", "left out"}
