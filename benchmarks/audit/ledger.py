"""Conversions from Rényi divergences, and what the ledger charges."""

from __future__ import annotations

import math
from random import Random

from flint import arb

from benchmarks.audit import laws
from benchmarks.audit.oracles import Pair, Sphere, exact, laplace_renyi, largest, pairs_of
from benchmarks.audit.single import some_sphere
from benchmarks.audit.tally import Book
from leastnoise import discrete_gaussian, epsilon_from_renyi, gaussian, laplace, moments_epsilon
from leastnoise.ledger.budget import FAILURES, Budget, declared
from leastnoise.ledger.filter import Charge, charge, filter_epsilon, nothing


def conversions(book: Book, random: Random) -> None:
    """ε from one divergence, and the moments accountant's ε from a law."""
    row = book["conversions"]
    divergence = random.choice(
        [
            laws.size(random, 1e-8, 1e2),
            0.0,
            laws.size(random, 1e-300, 1e-8),
            laws.size(random, 10.0, 1e4),
        ]
    )
    order = random.choice(
        [
            1.0 + laws.size(random, 1e-3, 1e4),
            1.0 + laws.size(random, 1e-15, 1e-3),
            1.0 + 2.0**-52,
            laws.size(random, 1e4, 1e12),
        ]
    )
    delta = random.choice([laws.deltas(random), 1.0 - laws.size(random, 1e-16, 0.5)])
    if not 0.0 < delta < 1.0:
        return
    d, a, x = exact(divergence), exact(order), exact(delta)
    classic = d - x.log() / (a - 1)
    improved = d + (1 - 1 / a).log() - (a * x).log() / (a - 1)
    for conversion, truth in (
        ("moments", classic),
        ("improved", classic.min(improved).max(arb(0))),
    ):
        what = f"epsilon_from_renyi({divergence!r}, {order!r}, {delta!r}, {conversion!r})"
        row.upper(
            row.ask(lambda c=conversion: epsilon_from_renyi(divergence, order, delta, c), what),
            truth,
            what,
        )
    if random.random() < 0.1:
        _moments(book, random)


def _moments(book: Book, random: Random) -> None:
    row = book["conversions"]
    sigma = laws.size(random, 0.3, 30.0)
    noise, divergence = random.choice(
        [
            (gaussian(sigma), lambda a: exact(a) / exact(sigma) ** 2 / 2),
            (laplace(sigma), lambda a: laplace_renyi(1 / exact(laplace(sigma).scale), a)),
        ]
    )
    delta, n = laws.size(random, 1e-15, 1e-2), random.choice([1, 10, 1000])
    for conversion in ("moments", "improved"):
        what = f"moments_epsilon({noise!r}, {delta!r}, 1.0, {n}, {conversion!r})"
        found = row.ask(lambda c=conversion: moments_epsilon(noise, delta, 1.0, n, c), what)
        if found is None:
            continue
        epsilon, order = found
        a, total = exact(order), n * divergence(order)
        classic = total - exact(delta).log() / (a - 1)
        improved = total + (1 - 1 / a).log() - (a * exact(delta)).log() / (a - 1)
        row.upper(
            epsilon, classic if conversion == "moments" else classic.min(improved).max(arb(0)), what
        )


def charges(book: Book, random: Random) -> None:
    """What one draw adds to the filter, sums of these, and the ε of the filter."""
    row = book["ledger: charges and filter"]
    epsilon, delta = laws.size(random, 0.05, 20.0), laws.size(random, 1e-12, 1e-3)
    budget = declared(epsilon, delta, orders=random.choice([None, None, [2.0, 8.0, 64.0]]))
    total, exact_sum = nothing(budget), [arb(0)] * len(budget.orders)
    largest_sum = failures = arb(0)
    for _ in range(random.randint(1, 3)):
        drawn = _some_release(random)
        if drawn is None:
            return
        loss, pairs, text = drawn
        uses = random.choice([1, 2, 100])
        made = row.ask(
            lambda single=loss: charge(single, budget), f"charge(single_loss({text}), {budget!r})"
        )
        if made is None:
            return
        truths = [
            row.exactly(lambda a=a, p=pairs: largest(pair.renyi(a) for pair in p))
            for a in budget.orders
        ]
        top, lost = largest(_top(pair) for pair in pairs), largest(_lost(pair) for pair in pairs)
        for order, value, truth in zip(budget.orders, made.renyi, truths, strict=True):
            row.upper(
                value,
                truth.max(arb(0)),
                f"charge(single_loss({text}), {budget!r}) at order {order!r}",
            )
        row.upper(made.largest, top, f"largest loss of charge(single_loss({text}))")
        row.upper(made.failure, lost, f"failure of charge(single_loss({text}))")
        total = total.plus(made.times(uses))
        exact_sum = [a + uses * b.max(arb(0)) for a, b in zip(exact_sum, truths, strict=True)]
        largest_sum, failures = largest_sum + uses * top, failures + uses * lost
    for order, value, truth in zip(budget.orders, total.renyi, exact_sum, strict=True):
        row.upper(value, truth, f"sum of charges at order {order!r}")
    row.upper(total.largest, largest_sum, "sum of largest losses")
    row.upper(total.failure, failures, "sum of failures")
    _filter(book, budget, total)


