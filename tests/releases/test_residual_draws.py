"""Residuals of a table with one joint draw: contrasts that are exact, what one person changes in
them, the errors that are stated, and the whole way of a release."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import Euclidean
from leastnoise.lattice.rounded_changes import rounded_changes
from leastnoise.laws.sphere import BallNoise
from leastnoise.ledger.ledger import Ledger
from leastnoise.releases.estimates import estimate
from leastnoise.releases.estimates.combination import combined
from leastnoise.releases.estimates.reconstructed import numbers
from leastnoise.releases.noise import margin_search
from leastnoise.releases.noise.layout import residual_layout
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.noise.sensitivity import Answer, Block, MeasuredMarginal
from leastnoise.releases.plan.keys import Key
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.preview import outlook
from leastnoise.releases.release import exact_answers
from leastnoise.releases.tables import columns, integers, reconstruction, residuals
from leastnoise.sampling import InsecureSeededEntropy

COLUMNS = {"a": ["x", "y"], "b": ["x", "y"], "c": ["1", "2", "3"], "d": ["x", "y"]}
FEW = {"a": ["x", "y"], "c": ["1", "2", "3"]}
PAY = {"column": "pay", "lower": 0, "upper": 10, "pitch": 1, "missing": "drop"}


def plan(keys, sizes=(1, 2), *, complete=(), kind="count", numbers_of=None, **declared):
    asked = tuple(
        Statistic(
            kind,
            name=" × ".join(part) or "total",
            group_by={c: {"values": keys[c], "complete": c in complete} for c in part},
            **(numbers_of or {}),
        )
        for size in sizes
        for part in itertools.combinations(keys, size)
    )
    return Plan("r", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True, **declared)


@pytest.fixture
def only_residuals(monkeypatch):
    """Small tables are better served by marginals: here these are not looked at."""
    monkeypatch.setattr(margin_search, "_worth_a_design", lambda found: [])


def arrow(listed):
    import pyarrow as pa

    kinds = dict.fromkeys(COLUMNS, pa.string()) | {"pay": pa.float64()}
    return pa.table({c: pa.array([row[c] for row in listed], kind) for c, kind in kinds.items()})


def rows(seed, size):
    rng = random.Random(seed)
    return [
        {
            **{c: rng.choice([*values, "other", None]) for c, values in COLUMNS.items()},
            "pay": rng.choice([None, 0.0, 3.0, 10.0, 12.0]),
        }
        for _ in range(size)
    ]


def scaled(wanted, made, listed):
    """What noise would be added to: every answer, divided by its sensitivity and scale."""
    from leastnoise.releases.release import carry_out

    kept = []

    def nothing(_, values):
        kept.extend(values)
        return list(values)

    done = carry_out(wanted, made, lambda: nothing, lambda *_: None, table=arrow(listed))
    return kept, done[1]


# Contrasts


def helmert(size):
    return np.array([[1] * k + [-k] + [0] * (size - k - 1) for k in range(1, size)])


@pytest.mark.parametrize("sizes", [(), (2,), (5,), (2, 3), (3, 1, 2), (2, 4, 3)], ids=str)
def test_contrasts_are_those_of_the_definition(sizes):
    rng = np.random.default_rng(len(sizes))
    table = rng.integers(0, 50, size=sizes)
    whole = np.array([[1]])
    for size in sizes:
        whole = np.kron(whole, helmert(size).reshape(size - 1, size))
    expected = whole @ table.ravel()
    found = residuals.contrasts(np.asarray(table, dtype=object))
    assert found.ravel().tolist() == expected.tolist()
    squares = residuals.contrast_squares(sizes)
    assert squares == np.sum(whole**2, axis=1).tolist()
    back = residuals.residual_of(np.asarray(expected, dtype=float).reshape(found.shape))
    assert back == pytest.approx(reconstruction.centred(table.astype(float)))
    for cell in np.ndindex(*sizes):
        response = residuals.contrast_response(sizes, cell).ravel()
        at = int(np.ravel_multi_index(cell, sizes)) if sizes else 0
        assert response == pytest.approx(whole[:, at] / np.array(squares, dtype=float))


def test_contrasts_of_any_size_are_exact():
    huge = np.array([10**40, 1, -(10**39)], dtype=object)
    assert residuals.contrasts(huge).tolist() == [10**40 - 1, 10**40 + 1 + 2 * 10**39]


@pytest.mark.parametrize("sizes", [(2, 3), (4,), (3, 2, 2)], ids=str)
def test_the_reach_is_exact_and_attained(sizes):
    """Σ of squares that one person changes, in exact arithmetic, cell by cell."""
    scales = residuals.contrast_scales(sizes, 0.37)
    bound = residuals.squared_reach(sizes, scales)
    for cell in np.ndindex(*sizes):
        table = np.zeros(sizes, dtype=object)
        table[cell] = 1
        moved = residuals.contrasts(table).ravel()
        length = sum(
            Fraction(int(z)) ** 2 / Fraction(s) ** 2 for z, s in zip(moved, scales, strict=True)
        )
        assert length <= bound
        assert float(length) == pytest.approx(float(bound), rel=1e-12)
    assert float(bound) == pytest.approx(0.37 * columns.residual_share(sizes, range(len(sizes))))


# What one person changes


def counted(made, listed):
    """The exact answers of a plan of counts, counted by hand."""
    found = []
    for block in made.blocks:
        cells = dict.fromkeys(block.cells, 0)
        for row in listed:
            if any(row[key.column] not in key.values for key in block.marginal.within):
                outside = ("outside",) * (len(block.group_by) + 1)
                if outside in cells:
                    cells[outside] += 1
                continue
            labels = ((block.marginal.labels(key), _place(key, row)) for key in block.group_by)
            cells[tuple(each[at] for each, at in labels)] += 1
        found.append({cell: (count,) for cell, count in cells.items()})
    return exact_answers(made, found)


def _place(key, row):
    """Of a declared key its own, else that of the hidden one, which is the last."""
    return key.values.index(row[key.column]) if row[key.column] in key.values else -1


def check_lengths(made, before, after):
    """The squared length between two vectors that noise is added to, exactly; on the lattice of the
    law they are no farther apart than it is judged for either."""
    law, drawn = made.laws[0], made.draws[0].entries
    bound, pitch = law.changes.squared_length(len(drawn)), law.noise.sampler().pitch
    squared = sum(((after[i] - before[i]) ** 2 for i in drawn), Fraction(0))
    assert squared <= bound
    half = Fraction(1, 2)
    moved = [
        math.floor(after[i] / pitch + half) - math.floor(before[i] / pitch + half) for i in drawn
    ]
    judged = rounded_changes(law.changes, len(drawn), 1.0, pitch).squared_length
    assert sum(one**2 for one in moved) * pitch**2 <= judged
    return squared


@pytest.mark.usefixtures("only_residuals")
@pytest.mark.parametrize("complete", [(), ("a", "b", "c", "d"), ("b",)], ids=["hidden", "all", "b"])
def test_every_neighbour(complete):
    """Brute force over all rows that a person may have: whoever comes or goes moves the vector that
    noise is added to by no more than the length that the law is judged for."""
    made = mechanism(plan(COLUMNS, complete=complete))
    assert made.layout == "residuals"
    law, drawn = made.laws[0], made.draws[0]
    assert isinstance(law.changes, Euclidean)
    assert (law.uses, len(made.laws)) == (1, 1)
    assert law.noise.dimension == len(drawn.entries) == len(made.entries)
    units = [one.sensitivity * Fraction(made.scale_of[i]) for i, one in enumerate(made.entries)]

    def vector(listed):
        return [value / unit for value, unit in zip(counted(made, listed), units, strict=True)]

    base = rows(3, 6)
    before = vector(base)
    every = itertools.product(*([*values, "other"] for values in COLUMNS.values()))
    lengths = [
        check_lengths(made, before, vector([*base, dict(zip(COLUMNS, one, strict=True))]))
        for one in every
    ]
    lengths += [check_lengths(made, before, vector(base[:i] + base[i + 1 :])) for i in range(6)]
    # Everybody in the table moves it by the same length, which is attained.
    bound = float(law.changes.squared_length(1))
    assert max(map(float, lengths)) == pytest.approx(bound, rel=1e-12)
    assert min(lengths) > 0


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_the_squares_of_several_answers_add_up(answers):
    """Of a table of 2 × 3 cells, whoever moves every answer of one by its sensitivity moves the
    contrasts by the length of the layout, and never by more: in exact arithmetic."""
    each = (Answer("rows"), Answer("present"), Answer("persons"))[:answers]
    keys = (Key("a", ("x", "y")), Key("c", ("1", "2", "3")))
    about = MeasuredMarginal(0)
    like = ((1,) * answers, (1.0,) * answers, (None,) * answers, 1)
    for taus in ((0.3, 0.2, 0.7, 0.11), (1.0, 3.0, 0.1, 1e-3), (5.0, 1e-9, 2.0, 1 / 3)):
        measured = [
            Block(part, each, *like, marginal=about, precision=tau)
            for part, tau in zip(((), keys[:1], keys[1:], keys), taus, strict=True)
        ]
        layout = residual_layout(measured)
        bound = layout.specs[0].changes.squared_length(1)
        assert layout.specs[0].batch == 6 * answers
        for cell in itertools.product(range(2), range(3)):
            table = np.zeros((2, 3), dtype=object)
            table[cell] = 1
            sums = (table.sum(), table.sum(axis=1), table.sum(axis=0), table)
            moved = [residuals.contrasts(np.asarray(one, dtype=object)).ravel() for one in sums]
            length = sum(
                Fraction(int(moved[entry.block][entry.group])) ** 2 / Fraction(entry.scale) ** 2
                for entry in layout.entries
            )
            assert length <= bound
            assert float(bound) == pytest.approx(max(1.0, float(length)), rel=1e-12)


@pytest.mark.long
@pytest.mark.usefixtures("only_residuals")
def test_neighbours_of_means_as_an_engine_counts_them():
    pytest.importorskip("ibis")
    wanted = plan(COLUMNS, complete=("b",), kind="mean", numbers_of=PAY)
    made = mechanism(wanted)
    assert made.layout == "residuals"
    base = rows(3, 6)
    before, _ = scaled(wanted, made, base)
    for more in rows(9, 12):
        after, _ = scaled(wanted, made, [*base, more])
        check_lengths(made, before, after)


def test_where_residuals_are_not_for_a_plan():
    """Persons who are replaced, hierarchies, and what is not one table."""
    state = {"s": {"values": ["1", "2"], "complete": True}}
    nested = {"values": [["a", "b"], ["c", "d"]], "within": state, "complete": True}
    levels = ({}, state, {"district": nested})
    plans = [
        Plan("p", None, "replace", plan(FEW).statistics, 1.0, 1e-6, one_row_per_person=True),
        Plan(
            "p", None, "add/remove",
            tuple(Statistic("count", name=str(i), group_by=by) for i, by in enumerate(levels)),
            1.0, 1e-6, one_row_per_person=True,
        ),
    ]  # fmt: skip
    for wanted in plans:
        made = mechanism(wanted)
        assert made.tables
        assert made.layout != "residuals"


# Errors


@pytest.fixture(scope="module")
def simulated():
    """Releases of noise alone: the rows of a few, and the numbers of 5,000."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(margin_search, "_worth_a_design", lambda found: [])
        wanted = plan(COLUMNS, complete=("a",))
        made = mechanism(wanted)
    rng = np.random.default_rng(5)
    law, dimension = made.laws[0].noise, made.laws[0].noise.dimension
    assert isinstance(law, BallNoise)
    # The sphere law: a direction, and a radius of the law Gamma(d, b).
    normal = rng.standard_normal((5_000, dimension))
    radius = law.scale * rng.standard_gamma(dimension, size=5_000)
    drawn = radius[:, None] * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    units = np.array([made.scale_of[i] for i in made.draws[0].entries])
    found = [estimate.rows(wanted, made, list(one * units)) for one in drawn[:20]]
    places = [group[0] for _, used in estimate.entries_of(wanted, made) for group in used]
    matrix = np.zeros((dimension, len(places)))
    for column, place in enumerate(places):
        for entry, weight in numbers(made).entry_weights({place: 1.0}).items():
            matrix[entry, column] = weight
    return wanted, made, found, drawn @ matrix, places


