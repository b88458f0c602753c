"""The exact law of forms in answers of one draw, beside enumeration; means and sums whose ± it
gives, and how often these hold."""

import itertools
import math

import numpy as np
import pytest

from leastnoise.errors import UnsupportedError
from leastnoise.lattice import waves
from leastnoise.lattice.bodies import capped_forms
from leastnoise.lattice.bodies.count import CountBody
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.lattice.bodies.touched import TouchedBody
from leastnoise.laws import classic
from leastnoise.laws.bent_sphere import bent_sphere
from leastnoise.laws.correlated import CorrelatedNoise
from leastnoise.laws.cut_cube import cut_cube
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.norm import NormNoise
from leastnoise.laws.part_of_sphere import part_of_sphere
from leastnoise.laws.sphere import BallNoise, sphere
from leastnoise.releases.estimates import linear
from leastnoise.releases.estimates.estimate import entries_of, estimators, plain_noise
from leastnoise.releases.estimates.joint_forms import error_part
from leastnoise.releases.estimates.linear import exact_width
from leastnoise.releases.estimates.trials import worth
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import Statistic
from leastnoise.releases.tables.intervals import half_width
from leastnoise.sampling import InsecureSeededEntropy, draw
from reference_norms import probabilities

PAY = {"column": "pay", "lower": 0, "upper": 10, "pitch": 1, "missing": "drop"}


def law(dimension, last=6):
    weights = np.exp(-0.3 * np.arange(last + 1.0))
    return LatticeNoise.from_weights(weights, 0.6, step=0.25, dimension=dimension)


def enumerated(noise):
    """Every point of a law of a lattice that ends, and its probability."""
    if isinstance(noise, NormNoise):
        listed = probabilities(noise)
        return np.array(list(listed)), np.array(list(listed.values()))
    each = range(-noise.last, noise.last + 1)
    points = np.array(list(itertools.product(each, repeat=noise.dimension)))
    return points, noise.pmf(np.abs(points).max(axis=1))


def by_enumeration(noise, form, t):
    """E cos(t·form); on the real line with a place in the bin of each answer."""
    points, masses = enumerated(noise)
    found = np.cos(np.outer(t, noise.step * points @ form)) @ masses
    if noise.domain == "real":
        found *= np.prod(np.sinc(np.outer(t, form) * noise.step / (2.0 * np.pi)), axis=1)
    return found


FALLS = -np.array([0.0, 0.5, 0.6, 1.4, 2.0])
BODIES = [
    RangeBody(3),
    RangeBody(4),
    *(made(3, k) for made in (TouchedBody, CountBody) for k in (1, 2, 3)),
    *(made(4, 2) for made in (TouchedBody, CountBody)),
]
FORMS = [
    (1.0, -1.0, 2.0, 1.0),
    (0.31, -1.7, 0.55, 0.9),
    (1.0, -0.7, 0.0, 0.0),
    (1.0, 1.0, 1.0, 0.0),
]
PLACES = np.linspace(0.0, 9.0, 37)


@pytest.mark.parametrize("form", FORMS, ids=["whole", "any", "two", "a sum"])
@pytest.mark.parametrize("domain", ["integer", "real"])
def test_forms_in_several_answers_are_what_enumeration_gives(form, domain):
    """Cubes, the hidden count, the range, touched answers and counted ones, to 1e-9."""
    step = 1.0 if domain == "integer" else 0.5
    made = [NormNoise.from_log_weights(body, FALLS, step=step, domain=domain) for body in BODIES]
    for d in (2, 3, 4):
        weights = np.exp(FALLS)
        made.append(LatticeNoise.from_weights(weights, None, step=step, domain=domain, dimension=d))
    for noise in made:
        own = np.array(form[: noise.dimension])
        expected = by_enumeration(noise, own, PLACES)
        assert np.abs(noise.characteristic(own, PLACES) - expected).max() < 1e-9
    if domain == "real":
        base = made[-1]
        for ties in (None, (0.5, -0.25, 1.0)):
            own = np.array(form[:3])
            common = float(np.sum(own * (1.0 if ties is None else np.array(ties))))
            expected = by_enumeration(base, 0.5 * np.append(own, common), PLACES)
            found = LiftedNoise(base, ties).characteristic(own, PLACES)
            assert np.abs(found - expected).max() < 1e-9


def cell_masses(density, last):
    """The probabilities of the whole numbers −last … last of two rounded answers, by Gauss's rule
    in each cell; in that of 0, where a density may have a cusp, in triangles about it."""
    x, w = np.polynomial.legendre.leggauss(24)
    both = 0.25 * np.outer(w, w)
    k = np.arange(-last, last + 1)
    found = np.array(
        [
            [np.sum(both * density((i + 0.5 * x)[:, None], (j + 0.5 * x)[None, :])) for j in k]
            for i in k
        ]
    )
    r, s = 0.25 * (x + 1.0)[:, None], 0.5 * (x + 1.0)[None, :]
    weights = 0.125 * np.outer(w, w) * r
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    found[last, last] = sum(
        np.sum(weights * (density(a * r, b * r * s) + density(a * r * s, b * r))) for a, b in signs
    )
    return k, found


