"""Kinds of noise between the cube and normal noise, for plans that cap the attacker's advantage.

The law of least noise at (ε, δ) alone uses up what (ε, δ) leaves open: ten answers at ε = 1 get
cube noise of 6.6 with an advantage of 0.39, where Gaussian noise of 13.4 leaves 0.094. Between the
two the *body* of the law is the lever: cubes of fewer answers with a draw each (two of five: 7.5 at
0.24), then spheres (9.6 at 0.14), and spheres bent towards normal noise (10.4 at 0.125). Scaling
one law until it keeps the cap costs more: the cube of ten comes to 0.2 at 13.2 only. So all of them
compete (`search`). Where all answers move the same way each has a form that fits that: a hidden
count, or correlation. A bent sphere is judged by cells of its radius, and composed by a table that
takes seconds: it is tried where one draw of it sees a person. Where one person's rows are spread
over draws the law must be log-concave (`one_view`): e^(−|k/b|^p) on the integers, for each p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from leastnoise.changes import BOX, Changes, OneSided
from leastnoise.laws import classic
from leastnoise.laws.base import Noise
from leastnoise.laws.bent_sphere import bent_sphere
from leastnoise.laws.correlated import correlated
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.sphere import sphere
from leastnoise.releases.noise.layout import LawSpec
from leastnoise.releases.noise.log_concave import EXPONENTS, named_exponent
from leastnoise.releases.noise.sensitivity import COUNTED, EITHER_WAY, changes_of, plainly

_BENT = (1.4, 1.2, 1.7)  # degrees of freedom an answer: 1 is normal noise, 2 the sphere


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


def bent_kinds(specs: Sequence[LawSpec]) -> Iterator[Kind]:
    """Spheres of all answers of a draw, bent towards normal noise, where there is one draw."""
    if len(specs) > 1 or specs[0].uses > 1 or specs[0].changes.is_one_sided or specs[0].shifts:
        return
    d = specs[0].batch
    for freedom in dict.fromkeys(round(d * share) for share in _BENT):
        if d < freedom < 2 * d:
            yield partial(_bent, freedom)


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


def _bent(freedom: int, whole: LawSpec, sigma: float) -> Made:
    spec = _plain(whole)
    noise = bent_sphere(sigma, spec.batch, freedom)
    return Made(noise, spec.uses, "bent sphere", spec.changes)


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