def test_intervals_hold_and_stds_are_right(simulated):
    _, made, found, values, places = simulated
    assert len(made.entries) == len(made.draws[0].entries)  # no checks here
    kept = [[row.value for row in one[: len(places)]] for one in found]
    assert np.array(kept) == pytest.approx(values[:20], abs=1e-8)
    widths = np.array([row.half_width for row in found[0][: len(places)]])
    stds = np.array([row.noise_std for row in found[0][: len(places)]])
    held = (np.abs(values) <= widths).mean(axis=0)
    assert 0.94 < held.min() <= held.max() < 0.96
    assert values.std(axis=0) == pytest.approx(stds, rel=0.04)


@pytest.mark.parametrize(
    "form",
    [
        {("a", "a = x"): 1.0, ("a", "a = y"): -1.0},
        {("c", "c = 1"): 1.0, ("c", "c = 2"): 1.0},
        {("a", "a = x"): 1.0, ("a × c", "a = x, c = 3"): -2.0, ("b × d", "b = x, d = y"): 3.0},
    ],
)
def test_sums_and_differences(simulated, form):
    wanted, made, found, values, places = simulated
    together = combined(wanted, made, found[0], form)
    named = [(row.statistic, row.group) for row in found[0][: len(places)]]
    moved = sum(f * values[:, named.index(k)] for k, f in form.items())
    assert np.std(moved) == pytest.approx(together.noise_std, rel=0.04)
    assert 0.94 < np.mean(np.abs(moved) <= together.half_width) < 0.96
    # The exact law of any form is that of one answer, as long as the form.
    law = made.laws[0].noise
    expected = together.noise_std / law.std * law.interval(0.95)
    assert together.half_width == pytest.approx(expected, rel=2e-3)


