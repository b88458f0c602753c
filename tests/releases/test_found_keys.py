"""Keys that are not known beforehand: which are shown, what that costs, and that no person moves
what decides it by more than is said."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import pyarrow

from leastnoise import Ledger, release
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import DesignError, PlanError, UnsupportedError
from leastnoise.releases.data.counts import aggregate, persons_by_key
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.explanation import explained
from leastnoise.releases.noise.discovery import cut_geometric, interval_of_shown, threshold_of
from leastnoise.releases.noise.found_keys import most_of_each, with_found
from leastnoise.releases.noise.mechanism import known_mechanism, mechanism
from leastnoise.releases.noise.search import composed_epsilon
from leastnoise.releases.noise.sensitivity import DISCOVERS, is_checks
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.rehearsal import rehearsed
from leastnoise.sampling.entropy import InsecureSeededEntropy

WARD = {"ward": "discover"}
PERSONS = Statistic("persons", group_by=WARD)
ROWS = Statistic("count", group_by=WARD)
DAYS = {"column": "days", "lower": 0, "upper": 4, "pitch": 1, "missing": "drop"}
SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("ward", pyarrow.string()),
        ("sex", pyarrow.string()),
        ("days", pyarrow.int64()),
    ]
)
IDS = {"person": "id", "rows_per_person": 3, "groups_per_person": 2}


def plan_of(*statistics, epsilon=1.0, delta=1e-6, **more):
    given = {"relation": "add/remove", **more}
    return Plan("k", None, statistics=statistics, epsilon=epsilon, delta=delta, **given)


def table(rows):
    return pyarrow.Table.from_pylist(rows, schema=SCHEMA)


# The mechanism, enumerated


def outcomes(masses, size, threshold):
    """What may be published of a group of this size, with its probability; None is nothing."""
    last = len(masses) // 2
    found = {}
    for z, mass in enumerate(masses, -last):
        shown = size + z if size > 0 and size + z >= threshold else None
        found[shown] = found.get(shown, 0) + mass
    return found


def hockey_stick(pairs, epsilon):
    """δ(ε) of the independent groups (before, after), by listing all that may be published."""
    total = 0.0
    for each in itertools.product(*(sorted({*p, *q}, key=str) for p, q in pairs)):
        p = math.prod(float(one.get(value, 0)) for value, (one, _) in zip(each, pairs, strict=True))
        q = math.prod(float(one.get(value, 0)) for value, (_, one) in zip(each, pairs, strict=True))
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_the_whole_mechanism_against_the_condition(groups):
    """A person in some groups, alone in some of them and with others in the rest, comes or goes:
    everything that may be published is listed."""
    epsilon, delta = 2.0 * groups, 0.02
    noise = cut_geometric(epsilon, delta, groups)
    last, threshold = noise.last, threshold_of(noise)
    masses = noise.pmf(np.arange(-last, last + 1))
    assert threshold == last + 1
    worst = 0.0
    sizes = (0, 1, threshold - 1, threshold + last + 5)
    for others in itertools.combinations_with_replacement(sizes, groups):
        pairs = [
            (outcomes(masses, size + 1, threshold), outcomes(masses, size, threshold))
            for size in others
        ]
        both = pairs, [(q, p) for p, q in pairs]
        for way in both:
            worst = max(worst, hockey_stick(way, epsilon))
    assert worst <= delta * (1 + 1e-12)
    # The condition: where the person is alone in all groups nothing finite adds to it.
    end = float(masses[-1])
    assert worst == pytest.approx(1.0 - (1.0 - end) ** groups, rel=1e-9)
    judged = PrivacyLoss.of(noise, 1.0).compose(groups)
    assert worst <= judged.delta(epsilon) * (1 + 1e-9)
    # and no smaller largest noise would do
    shorter = noise.pmf(np.arange(last))  # of a law that ends one earlier
    mass = shorter[-1] / (2.0 * shorter.sum() - shorter[0])
    assert 1.0 - (1.0 - mass) ** groups > delta


@pytest.mark.parametrize("groups", [1, 2])
def test_the_whole_mechanism_where_a_person_is_replaced(groups):
    """Groups vanish, appear, and lose or gain one; 2g draws are paid for."""
    epsilon, delta = 4.0 * groups, 0.05
    noise = cut_geometric(epsilon, delta, 2 * groups)
    last, threshold = noise.last, threshold_of(noise)
    masses = noise.pmf(np.arange(-last, last + 1))
    sizes = (0, 1, threshold)
    worst = 0.0
    for others in itertools.product(sizes, repeat=2 * groups):
        before = [size + 1 for size in others[:groups]] + list(others[groups:])
        after = list(others[:groups]) + [size + 1 for size in others[groups:]]
        pairs = [
            (outcomes(masses, one, threshold), outcomes(masses, other, threshold))
            for one, other in zip(before, after, strict=True)
        ]
        worst = max(worst, hockey_stick(pairs, epsilon))
    assert 0.0 < worst <= delta
    assert worst <= PrivacyLoss.of(noise, 1.0).compose(2 * groups).delta(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("groups", "threshold", "std"), [(1, 15, 1.357), (2, 28, 2.799), (3, 41, 4.223)]
)
def test_thresholds_at_the_usual_budget(groups, threshold, std):
    noise = cut_geometric(1.0, 1e-6, groups)
    assert threshold_of(noise) == threshold
    assert noise.std == pytest.approx(std, abs=1e-3)


def test_the_interval_of_a_shown_number_covers_every_size():
    """Of all sizes, given that the group is shown, exactly; a plain ± does not near the
    threshold."""
    noise = cut_geometric(1.0, 1e-6, 1)
    last, threshold = noise.last, threshold_of(noise)
    masses = dict(zip(range(-last, last + 1), noise.pmf(np.arange(-last, last + 1)), strict=True))
    width, plain = noise.interval(0.95), 1.0
    for size in range(1, threshold + 3 * last):
        shown = {size + z: mass for z, mass in masses.items() if size + z >= threshold}
        covered = narrow = 0.0
        for number, mass in shown.items():
            low, high = interval_of_shown(noise, number, 0.95)
            covered += mass * (low <= size <= high)
            narrow += mass * (abs(number - size) <= width)
        assert covered / sum(shown.values()) >= 0.95 - 1e-9, size
        plain = min(plain, narrow / sum(shown.values()))
    assert plain < 0.5


# What one person moves


def dirty(rng, person):
    wards = ["A", "a", "A ", " A", "Ä", "A\u0308", "", "other", "each that is found", "\x07", "1"]
    return {
        "id": person,
        "ward": rng.choice([*wards, "1.0", "true", "~|", "|", "'; --", None]),
        "sex": rng.choice(["f", "m", "x"]),
        "days": rng.choice([None, 0, 1, 4, 9]),
    }


UNITS = {
    "rows": {"one_row_per_person": True},
    "replaced rows": {"one_row_per_person": True, "relation": "replace"},
    "persons": IDS,
    "one group": {**IDS, "groups_per_person": 1},
    "replaced persons": {**IDS, "relation": "replace"},
}


def pair(rng, unit):
    rows = [dirty(rng, rng.choice(["p", "P", "p ", None])) for _ in range(rng.choice([0, 3, 12]))]
    many = (lambda: 1) if "rows" in unit else (lambda: rng.choice([1, 2, 9]))
    one, other = ([dirty(rng, "x") for _ in range(many())] for _ in range(2))
    return [*rows, *(one if "replaced" in unit else [])], [*rows, *other]


def asked(unit):
    count = ROWS if "rows" in unit else PERSONS
    both = {**WARD, "sex": ["f", "m"]}
    return (
        count,
        Statistic("mean", **DAYS, group_by=WARD),
        Statistic("count", group_by=both, name="rows by both"),
        Statistic("distinct", column="sex", group_by=WARD),
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("pairs", [3, pytest.param(80, marks=pytest.mark.long)])
def test_no_person_moves_what_is_counted_by_more_than_its_sensitivity(unit, pairs):
    """What decides which keys are shown, over all texts; and, whatever set of keys is shown, what
    is asked beside by these."""
    plan, rng = plan_of(*asked(unit), **UNITS[unit]), random.Random(unit)
    made = mechanism(plan)
    (key,) = plan.discovering
    for _ in range(pairs):
        shown = rng.sample(["A", "a", "Ä", "other", "", "1", "~|"], rng.randrange(4))
        known, noise = with_found(plan, made, {key: sorted(shown)})
        before, after = (counted(known, noise, made, rows) for rows in pair(rng, unit))
        for block, one, other in zip(noise.blocks, before, after, strict=True):
            changed = [cell for cell in {*one, *other} if one.get(cell) != other.get(cell)]
            assert len(changed) <= block.touched if not is_checks(block) else True
            moved = 0
            for cell in changed:
                zeros = (0,) * len(block.answers)
                both = zip(one.get(cell, zeros), other.get(cell, zeros), strict=True)
                for change, most in zip((y - x for x, y in both), block.sensitivities, strict=True):
                    assert abs(change) <= most
                    moved += abs(change)
            assert moved <= block.touched if is_checks(block) else True


def counted(plan, noise, made, rows):
    """The integers of every block, of that which finds keys by all texts."""
    opened = open_table(plan, table(rows))
    try:
        return [
            {(label,): (n,) for label, n in persons_by_key(plan, opened, old).items()}
            if block.apart == DISCOVERS
            else aggregate(plan, opened, block)
            for block, old in zip(noise.blocks, made.blocks, strict=True)
        ]
    finally:
        opened.close()


def test_draws_serve_every_answer_of_the_keys_that_are_found_once():
    plan = plan_of(*asked("persons"), **IDS)
    made = mechanism(plan)
    (key,) = plan.discovering
    for labels in ([], ["a"], ["a", "b", "other", "each that is found"]):
        known, noise = with_found(plan, made, {key: labels})
        served = sorted(i for draw in noise.draws for i in draw.entries)
        assert served == list(range(len(noise.entries)))
        assert known.hash == plan.hash
        assert noise.laws == made.laws
        # A draw has the answers of one group: groups that a person is not in are in none of theirs.
        for draw in noise.draws:
            cells = {(noise.entries[i].block, noise.entries[i].group) for i in draw.entries}
            assert len(cells) == 1
        for i, entry in enumerate(noise.entries):
            block = noise.blocks[entry.block]
            law = noise.law_of[i]
            if not is_checks(block) and not law.shifts:  # else rows are spread over its draws
                assert law.uses >= block.touched


def test_what_is_charged_is_what_is_drawn(tmp_path):
    """The ledger is charged the law that ends, for every draw that sees a person."""
    plan = plan_of(PERSONS, Statistic("count"), **IDS)
    made = mechanism(plan)
    keys = next(law for law in made.laws if law.origin == "cut geometric")
    assert keys.uses == 2
    assert made.threshold == threshold_of(keys.noise)
    assert [s.uses for s in made.spends if s.noise == keys.noise] == [2]
    assert composed_epsilon(made.laws, made.delta) == made.epsilon <= 1.0
    assert mechanism(plan_of(PERSONS, **IDS, relation="replace")).laws[0].uses == 4
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("k", epsilon=3.0, delta=1e-5, releases=2)
        done = release(plan, table=table([]), ledger=ledger, prepared=made, last=True)
        (entry,) = ledger.entries("k")
        assert entry.result_hash == done.hash
        assert ledger.check().ok


def test_a_key_of_one_person_is_shown_with_probability_delta_at_most():
    plan = plan_of(ROWS, one_row_per_person=True, delta=1e-3)
    made = mechanism(plan)
    noise = made.laws[0].noise
    last = float(noise.pmf([made.threshold - 1])[0])
    assert 0.0 < last <= 1e-3
    assert float(noise.pmf([made.threshold])[0]) == 0.0


# A release


def wards(sizes):
    names = itertools.chain(*(itertools.repeat(name, n) for name, n in sizes.items()))
    return [
        {"id": str(i), "ward": name, "sex": "fm"[i % 2], "days": i % 5}
        for i, name in enumerate(names)
    ]


SIZES = {"North": 400, "south": 300, "SOUTH": 200, "other": 90, "zäh ": 80, None: 70, "few": 3}


def released(plan, rows, seed=1):
    source = InsecureSeededEntropy(seed)
    return release(plan, table=table(rows), entropy=source, not_private=True)


def test_groups_with_enough_persons_are_shown_in_the_order_of_their_keys():
    plan = plan_of(PERSONS, Statistic("mean", **DAYS, group_by=WARD), **IDS)
    rows = wards(SIZES)
    done = released(plan, rows)
    random.Random(3).shuffle(rows)
    again = released(plan, rows)
    assert [row.as_dict() for row in again.rows] == [row.as_dict() for row in done.rows]
    shown = [row for row in done.rows if row.statistic == "persons by ward"]
    assert [row.group for row in shown][:2] == ["ward = North", "ward = SOUTH"]
    assert [row.group for row in shown] == sorted(row.group for row in shown)
    assert {row.keys for row in shown} == {row.keys for row in done.rows if row.kind == "mean"}
    for row in shown:
        assert abs(row.number - SIZES[row.keys[0][1]]) <= done.mechanism.threshold
        assert row.number >= done.mechanism.threshold
        assert row.lower <= SIZES[row.keys[0][1]] <= row.upper
    (other,) = (row for row in done.rows if row.kind == "other keys")
    hidden = sum(n for name, n in SIZES.items() if ("ward", name) not in {r.keys[0] for r in shown})
    assert abs(other.number - hidden) <= 6 * other.noise_std
    assert done.plan.hash == plan.hash
    assert f"is {done.mechanism.threshold} or more" in done.to_html()
    assert done.as_dict()["law"]["keys_shown_from"] == done.mechanism.threshold
    assert "North" in done.to_csv()
    difference = done.combine(
        {("persons by ward", "ward = North"): 1, ("persons by ward", "ward = SOUTH"): -1}
    )
    assert difference.noise_std == pytest.approx(math.sqrt(2) * shown[0].noise_std)


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("exact", {"North", "SOUTH", "other", "south", "zäh "}),
        ("trim", {"North", "SOUTH", "other", "south", "zäh"}),
        ("casefold", {"north", "south", "other", "zäh"}),
    ],
)
def test_texts_that_match_are_one_key(match, expected):
    count = Statistic("count", group_by={"ward": {"discover": True, "match": match}})
    done = released(plan_of(count, one_row_per_person=True), wards(SIZES))
    shown = {row.keys[0][1]: row.number for row in done.rows if row.kind == "count"}
    assert set(shown) == expected
    if match == "casefold":
        assert abs(shown["south"] - 500) <= 15


def test_whole_numbers_truth_values_and_texts_that_cannot_be_shown():
    rows = pyarrow.table(
        {
            "n": [7] * 60 + [-3] * 50 + [None] * 40,
            "flag": [True] * 90 + [None] * 10 + [False] * 50,
            "word": ["bell\x07"] * 75 + ["x" * 3000] * 74 + ["seen"],
        }
    )
    counts = [Statistic("count", group_by={c: "discover"}, name=c) for c in ("n", "flag", "word")]
    plan = plan_of(*counts, one_row_per_person=True, epsilon=6.0)
    done = release(plan, table=rows)
    shown = {row.group for row in done.rows if row.check is None}
    assert shown == {"n = -3", "n = 7", "flag = false", "flag = true"}
    others = {row.group: row.number for row in done.rows if row.kind == "other keys"}
    assert set(others) == {"n", "flag", "word"}


def test_a_table_without_keys_shows_none():
    plan = plan_of(ROWS, Statistic("sum", **DAYS, group_by=WARD), one_row_per_person=True)
    done = released(plan, [])
    assert {row.kind for row in done.rows} == {"other keys", "unreadable", "clipped"}
    for told in (done.to_csv(), done.to_html(), done.to_json()):
        assert "each that is found" not in told


def test_a_rehearsal_and_an_explanation():
    plan = plan_of(PERSONS, Statistic("mean", **DAYS, group_by=WARD), **IDS)
    done = rehearsed(plan)
    assert {"ward = key 1", "ward = key 2"} <= {row.group for row in done.rows}
    assert "ward = key 8" not in {row.group for row in done.rows}
    made = mechanism(plan)
    said = explained(plan, made).statistics[0]
    assert f"is {made.threshold} or more" in said.published
    assert "in at most 2 groups" in said.one_person


def test_a_cap_on_the_advantage_is_kept():
    plan = plan_of(PERSONS, Statistic("count"), **IDS, advantage=0.2)
    made = mechanism(plan)
    assert made.advantage <= 0.2
    assert made.epsilon <= 1.0
    assert mechanism(plan_of(ROWS, one_row_per_person=True, advantage=0.2)).advantage <= 0.2


def test_declarations_that_cannot_be_meant(tmp_path):
    mean = Statistic("mean", **DAYS, group_by=WARD)
    with pytest.raises(PlanError, match='kind = "persons" with the same group_by'):
        plan_of(mean, **IDS)
    with pytest.raises(PlanError, match='kind = "count" with the same group_by'):
        plan_of(mean, one_row_per_person=True)
    with pytest.raises(PlanError, match="a weight instead of sigma"):
        plan_of(Statistic("persons", group_by=WARD, sigma=3.0), **IDS)
    median = Statistic("quantile", **DAYS, at=(0.5,), group_by=WARD)
    with pytest.raises(PlanError, match="quantiles by keys that are not known"):
        plan_of(ROWS, median, one_row_per_person=True)
    with pytest.raises(PlanError, match="groups that are all known"):
        plan_of(ROWS, Statistic("count"), one_row_per_person=True, postprocess=("totals",))
    for more in ({"values": ["A"]}, {"complete": True}, {"edges": [1, 2]}):
        with pytest.raises(PlanError, match="discover"):
            Statistic("count", group_by={"ward": {"discover": True, **more}})
    with pytest.raises(PlanError, match="float64: only of text"):
        open_table(plan_of(ROWS, one_row_per_person=True), pyarrow.table({"ward": [1.5]}))
    count = Statistic("count", group_by={"ward": {"discover": True, "match": "trim"}})
    trimmed = plan_of(count, one_row_per_person=True)
    with pytest.raises(PlanError, match="match = 'trim' is for text"):
        open_table(trimmed, pyarrow.table({"ward": [1]}))
    path = tmp_path / "t.csv"
    path.write_text("ward\nA\n")
    content = {"name": "k", "epsilon": 1.0, "delta": 1e-6, "relation": "add/remove"}
    plan = plan_from(
        {
            **content,
            "one_row_per_person": True,
            "source": {"csv": str(path)},
            "statistic": [{"kind": "count", "group_by": {"ward": "discover"}}],
        }
    )
    with pytest.raises(UnsupportedError, match="sealed"):
        release(plan, sealed=True)
    assert most_of_each(plan) == 100_000


# Small counts that are not shown


def test_small_counts_are_not_shown_and_say_so():
    count = Statistic("count", group_by={"ward": ["North", "few"]}, suppress_below=50)
    plan = plan_of(count, Statistic("count", name="all"), one_row_per_person=True)
    done = released(plan, wards(SIZES))
    rows = {row.group: row for row in done.rows if row.statistic == "count by ward"}
    assert rows["ward = North"].number == pytest.approx(400, abs=30)
    small = rows["ward = few"]
    assert small.value is None
    assert small.shown() == ("below 50", "")
    told = small.as_dict()
    assert (told["value"], told["lower"], told["upper"], told["unprocessed"]) == (None,) * 4
    assert told["note"] == "below 50"
    assert "below 50" in done.to_csv()
    assert done.to_html()
    assert done.cautions is not None
    with pytest.raises(PlanError, match="too small"):
        done.combine({("count by ward", "ward = few"): 1})
    with pytest.raises(PlanError, match="cannot use suppress_below"):
        Statistic("sum", **DAYS, suppress_below=5)
    # It is no part of the noise, and plans without it keep their hash.
    plain = plan_of(
        Statistic("count", group_by={"ward": ["North", "few"]}),
        Statistic("count", name="all"),
        one_row_per_person=True,
    )
    assert mechanism(plain).laws == mechanism(plan).laws
    assert "suppress_below" not in str(plain.describe())
    assert Fraction(done.epsilon) <= 1


def test_noise_that_finds_no_keys_is_refused_before_a_row_is_read():
    """The quick noise of a first answer would leave the draws that find keys unpaid."""
    plan = plan_of(Statistic("persons", group_by=WARD), Statistic("count", group_by=WARD), **IDS)
    with pytest.raises(DesignError, match="Keys are found with noise that ends"):
        known_mechanism(plan)
    unpaid = replace(mechanism(plan), threshold=None)
    with pytest.raises(PlanError, match="finds no keys"):
        release(plan, table=pyarrow.table({"id": ["a"], "ward": ["A"]}), prepared=unpaid)
