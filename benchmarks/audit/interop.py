"""The adapters: what other libraries are told."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

from flint import arb

from benchmarks.audit import laws, theirs
from benchmarks.audit.oracles import (
    Cell,
    ExactLaw,
    Pair,
    composed,
    count_of_types,
    exact,
    gaussian_delta,
    laplace_delta,
    largest,
    pairs_of,
)
from benchmarks.audit.tally import Book
from leastnoise import LatticeNoise, discrete_laplace, gaussian, laplace
from leastnoise.interop.distance import IntendedUse
from leastnoise.lattice.steps import PLACES, public_pitch


def dp_accounting_adapter(book: Book, random: Random) -> None:
    """A law in dp_accounting, and back: its δ is never below the exact one."""
    if not theirs.is_there():
        return
    from leastnoise.interop.dp_accounting import from_pld, to_pld

    row = book["adapter: dp_accounting"]
    recipe = random.choice(["table", "table", "Gaussian", "Laplace"])
    if recipe == "table":
        law = laws.lattice(random, 1, 6)
        if law is None or law.domain != "integer":
            return
        pairs = pairs_of(law, 1)
        losses = [float(loss) for pair in pairs for loss in pair.losses]
        if not losses or max(map(abs, losses)) > 30.0:
            return
        noise: Any = law
        text, top = laws.text(law), max(map(abs, losses))

        def truth_at(epsilon: float) -> arb:
            return largest(pair.delta(epsilon) for pair in pairs)

        if len(pairs) == 1:
            back = row.ask(lambda: from_pld(theirs.distribution(pairs[0])), f"from_pld of {text}")
            if back is not None:
                epsilon = random.uniform(0.0, top)
                row.upper(
                    row.ask(lambda: back.delta(epsilon), f"from_pld of {text}"),
                    truth_at(epsilon),
                    f"from_pld of {text}",
                )
    else:
        noise = (gaussian if recipe == "Gaussian" else laplace)(laws.size(random, 0.5, 100.0))
        unit = 1 / exact(noise.sigma if recipe == "Gaussian" else noise.scale)
        text, top = repr(noise), (8.0 * float(unit) if recipe == "Gaussian" else float(unit))

        def truth_at(epsilon: float) -> arb:
            return (
                gaussian_delta(unit, epsilon)
                if recipe == "Gaussian"
                else laplace_delta(unit, 1, epsilon)
            )

    interval = random.choice([1e-3, 1e-2, 1e-4])
    pld = row.ask(lambda: to_pld(noise, interval=interval), f"to_pld({text}, interval={interval})")
    if pld is None:
        return
    for epsilon in (0.0, top * random.random(), top * 0.999):
        what = f"to_pld({text}, interval={interval}).get_delta_for_epsilon({epsilon!r})"
        row.upper(
            row.ask(lambda e=epsilon: float(pld.get_delta_for_epsilon(e)), what),
            truth_at(epsilon),
            what,
        )


def opendp_adapter(book: Book, random: Random) -> None:
    """OpenDP's privacy map at any distance, whole steps or not."""
    try:
        import opendp.prelude  # noqa: F401
    except ImportError:
        return
    from leastnoise.interop import opendp as adapter

    row = book["adapter: OpenDP"]
    adapter.enable()
    domain = random.choice(["integer", "real"])
    delta = random.choice([1e-2, 1e-4, 1e-6])
    if domain == "integer":
        sigma = random.choice([0.8, 1.5, 3.0])
        law, text = discrete_laplace(sigma), f"discrete_laplace({sigma})"
    else:
        weights, step = (
            random.choice([[3.0, 2.0, 1.0], [1.0, 0.8, 0.3, 0.1], [4.0, 4.0, 1.0]]),
            random.choice([1.0, 0.5]),
        )
        ratio = random.choice([0.3, 0.5])
        law = LatticeNoise.from_weights(weights, ratio, step=step)
        text = f"LatticeNoise.from_weights({weights}, {ratio}, step={step})"
    draws = random.choice([1, 1, 2])
    call = f"measurement({text}, answers={draws}, delta={delta}, sensitivity=1.0)"
    made = row.ask(
        lambda: adapter.measurement(law, answers=draws, delta=delta, sensitivity=1.0), call
    )
    sampled = IntendedUse.of(law, delta=delta, sensitivity=1.0).drawn(draws)
    if made is None or not isinstance(sampled, LatticeNoise):
        return
    distance = (
        random.choice([1, 2, 3])
        if domain == "integer"
        else random.choice([1.0, 0.5, 0.25, 1.000000009, random.uniform(0.1, 2.5)])
    )
    what = f"{call}.map({distance!r})"
    stated = row.ask(lambda: made.map(distance), what)
    if stated is None:
        return
    epsilon, delta_stated = stated
    pairs = _at_distance(sampled, Fraction(distance))
    if any(count_of_types(len(pair.cells), draws) > 20_000 for pair in pairs):
        return
    whole = [composed([(pair, draws)]) for pair in pairs]
    row.epsilon(epsilon, delta_stated, lambda e: largest(pair.delta(e) for pair in whole), what)


def _at_distance(law: LatticeNoise, distance: Fraction) -> list[Pair]:
    """The pairs of answers that far apart, as they are released: rounded to places of the public
    lattice, with a place within its bin that is the same for both. M places are m bins, and one
    more for the share f of the places within a bin."""
    exact_law = ExactLaw.of(law)
    if law.domain == "integer":
        return [Pair.of(exact_law.cells((math.floor(distance),)))]
    most = math.ceil(distance / public_pitch(law.step, law.domain))
    found = []
    for places in {most, max(most - 1, 1), most // 2 or 1}:
        m, rest = divmod(places, PLACES)
        share = exact(Fraction(rest, PLACES))
        cells = (
            [Cell(cell.p * share, cell.q * share) for cell in exact_law.cells((m + 1,))]
            if rest
            else []
        )
        if m:
            cells += [
                Cell(cell.p * (1 - share), cell.q * (1 - share)) for cell in exact_law.cells((m,))
            ]
        else:
            cells.append(Cell(1 - share, 1 - share))
        found.append(Pair.of(cells))
    return found