def test_forms_in_rounded_answers_are_what_integration_gives():
    """The sphere and correlated normal noise in whole numbers, to 1e-9."""
    mixing = np.eye(2) + 0.3
    inverse = np.linalg.inv(1.69 * mixing @ mixing.T)
    height = math.sqrt(np.linalg.det(inverse)) / (2.0 * math.pi)

    def normal(x, y):
        square = inverse[0, 0] * x * x + 2.0 * inverse[0, 1] * x * y + inverse[1, 1] * y * y
        return height * np.exp(-0.5 * square)

    def ball(x, y):
        return np.exp(-np.hypot(x, y) / 1.1) / (2.0 * math.pi * 1.21)

    cases = [
        (BallNoise(1.1, 2, 1.0, "integer"), ball, 30),
        (CorrelatedNoise("gaussian", 1.3, 0.3, 2, 1.0, "integer"), normal, 16),
    ]
    for noise, density, last in cases:
        k, masses = cell_masses(density, last)
        assert masses.sum() == pytest.approx(1.0, abs=1e-9)
        for form in ((1.0, 1.0), (1.0, -0.37)):
            values = form[0] * k[:, None] + form[1] * k[None, :]
            expected = [float(np.sum(masses * np.cos(t * values))) for t in PLACES]
            assert np.abs(noise.characteristic(form, PLACES) - expected).max() < 1e-9


def test_forms_in_correlated_noise_of_the_real_line():
    """c·MZ is one answer of Z, times the length of Mᵀc; and so is any form in a sphere."""
    noise = CorrelatedNoise("sphere", 1.3, 0.3, 3, shares=(1.0, 0.5, -0.25))
    c = np.array([1.0, -2.0, 0.5])
    law, length = noise.as_one_answer(c)
    assert (length * law.std) ** 2 == pytest.approx(float(c @ noise.covariance @ c), rel=1e-12)
    for spherical in (sphere(3.0, 3), bent_sphere(3.0, 3, 4), part_of_sphere(3.0, 3, of=5)):
        law, length = spherical.as_one_answer(c)
        assert law == spherical
        assert length == pytest.approx(np.linalg.norm(c), rel=1e-15)


@pytest.mark.parametrize("noise", [law(3), NormNoise.from_log_weights(CountBody(4, 2), FALLS)])
def test_the_half_width_of_a_form_is_its_quantile(noise):
    """Of whole numbers with whole coefficients to the number; else never less, and within half a
    per cent."""
    d = noise.dimension
    ends = isinstance(noise, NormNoise)
    form = np.array([1.0, -1.0, 2.0] + [0.0] * (d - 3))
    width = half_width([error_part(noise, tuple(form), 1)], 0.95)
    if ends:
        points, masses = enumerated(noise)
        sizes = np.abs(points @ form)
        listed = np.unique(sizes)
        within = [masses[sizes <= size + 1e-9].sum() for size in listed]
        assert width == pytest.approx(listed[np.searchsorted(within, 0.95 - 1e-12)], abs=1e-9)
        return
    drawn = draw(noise, 40_000, entropy=InsecureSeededEntropy(1)).floats() @ form
    assert np.mean(np.abs(drawn) <= width) == pytest.approx(0.95, abs=0.005)


def test_forms_whose_law_is_known():
    ball = sphere(3.0, 5)
    part = error_part(ball, (1.0, 2.0, 0.0, 0.0, 2.0), 1)
    assert half_width([part], 0.95) == pytest.approx(3.0 * ball.interval(0.95), rel=3e-3)
    alone = error_part(law(2), (0.0, -2.0), 3)
    assert (alone.weight, alone.count) == (2.0, 3)


def test_many_shells_are_put_together(monkeypatch):
    noise = classic.cube(9.0, 3)
    exact = noise.characteristic((1.0, 0.4, -2.0), PLACES / 9.0)
    monkeypatch.setattr(waves, "_MOST", 200)
    rough = noise.characteristic((1.0, 0.4, -2.0), PLACES / 9.0)
    assert 0.0 < np.abs(rough - exact).max() < 1e-3


def test_what_takes_too_long_is_tried(monkeypatch):
    monkeypatch.setattr(capped_forms, "_MOST_AT_A_PLACE", 3)
    noise = NormNoise.from_log_weights(TouchedBody(4, 2), FALLS)
    with pytest.raises(UnsupportedError, match="takes too long"):
        noise.characteristic((1.0, 0.31, -2.117, 0.0), PLACES)
    with pytest.raises(UnsupportedError, match="several answers"):
        cut_cube(22.0, 40).characteristic((1.0,) * 40, PLACES)


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
