"""Simulated analysts who choose the next question, and its sensitivity, from earlier answers.

A transcript's privacy loss log P(z) − log P(z − v) is exact: z is the noise in places of the
lattice, v how far the person moves the answers there. So a claim of (ε, δ) is tested on the event
that the loss is above a threshold, under both tables, with Clopper–Pearson bounds: no claim that
holds is refuted (but for 1 in 10⁶), and one that is 10 % too low is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from leastnoise import LatticeNoise, PrivacyLoss
from leastnoise.lattice.steps import PLACES
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.sampling.entropy import InsecureSeededEntropy
from leastnoise.series.law import series_law
from leastnoise.series.opening import open_series

QUESTIONS, EPSILON, DELTA = 4, 1.0, 1e-6
DOUBT = 1e-6  # how often a claim that holds may be refuted
ANALYSTS = 1000
Adapted = Callable[[np.ndarray], np.ndarray]


@cache
def law_at(epsilon: float) -> tuple[SampledLaw, float]:
    return series_law(QUESTIONS, DELTA, epsilon=epsilon)


def cells(places: np.ndarray) -> np.ndarray:
    """The cell of the coarse lattice for places in half pitches, odd ones."""
    return np.abs(np.floor_divide(places + PLACES, 2 * PLACES))


def log_density(law: LatticeNoise, places: np.ndarray) -> np.ndarray:
    """log P of points, answers along the last axis."""
    radius = cells(places).max(axis=-1)
    return law.log_pmf(radius)


def losses(law: LatticeNoise, z: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The privacy loss of transcripts whose noise was z."""
    return log_density(law, z) - log_density(law, z - v)


# Analysts


@dataclass(frozen=True)
class Table:
    """Values in [0, 1], and those of the person who is in one of the two tables only."""

    values: np.ndarray
    person: float