def test_covariances_and_sums(simulated):
    _, made, found, values, places = simulated
    of_tables, law = numbers(made), made.laws[0].noise
    stds = [of_tables.std(place) for place in places]
    correlations = np.corrcoef(values.T)
    for i, j in [(0, 1), (0, 2), (0, len(places) - 1), (5, 12)]:
        expected = of_tables.covariance(places[i], places[j]) / (stds[i] * stds[j])
        assert correlations[i, j] == pytest.approx(expected, abs=0.05)
    assert of_tables.covariance(places[0], places[0]) == pytest.approx(stds[0] ** 2)
    (again,) = of_tables.trials(places[:1], 10_000)
    assert np.std(again) == pytest.approx(stds[0], rel=0.03)
    shares = of_tables.shares(places[0])
    assert sum(s.count * s.weight**2 for s in shares) * law.variance == pytest.approx(stds[0] ** 2)
    for one in found:
        known = {(row.statistic, row.group): row.value for row in one}
        total = known["a", "a = x"] + known["a", "a = y"]
        parts = [known["b", f"b = {key}"] for key in "xy"]
        assert math.fsum(parts) + known["rows with other keys", "b"] == total


def test_the_closed_form_is_dense_least_squares():
    """Contrasts with noise of variance 1 in their scales, solved as one dense problem."""
    sizes, published = (2, 3, 2), [(0,), (1,), (0, 1), (1, 2)]
    wanted = residuals.Wanted(sizes, dict.fromkeys(published, 1.0))
    noise = residuals.residual_noise(wanted)
    measured = residuals.ResidualMeasurement(sizes, noise.precisions)
    rng = np.random.default_rng(2)
    rows_of, sides, noisy = [], [], {}
    for part, precision in noise.precisions.items():
        own = [sizes[j] for j in part]
        scales = np.array(residuals.contrast_scales(own, precision))
        drawn = rng.standard_normal(len(scales)) * 3.0
        noisy[part] = drawn.reshape([n - 1 for n in own])
        each = []
        for cell in np.ndindex(*sizes):
            unit = np.zeros(sizes, dtype=object)
            unit[cell] = 1
            beyond = tuple(j for j in range(3) if j not in part)
            each.append(residuals.contrasts(np.asarray(unit.sum(axis=beyond))).astype(float))
        rows_of += list((np.array(each).reshape(12, -1) / scales).T)
        sides += list(drawn / scales)
    matrix, right = np.array(rows_of), np.array(sides)
    solved = np.linalg.lstsq(matrix, right, rcond=None)[0].reshape(sizes)
    inverse = np.linalg.pinv(matrix.T @ matrix)
    for one, values in measured.reconstructed(noisy, published).items():
        beyond = tuple(j for j in range(3) if j not in one)
        assert values == pytest.approx(solved.sum(axis=beyond), abs=1e-9)
        first = np.zeros(sizes)
        first[tuple(0 if j in one else slice(None) for j in range(3))] = 1.0
        exact = first.ravel() @ inverse @ first.ravel()
        assert reconstruction.variance(measured, one) == pytest.approx(exact)
    # Not below zero: the dense problem with that bound.
    found = measured.residuals(noisy, published)
    kept = integers.fitted_residuals(measured, found, non_negative=True)
    _, cost = optimize.nnls(matrix, right)
    assert kept.min() >= 0.0
    assert np.linalg.norm(matrix @ kept.ravel() - right) == pytest.approx(cost, abs=1e-5)
    free = integers.fitted_residuals(measured, found, non_negative=False)
    assert np.linalg.norm(matrix @ free.ravel() - right) == pytest.approx(0.0, abs=1e-9)


