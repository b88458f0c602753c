"""The exact law of forms in answers of one draw, beside enumeration; means and sums whose ± it
gives, and how often these hold."""

import math

import numpy as np
import pytest

from leastnoise.laws import classic
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.sphere import sphere
from leastnoise.releases.estimates import joint_forms, linear
from leastnoise.releases.estimates.estimate import entries_of, estimators, plain_noise
from leastnoise.releases.estimates.joint_forms import error_part
from leastnoise.releases.estimates.linear import exact_width
from leastnoise.releases.estimates.trials import worth
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.tables.intervals import half_width
from leastnoise.sampling import InsecureSeededEntropy, draw

PAY = {"column": "pay", "lower": 0, "upper": 10, "pitch": 1, "missing": "drop"}


def law(dimension, last=6):
    weights = np.exp(-0.3 * np.arange(last + 1.0))
    return LatticeNoise.from_weights(weights, 0.6, step=0.25, dimension=dimension)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("form", [(1.0, 0.5), (-0.3, 2.0), (1.0, 1.0)])
def test_a_form_in_two_answers_is_what_enumeration_gives(dimension, form):
    """Every cell of the lattice with its mass, and what the form is on a fine grid of points of the
    cell."""
    noise = law(dimension)
    reach = 60
    k = np.arange(-reach, reach + 1)
    if dimension == 2:
        radius = np.maximum.outer(np.abs(k), np.abs(k))
        masses = np.exp(noise.radial.log_pmf(radius))
    else:  # the third answer is summed over: as many points at each radius
        inner = np.maximum.outer(np.abs(k), np.abs(k))
        each = np.exp(noise.radial.log_pmf(np.arange(2 * reach)))
        outside = np.cumsum((2.0 * each)[::-1])[::-1]  # of radii r, r + 1, …, at ±r of the third
        masses = (2.0 * inner + 1.0) * each[inner] + outside[inner + 1]
    assert masses.sum() == pytest.approx(1.0, abs=1e-6)
    x, y = (noise.step * np.add.outer(k, (np.arange(n) + 0.5) / n - 0.5).ravel() for n in (7, 11))
    values = np.abs(form[0] * x[:, None] + form[1] * y[None, :])
    weights = np.repeat(np.repeat(masses, 7, axis=0), 11, axis=1) / 77.0
    part = error_part(noise, (*form, *(0.0,) * (dimension - 2)), 1)
    places = np.array([0.2, 0.9, 2.5, 4.0]) * noise.std
    for place in places:
        expected = float(weights[values <= place].sum())
        own = part.weight * part.law.step * (np.arange(len(part.law.masses)) + 0.5)
        twice = 2.0 * part.law.masses
        twice[0] /= 2.0
        found = float(np.interp(place, own, np.cumsum(twice)))
        assert found == pytest.approx(expected, abs=4e-3)
    variance = noise.variance * (form[0] ** 2 + form[1] ** 2)
    assert part.variance == pytest.approx(variance, rel=1e-3)


def test_forms_whose_law_is_known():
    ball = sphere(3.0, 5)
    part = error_part(ball, (1.0, 2.0, 0.0, 0.0, 2.0), 1)
    assert half_width([part], 0.95) == pytest.approx(3.0 * ball.interval(0.95), rel=3e-3)
    assert error_part(law(3), (1.0, 1.0, 1.0), 1) is None
    alone = error_part(law(2), (0.0, -2.0), 3)
    assert (alone.weight, alone.count) == (-2.0, 3)
    whole = classic.cube(3.0, 2, domain="integer")
    assert error_part(whole, (1.0, 1.0), 1) is None


def test_shells_that_are_too_many_are_tried(monkeypatch):
    monkeypatch.setattr(joint_forms, "_MOST_SHELLS", 3)
    assert error_part(law(2), (1.0, 1.0), 1) is None


def plan(kind, *groupings):
    keys = {"sex": ["f", "m"], "age": ["a", "b", "c"]}
    asked = tuple(
        Statistic(kind, name=" × ".join(one) or "all", group_by={c: keys[c] for c in one}, **PAY)
        for one in groupings
    )
    return Plan("f", None, "add/remove", asked, 1.0, 1e-6, one_row_per_person=True)


@pytest.fixture(scope="module", params=["alone", "table"])
def means(request):
    groupings = [("sex",)] if request.param == "alone" else [(), ("sex",)]
    wanted = plan("mean", *groupings)
    return wanted, mechanism(wanted)


