"""The audit of every privacy number: its oracles against slower ones, its judgement of a wrong
number, and a short run of it."""

from __future__ import annotations

import importlib.util
import itertools
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy.signal import fftconvolve

pytest.importorskip(
    "flint", reason="python-flint is not installed: pip install 'leastnoise[oracles]'"
)

import benchmarks.audit as audit
from benchmarks.audit import cut_cubes, oracles, spheres, theirs
from benchmarks.audit.oracles import Pair, Sphere, exact
from benchmarks.audit.tally import BeyondTheOracleError, Book, Row, least_epsilon
from flint import arb, ctx

from leastnoise import LatticeNoise, PrivacyLoss
from leastnoise.accountant.privacy_loss import Bounds
from reference import enumerated_pairs

ROOT = Path(__file__).resolve().parents[1]
ROWS = [
    "steps and hostile pairs of floats",
    "one release: delta, one answer",
    "one release: delta, joint laws",
    "one release: delta, closed forms",
    "one release: delta, sphere",
    "one release: delta, cut cube",
    "one release: Renyi divergences",
    "composed: epsilon, two losses",
    "composed: delta, all of these",
    "composed: epsilon, laws that end",
    "composed: epsilon, small tables",
    "composed: epsilon, Gaussian",
    "composed: epsilon, Laplace",
    "composed: epsilon, different laws",
    "composed: epsilon, joint laws",
    "composed: epsilon, sphere",
    "designed laws",
    "integer weights",
    "laws drawn without end",
    "conversions",
    "ledger: charges and filter",
]
ADAPTERS = {"adapter: dp_accounting": "dp_accounting", "adapter: OpenDP": "opendp"}


@pytest.fixture(autouse=True)
def many_bits():
    before, ctx.prec = ctx.prec, oracles.BITS
    yield
    ctx.prec = before


@pytest.mark.portable
def test_no_privacy_number_is_on_the_wrong_side():
    book = audit.audit(cases=150, seed=7)
    assert not audit.violations(book), audit.violations(book)[0]
    expected = ROWS + [row for row, module in ADAPTERS.items() if _is_there(module)]
    assert {row for row in expected if book[row].ours.checks == 0} == set()
    checks, undecided = (
        sum(getattr(row.ours, name) for row in book.rows.values())
        for name in ("checks", "undecided")
    )
    assert checks > 800
    assert undecided < 0.01 * checks
    text = audit.table(book)
    assert all(row in text for row in expected)


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def test_a_number_that_is_too_small_is_found_and_can_be_repeated(monkeypatch, capsys):
    judged = PrivacyLoss.delta_bounds

    def too_small(self, epsilon):
        found = judged(self, epsilon)
        return Bounds(found.lower, found.upper * (1 - 1e-11))

    monkeypatch.setattr(PrivacyLoss, "delta_bounds", too_small)
    with pytest.raises(SystemExit) as ended:
        audit.main(["--cases", "3", "--kind", "line_profiles", "--seed", "7"])
    assert ended.value.code == 1
    shown = capsys.readouterr().out
    assert "VIOLATION PrivacyLoss(((lattice_loss(LatticeNoise(" in shown
    again = shown.split("again")[1].split("\n")[0].split()[3:]
    with pytest.raises(SystemExit):
        audit.main(again[1:])
    assert "VIOLATION" in capsys.readouterr().out
    monkeypatch.undo()
    audit.main(["--cases", "3", "--kind", "line_profiles", "--seed", "7", "--worst"])
    assert "VIOLATION" not in capsys.readouterr().out


def test_options_are_handed_to_the_audit_alone():
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "benchmarks", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (
        "only `python -m benchmarks against`, `python -m benchmarks audit`, "
        in run("sphere", "--cases", "3").stderr
    )
    assert "--case needs --kind" in run("audit", "--case", "3").stderr
    done = run("audit", "--kind", "conversions", "--cases", "5")
    assert done.returncode == 0
    assert "conversions" in done.stdout


def test_an_error_that_is_not_ours_and_a_lower_bound_above_the_truth_are_violations():
    row = Row("some")
    assert row.ask(lambda: math.log(-1.0), "log(-1)") is None
    row.lower(1.0, exact(1) - exact(2.0**-80), "one")
    row.upper(1.0, exact(1) + exact(2.0**-80), "one")
    row.epsilon(1.0, 0.1, lambda _: exact(0.2), "epsilon")
    row.epsilon_lower(1.0, 0.1, lambda _: exact(0.05), "epsilon")
    row.holds(False, "false")
    assert len(row.ours.violations) == row.ours.checks == 6
    row.upper(1.0, exact(1) - exact(2.0**-80), "one")
    assert len(row.ours.violations) == 6
    assert row.ours.excess(1.0) == pytest.approx(2.0**-80)
    assert Book()["new"].ours.checks == 0


