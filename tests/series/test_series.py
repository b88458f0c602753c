"""A series in use: answers, sensitivities, the ledger, plans."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

from leastnoise import (
    Box,
    BudgetExceededError,
    InvalidParameterError,
    Ledger,
    LedgerError,
    OneSided,
    Plan,
    PlanError,
    PrivacyLoss,
    SeriesError,
    Statistic,
    UnsupportedError,
    design,
    open_series,
)
from leastnoise.errors import at_least
from leastnoise.lattice.steps import PLACES, shift_in_steps
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.sampling import InsecureSeededEntropy
from leastnoise.series import plans
from leastnoise.series.law import check_convex, series_law

DELTA = 1e-6
UNIT = {"relation": "add/remove", "person": "one row a person"}
ROWS = pyarrow.table(
    {"sex": ["m", "f", "f", "m", "f"], "age": [30.0, 41.5, 52.25, 60.0, 18.0], "x": [1] * 5}
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "analyst.series"


def seeded(path, **options):
    """A series whose noise is known, and not private."""
    options = {"questions": 4, "epsilon": 1.0, "delta": DELTA, **options}
    return open_series(path, **options, entropy=InsecureSeededEntropy(5), not_private=True)


def plan(*statistics, **options):
    given = {"one_row_per_person": True, **options}
    return Plan("clinic", None, "add/remove", statistics, 0.1, 1e-9, **given)


# The law


@pytest.mark.parametrize("questions", [1, 2, 7])
def test_the_law_is_that_of_a_batch_and_costs_what_it_says(questions):
    law, cost = series_law(questions, DELTA, epsilon=1.0)
    assert law.noise.dimension * law.uses >= questions
    assert cost == PrivacyLoss.of(law.noise).compose(law.uses).epsilon(DELTA) <= 1.0
    best = design(delta=DELTA, epsilon=1.0, batch=questions)
    assert law.noise.std == pytest.approx(best.sigma, rel=2e-4)


def test_a_law_of_a_stated_deviation(path):
    series = open_series(path, questions=3, sigma=8.0, delta=DELTA)
    assert series.noise.std == pytest.approx(8.0, rel=1e-9)
    assert series.epsilon == pytest.approx(0.3227, abs=1e-4)


def test_many_questions_get_what_the_designer_decides():
    law, cost = series_law(80, DELTA, sigma=8.0)
    assert law.noise.dimension * law.uses >= 80
    assert cost <= design(delta=DELTA, sigma=8.0, batch=80).epsilon * (1.0 + 1e-5)


def test_a_joint_law_that_rises_is_refused_and_one_for_one_answer_is_not():
    comb = LatticeNoise.from_weights([1.0, 0.1, 1.0], None, domain="integer", dimension=2)
    assert not comb.has_convex_levels
    with pytest.raises(UnsupportedError, match="convex"):
        check_convex(comb)
    check_convex(LatticeNoise.from_weights([1.0, 0.1, 1.0], None, domain="integer"))


# Answers


def test_an_answer_is_the_value_on_the_lattice_plus_the_next_number(path):
    series = seeded(path)
    sampler = series.noise.sampler()
    kept = sampler.integers((1,), InsecureSeededEntropy(5)).reshape(-1)
    questions = [(1203, 1.0), (0.125, 0.5), (Decimal("-3.3"), 7), (Fraction(1, 3), Fraction(1, 7))]
    for number, (value, scale) in zip(kept.tolist(), questions, strict=True):
        told = series.answer(value, scale)
        size = Fraction(at_least("sensitivity", scale))
        place = math.floor(Fraction(value) / (sampler.pitch * size) + Fraction(1, 2))
        units = int(sampler.pitch / sampler.unit)
        assert told.value == pytest.approx(float((place * units + number) * sampler.unit * size))
        assert told.std == series.noise.std * float(size)
        assert told.half_width == pytest.approx(series.noise.interval(0.95) * float(size))
    assert series.remaining == 0


def test_a_sensitivity_is_never_rounded_down(path):
    """One third is no floating-point number: the noise is scaled with the next one above."""
    series = seeded(path)
    told = series.answer(0, Fraction(1, 3))
    assert Fraction(told.std) / Fraction(series.noise.std) >= Fraction(1, 3)


def test_an_interval_holds_where_a_float_cannot(path):
    """A float near 10^18 is 128 from the next; beyond all of them nothing is known."""
    series = seeded(path, domain="integer")
    exact = 10**18 + 64
    told = series.answer(exact, 1)
    assert abs(Fraction(told.value) - exact) <= Fraction(told.half_width)
    assert series.answer(10**400, 1).half_width == math.inf
    small = series.answer(12, 1)
    assert small.half_width == series.noise.interval(0.95)


@pytest.mark.parametrize(
    "scale",
    [1, 7, 0.1, 0.3, 5e-324, 1e-310, 1e300, Fraction(1, 3), Decimal("0.7"), np.float32(0.1)],
    ids=repr,
)
@pytest.mark.parametrize("domain", ["real", "integer"])
def test_no_person_moves_a_place_by_more_than_was_judged(path, monkeypatch, scale, domain):
    """Values as far apart as is said, exactly, wherever they lie between the places."""
    series = seeded(path, domain=domain)
    law, places = series.noise, []
    judged = shift_in_steps(1.0, law.step) * (PLACES if domain == "real" else 1)
    monkeypatch.setattr(series, "_taken", lambda count: [(0, 0)] * count)
    monkeypatch.setattr(series, "_exact", lambda place, *_: places.append(place) or Fraction(0))
    size = Fraction(1 if domain == "integer" else at_least("sensitivity", scale))
    pitch = series.noise.sampler().pitch * size
    for start in (0, pitch / 2, -pitch / 2, 1000 * pitch / 3, Fraction(1, 7), 10**20 * size):
        for moved in (size, -size):
            series.answer([start, start + moved], 1 if domain == "integer" else scale)
    found = {abs(one - other) for one, other in zip(places[::2], places[1::2], strict=True)}
    assert max(found) == judged


def test_several_at_once_take_as_many(path):
    series = seeded(path)
    told = series.answer([1, 2, 3], sensitivity=[1.0, 2.0, 0.5])
    assert [one.number for one in told] == [1, 2, 3]
    assert [one.std / series.noise.std for one in told] == [1.0, 2.0, 0.5]
    assert series.used == 3
    assert series.answer(np.array([4.0]), 1.0)[0].number == 4


def test_what_is_not_private_says_so(path):
    series = seeded(path)
    assert "INSECURE" in series.answer(0, 1.0).entropy
    again = open_series(path)
    assert all("INSECURE" in text for text in (again.entropy, repr(again), again._repr_html_()))


@pytest.mark.parametrize(
    ("value", "sensitivity"),
    [
        (math.nan, 1.0),
        (math.inf, 1.0),
        ("12", 1.0),
        (True, 1.0),
        (None, 1.0),
        (1.0, 0.0),
        (1.0, -1.0),
        (1.0, math.nan),
        ([1.0, 2.0], [1.0]),
        ([], 1.0),
        (1.0, Fraction(1.7976931348623157e308) + 1),
        ([[1.0]], 1.0),
        ([1.0, math.nan], 1.0),
    ],
)
def test_what_cannot_be_answered_costs_nothing(path, value, sensitivity):
    series = seeded(path)
    with pytest.raises(InvalidParameterError) as refused:
        series.answer(value, sensitivity)
    assert "nan" not in str(refused.value) or sensitivity != 1.0
    assert series.remaining == 4


def test_more_than_are_left_are_refused_and_none_is_used(path):
    series = seeded(path)
    series.answer([1, 2, 3], 1.0)
    with pytest.raises(SeriesError, match="1 of its 4 answers left, and 2"):
        series.answer([1, 2], 1.0)
    assert series.remaining == 1


def test_whole_numbers_stay_whole(path):
    series = seeded(path, domain="integer")
    assert series.answer(12, 1).value.is_integer()
    with pytest.raises(InvalidParameterError, match="to be 1"):
        series.answer(12, 2)
    assert series.used == 1


def test_it_goes_on_where_it_was_left(path):
    first = seeded(path).answer(0, 1.0)
    again = open_series(path)
    assert again.remaining == 3
    assert again.answer(0, 1.0).number == first.number + 1
    with again:
        pass
    assert again.remaining == 2


@pytest.mark.parametrize(
    "options",
    [
        {"questions": 0},
        {"questions": 2.5},
        {"questions": 20_000},
        {"epsilon": None},
        {"sigma": 8.0},
        {"delta": None},
        {"delta": 2.0},
        {"domain": "whole"},
        {"dataset": "clinic"},
        {"dataset": "clinic", "ledger": "budget.ledger"},
        {"relation": "\x00"},
    ],
)
def test_bad_options_leave_no_file(path, options):
    with pytest.raises(InvalidParameterError):
        open_series(path, **{"questions": 4, "epsilon": 1.0, "delta": DELTA, **options})
    assert not list(path.parent.iterdir())


def test_options_of_a_new_one_are_refused_for_an_old_one(path):
    seeded(path)
    with pytest.raises(InvalidParameterError, match="questions="):
        open_series(path, epsilon=1.0)
    with pytest.raises(SeriesError, match="is there already"):
        seeded(path)


# The ledger


def test_the_ledger_is_charged_once_and_counts(path, tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=2.0, delta=DELTA)
        options = {"delta": None, "ledger": ledger, "dataset": "clinic", **UNIT}
        series = seeded(path, **options)
        assert series.delta == ledger.entries()[0].draws[0].uses * ledger.delta_share("clinic")
        spent = ledger.dataset("clinic").spent
        assert 0.0 < spent <= 1.0 + 1e-9
        series.answer([1, 2], 1.0)
        assert [entry.answered for entry in ledger.entries()] == [2]
        assert ledger.dataset("clinic").spent == spent
        series.close()
        series.close()
        assert [entry.answered for entry in ledger.entries()] == [4]
        assert ledger.dataset("clinic").spent == spent
        assert ledger.check().ok
        assert "4 answers used" in ledger.show()


@pytest.mark.skipif(os.name != "posix", reason="locks as on POSIX systems")
def test_nobody_takes_a_number_while_the_ledger_is_asked(path, tmp_path, monkeypatch):
    """A number taken in between would make the file look like an old copy."""
    import fcntl

    with Ledger(tmp_path / "ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=4.0, delta=1e-5)
        seeded(path, ledger=ledger, dataset="clinic")
        asked = Ledger.series_entry

        def locked(self, *given, **told):
            with open(path, "rb") as other, pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return asked(self, *given, **told)

        monkeypatch.setattr(Ledger, "series_entry", locked)
        assert open_series(path, ledger=ledger).remaining == 4


@pytest.mark.parametrize("error", [KeyboardInterrupt, LedgerError])
def test_what_was_charged_stays_whatever_comes_after(path, tmp_path, monkeypatch, error):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=2.0, delta=DELTA)
        with monkeypatch.context() as patch:

            def interrupted(*_, **__):
                raise error("now")

            patch.setattr(Ledger, "counting_series", interrupted)
            with pytest.raises(error):
                seeded(path, delta=1e-9, ledger=ledger, dataset="clinic")
        assert len(ledger.entries()) == 1
        assert open_series(path, ledger=ledger).answer(1, 1.0).number == 1
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "spend", interrupted)
            with pytest.raises(error):
                seeded(path.with_name("other"), delta=1e-9, ledger=ledger, dataset="clinic")
        assert not path.with_name("other").exists()


def test_a_series_that_is_too_dear_is_refused_before_it_is_drawn(path, tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=0.5, delta=DELTA)
        with pytest.raises(BudgetExceededError):
            seeded(path, delta=1e-9, ledger=ledger, dataset="clinic")
        with pytest.raises(LedgerError):
            seeded(path, delta=1e-9, ledger=ledger, dataset="others")
        assert not ledger.entries()
    assert not path.exists()


def test_several_series_and_releases_share_a_budget(tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=3.0, delta=DELTA)
        options = {"questions": 3, "epsilon": 0.5, "ledger": ledger, "dataset": "clinic", **UNIT}
        one = seeded(tmp_path / "one", delta=1e-9, **options)
        other = seeded(tmp_path / "other", delta=1e-9, **options)
        told = [one.answer(1, 1.0), other.answer(1, 1.0), one.answer(1, 1.0)]
        assert [answer.number for answer in told] == [1, 1, 2]
        assert [entry.answered for entry in ledger.entries()] == [2, 1]
        assert 0.99 <= ledger.dataset("clinic").simple_sum <= 1.0
        assert ledger.check(every_entry=True).ok


def test_it_answers_with_its_ledger_alone(path, tmp_path):
    with Ledger(tmp_path / "one.ledger") as ledger, Ledger(tmp_path / "other.ledger") as other:
        ledger.open_dataset("clinic", epsilon=2.0, delta=DELTA)
        seeded(path, delta=1e-9, ledger=ledger, dataset="clinic")
        alone = open_series(path)
        with pytest.raises(SeriesError, match="to answer, open it with that ledger"):
            alone.answer(1, 1.0)
        with pytest.raises(LedgerError, match="never charged to this ledger"):
            open_series(path, ledger=other)
        assert open_series(path, ledger=ledger).answer(1, 1.0).number == 1
    plain = path.with_name("plain")
    seeded(plain)
    with (
        Ledger(tmp_path / "one.ledger") as ledger,
        pytest.raises(SeriesError, match="opened without a ledger"),
    ):
        open_series(plain, ledger=ledger)


# Plans


def test_a_plan_is_answered_with_the_next_numbers(path):
    asked = plan(
        Statistic("count"),
        Statistic("count", name="by sex", group_by={"sex": ["m", "f"]}),
        Statistic("sum", column="age", lower=0.0, upper=100.0, pitch=0.5, missing="drop"),
    )
    assert plans.needed(asked) == 4
    series = seeded(path, questions=20, **UNIT)
    kept = series.noise.sampler().integers((1,), InsecureSeededEntropy(5)).reshape(-1).tolist()
    done = series.release(asked, table=ROWS)
    assert series.used == 4
    assert (done.epsilon, done.delta) == (series.epsilon, series.delta)
    unit = float(series.noise.sampler().unit)
    # the answers without groups come first; a sum moves by 100
    exact = [(5, 1, kept[0]), (2, 1, kept[2]), (3, 1, kept[3]), (202.0, 100, kept[1])]
    for row, (value, scale, number) in zip(done.rows, exact, strict=True):
        assert row.value == pytest.approx(value + scale * number * unit, abs=1e-3 * scale)
    assert (
        "of a series together, of which this release asks 4"
        in done.as_dict()["guarantee"]["covers"]
    )


def test_the_checks_are_asked_where_they_are_wanted(path):
    asked = plan(Statistic("count", group_by={"sex": ["m", "f"]}))
    series = seeded(path, **UNIT)
    assert plans.needed(asked, checks=True) == plans.needed(asked) + 1
    done = series.release(asked, table=ROWS, checks=True)
    assert [row.kind for row in done.rows] == ["count", "count", "other keys"]
    assert series.remaining == 1


def test_what_does_not_fit_is_refused_at_no_cost(path, tmp_path):
    series = seeded(path, **UNIT)
    many = plan(Statistic("count", group_by={"sex": ["m", "f", "x", "y", "z"]}))
    with pytest.raises(SeriesError, match="needs 5 answers, and 4"):
        series.release(many, table=ROWS)
    weighted = plan(
        Statistic("count"), Statistic("count", name="again", weight=2.0, group_by={"sex": ["m"]})
    )
    with pytest.raises(PlanError, match="weight"):
        series.release(weighted, table=ROWS)
    others = Plan(
        "clinic",
        None,
        "replace",
        (Statistic("count", group_by={"sex": ["m"]}),),
        1.0,
        1e-9,
        one_row_per_person=True,
    )
    with pytest.raises(PlanError, match="relation='replace'"):
        series.release(others, table=ROWS)
    missing = plan(Statistic("count", group_by={"ward": ["A"]}))
    with pytest.raises(PlanError):
        series.release(missing, table=ROWS)
    whole = seeded(tmp_path / "whole", domain="integer", **UNIT)
    sums = plan(Statistic("sum", column="age", lower=0.0, upper=100.0, pitch=0.5, missing="drop"))
    with pytest.raises(PlanError, match="whole numbers"):
        whole.release(sums, table=ROWS)
    assert series.remaining == whole.remaining == 4


def test_counts_that_are_to_add_up_ask_for_the_rows_of_other_keys_too(path):
    asked = plan(
        Statistic("count"),
        Statistic("count", name="by sex", group_by={"sex": ["m", "f"]}),
        postprocess=("totals",),
    )
    series = seeded(path, **UNIT)
    assert series.needed(asked) == plans.needed(asked) == 4
    done = series.release(asked, table=ROWS)
    assert series.remaining == 0
    assert [row.kind for row in done.rows] == ["count", "count", "count", "other keys"]


def test_a_release_names_the_entry_that_paid(path, tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=2.0, delta=DELTA)
        series = seeded(path, delta=1e-9, ledger=ledger, dataset="clinic", **UNIT)
        told = series.release(plan(Statistic("count")), table=ROWS).as_dict()
        assert told["ledger_entry"] == series.entry == ledger.entries()[0].id
        assert told["ledger"]["spent"] == ledger.dataset("clinic").spent


def test_it_protects_whom_a_plan_protects(path):
    asked = plan(Statistic("count"), person_is="a patient")
    series = seeded(path, plan=asked)
    assert vars(series.unit) == {**UNIT, "person_is": "a patient"}
    assert series.release(asked, table=ROWS).rows[0].statistic == "count"
    with pytest.raises(InvalidParameterError, match="the plan says it"):
        seeded(path.with_name("other"), plan=asked, **UNIT)


def test_a_plan_of_another_data_set_is_refused(path, tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("others", epsilon=2.0, delta=DELTA)
        series = seeded(path, delta=1e-9, ledger=ledger, dataset="others", **UNIT)
        with pytest.raises(PlanError, match="of 'clinic', and the series of 'others'"):
            series.release(plan(Statistic("count")), table=ROWS)
        assert series.remaining == 4


# Questions that all move one way


def test_a_series_of_counts_is_kept_charged_and_gone_on_with(path, tmp_path):
    with Ledger(tmp_path / "a.ledger") as book:
        book.open_dataset("clinic", epsilon=3.0, delta=1e-5)
        options = {"questions": 3, "sigma": 8.0, "delta": DELTA, "changes": OneSided()}
        series = open_series(path, **options, ledger=book, dataset="clinic")
        assert series.changes == OneSided()
        assert series.unit.relation == "add/remove"
        (charged,) = book.entries()[-1].draws
        assert charged.changes == OneSided()
        assert abs(series.answer(1203, 1.0).value - 1203) < 200
        again = open_series(path, ledger=book)
        assert (again.changes, again.remaining) == (OneSided(), 2)
        assert again.noise == series.noise
        assert "all up or all down" in again._repr_html_()
        with pytest.raises(LedgerError):  # the relation of the data set is settled
            open_series(
                tmp_path / "b.series",
                **{**options, "changes": None},
                ledger=book,
                dataset="clinic",
                relation="replace",
            )


def test_one_sided_questions_are_for_persons_who_come_or_go(path):
    options = {"questions": 3, "sigma": 8.0, "delta": DELTA, "changes": OneSided()}
    with pytest.raises(InvalidParameterError, match="replaced"):
        open_series(path, **options, relation="replace")
    with pytest.raises(InvalidParameterError, match="new series"):
        open_series(path, changes=OneSided())
    plain = open_series(path, **{**options, "changes": None})
    assert plain.changes == Box()
    assert plain.unit.relation == ""


def test_a_plan_of_counts_alone_is_answered_by_a_series_of_counts(path):
    counted = (Statistic("sum", column="x", lower=0, upper=5, pitch=1, missing=0),)
    signed = (Statistic("sum", column="x", lower=-5, upper=5, pitch=1, missing=0),)
    two = [
        Plan("c", None, "add/remove", each, 1.0, 1e-6, one_row_per_person=True)
        for each in (counted, signed)
    ]
    options = {"questions": 4, "sigma": 8.0, "delta": DELTA, "changes": OneSided()}
    series = open_series(path, **options, plan=two[0])
    done = series.release(two[0], table=pyarrow.table({"x": [1, 2, 3, 4]}))
    assert done.mechanism.laws[0].changes == OneSided()
    with pytest.raises(PlanError, match="can only raise"):
        series.release(two[1], table=pyarrow.table({"x": [1, 2, 3, 4]}))
