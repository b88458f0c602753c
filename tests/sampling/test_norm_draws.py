"""Draws of integer norms: exactly uniform on every shell, by following every way a draw can go, and
against the law by χ², which finds samplers that are wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

import reference_norms as reference
from leastnoise import UnsupportedError, exact
from leastnoise.laws.exponential import count_law, range_law, touched_law
from leastnoise.laws.norm import NormNoise, body_of
from leastnoise.sampling import InsecureSeededEntropy, capped_points, draw, release
from leastnoise.sampling.norm import NormSampler, norm_tables
from leastnoise.sampling.range_points import RangeTable, _chances

REJECTED, ACCEPTED = 1e-12, 1e-6
WORD = 1 << 64
STAIRS, ASK = [0.0, -0.5, -1.0, -1.2], {"delta": 1e-6}


class Scripted:
    """Entropy that gives the listed words, then zeros."""

    stamp = "scripted"

    def __init__(self, words=()):
        self.words = list(words)

    def take(self, count):
        given = self.words[: count // 8] + [0] * (count // 8 - len(self.words))
        self.words = self.words[count // 8 :]
        return b"".join(word.to_bytes(8, "little") for word in given)


# --- exactly ------------------------------------------------------------------------------------


def chance(t: int, left: int, seen: int) -> Fraction:
    """The chance that the sampler gives an end, as an exact number."""
    ends, all_of = _chances(np.array([t], dtype=object), left, seen)
    return Fraction(1) if ends is None else Fraction(int(ends[0]), int(all_of[0]))


@pytest.mark.parametrize(("d", "t"), [(2, 1), (2, 4), (3, 1), (3, 3), (4, 2)])
def test_every_point_of_a_shell_of_the_range_is_as_likely(d, t):
    n = d + 1
    found = {}
    for y in product(range(t + 1), repeat=n):
        if min(y) > 0 or max(y) < t:
            continue
        probability, seen = Fraction(1), set()
        for place, entry in enumerate(y):
            is_end = entry in (0, t) and entry not in seen
            if len(seen) < 2:
                p = chance(t, n - place, len(seen))
                sizes = (2, t - 1) if not seen else (1, t)
                probability *= p / sizes[0] if is_end else (1 - p) / sizes[1]
            else:
                probability /= t + 1
            seen |= {entry} & {0, t}
        found[tuple(entry - y[0] for entry in y[1:])] = probability
    shell = [x for x, r in reference.points_within("range", d, d, t).items() if r == t]
    assert sorted(found) == sorted(shell)
    assert set(found.values()) == {Fraction(1, len(shell))}


def test_the_table_holds_these_chances():
    radii, d = [0, 1, 2, 7, 3000], 4
    table = RangeTable.of(radii, d)
    for (i, t), left, seen in product(enumerate(radii), range(1, d + 2), (0, 1)):
        p = chance(t, left, seen)
        if t > 0:
            assert int(table.last_yes[seen, d + 1 - left, i]) == min(int(WORD * p), WORD) - 1


def test_a_tie_is_decided_by_more_bits():
    """t = 2, d = 2: the first entry is an end with the chance 10/12."""
    table = RangeTable.of([2], 2)
    p = chance(2, 3, 0)
    assert p == Fraction(10, 12)
    tied = int(WORD * p)
    assert tied == int(table.last_yes[0, 0, 0]) + 1
    rest = int((WORD * p - tied) * WORD)
    for more, is_end in ((0, True), (rest - 1, True), (rest + 1, False), (WORD - 1, False)):
        assert table._decided(0, 0, 0, tied, Scripted([more])) is is_end
    # and a second tie by still more
    assert table._decided(0, 0, 0, tied, Scripted([rest, 0]))
    assert not table._decided(0, 0, 0, tied, Scripted([rest, WORD - 1]))
    # drawn as part of a point: the word after it decides whether the entry is inside
    shells = np.zeros(1, dtype=np.int32)
    ends, _, _ = table._ends(shells, Scripted([tied, 0]))
    assert bool(ends[0, 0])
    ends, _, _ = table._ends(shells, Scripted([tied, WORD - 1]))
    assert not bool(ends[0, 0])


def test_zero_is_the_only_point_of_its_shell():
    drawn = RangeTable.of([0, 3], 3).points(np.zeros(50, np.int32), InsecureSeededEntropy(1))
    assert not drawn.any()


class EveryWay:
    """`below` as an odometer: the numbers it gave are counted up until all ways were gone."""

    def __init__(self):
        self.digits, self.at = [], 0

    def below(self, bound, entropy):
        if self.at == len(self.digits):
            self.digits.append([0, bound])
        digit, known = self.digits[self.at]
        assert known == bound
        self.at += 1
        return digit

    def next_way(self):
        self.at = 0
        while self.digits and self.digits[-1][0] == self.digits[-1][1] - 1:
            self.digits.pop()
        if self.digits:
            self.digits[-1][0] += 1
        return bool(self.digits)

    @property
    def probability(self):
        one = Fraction(1)
        for _, bound in self.digits:
            one /= bound
        return one


@pytest.mark.parametrize(
    ("name", "d", "k", "t"),
    [(name, *case) for name in ("touched", "count") for case in [(2, 1, 2), (2, 1, 3), (2, 2, 2)]]
    + [("touched", 3, 2, 1), ("count", 3, 1, 1), ("count", 3, 2, 1)],
)
def test_every_point_of_a_shell_is_as_likely(name, d, k, t, monkeypatch):
    way = EveryWay()
    monkeypatch.setattr(capped_points, "below", way.below)
    is_touched = name == "touched"
    kind = capped_points.TouchedPoints if is_touched else capped_points.CountPoints
    points, found, is_more = kind([t], d, k), {}, True
    while is_more:
        x = tuple(points.points(np.zeros(1, np.int32), None)[:, 0].tolist())
        found[x] = found.get(x, 0) + way.probability
        is_more = way.next_way()
    shell = [x for x, r in reference.points_within(name, d, k, t).items() if r == t]
    assert sorted(found) == sorted(shell)
    assert set(found.values()) == {Fraction(1, len(shell))}


@pytest.mark.parametrize(
    ("entries", "p", "k"), [(1, 3, 1), (2, 3, 1), (3, 2, 2), (3, 3, 1), (3, 3, 2)]
)
def test_sizes_are_uniform(entries, p, k, monkeypatch):
    way = EveryWay()
    monkeypatch.setattr(capped_points, "below", way.below)
    found, is_more = {}, True
    while is_more:
        y = tuple(capped_points.capped_entries(entries, p, k, None))
        found[y] = found.get(y, 0) + way.probability
        is_more = way.next_way()
    listed = [y for y in product(range(1, p + 1), repeat=entries) if reference.g(list(y), k) == p]
    assert sorted(found) == sorted(listed)
    assert set(found.values()) == {Fraction(1, len(listed))}
    assert capped_points.capped_count(entries, p, k) == len(listed)


def test_a_number_below_a_bound_is_uniform():
    """All 2^8 bytes: those that fit are taken, the others drawn anew."""

    class Bytes:
        stamp = "bytes"

        def __init__(self, *values):
            self.values = list(values)

        def take(self, count):
            return bytes(self.values.pop(0) for _ in range(count))

    counts = np.bincount([capped_points.below(5, Bytes(b, 0)) for b in range(256)], minlength=5)
    assert counts.tolist() == [32 + 96, 32, 32, 32, 32]  # 96 of 256 are drawn anew, and 0 comes
    assert capped_points.below(1, Bytes()) == 0
    assert capped_points.below(256, Bytes(255)) == 255
    assert capped_points.below(257, Bytes(255, 255, 0, 7)) == 14


# --- by χ² ---------------------------------------------------------------------------------------

CASES = {
    "range 2": ("range", 2, 2, 5, 400_000),
    "range 3": ("range", 3, 3, 3, 400_000),
    "touched 3, 2": ("touched", 3, 2, 3, 40_000),
    "count 3, 2": ("count", 3, 2, 3, 40_000),
    "count 2, 1": ("count", 2, 1, 4, 40_000),
}


def p_value(drawn: np.ndarray, p: dict[tuple[int, ...], float]) -> float:
    points = list(p)
    place = {x: i for i, x in enumerate(points)}
    seen = np.bincount([place[tuple(x)] for x in drawn.tolist()], minlength=len(points))
    expected = len(drawn) * np.array([p[x] for x in points])
    heavy = expected >= 10.0
    seen = np.append(seen[heavy], seen[~heavy].sum())
    expected = np.append(expected[heavy], max(expected[~heavy].sum(), 1e-9))
    return float(stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), seen.size - 1))


def law_of(name, d, k, last):
    log_h = [-0.45 * t - 0.3 * (t % 2) for t in range(last + 1)]
    return NormNoise.from_log_weights(body_of(name, d, k), np.minimum.accumulate(log_h))


@pytest.mark.parametrize("case", CASES)
def test_draws_are_those_of_the_law(case):
    name, d, k, last, count = CASES[case]
    law = law_of(name, d, k, last)
    drawn = draw(law, count, entropy=InsecureSeededEntropy(11)).integers
    p = reference.probabilities(law)
    assert p_value(drawn, p) > ACCEPTED
    # the same test finds a law whose outer shells are 10 % heavier (20 % for fewer draws)
    more = 1.1 if count > 100_000 else 1.2
    other = {x: q * (more if reference.norm(name, x, k) == last else 1.0) for x, q in p.items()}
    total = sum(other.values())
    assert p_value(drawn, {x: q / total for x, q in other.items()}) < REJECTED


def test_a_range_sampler_that_forgets_its_ends_is_found_out():
    """Ends at every place with the chance of the first: not uniform."""
    law = law_of("range", 3, 3, 3)
    table, points = norm_tables(law, law.body)
    assert isinstance(points, RangeTable)
    wrong = points.last_yes.copy()
    wrong[1, :-1] = wrong[0, 0]
    broken = RangeTable(points.radii, 3, wrong)
    shells = table.draw(400_000, InsecureSeededEntropy(12))
    drawn = broken.points(shells, InsecureSeededEntropy(13)).T
    assert p_value(drawn, reference.probabilities(law)) < REJECTED


def test_sizes_without_the_inner_ones_taken_off_are_found_out(monkeypatch):
    """Points of the ball where those of the shell are meant."""
    law = law_of("count", 3, 2, 3)
    whole = capped_points._completions

    def ball(first, left, p, outer, inner):
        return whole(first, left, p, outer, None)

    monkeypatch.setattr(capped_points, "_completions", ball)
    drawn = draw(law, 40_000, entropy=InsecureSeededEntropy(14)).integers
    assert p_value(drawn, reference.probabilities(law)) < REJECTED


# --- as any law is drawn -------------------------------------------------------------------------


def test_shape_and_moments_of_many_answers():
    law = range_law(20.0, 40)
    drawn = draw(law, (50, 100), entropy=InsecureSeededEntropy(3)).integers
    assert drawn.shape == (50, 100, 40)
    flat = drawn.reshape(-1, 40)
    assert flat.std() == pytest.approx(20.0, rel=0.03)
    correlation = np.corrcoef(flat.T)
    assert correlation[~np.eye(40, dtype=bool)].mean() == pytest.approx(0.5, abs=0.03)
    radii = np.maximum(flat.max(1), 0) - np.minimum(flat.min(1), 0)
    assert radii.mean() == pytest.approx(
        float(np.dot(law.extended(2000), np.arange(2001))), rel=0.01
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: range_law(5.0, 10),
        lambda: count_law(4.5, 10, 5),
        lambda: touched_law(9.0, 20, 7),
    ],
)
def test_a_law_made_exact_is_released(make):
    law = make()
    answers = np.arange(law.dimension)
    with pytest.raises(UnsupportedError, match="make it exact"):
        release(law, answers)
    made = exact(law, delta=1e-6)
    noisy = release(made, [answers] * 3)
    assert noisy.integers.shape == (3, law.dimension)
    sampler = made.sampler()
    assert isinstance(sampler, NormSampler)
    assert (sampler.pitch, sampler.unit, sampler.is_joint) == (1, 1, True)
    again = [draw(made, 20, entropy=InsecureSeededEntropy(5)).integers for _ in range(2)]
    assert np.array_equal(*again)
    assert all(made.body.radius(x) <= made.last for x in again[0].tolist())


def test_bytes_of_a_draw_do_not_depend_on_it():
    """8 for the shell (16 for a law of 128 bits), 16 for each of the n entries."""
    law = exact(range_law(5.0, 6), delta=1e-6)

    class Counted(InsecureSeededEntropy):
        taken = 0

        def take(self, count):
            self.taken += count
            return super().take(count)

    taken = []
    for seed in range(20):
        entropy = Counted(seed)
        draw(law, 10, entropy=entropy)
        taken.append(entropy.taken)
    assert len(set(taken)) == 1
    assert taken[0] in (10 * (8 + 16 * 7), 10 * (16 + 16 * 7))


def test_a_choice_is_in_proportion(monkeypatch):
    way = EveryWay()
    monkeypatch.setattr(capped_points, "below", way.below)
    weights, found, is_more = [3, 0, 5, 1], [0] * 4, True
    running = np.cumsum(weights).tolist()
    while is_more:
        found[capped_points.chosen(running, None)] += 1
        is_more = way.next_way()
    assert found == weights
    assert all(a <= b for a, b in pairwise(running))


# --- on the real line ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["range", "touched", "count"])
def test_a_real_draw_is_a_point_and_a_place_in_its_bin(name):
    """The same points as on the integers, and an odd number of half pitches within the bin: every
    answer a place of its own, uniform."""
    whole = exact(
        NormNoise.from_log_weights(body_of(name, 3, 2 + (name == "range")), STAIRS), **ASK
    )
    real = NormNoise(whole.body, whole.shell_masses, None, 0.25, "real")
    assert real.sampler().is_exact
    drawn = draw(real, 4000, entropy=InsecureSeededEntropy(4))
    assert drawn.unit == Fraction(1, 4) / (1 << 17)
    assert np.all(drawn.integers % 2 == 1)
    bins = (drawn.integers + (1 << 16)) >> 17
    p = reference.probabilities(whole)
    points = {x: i for i, x in enumerate(p)}
    seen = np.bincount([points[tuple(row)] for row in bins.tolist()], minlength=len(p))
    assert stats.chisquare(seen, 4000 * np.array(list(p.values()))).pvalue > ACCEPTED
    places = (drawn.integers - (bins << 17)) / (1 << 17) + 0.5
    assert 0.0 < places.min() < places.max() < 1.0
    for one in places.T:
        assert stats.kstest(one, "uniform").pvalue > ACCEPTED
    assert abs(np.corrcoef(places.T)[0, 1]) < 0.1
    assert np.var(0.25 * (bins + places - 0.5)) == pytest.approx(real.variance, rel=0.1)


def test_real_answers_are_rounded_to_the_pitch():
    real = exact(count_law(3.0, 3, 2, sensitivity=0.3, domain="real"), delta=1e-6, sensitivity=0.3)
    answers = np.array([0.1, -7.3, 1e6])
    released = release(real, answers)
    assert released.unit == real.sampler().pitch / 2
    assert np.all(released.integers % 2 == 1)
    assert np.all(np.abs(released.floats() - answers) < 40.0 * real.std)