@pytest.mark.parametrize(
    "truth",
    [arb("nan"), arb("+inf"), arb(0.5, 1.0), arb(0.5, math.inf)],
    ids=["nan", "inf", "wide", "endless"],
)
def test_what_the_exact_number_does_not_decide_is_no_check(truth):
    """NaN passed as a check: a tenth of the δ of compositions and an eighth of the ε of Laplace
    noise had not been looked at."""
    row = Row("some")
    row.upper(0.5, truth, "upper")
    row.upper(math.inf, arb("nan"), "upper")
    row.lower(0.5, truth, "lower")
    row.epsilon(1.0, 0.5, lambda _: truth, "epsilon")
    row.epsilon(math.inf, 0.5, lambda _: truth, "epsilon")
    row.epsilon_lower(1.0, 0.5, lambda _: truth, "epsilon")
    row.upper(0.5, truth, "upper", of=row.theirs)
    assert (row.ours.checks, row.ours.undecided, row.theirs.checks, row.theirs.undecided) == (
        0,
        6,
        0,
        1,
    )
    assert not row.ours.violations
    assert row.ours.unanswered == 0
    book = Book()
    book.rows["some"] = row
    assert audit.table(book).splitlines()[-1].split("|")[1].split() == ["0", "0", "6", "0"]


def test_what_is_decided():
    row = Row("some")
    row.upper(0.5, arb(0.4, 0.05), "wide, and still below")
    row.upper(0.1, exact(0.1), "the same number")
    row.upper(0.1, exact(0.1) + arb(0, 2.0**-90), "the same as far as floats go")
    row.upper(math.inf, exact(0.1), "no answer")
    assert (row.ours.checks, row.ours.undecided, row.ours.unanswered, len(row.ours.violations)) == (
        4,
        0,
        1,
        0,
    )
    row.lower(0.0, exact(0.1), "always true, and no check")
    row.epsilon_lower(0.0, 0.1, lambda _: exact(0.1), "always true, and no check")
    assert (row.ours.checks, row.ours.undecided) == (4, 0)
    for judged in (
        lambda: row.upper(math.nan, arb("nan"), "NaN"),
        lambda: row.lower(math.nan, arb("nan"), "NaN"),
    ):
        before = len(row.ours.violations)
        judged()
        assert len(row.ours.violations) == before + 1


def test_least_epsilon_is_found_from_above():
    for start in (1.0, 1.0 + 1e-7, 1.3, 40.0):
        assert least_epsilon(lambda e: 1 - exact(e) * exact(0.5), 0.5, start) == pytest.approx(
            1.0, abs=0.011 * (start - 1) + 1e-9
        )
    assert least_epsilon(lambda e: exact(0.1), 0.5, 2.0) == 0.0


# --- the oracles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [(1,), (3,), (1, 2), (2, 2), (0, 1), (1, 1, 2), (0, 0, 2)])
def test_shared_points_are_those_that_are_listed(shift):
    listed = enumerated_pairs(shift, 5)
    for i, j in itertools.product(range(6), repeat=2):
        assert oracles.shared_points(shift, i, j) == listed.get((i, j), 0)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("ratio", [None, 0.25])
def test_cells_hold_all_mass_of_both_laws_and_profiles_are_sums_over_points(dimension, ratio):
    law = LatticeNoise.from_weights([5.0, 3.0, 4.0], ratio, domain="integer", dimension=dimension)
    shift = (2, 1, 0)[:dimension]
    cells = oracles.ExactLaw.of(law).cells(shift)
    assert (
        sum((cell.p for cell in cells), exact(0)).contains(1)
        or abs(float(sum(cell.p for cell in cells)) - 1) < 1e-60
    )
    pair = Pair.of(cells)
    exact_law = oracles.ExactLaw.of(law)
    reach = 3 if ratio is None else 22
    total = 0.0
    for x in itertools.product(range(-reach, reach + 1), repeat=dimension):
        p, q = (
            exact_law.height(max(map(abs, point)))
            for point in (x, [a - v for a, v in zip(x, shift, strict=True)])
        )
        total += max(float(p - exact(0.3).exp() * q), 0.0)
    assert float(pair.delta(0.3)) == pytest.approx(total, abs=1e-9)


