"""Compositions: ε at δ and δ at ε, from one release to a million."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Any

from flint import arb

from benchmarks.audit import laws, spheres, theirs
from benchmarks.audit.oracles import (
    LatticeLoss,
    Number,
    Pair,
    after,
    binomial_delta,
    composed,
    count_of_types,
    ever,
    exact,
    gaussian_delta,
    laplace_delta,
    largest,
    pairs_of,
    precision,
)
from benchmarks.audit.single import some_sphere
from benchmarks.audit.tally import Book, DeltaAt
from leastnoise import LatticeNoise, PrivacyLoss, cube, design, gaussian, laplace
from leastnoise.lattice.steps import shift_in_steps
from leastnoise.losses.gaussian import GaussianLoss

_MOST_TYPES = 12_000
RELEASES = [1, 2, 2, 3, 5, 10, 30, 64, 65, 100, 1000, 10_000, 100_000, 1_000_000]


def _judge(
    book: Book,
    kind: str,
    random: Random,
    loss: PrivacyLoss,
    delta_at: DeltaAt,
    what: str,
    their_own: Callable[[], Any] | None = None,
    *,
    near: list[float] | None = None,
) -> None:
    """ε at one δ, possibly `near` an edge, and δ at an ε that belongs to it; both bounds, ours and
    theirs."""
    row, rest = book[f"composed: epsilon, {kind}"], book["composed: delta, all of these"]
    delta = random.choice([laws.deltas(random), *(near or [])])
    if not 0.0 < delta < 1.0:
        return
    found = row.ask(lambda: loss.epsilon_bounds(delta), f"{what}.epsilon_bounds({delta!r})")
    if found is None:
        return
    row.epsilon(found.upper, delta, delta_at, f"{what}.epsilon({delta!r})")
    row.epsilon_lower(found.lower, delta, delta_at, f"{what}.epsilon({delta!r})")
    top = found.upper if math.isfinite(found.upper) else 1.0
    highest = min(loss.composition.highest, 1e6) * (1 - 1e-12)
    epsilon = random.choice([top, 0.5 * top, 0.0, 1.1 * top, top * (1 - 1e-9), 1e-9 * top, highest])
    text = f"{what}.delta_bounds({epsilon!r})"
    truth = rest.exactly(lambda: delta_at(epsilon))
    rest.bounds(
        rest.ask(lambda: loss.delta_bounds(epsilon), text), truth, text, (epsilon, delta_at)
    )
    made = row.ask_theirs(their_own) if their_own is not None and theirs.is_there() else None
    if made is not None:
        value = row.ask_theirs(lambda: float(made.get_epsilon_for_delta(delta)))
        row.epsilon(
            value, delta, delta_at, f"dp_accounting: {what}.epsilon({delta!r})", of=row.theirs
        )
        value = rest.ask_theirs(lambda: float(made.get_delta_for_epsilon(epsilon)))
        rest.upper(
            value, truth, f"dp_accounting: {text}", of=rest.theirs, profile=(epsilon, delta_at)
        )


def _tried(parts: list[tuple[Pair, int]]) -> Callable[[], Any] | None:
    """The composition in dp_accounting, where its grid is not too long."""
    if any(not pair.cells for pair, _ in parts):
        return None
    if not theirs.fits(
        [(max(abs(float(pair.losses[0])), abs(float(pair.losses[-1]))), n) for pair, n in parts]
    ):
        return None
    return lambda: theirs.composed([(theirs.distribution(pair), n) for pair, n in parts])


def two_losses(book: Book, random: Random) -> None:
    """Two finite losses: geometric laws, or two weights and an end. A binomial sum is exact for any
    number of releases."""
    n = random.choice(RELEASES)
    near = None
    if random.random() < 0.7:
        noise = laws.geometric(
            random.choice(
                [
                    laws.size(random, 1e-5, 3.0),
                    laws.size(random, 1e-9, 1e-5),
                    laws.size(random, 3.0, 300.0),
                ]
            )
        )
        if n > 10_000:
            noise = laws.geometric(laws.size(random, 1e-6, 0.05))
    else:
        light = random.choice([laws.size(random, 1e-12, 1e-3), random.uniform(0.01, 0.99)])
        noise = LatticeNoise.from_weights([1.0, light], None, domain="integer")
        near = [light * factor for factor in (1.0, n, 2 * n, n * (1 + 1e-6))]
    pair = pairs_of(noise, 1)[0]
    low, high = pair.cells
    if near is not None:
        lost = float(ever(pair.infinite, n))
        near = [
            math.nextafter(lost, 1.0),
            lost * (1 + 1e-9),
            lost * (1 + 1e-5),
            lost * 1.1,
            lost * (1 - 1e-9),
        ]

    def delta_at(epsilon: Number) -> arb:
        with precision(192):
            return binomial_delta(low, high, pair.infinite, n, epsilon)

    what = f"PrivacyLoss.of({laws.text(noise)}, 1).compose({n})"
    loss = PrivacyLoss.of(noise, 1.0).compose(n)
    _judge(book, "two losses", random, loss, delta_at, what, _tried([(pair, n)]), near=near)


def small_tables(book: Book, random: Random) -> None:
    """Laws of a few losses: every sequence of outcomes. Laws that rise are composed at every
    sequence of shifts."""
    noise = laws.lattice(random, random.choice([1, 1, 1, 2]), 3)
    if noise is None:
        return
    m = random.randint(1, 2)
    pairs = pairs_of(noise, m)
    if noise.is_monotone:
        pairs = pairs[-1:]
    most = _MOST_TYPES // len(pairs) ** 2
    sizes = [
        n
        for n in (1, 2, 3, 4, 6, 9, 20, 64, 65, 130)
        if all(count_of_types(max(len(pair.cells), 1), n) <= most for pair in pairs)
    ]
    if len(pairs) > 1:
        sizes = [n for n in sizes if n <= 2]
    n = random.choice(sizes)
    if any(not pair.cells for pair in pairs):
        return
    sequences = (
        [[(a, n)] for a in pairs]
        if n < 2 or len(pairs) == 1
        else [[(a, 1), (b, 1)] for a in pairs for b in pairs]
    )
    whole = [composed(sequence) for sequence in sequences]

    def delta_at(epsilon: Number) -> arb:
        return largest(pair.delta(epsilon) for pair in whole)

    s = (
        float(m * noise.step)
        if noise.domain == "integer" or noise.step in (1.0, 0.25, 2.0**-30)
        else None
    )
    if s is None:
        return
    lost = float(largest(pair.infinite for pair in whole))
    near = (
        [lost, math.nextafter(lost, 1.0), lost * (1 + 1e-9), lost * (1 + 3e-6), lost * 2]
        if lost > 0
        else None
    )
    kind = "laws that end" if lost > 0 else "small tables"
    what = f"PrivacyLoss.of({laws.text(noise)}, {s!r}).compose({n})"
    loss = book[f"composed: epsilon, {kind}"].ask(lambda: PrivacyLoss.of(noise, s).compose(n), what)
    if loss is not None:
        _judge(
            book,
            kind,
            random,
            loss,
            delta_at,
            what,
            _tried([(pairs[0], n)]) if len(pairs) == 1 else None,
            near=near,
        )


def gaussians(book: Book, random: Random) -> None:
    """Gaussian noise in its closed form, and sent through the grid like any other loss."""
    n = random.choice(RELEASES)
    mu = random.choice(
        [laws.size(random, 1e-2, 3.0), laws.size(random, 1e-5, 1e-2), laws.size(random, 3.0, 30.0)]
    ) / math.sqrt(n)
    kind = "Gaussian"
    if random.random() < 0.5:
        noise = gaussian(1.0 / mu)
        total = (n / exact(noise.sigma) ** 2).sqrt()
        loss, what = PrivacyLoss.of(noise).compose(n), f"PrivacyLoss.of({noise!r}).compose({n})"
    else:
        total = exact(n).sqrt() * exact(mu)
        loss, what = (
            PrivacyLoss(((GaussianLoss(mu), n),)),
            f"PrivacyLoss(((GaussianLoss({mu!r}), {n}),))",
        )
    spread = 9.0 * math.sqrt(n) * mu + 0.5 * n * mu * mu
    own = None
    if spread / theirs.PITCH < 1e6 and mu > 1e-4 and 9.0 * mu * n / theirs.PITCH < 1e6:
        own = lambda: theirs.composed([(theirs.closed(gaussian(1.0 / mu), 1.0), n)])  # noqa: E731
    _judge(book, kind, random, loss, lambda e: gaussian_delta(total, e), what, own)


def laplaces(book: Book, random: Random) -> None:
    """Laplace noise up to 16 releases."""
    n = random.choice([1, 2, 2, 3, 4, 6, 8, 12, 16])
    noise = laplace(random.choice([laws.size(random, 0.1, 100.0), laws.size(random, 100.0, 1e6)]))
    ratio = 1 / exact(noise.scale)
    what = f"PrivacyLoss.of({noise!r}).compose({n})"
    own = None
    if theirs.fits([(float(ratio), n)]):
        own = lambda: theirs.composed([(theirs.closed(noise, 1.0), n)])  # noqa: E731
    _judge(
        book,
        "Laplace",
        random,
        PrivacyLoss.of(noise).compose(n),
        lambda e: laplace_delta(ratio, n, e),
        what,
        own,
    )


def mixed(book: Book, random: Random) -> None:
    """Two or three different laws: two losses and a Gaussian, a Laplace, another table, or two of
    these."""
    kind = "different laws"
    n = random.choice([1, 2, 5, 20, 60])
    first = (
        laws.geometric(laws.size(random, 1e-3, 3.0))
        if random.random() < 0.7
        else LatticeNoise.from_weights([1.0, laws.size(random, 1e-9, 0.5)], None, domain="integer")
    )
    pair = pairs_of(first, 1)[0]
    one, text = (
        PrivacyLoss.of(first, 1.0).compose(n),
        f"PrivacyLoss.of({laws.text(first)}, 1).compose({n})",
    )
    recipe = random.choice(["Gaussian", "Laplace", "table", "Laplace and table"])
    own: Callable[[], Any] | None = None
    if recipe == "Gaussian":
        noise = gaussian(laws.size(random, 0.3, 100.0))
        k = random.choice([1, 10, 1000])
        total = (k / exact(noise.sigma) ** 2).sqrt()
        loss, what = (
            one.compose(PrivacyLoss.of(noise).compose(k)),
            f"{text}.compose(PrivacyLoss.of({noise!r}).compose({k}))",
        )

        def delta_at(epsilon: Number) -> arb:
            return after(pair, n, lambda e: gaussian_delta(total, e), epsilon)

        if theirs.fits([(float(pair.losses[-1]), n), (9.0 / noise.sigma, k)]):
            own = lambda: theirs.composed(  # noqa: E731
                [(theirs.distribution(pair), n), (theirs.closed(noise, 1.0), k)]
            )
    elif recipe == "table":
        other = laws.lattice(random, 1, 2)
        if other is None or other.domain != "integer" or not other.is_monotone:
            return
        second = pairs_of(other, 1)[-1]
        k = random.choice([1, 2, 3])
        if not second.cells or count_of_types(len(second.cells), k) * (n + 1) > _MOST_TYPES:
            return
        whole = composed([(pair, n), (second, k)])
        delta_at = whole.delta
        loss, what = (
            one.compose(PrivacyLoss.of(other, 1.0).compose(k)),
            f"{text}.compose(PrivacyLoss.of({laws.text(other)}, 1).compose({k}))",
        )
        own = _tried([(pair, n), (second, k)])
    else:
        double = laplace(laws.size(random, 0.3, 100.0))
        k = random.choice([1, 2, 3])
        ratio = 1 / exact(double.scale)
        loss, what = (
            one.compose(PrivacyLoss.of(double).compose(k)),
            f"{text}.compose(PrivacyLoss.of({double!r}).compose({k}))",
        )
        third: Pair | None = None
        if recipe == "Laplace and table":
            extra = laws.geometric(laws.size(random, 1e-3, 3.0))
            third = pairs_of(extra, 1)[0]
            loss, what = (
                loss.compose(PrivacyLoss.of(extra, 1.0)),
                f"{what}.compose(PrivacyLoss.of({laws.text(extra)}, 1))",
            )

        def delta_at(epsilon: Number) -> arb:
            def inner(e: Number) -> arb:
                return laplace_delta(ratio, k, e)

            if third is None:
                return after(pair, n, inner, epsilon)
            return after(pair, n, lambda e: after(third, 1, inner, e), epsilon)

    _judge(book, kind, random, loss, delta_at, what, own)


def cubes(book: Book, random: Random) -> None:
    """Cube laws, whose losses are whole multiples of one number up to their rounding: powers of a
    polynomial."""
    d = random.choice([2, 3, 5, 10])
    m = random.choice([1, 2])
    sigma = laws.size(random, 0.7, 6.0)
    noise = cube(sigma, d, domain="integer", sensitivity=m)
    n = random.choice([1, 2, 5, 20, 64, 65, 200])
    pair = pairs_of(noise, m, 1)[-1]
    with precision(1200):
        step = -exact(noise.tail_ratio or 0.5).log()
        whole = LatticeLoss.of(pair, step).composed(n)
        what = (
            f"PrivacyLoss.of(cube({sigma!r}, {d}, domain='integer', sensitivity={m}), "
            f"{m}).compose({n})"
        )
        loss = PrivacyLoss.of(noise, float(m)).compose(n)
        _judge(book, "joint laws", random, loss, whole.delta, what, _tried([(pair, n)]))


def sphere_releases(book: Book, random: Random) -> None:
    """The sphere law, composed."""
    noise, s, law, text = some_sphere(random, most=20.0)
    n = random.choice([1, 2, 2, 3, 5, 10, 64, 65, 1000])
    delta_at = spheres.composed(law, n)
    if delta_at is None:
        return
    loss = PrivacyLoss.of(noise, s).compose(n)
    _judge(book, "sphere", random, loss, delta_at, f"PrivacyLoss.of({text}, {s!r}).compose({n})")


@lru_cache(maxsize=64)
def _designed(
    delta: float, sigma: float, compositions: int, batch: int, domain: str, sensitivity: int
) -> Any:
    return design(
        delta=delta,
        sigma=sigma,
        compositions=compositions,
        batch=batch,
        domain=domain,
        sensitivity=sensitivity,
        step=1.0,
    )


def designs(book: Book, random: Random) -> None:
    """What a design promises, against its law: one release of any, two or three of small ones."""
    row = book["designed laws"]
    batch = random.choice([1, 1, 2, 3])
    compositions = random.choice([1, 2, 3]) if batch == 1 else 1
    s = random.choice([1, 2])
    asked = (
        random.choice([1e-3, 1e-6, 1e-9]),
        s * random.choice([0.8, 1.5, 3.0]),
        compositions,
        batch,
        random.choice(["integer", "real"]),
        s,
    )
    what = (
        "design(delta={}, sigma={}, compositions={}, batch={}, domain={!r}, sensitivity={}, "
        "step=1.0)"
    ).format(*asked)
    best = row.ask(lambda: _designed(*asked), what)
    if best is None or not isinstance(best.noise, LatticeNoise):
        return
    m = shift_in_steps(best.sensitivity, best.noise.step)
    pairs = row.exactly(lambda: pairs_of(best.noise, m, 4))
    if best.noise.is_monotone:
        pairs = pairs[-1:]
    if best.uses > 1 and (
        len(pairs) > 1 or count_of_types(len(pairs[0].cells), best.uses) > 4 * _MOST_TYPES
    ):
        return
    whole = row.exactly(lambda: [composed([(pair, best.uses)]) for pair in pairs])

    def delta_at(epsilon: Number) -> arb:
        return largest(pair.delta(epsilon) for pair in whole)

    row.epsilon(best.epsilon, best.delta, delta_at, what)
    row.epsilon_lower(best.epsilon_lower, best.delta, delta_at, what)