def rate(table: Table, cut: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many values are above each cut, without the person and what the person adds."""
    sorted_values = np.sort(table.values)
    return sorted_values.size - np.searchsorted(sorted_values, cut), 1.0 * (table.person >= cut)


def total(table: Table, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of values, each cut at its cap."""
    ordered = np.concatenate([[0.0], np.sort(table.values)])
    place = np.searchsorted(ordered[1:], cap)
    return np.cumsum(ordered)[place] + (ordered.size - 1 - place) * cap, np.minimum(
        table.person, cap
    )


def play(
    law: LatticeNoise, z: np.ndarray, table: Table, rng: np.random.Generator, present: bool
) -> np.ndarray:
    """v for transcripts of as many analysts as z has rows, some draws each.

    Every analyst has a temper of her own: how she makes the next cut or cap from the last answers,
    whether she counts or adds up, and whether she asks for the complement. Sensitivities go from
    0.05 to 1 and depend on the answers seen.
    """
    people, draws, questions = z.shape
    pitch = float(law.sampler().pitch)
    temper = rng.normal(size=(people, 1, questions, 3))
    seen = np.zeros((people, draws))
    shifts = np.empty(z.shape, dtype=np.int64)
    for i in range(questions):
        mood = temper[:, :, i]
        cut = 1.0 / (1.0 + np.exp(-(mood[..., 0] + 0.5 * mood[..., 1] * seen)))
        adds = mood[..., 2] + 0.3 * seen > 0
        cap = np.maximum(cut, 0.05)
        count, added = rate(table, cut)
        amount, more = total(table, cap)
        scale = np.where(adds, cap, 1.0)
        without = np.where(adds, amount, count) / scale
        moved = np.where(adds, more, added) / scale * np.where(mood[..., 1] > 0, 1.0, -1.0)
        here = without + (moved if present else 0.0)
        there = without + (0.0 if present else moved)
        places = [np.floor(one / pitch + 0.5) for one in (here, there)]
        shifts[..., i] = 2 * (places[1] - places[0])
        answer = (places[0] + z[..., i] / 2) * pitch
        seen = np.tanh((answer - 10.0) / 10.0)  # what the next question depends on
    return shifts


def draws_of(law: LatticeNoise, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return law.sampler().integers(shape, InsecureSeededEntropy(seed))


# The estimator


def at_least(hits: int, of: int) -> float:
    return float(stats.beta.ppf(DOUBT / 2, hits, of - hits + 1)) if hits else 0.0


def at_most(hits: int, of: int) -> float:
    return float(stats.beta.ppf(1 - DOUBT / 2, hits + 1, of - hits)) if hits < of else 1.0


def refuted(
    first: np.ndarray, second: np.ndarray, threshold: float, epsilon: float, delta: float
) -> bool:
    """Whether P(S) > e^ε Q(S) + δ for sure, S being the losses above a threshold."""
    p = at_least(int(np.sum(first > threshold)), first.size)
    q = at_most(int(np.sum(second > threshold)), second.size)
    return p > math.exp(epsilon) * q + delta


def attack(law: LatticeNoise, adapted: Adapted, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses under the first table and under the second, from independent draws."""
    first, second = (draws_of(law, (draws,), seed) for seed in (11, 12))
    # under the second table the noise is z and the point seen by the first is z + v
    return losses(law, first, adapted(first)), second_losses(law, second, adapted)


def second_losses(law: LatticeNoise, z: np.ndarray, adapted: Adapted) -> np.ndarray:
    """log P/Q at transcripts of the second table, whose noise was z = x − v(x); x is found answer
    by answer, as v_i depends on those before it."""
    x = z.copy()
    for i in range(z.shape[-1]):
        x[..., i] = z[..., i] + adapted(x)[..., i]
    return losses(law, x, adapted(x))


def one_way(shift: int) -> Adapted:
    return lambda z: np.full(z.shape, shift)


def fleeing(shift: int) -> Adapted:
    """Moves every answer away from the side the earlier ones were on."""

    def adapted(z: np.ndarray) -> np.ndarray:
        before = np.concatenate([np.zeros((*z.shape[:-1], 1)), np.cumsum(z, axis=-1)[..., :-1]], -1)
        return np.where(before > 0, -shift, shift)

    return adapted


def test_a_thousand_analysts_stay_within_the_certificate():
    found, epsilon = law_at(EPSILON)
    law = found.noise
    rng = np.random.default_rng(7)
    table = Table(rng.uniform(size=25), 0.9)
    z = draws_of(law, (2, ANALYSTS, 100), seed=1)
    most = 2 * PLACES * round(1 / law.step)
    pooled = []
    for present, noise in zip((True, False), z, strict=True):
        v = play(law, noise, table, np.random.default_rng(8), present)
        assert np.max(np.abs(v)) <= most
        assert np.mean(v != 0) > 0.3
        pooled.append(losses(law, noise, v))
    # each table is the first in its turn: what its losses are above ε counts δ at most
    for one in pooled:
        assert float(np.mean(-np.expm1(np.minimum(epsilon - one, 0.0)))) <= DELTA
        assert float(np.quantile(one, 0.99)) > 0.5 * epsilon  # they do learn something
    # analyst by analyst, as an audit of her own 100 transcripts
    for first, second in zip(pooled[0], -pooled[1], strict=True):
        assert not refuted(first, second, 0.5 * epsilon, epsilon, DELTA)
    # and all together, the mixture of all analysts
    for threshold in np.linspace(0.0, 1.0, 21):
        first, second = pooled[0].ravel(), -pooled[1].ravel()
        assert not refuted(first, second, threshold * epsilon, epsilon, DELTA)


@pytest.mark.parametrize("adversary", [one_way, fleeing])
def test_an_audit_refutes_an_epsilon_10_percent_lower(adversary):
    found, epsilon = law_at(EPSILON)
    law = found.noise
    shift = 2 * PLACES * round(1 / law.step)
    first, second = attack(law, adversary(shift), 150_000)
    thresholds = epsilon * np.linspace(0.5, 0.99, 12)

    def is_refuted(claim: float) -> bool:
        return any(refuted(first, second, float(t), claim, DELTA) for t in thresholds)

    assert not is_refuted(epsilon)
    assert is_refuted(0.9 * epsilon)


def test_an_audit_refutes_a_law_whose_judgement_was_10_percent_too_low():
    """The other way round: noise for ε/0.9 that is said to be noise for ε."""
    found, epsilon = law_at(EPSILON / 0.9)
    law = found.noise
    shift = 2 * PLACES * round(1 / law.step)
    first, second = attack(law, one_way(shift), 150_000)
    thresholds = epsilon * np.linspace(0.5, 0.99, 12)
    assert any(refuted(first, second, float(t), EPSILON, DELTA) for t in thresholds)
    assert not any(refuted(first, second, float(t), epsilon, DELTA) for t in thresholds)


def test_the_attack_has_the_advantage_that_is_judged():
    found, epsilon = law_at(EPSILON)
    law = found.noise
    shift = 2 * PLACES * round(1 / law.step)
    loss = PrivacyLoss.of(law)
    for adversary in (one_way(shift), fleeing(shift)):
        first, _ = attack(law, adversary, 150_000)
        for at in (0.0, 0.5 * epsilon, 0.9 * epsilon):
            terms = -np.expm1(np.minimum(at - first, 0.0))
            error = 5.0 * float(np.std(terms)) / math.sqrt(terms.size)
            assert float(np.mean(terms)) <= loss.delta(at) + error
    first, _ = attack(law, one_way(shift), 150_000)
    advantage = float(np.mean(-np.expm1(np.minimum(-first, 0.0))))
    assert advantage == pytest.approx(loss.delta(0.0), abs=0.005)


def test_transcripts_of_a_series_have_the_losses_of_its_kept_numbers(tmp_path, monkeypatch):
    """Through `Series.answer`: from what is published the noise under either table is computed in
    fractions, and the loss of the transcript is within the certificate."""
    found, epsilon = law_at(EPSILON)
    law, sampler = found.noise, found.noise.sampler()
    monkeypatch.setattr("leastnoise.series.opening.series_law", lambda *_, **__: (found, epsilon))
    rng = np.random.default_rng(3)
    table = Table(rng.uniform(size=25), 0.9)
    sizes = []
    for analyst in range(25):
        source = InsecureSeededEntropy(1000 + analyst)
        kept = sampler.integers((1,), InsecureSeededEntropy(1000 + analyst))[0]
        series = open_series(
            tmp_path / f"{analyst}.series",
            questions=QUESTIONS,
            epsilon=EPSILON,
            delta=DELTA,
            entropy=source,
            not_private=True,
        )
        here, there, seen = [], [], 0.0
        for _ in range(QUESTIONS):
            cap = float(np.clip(rng.uniform() + 0.1 * seen, 0.05, 1.0))
            ask = total if rng.uniform() < 0.5 else rate
            without, moved = (float(one) for one in ask(table, np.array(cap)))
            scale = cap if ask is total else 1.0
            answer = series.answer(without + moved, sensitivity=scale)
            unit = sampler.unit * Fraction(scale)
            for noise, exact in ((here, without + moved), (there, without)):
                place = math.floor(Fraction(exact) / (2 * unit) + Fraction(1, 2))
                noise.append(round(Fraction(answer.value) / unit) - 2 * place)
            seen = math.tanh(answer.value / 10.0)
        z, shifted = np.array(here), np.array(there)
        assert z.tolist() == kept.tolist()
        assert np.max(np.abs(z - shifted)) <= 2 * PLACES * round(1 / law.step)
        sizes.append(float(log_density(law, z) - log_density(law, shifted)))
        assert series.remaining == 0
    # ε is the least for δ: every loss may be above it by as much as δ has room for
    assert max(map(abs, sizes)) <= epsilon + 4 * DELTA
    assert max(sizes) > 0.3 * epsilon