def test_compositions_agree_with_each_other():
    law = LatticeNoise.from_weights([1.0], 0.8, domain="integer")
    pair = oracles.pairs_of(law, 1)[0]
    low, high = pair.cells
    for n, epsilon in ((1, 0.1), (7, 0.5), (7, 1.2), (40, 3.0)):
        whole = oracles.composed([(pair, n)]).delta(epsilon)
        for other in (
            oracles.binomial_delta(low, high, pair.infinite, n, epsilon),
            oracles.LatticeLoss.of(pair, -exact(0.8).log()).composed(n).delta(epsilon),
            oracles.after(pair, n - 1, pair.delta, epsilon) if n > 1 else whole,
        ):
            assert float(other) == pytest.approx(float(whole), rel=1e-14)
    ends = oracles.pairs_of(LatticeNoise.from_weights([3.0, 1.0], None, domain="integer"), 1)[0]
    five = oracles.composed([(ends, 5)])
    low, high = ends.cells
    assert float(oracles.binomial_delta(low, high, ends.infinite, 5, 1.0)) == pytest.approx(
        float(five.delta(1.0)), rel=1e-14
    )
    assert float(five.delta(50.0)) == pytest.approx(1 - 0.8**5, rel=1e-14)


def test_laplace_compositions_are_convolutions():
    ratio, epsilon = 1.3, 0.7

    def one(e):
        return (
            -mp.expm1((e - ratio) / 2)
            if -ratio <= e < ratio
            else max(-mp.expm1(e), 0)
            if e < ratio
            else mp.mpf(0)
        )

    density = mp.quad(
        lambda x: mp.exp((x - ratio) / 2) / 4 * one(epsilon - x), [-ratio, epsilon - ratio, ratio]
    )
    twice = one(epsilon - ratio) / 2 + one(epsilon + ratio) * mp.exp(-ratio) / 2 + density
    assert float(oracles.laplace_delta(ratio, 2, epsilon)) == pytest.approx(float(twice), rel=1e-12)
    assert float(oracles.laplace_delta(ratio, 1, epsilon)) == pytest.approx(
        float(one(epsilon)), rel=1e-14
    )


@pytest.mark.parametrize("scale", [1.0, 0.8, 3.0, 116.77])
@pytest.mark.parametrize(
    ("releases", "share"),
    [(1, 0.0), (3, 0.0), (3, 1.0), (3, -1.0), (4, 0.0), (4, 0.37), (3, 3.0), (3, 4.0)],
)
def test_laplace_compositions_at_their_knots(scale, releases, share):
    """ε at a whole number of losses is a knot of the spline: NaN where sensitivity/scale is no
    binary fraction.

    Against the law of one loss on 4001 points, convolved: the trapezium rule.
    """
    ratio = 1 / exact(scale)
    found = oracles.laplace_delta(ratio, releases, share * ratio)
    assert found.is_finite()
    assert found.rad() < 1e-60
    size, half = 1.0 / scale, 2000
    middle = size * np.arange(-half, half + 1) / half
    density = 0.25 * np.exp(0.5 * (middle - size)) * (size / half)
    density[[0, -1]] *= 0.5
    density[0] += 0.5 * math.exp(-size)
    density[-1] += 0.5
    law = np.array([1.0])
    for _ in range(releases):
        law = fftconvolve(law, density)
    loss = size * (np.arange(law.size) - releases * half) / half
    direct = float(law @ np.maximum(-np.expm1(np.minimum(share * size - loss, 0.0)), 0.0))
    assert float(found) == pytest.approx(direct, rel=1e-5, abs=1e-12)
    assert found.contains(0) == (share >= releases)


def test_a_probability_of_some_release_next_to_nothing_and_next_to_one():
    """The power of 1 − p was NaN where the enclosure of p held 1, and had no digits where p was
    below 2^−320."""
    tiny, nearly = exact(1e-300), 1 - exact(2.0**-400)
    assert float(oracles.ever(tiny, 3) / tiny) == pytest.approx(3.0, rel=1e-15)
    assert oracles.ever(nearly, 3).contains(1)
    assert oracles.ever(exact(0.75), 5).contains(1 - exact(Fraction(1, 4**5)))
    apart = LatticeNoise([1.0, 2e-200], None, domain="integer")
    whole = oracles.composed([(oracles.pairs_of(apart, 2)[-1], 2)])
    assert whole.delta(0.0).is_finite()
    assert whole.delta(0.0) > 1 - exact(2.0**-200)


