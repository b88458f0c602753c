"""Integer weights: what is drawn is what is judged."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from flint import arb

from benchmarks.audit import laws
from benchmarks.audit.oracles import ExactLaw, Pair, exact, largest, pairs_of, shell_count
from benchmarks.audit.tally import Book
from leastnoise import (
    LatticeNoise,
    PrivacyLoss,
    cube,
    discrete_gaussian,
    discrete_laplace,
    generalized_gaussian,
    staircase,
)
from leastnoise import exact as with_integer_weights
from leastnoise.artefact.exact import rounded
from leastnoise.errors import LeastNoiseError
from leastnoise.lattice.steps import shift_in_steps


def weights(book: Book, random: Random) -> None:
    """`exact`: sums to 2^bits, does not rise where the law did not, has the ε that is stated, and
    is what the tables give."""
    row = book["integer weights"]
    found = _some_law(random)
    if found is None:
        return
    law, s, text = found
    delta = random.choice([1e-2, 1e-6, 1e-9, 1e-15, 1e-30])
    n = random.choice([1, 1, 10])
    call = f"exact({text}, delta={delta!r}, sensitivity={s!r}, compositions={n}, tolerance=1e-3)"
    made = row.ask(
        lambda: with_integer_weights(
            law, delta=delta, sensitivity=s, compositions=n, tolerance=1e-3
        ),
        call,
    )
    if made is None:
        made = row.ask(lambda: rounded(law, random.choice([64, 128])), f"rounded({text})")
        if made is None:
            return
    masses = [Fraction(float(mass)) for mass in made.shell_masses]
    unit = Fraction(1, 1 << 128)
    row.holds(sum(masses) == 1, f"sum of the weights of {call}", sum(masses), 1)
    row.holds(
        all((mass / unit).denominator == 1 for mass in masses),
        f"weights of {call} are whole",
        "",
        "",
    )
    if ExactLaw.of(law).is_monotone() and made.dimension == 1:
        row.holds(ExactLaw.of(made).is_monotone(), f"{call} does not rise", laws.text(made), "")
    if made.dimension > 1 and law.is_monotone:
        heights = [mass / shell_count(made.dimension, k) for k, mass in enumerate(masses)]
        first = next(k for k, height in enumerate(heights) if height)
        falls = all(a >= b for a, b in zip(heights[first:], heights[first + 1 :], strict=False))
        row.holds(falls, f"{call} does not rise beyond its empty shells", laws.text(made), "")
    _tables(row, made, masses, call)
    m = shift_in_steps(s, made.step)
    pairs = row.exactly(lambda: pairs_of(made, m, 3))
    epsilon = row.ask(
        lambda: PrivacyLoss.of(made, s).epsilon(delta),
        f"PrivacyLoss.of({call}, {s!r}).epsilon({delta!r})",
    )

    def delta_at(at: float | arb) -> arb:
        return largest(pair.delta(at) for pair in pairs)

    row.epsilon(epsilon, delta, delta_at, f"PrivacyLoss.of({call}, {s!r}).epsilon({delta!r})")


def _some_law(random: Random) -> tuple[LatticeNoise, float, str] | None:
    recipe = random.choice(["own", "own", "discrete", "staircase", "joint", "smooth"])
    try:
        if recipe == "own":
            law = laws.lattice(random, random.choice([1, 1, 2]), 8)
            if law is None or law.step not in (1.0, 0.25):
                return None
            return law, law.step * random.randint(1, 2), laws.text(law)
        sigma = laws.size(random, 0.5, 6.0)
        if recipe == "discrete":
            maker = random.choice([discrete_gaussian, discrete_laplace])
            return maker(sigma), 1.0, f"{maker.__name__}({sigma!r})"
        if recipe == "staircase":
            return staircase(sigma, step=0.25), 1.0, f"staircase({sigma!r}, step=0.25)"
        if recipe == "joint":
            d = random.choice([2, 3])
            return cube(sigma, d, domain="integer"), 1.0, f"cube({sigma!r}, {d}, domain='integer')"
        power = random.choice([1.5, 2.0, 3.0])
        return (
            generalized_gaussian(sigma, power, step=0.5),
            1.0,
            f"generalized_gaussian({sigma!r}, {power}, step=0.5)",
        )
    except LeastNoiseError:
        return None


def _tables(row, made: LatticeNoise, masses: list[Fraction], call: str) -> None:
    """Every one of the 2^bits draws of the alias table, counted; and the first face of a point of a
    shell."""
    sampler = made.sampler().tables
    table = sampler.table
    height = 1 << (table.bits - table.column_bits)
    counts: dict[int, int] = {}
    for column in range(1 << table.column_bits):
        last = int(table.last_unit[column])
        if table.bits == 128:
            last = last << 64 | int(table.last_unit_low[column])
        first_units = last + 1 - column * height
        row_ok = 0 <= first_units <= height
        for outcome, units in zip(
            (int(x) for x in table.outcomes[2 * column : 2 * column + 2]),
            (first_units, height - first_units),
            strict=True,
        ):
            counts[outcome] = counts.get(outcome, 0) + units
        if not row_ok:
            row.holds(
                False,
                f"column {column} of the alias table of {call}",
                first_units,
                f"0 to {height}",
            )
    whole = 1 << table.bits
    if sampler.faces is None:
        wanted = {0: masses[0]} | {
            sign * k: mass / 2 for k, mass in enumerate(masses) if k for sign in (1, -1)
        }
    else:
        radii = [int(k) for k in sampler.faces.radii]
        wanted = {index: masses[k] for index, k in enumerate(radii)}
        for index, k in enumerate(radii[:40]):
            d = made.dimension
            points = shell_count(d, k)
            for j in range(1, d):
                # Points of the shell whose first coordinate of size k comes before place j.
                before = (
                    points - (2 * k - 1) ** j * ((2 * k + 1) ** (d - j) - (2 * k - 1) ** (d - j))
                    if k
                    else 1
                )
                boundary = min((before << 64) // points, (1 << 64) - 1)
                row.holds(
                    int(sampler.faces.boundaries[j - 1, index]) == boundary,
                    f"face {j} of shell {k} of {call}",
                    "",
                    boundary,
                )
    drawn = {outcome: Fraction(units, whole) for outcome, units in counts.items() if units}
    row.holds(
        drawn == {outcome: mass for outcome, mass in wanted.items() if mass},
        f"alias table of {call}",
        "",
        "",
    )


def endless(book: Book, random: Random) -> None:
    """Laws that are drawn without an end: the divergence that is stated against that of the weights
    that are drawn."""
    from leastnoise import renyi_divergence
    from leastnoise.interop.untruncated import UntruncatedLaw

    row = book["laws drawn without end"]
    sigma = laws.size(random, 0.4, 8.0)
    maker = random.choice([discrete_gaussian, discrete_laplace])
    law = maker(sigma)
    text = f"UntruncatedLaw.of({maker.__name__}({sigma!r}))"
    made = row.ask(lambda: UntruncatedLaw.of(law), text)
    if made is None:
        return
    row.holds(
        sum(made.weights) == 1 << 128, f"sum of the weights of {text}", sum(made.weights), 1 << 128
    )
    last, ratio = made.last, exact(made.noise.tail_ratio or 0.0)
    whole = arb(2) ** 128
    inner = [arb(weight) / whole for weight in made.weights[: 2 * last + 1]]
    start = arb(made.weights[-1]) / whole * (1 - ratio)  # of the first place of a tail

    def probability(place: int) -> arb:
        return (
            inner[place + last] if abs(place) <= last else start * ratio ** (abs(place) - last - 1)
        )

    far = last + 2
    cells = [_cell(probability(x), probability(x - 1)) for x in range(-far, far + 1)]
    right, left = probability(far + 1) / (1 - ratio), probability(-far - 1) / (1 - ratio)
    pair = Pair.of([*cells, _cell(right, right / ratio), _cell(left, left * ratio)])
    for order in (1.0, 1.0 + laws.size(random, 1e-8, 1.0), laws.size(random, 1.5, 1e3)):
        what = f"renyi_divergence({text}.noise, {order!r})"
        truth = row.exactly(lambda a=order: pair.renyi(a))
        row.upper(row.ask(lambda a=order: renyi_divergence(made.noise, a), what), truth, what)


def _cell(p: arb, q: arb):
    from benchmarks.audit.oracles import Cell

    return Cell(p, q)