def noise_of(made, used, count, seed):
    """The noise on the answers of one cell, drawn from the mechanism as it is."""
    from leastnoise.releases.estimates.reconstructed import numbers

    forms = []
    for place in used:
        own = {place: 1.0}
        if place >= len(made.entries):
            own = numbers(made).entry_weights(own)
        forms.append({entry: weight * worth(made, place) for entry, weight in own.items()})
    total = np.zeros((len(used), count))
    source = InsecureSeededEntropy(seed)
    for one in made.draws:
        weights = np.array([[form.get(entry, 0.0) for entry in one.entries] for form in forms])
        if weights.any():
            drawn = draw(made.laws[one.law].noise, count, entropy=source).floats()
            total += weights @ drawn.reshape(count, -1)[:, : weights.shape[1]].T
    return total


def test_the_reach_of_a_mean_is_exact_and_holds(means):
    """|e_S − m·e_n| ≤ q(m) in 95 % of 20,000 draws, for every m, from no trial."""
    wanted, made = means
    for _, groups in entries_of(wanted, made):
        used = groups[0]
        total, number = noise_of(made, used, 20_000, 4)
        for m in (0.0, 1.7, 5.0):
            width = exact_width(made, used, (worth(made, used[0]), -m * worth(made, used[1])))
            assert width is not None
            assert np.mean(np.abs(total - m * number) <= width) == pytest.approx(0.95, abs=0.006)


def test_intervals_of_means_hold(means):
    """Over 2,000 releases of groups of several sizes, with true means from the middle to the bound:
    the interval of a mean holds it in 95 % of them or more."""
    wanted, made = means
    _, ratios = estimators(made)
    for statistic, groups in entries_of(wanted, made):
        used = groups[0]
        e_s, e_n = noise_of(made, used, 2_000, 9)
        few = 5.0 * float(np.std(e_n))
        for n, m in ((few, 0.0), (few, 4.9), (20.0 * few, 3.0)):
            held = told = 0
            for s, one in zip(n * m + e_s[:400], n + e_n[:400], strict=True):
                found = ratios.estimate(statistic, used, [s, one])
                if found is not None:
                    told += 1
                    held += found.lower - 1e-9 <= 5.0 + m <= found.upper + 1e-9
            assert told > 300
            assert held / told > 0.92


def test_sums_of_a_joint_draw():
    wanted = plan("sum", (), ("sex",))
    made = mechanism(wanted)
    trials, _ = estimators(made)
    for statistic, groups in entries_of(wanted, made):
        used = groups[0]
        std, width = plain_noise(statistic, used, made, trials)
        noise = noise_of(made, used, 20_000, 2)
        moved = noise[0] + (5.0 * noise[1] if len(used) > 1 else 0.0)
        assert np.std(moved) == pytest.approx(std, rel=0.03)
        assert np.mean(np.abs(moved) <= width) == pytest.approx(0.95, abs=0.007)


@pytest.mark.parametrize("cap", [None, 0.12], ids=["a hidden count", "a cap"])
def test_the_noise_of_a_sum_beside_correlated_counts(cap):
    """Counts of one draw are correlated with each other, a centred sum with none of them."""
    counts = [Statistic("count", name=f"v {i}", where=f"v >= {i}") for i in range(3)]
    asked = (Statistic("sum", column="z", lower=0, upper=2, pitch=1, missing=1), *counts)
    rows = Statistic("count", name="rows")
    wanted = Plan(
        "s", None, "add/remove", (*asked, rows), 1.0, 1e-6, one_row_per_person=True, advantage=cap
    )
    made = mechanism(wanted)
    drawn = made.laws[0].noise
    both = drawn.variance_of([0.0, 1.0, 1.0, *(0.0,) * (drawn.dimension - 3)])
    apart = drawn.stds[1] ** 2 + drawn.stds[2] ** 2
    assert both > 1.2 * apart or cap is not None
    trials, _ = estimators(made)
    ((statistic, (used,)), *_) = entries_of(wanted, made)
    assert len(used) == 2
    std, width = plain_noise(statistic, used, made, trials)
    form = dict(zip(used, (worth(made, used[0]), worth(made, used[1])), strict=True))
    assert std == pytest.approx(linear.noise_of(made, form)[0], rel=1e-9)
    total, number = noise_of(made, used, 20_000, 3)
    assert np.std(total + number) == pytest.approx(std, rel=0.03)
    assert np.mean(np.abs(total + number) <= width) == pytest.approx(0.95, abs=0.012)


def test_what_is_of_two_tables_or_of_none_is_tried(means):
    wanted, made = means
    used = next(iter(entries_of(wanted, made)))[1][0]
    assert exact_width(made, [0, 10**6], (1.0, 1.0)) is None
    assert math.isfinite(exact_width(made, used, (1.0, 0.0)) or math.nan)