def test_a_column_of_one_key_has_no_residual():
    measured = residuals.ResidualMeasurement((1, 2), {(): 1.0, (1,): 2.0})
    assert measured.precision((0, 1)) == math.inf
    assert reconstruction.variance(measured, (0, 1)) == pytest.approx(1 / 4 + 0.5 / 2)
    same = ((0, 1), (0, 0))
    assert reconstruction.covariance(measured, same, same) == pytest.approx(1 / 2**2 + 0.5 / 2)
    values = measured.reconstructed({(): np.array(8.0), (1,): np.array([2.0])}, [(0, 1)])
    assert values[0, 1].tolist() == [[5.0, 3.0]]


# The whole way


@pytest.fixture(scope="module")
def ten_columns():
    keys = {f"q{i}": ["n", "y"] for i in range(10)}
    wanted = plan(keys, complete=tuple(keys))
    return wanted, mechanism(wanted)


def test_ten_columns_of_two_keys(ten_columns):
    """The recipe: 12.04 of a sphere on 56 residuals, where no set of marginals is below 13.9. The
    number of rows outside of the table is the 57th answer."""
    wanted, made = ten_columns
    assert made.layout == "residuals"
    assert made.laws[0].noise.dimension == 57
    counts = [one for one in outlook(wanted, made) if one.kind == "count"]
    mean = math.sqrt(np.mean([one.noise_std**2 for one in counts]))
    assert mean == pytest.approx(12.04, rel=2e-3)
    assert all(one.noise_std < one.separate_std for one in counts)
    *others, last = made.tried
    assert min(one.designed for one in others) == pytest.approx(13.91, rel=1e-3)
    assert last.designed == pytest.approx(mean)
    assert last.measured[0][:2] == ("residual of total", "residual of q0")
    assert made.epsilon <= 1.0
    spend = made.spends[0]
    judged = PrivacyLoss.of(spend.noise, spend.sensitivity, spend.changes)
    assert judged.epsilon(1e-6) <= 1.0