@pytest.mark.parametrize(
    ("d", "distance", "epsilon"), [(2, 1.4, 0.5), (3, 0.8, 0.0), (5, 3.0, 1.9)]
)
def test_the_sphere_from_the_density_of_its_noise(d, distance, epsilon):
    """δ = ∫ (1 − e^(ε−ℓ))_+ over the radius, which is Gamma(d), and the cosine t of the angle:
    nothing but the noise itself."""

    nodes, weights = np.polynomial.legendre.leggauss(400)

    def given(r):
        last = (distance**2 - 2 * r * epsilon - epsilon**2) / (2 * r * distance)
        first = np.arccos(np.clip(last, -1, 1))
        half = (np.pi - first) / 2
        angle = first + half * (1 + nodes[:, None])
        loss = np.sqrt(r * r + distance**2 - 2 * r * distance * np.cos(angle)) - r
        gain = np.sin(angle) ** (d - 2) * -np.expm1(np.minimum(epsilon - loss, 0))
        return r ** (d - 1) * np.exp(-r) * half * (weights @ gain)

    ends = [0, (distance - epsilon) / 2, distance, 4, 12, 60]
    direct = sum(
        (b - a) / 2 * (weights @ given(a + (b - a) / 2 * (1 + nodes)))
        for a, b in itertools.pairwise(ends)
    )
    direct /= math.gamma(d) * float(mp.quad(lambda angle: mp.sin(angle) ** (d - 2), [0, mp.pi]))
    assert float(Sphere(d, exact(distance)).delta(epsilon)) == pytest.approx(direct, rel=1e-9)


# C and ε = λ at δ = 1e-6 of the cut cube with σ = 8, known to six digits
@pytest.mark.parametrize(("d", "square", "epsilon"), [(40, 15.25942, 2.933672)])
def test_the_cut_cube_by_inversion(d, square, epsilon):
    """Against simulation, with every w_i tilted towards where δ comes from."""
    exactly = float(cut_cubes.between(d, square, epsilon, epsilon))
    assert exactly == pytest.approx(1e-6, rel=1e-4)
    generator, count = np.random.default_rng(5), 40_000
    t1, t2 = cut_cubes._tilt(
        d, square, square - (d - square) * epsilon / (2 * d), d / (2 * epsilon)
    )
    grid = np.linspace(-1.0, 1.0, 20_001)
    masses = np.cumsum(np.exp(t1 * grid + t2 * grid**2))
    w = np.interp(generator.uniform(size=(count, d)), masses / masses[-1], grid)
    log_weight = d * math.log(np.mean(np.exp(t1 * grid + t2 * grid**2)))
    log_weight = log_weight - np.sum(t1 * w + t2 * w**2, axis=1)
    rho = generator.gamma(d + 1.0, size=count)
    moved = rho[:, None] * w + epsilon
    out = np.linalg.norm(moved, axis=1) / math.sqrt(square) > rho + epsilon
    kept = np.where(out & (np.sum(w**2, axis=1) <= square), np.exp(log_weight), 0.0)
    value = kept / cut_cubes._share(d, square)
    assert abs(np.mean(value) - exactly) < 4.0 * np.std(value) / math.sqrt(count)
    assert np.std(value) / math.sqrt(count) < 0.1 * exactly
    with pytest.raises(BeyondTheOracleError):
        cut_cubes.between(d, square, epsilon, 0.9 * epsilon)


def test_compositions_of_the_sphere_agree():
    law = Sphere(9, exact(1.2))
    one = spheres._Density(9, 1.2, float(law.ratio), float(law.total))
    assert one.many(2, 0.9) == pytest.approx(one.twice(0.9), rel=1e-11)
    assert float(law.renyi(3.0)) == pytest.approx(
        math.log(float(one.mass @ np.exp(2 * one.loss))) / 2, rel=1e-12
    )


def test_dp_accounting_is_given_the_same_loss():
    if not theirs.is_there():
        pytest.skip("dp-accounting is not installed")
    pair = oracles.pairs_of(LatticeNoise.from_weights([3.0, 2.0, 1.0], 0.5, domain="integer"), 1)[0]
    made = theirs.composed([(theirs.distribution(pair), 3)])
    assert made.get_delta_for_epsilon(0.8) == pytest.approx(
        float(oracles.composed([(pair, 3)]).delta(0.8)), rel=1e-3
    )