def filters(book: Book, random: Random) -> None:
    """The filter's ε for charges that no law has: any numbers."""
    epsilon, delta = (
        laws.size(random, 0.01, 50.0),
        random.choice([laws.size(random, 1e-30, 0.3), 0.9]),
    )
    budget = declared(
        epsilon,
        delta,
        orders=random.choice([None, None, [1.0 + 1e-6], [1.5, 1e4], [2.0, 8.0, 64.0]]),
    )
    scale = laws.size(random, 1e-12, 1e3)
    total = Charge(
        tuple(
            random.choice([scale * order, scale * random.random(), 0.0, math.inf])
            for order in budget.orders
        ),
        random.choice([laws.size(random, 1e-9, 1e6), math.inf, scale]),
        random.choice([0.0, 0.5 * FAILURES * delta]),
    )
    _filter(book, budget, total)


def _filter(book: Book, budget: Budget, total: Charge) -> None:
    """The largest of ℓ + log(1 − δ' M(ℓ)) over 0 ≤ ℓ ≤ R: by the slope, in balls."""
    row = book["ledger: charges and filter"]
    what = f"filter_epsilon({total!r}, {budget!r})"
    claimed = row.ask(lambda: filter_epsilon(total, budget), what)
    if claimed is None:
        return
    if total.failure > FAILURES * budget.delta:
        row.holds(claimed == math.inf, what, claimed, math.inf)
        return
    row.upper(claimed, row.exactly(lambda: _largest_of_filter(budget, total)), what)


def _largest_of_filter(budget: Budget, total: Charge) -> arb:
    delta = exact(budget.delta) * (1 - exact(FAILURES))
    terms = [
        (exact(order) - 1, exact(weight).log() + delta.log() - (exact(order) - 1) * exact(renyi))
        for order, weight, renyi in zip(budget.orders, budget.weights, total.renyi, strict=True)
        if math.isfinite(renyi)
    ]
    if not terms:
        return exact(total.largest) if math.isfinite(total.largest) else arb.pos_inf()

    def value_and_slope(loss: arb) -> tuple[arb | None, arb | None]:
        mixed = sum(((rate * loss + constant).exp() for rate, constant in terms), arb(0))
        if not mixed < 1:
            return None, None
        rise = sum((rate * (rate * loss + constant).exp() for rate, constant in terms), arb(0))
        return loss + (1 - mixed).log(), 1 - rise / (1 - mixed)

    low = arb(0)
    value, slope = value_and_slope(low)
    if value is None or not slope > 0:
        return arb(0) if value is None else value.max(arb(0))
    high = (
        exact(total.largest)
        if math.isfinite(total.largest)
        else largest([-constant / rate for rate, constant in terms]) + 1
    )
    there, tilt = value_and_slope(high)
    if there is not None and tilt is not None and tilt > 0:
        return there
    for _ in range(160):
        middle = ((low + high) / 2).mid()
        there, tilt = value_and_slope(middle)
        if there is not None and tilt is not None and tilt > 0:
            low, value = middle, there
        else:
            high = middle
    return value.max(arb(0))  # within 2^−160 of the largest value, and below it


def _some_release(random: Random) -> tuple[object, list[Pair | Sphere], str] | None:
    recipe = random.choice(["lattice", "lattice", "discrete", "sphere"])
    if recipe == "sphere":
        noise, s, sphere, text = some_sphere(random, most=10.0)
        return noise.loss(s), [sphere], f"{text}, {s!r}"
    if recipe == "discrete":
        sigma = laws.size(random, 0.5, 10.0)
        law = discrete_gaussian(sigma)
        return law.loss(1.0), list(pairs_of(law, 1)), f"discrete_gaussian({sigma!r}), 1.0"
    law = laws.lattice(random, random.choice([1, 1, 2]), 6)
    if law is None or law.domain != "integer":
        return None
    pairs = pairs_of(law, 1)
    if any(not pair.cells for pair in pairs):
        return None
    return law.loss(1.0), list(pairs), f"{laws.text(law)}, 1.0"


def _top(pair: Pair | Sphere) -> arb:
    return pair.distance if isinstance(pair, Sphere) else pair.losses[-1].max(arb(0))


def _lost(pair: Pair | Sphere) -> arb:
    return arb(0) if isinstance(pair, Sphere) else pair.infinite