def test_a_release_with_a_ledger(ten_columns, tmp_path):
    pytest.importorskip("ibis")
    pa = pytest.importorskip("pyarrow")
    from leastnoise.releases.release import release

    wanted, made = ten_columns
    rng = random.Random(8)
    names = [f"q{i}" for i in range(10)]
    listed = [{c: rng.choice(["n", "y", "y"]) for c in names} for _ in range(500)]
    table = pa.table({c: [row[c] for row in listed] for c in names})
    with Ledger(tmp_path / "a.ledger") as ledger:
        ledger.open_dataset("r", epsilon=1.0, delta=1e-6)
        done = release(
            wanted, table=table, prepared=made, ledger=ledger,
            entropy=InsecureSeededEntropy(3), not_private=True, last=True,
        )  # fmt: skip
        (drawn, *_) = ledger.entries("r")[0].draws
        assert drawn.changes == made.laws[0].changes
        assert ledger.dataset("r").spent == pytest.approx(made.epsilon, rel=1e-3)
        assert ledger.check(every_entry=True).ok
    errors, widths = [], []
    for row in done.rows:
        if row.check is None:
            truth = sum(all(one[c] == key for c, key in row.keys) for one in listed)
            errors.append(row.number - truth)
            widths.append(row.half_width)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(12.0, rel=0.25)
    assert np.mean(np.abs(errors) <= widths) > 0.85
    (told,) = done.as_dict()["law"]["tables"]
    assert told["residuals"] is True
    assert len(told["measured"]) == 56
    assert len(told["put_together"]) == 55
    assert "one joint draw" in done.as_dict()["law"]["layout_in_words"]
    assert done.to_html().count("what each of these adds to the smaller ones") == 1


