"""Kinds of noise between the cube and normal noise, for plans that cap the attacker's advantage.

The law of least noise at (ε, δ) alone uses up what (ε, δ) leaves open: ten answers at ε = 1 get
cube noise of 6.6 with an advantage of 0.39, where Gaussian noise of 13.4 leaves 0.094. Between the
two the *body* of the law is the lever: cubes of fewer answers with a draw each (two of five: 7.5 at
0.24), then spheres (9.6 at 0.14), and spheres with a flat core (10.5 at 0.12, 12.2 at 0.10).
Scaling one law until it keeps the cap costs more: the cube of ten comes to 0.2 at 13.2 only. So all
of them compete (`search`). Where all answers move the same way each has a form that fits that: a
hidden count, or correlation. A flat core helps one release only, composed ones need more noise
with it than normal noise: it is tried where one draw sees a person. Where one person's rows are
spread over draws the law must be log-concave (`one_view`): e^(−|k/b|^p) on the integers, for all p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

from leastnoise.changes import BOX, Changes, OneSided
from leastnoise.laws import classic
from leastnoise.laws.base import Noise
from leastnoise.laws.correlated import correlated
from leastnoise.laws.flat_sphere import CORES, flat_sphere
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.sphere import sphere
from leastnoise.losses.flat_sphere import FlatSphereLoss
from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.log_concave import EXPONENTS, named_exponent
from leastnoise.releases.noise.sensitivity import COUNTED, EITHER_WAY, changes_of, plainly

_LARGEST_CORE = 16  # for each answer, in scales: there nearly all of the noise is in the core


class Made(NamedTuple):
    """A law, and how many of its draws see one person, who makes the changes in each."""

    noise: Noise
    uses: int
    origin: str
    changes: Changes


Kind = Callable[[LawSpec, float], Made]  # at a standard deviation


def kinds(specs: Sequence[LawSpec]) -> Iterator[Kind]:
    """Every kind that is worth a look: normal noise, correlated where that fits; then spheres and
    cubes of all answers of a draw, of halves of them, of thirds, down to noise of its own for each
    answer."""
    if any(spec.shifts for spec in specs):
        yield from (partial(_log_concave, exponent) for exponent in EXPONENTS)
        return
    yield _normal
    largest = max(spec.batch for spec in specs)
    sizes = dict.fromkeys(math.ceil(largest / parts) for parts in range(1, largest + 1))
    for size in sizes:
        if size > 1:
            yield partial(_sphere, size)
        yield partial(_cube, size)


def flat_kinds(specs: Sequence[LawSpec], limits: tuple[float, float, float]) -> Iterator[Kind]:
    """The sphere of all answers of a draw with the flat core that (ε, δ) and the cap ask for, where
    there is one draw."""
    if len(specs) > 1 or specs[0].uses > 1 or specs[0].changes.is_one_sided or specs[0].shifts:
        return
    if specs[0].batch > 1 and specs[0].domain == "real":
        yield partial(_flat, core_for(specs[0].batch, *limits))


@lru_cache(maxsize=64)
def core_for(batch: int, epsilon: float, delta: float, cap: float) -> float:
    """The smallest core, by halving, with which the noise that just keeps (ε, δ) keeps the cap too:
    a larger one needs more noise for ε and less for the cap. It is the same for changes of any
    length."""
    low, high = 0, CORES * _LARGEST_CORE * batch
    while low < high:
        middle = (low + high) // 2
        if _advantage_at(middle / CORES, batch, epsilon, delta) <= cap:
            high = middle
        else:
            low = middle + 1
    return high / CORES


def _advantage_at(core: float, batch: int, epsilon: float, delta: float) -> float:
    """The advantage of the noise with this core that just keeps (ε, δ), about."""

    def loss(distance: float) -> FlatSphereLoss:
        return FlatSphereLoss(core, batch, distance)

    low, high = epsilon, 4.0 * epsilon + 4.0  # no loss is above the distance
    while high - low > 1e-4 * low:
        middle = 0.5 * (low + high)
        if float(loss(middle).profile(epsilon)) <= delta:
            low = middle
        else:
            high = middle
    return loss(low).profile_at_zero()


def _plain(spec: LawSpec) -> LawSpec:
    """The spec with changes that hold its own and are alike for all answers, as kinds need them."""
    changes = spec.changes
    if isinstance(changes, OneSided) and changes.ranges is not None:
        changes = changes_of(plainly(changes.ranges), changes.touched_of(spec.batch))
    return replace(spec, changes=changes, weights=None)


def _cut(whole: LawSpec, size: int) -> LawSpec:
    """The spec with at most `size` answers a draw. Who moves k answers is seen in at most k of the
    smaller draws, and moves at most k answers in each."""
    spec = _plain(whole)
    if spec.batch <= size:
        return spec
    moved = spec.changes.touched_of(spec.batch)
    draws = min(math.ceil(spec.batch / size), moved)
    each = COUNTED if spec.changes.is_one_sided else EITHER_WAY
    changes = changes_of([each] * size, min(moved, size))
    return replace(spec, batch=size, uses=spec.uses * draws, changes=changes)


def _sphere(size: int, whole: LawSpec, sigma: float) -> Made:
    spec = _cut(whole, size)
    if spec.batch == 1:
        return _cube(size, spec, sigma)
    if spec.changes.is_one_sided:
        fitted = correlated(sigma, spec.batch, core="sphere", changes=spec.changes)
        return Made(fitted, spec.uses, "correlated sphere", spec.changes)
    noise = sphere(sigma, spec.batch, domain=spec.domain)
    return Made(noise, spec.uses, "sphere", spec.changes)


def _log_concave(exponent: float, spec: LawSpec, sigma: float) -> Made:
    """Of rows that are spread; any other draw gets normal noise, or that of each answer."""
    if spec.shifts:
        noise = classic.generalized_gaussian(sigma, exponent, domain="integer")
        return Made(noise, spec.uses, named_exponent(exponent), BOX)
    return _cube(1, spec, sigma) if exponent == 1.0 else _normal(spec, sigma)


def _flat(core: float, whole: LawSpec, sigma: float) -> Made:
    spec = _plain(whole)
    noise = flat_sphere(sigma, spec.batch, core)
    return Made(noise, spec.uses, "flat sphere", spec.changes)


def _normal(whole: LawSpec, sigma: float) -> Made:
    spec = _plain(whole)
    if spec.batch == 1 or not spec.changes.is_one_sided:
        seen = spec.uses * spec.changes.touched_of(spec.batch)
        return Made(classic.gaussian(sigma), seen, "Gaussian", BOX)
    fitted = correlated(sigma, spec.batch, core="gaussian", changes=spec.changes)
    return Made(fitted, spec.uses, "correlated Gaussian", spec.changes)


def _cube(size: int, whole: LawSpec, sigma: float) -> Made:
    spec = _cut(whole, size)
    if spec.batch > 1 and spec.changes.is_one_sided:
        hidden = LiftedNoise(classic.cube(math.sqrt(2.0) * sigma, spec.batch + 1))
        return Made(hidden, spec.uses, "cube with a hidden count", spec.changes)
    noise = classic.cube(sigma, spec.batch, domain=spec.domain)
    return Made(noise, spec.uses, "cube" if spec.batch > 1 else "Laplace", spec.changes)