@pytest.mark.usefixtures("only_residuals")
def test_without_noise_every_count_is_what_its_definition_says():
    pytest.importorskip("ibis")
    wanted = plan(COLUMNS, (0, 1, 2), complete=("a",))
    made = mechanism(wanted)
    assert made.layout == "residuals"
    listed = rows(4, 80)
    values, published = scaled(wanted, made, listed)
    units = [Fraction(made.scale_of[i]) for i in range(len(values))]
    assert [v * u for v, u in zip(values, units, strict=True)] == counted(made, listed)
    kept = [one for one in listed if one["a"] in COLUMNS["a"]]
    for row in published:
        if row.check is None:
            truth = sum(all(one[c] == key for c, key in row.keys) for one in kept)
            assert row.number == pytest.approx(truth, abs=1e-6)
    known = {(row.statistic, row.group): row.number for row in published}
    assert known["rows with other keys", "a"] == pytest.approx(len(listed) - len(kept))


@pytest.mark.usefixtures("only_residuals")
@pytest.mark.parametrize("postprocess", [("non-negative", "integer"), ("non-negative",)])
def test_post_processing_keeps_sums(postprocess):
    pytest.importorskip("ibis")
    from leastnoise.releases.release import release

    wanted = plan(COLUMNS, (0, 1, 2), complete=("a",), postprocess=postprocess)
    made = mechanism(wanted)
    source = InsecureSeededEntropy(1)
    table = arrow(rows(4, 80))
    done = release(wanted, table=table, prepared=made, entropy=source, not_private=True)
    known = {(row.statistic, row.group): row.number for row in done.rows}
    assert min(known.values()) >= 0
    if "integer" in postprocess:
        assert all(float(value).is_integer() for value in known.values())
    assert known["a", "a = x"] + known["a", "a = y"] == known["total", ""]
    parts = [known["d", f"d = {key}"] for key in "xy"]
    assert math.fsum(parts) + known["rows with other keys", "d"] == known["total", ""]


@pytest.mark.long
@pytest.mark.usefixtures("only_residuals")
def test_means_of_residuals():
    """Two answers in one draw: the noise that the ± of a mean is computed from."""
    keys = {"a": COLUMNS["a"], "b": COLUMNS["b"], "d": COLUMNS["d"], "e": ["x", "y"]}
    wanted = plan(keys, complete=tuple(keys), kind="mean", numbers_of=PAY)
    made = mechanism(wanted)
    assert made.layout == "residuals"
    of_tables = numbers(made)
    used = next(iter(estimate.entries_of(wanted, made)))[1][0]
    moved = of_tables.trials(used, 10_000)
    for place, noise in zip(used, moved, strict=True):
        assert np.std(noise) == pytest.approx(of_tables.std(place), rel=0.03)
    assert abs(np.corrcoef(moved)[0, 1]) < 0.05
    assert of_tables.covariance(*used) == 0.0
