"""One release: sensitivities, profiles, divergences."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from flint import arb

from benchmarks.audit import cut_cubes, laws, theirs
from benchmarks.audit.oracles import (
    Number,
    Pair,
    Sphere,
    exact,
    gaussian_delta,
    laplace_delta,
    laplace_renyi,
    largest,
    pairs_of,
)
from benchmarks.audit.tally import Book, Row
from leastnoise import LatticeNoise, PrivacyLoss, gaussian, laplace, renyi_divergence, staircase
from leastnoise.lattice.steps import PLACES, public_pitch, shift_in_steps, step_of
from leastnoise.laws.cut_cube import CutCubeNoise
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.sphere import BallNoise
from leastnoise.losses.lattice import lattice_loss

# --- sensitivities -------------------------------------------------------------------------------


def steps(book: Book, random: Random) -> None:
    """Pairs of floats at most a sensitivity apart, as exact numbers, and the places they are
    rounded to."""
    row = book["steps and hostile pairs of floats"]
    s = random.choice(
        [
            random.randint(1, 10_000) / 10 ** random.randint(0, 6),
            random.randint(1, 100) / random.randint(1, 100),
            laws.size(random, 1e-12, 1e12),
            laws.size(random, 1e-290, 1e290),
            2.0 ** random.randint(-30, 30),
        ]
    )
    s = random.choice([s, math.nextafter(s, math.inf), math.nextafter(s, 0.0)])
    m = random.choice([1, 2, 3, 7, 10, 19, 49, 50, 100, 997, 65_537])
    if random.random() < 0.7:
        step = row.ask(lambda: step_of(s, m), f"step_of({s!r}, {m})")
        if step is None:
            return
        pitch, judged = public_pitch(step, "real"), shift_in_steps(s, step) * PLACES
        row.holds(judged == m * PLACES, f"shift_in_steps({s!r}, {step!r})", judged, m * PLACES)
    else:
        noise = BallNoise(s, random.randint(2, 5), random.choice([s / m, s, 3.0 * s]))
        pitch = public_pitch(noise.step, "real")
        judged = _judged_places(noise, s, pitch)
    apart = max(
        abs(_place(a, pitch) - _place(b, pitch)) for a, b in _hostile_pairs(pitch, s, random)
    )
    row.holds(
        apart <= judged,
        f"floats at most {s!r} apart, pitch {pitch}",
        f"{judged} places judged",
        f"{apart} places apart",
    )


def _judged_places(noise: BallNoise, s: float, pitch: Fraction) -> int:
    """What the judge took the distance to be: half = distance·√d/(2b), rounded up by a few last
    places."""
    loss = noise.loss(s)
    half = exact(getattr(loss, "half", math.nan))
    places = half * 2 * exact(noise.scale) / exact(noise.dimension).sqrt() / exact(pitch)
    return int((places * (1 + exact(2.0**-40))).lower().floor().unique_fmpz())


def _hostile_pairs(pitch: Fraction, s: float, random: Random) -> list[tuple[float, float]]:
    """Pairs at most s apart, the lower end at or next to the middle between two places."""
    found = [(0.0, s)]
    for _ in range(6):
        place = random.randint(-(2**22), 2**22)
        middle = float((place + Fraction(1, 2)) * pitch)
        for a in (middle, math.nextafter(middle, -math.inf), math.nextafter(middle, math.inf)):
            b = float(Fraction(a) + Fraction(s))
            for end in (b, math.nextafter(b, -math.inf), math.nextafter(b, math.inf)):
                if math.isfinite(end) and abs(Fraction(end) - Fraction(a)) <= Fraction(s):
                    found.append((a, end))
    return found


def _place(answer: float, pitch: Fraction) -> int:
    return math.floor(Fraction(answer) / pitch + Fraction(1, 2))


# --- profiles ------------------------------------------------------------------------------------


def line_profiles(book: Book, random: Random) -> None:
    """Laws of one answer: every point and every shift."""
    _lattice_profiles(book["one release: delta, one answer"], random, 1)


def joint_profiles(book: Book, random: Random) -> None:
    """Laws of two and three answers: every pair of shells and every shift of the box."""
    _lattice_profiles(book["one release: delta, joint laws"], random, random.choice([2, 2, 3]))


def _lattice_profiles(row: Row, random: Random, dimension: int) -> None:
    noise = laws.lattice(random, dimension, 12 if dimension == 1 else 5)
    m = random.randint(1, 4 if dimension == 1 else 2)
    if noise is None:
        return
    text = f"PrivacyLoss(((lattice_loss({laws.text(noise)}, {m}), 1),))"
    pairs = row.exactly(lambda: pairs_of(noise, m))
    losses = sorted({float(loss) for pair in pairs for loss in pair.losses})
    judged = row.ask(lambda: PrivacyLoss(((lattice_loss(noise, m), 1),)), text)
    if judged is None:
        return
    single = judged.parts[0][0]

    def delta_at(epsilon: Number) -> arb:
        return largest(pair.delta(epsilon) for pair in pairs)

    for epsilon in laws.epsilons(random, losses, 4):
        truth = row.exactly(lambda e=epsilon: delta_at(e))
        if epsilon >= 0.0:
            what = f"{text}.delta_bounds({epsilon!r})"
            row.bounds(
                row.ask(lambda e=epsilon: judged.delta_bounds(e), what),
                truth,
                what,
                (epsilon, delta_at),
            )
        else:
            what = f"lattice_loss({laws.text(noise)}, {m}).profile({epsilon!r})"
            row.upper(
                row.ask(lambda e=epsilon: float(single.profile(e)), what),
                truth,
                what,
                profile=(epsilon, delta_at),
            )
            row.lower(row.ask(lambda e=epsilon: float(single.profile_lower(e)), what), truth, what)
    if len(pairs) == 1 and losses and max(map(abs, losses)) < 50.0:
        _their_profile(row, pairs[0], max(laws.epsilons(random, losses, 1)[0], 0.0), text)


def _their_profile(row: Row, pair: Pair, epsilon: float, text: str) -> None:
    one = row.ask_theirs(lambda: theirs.distribution(pair)) if theirs.is_there() else None
    if one is not None:
        value = row.ask_theirs(lambda: float(one.get_delta_for_epsilon(epsilon)))
        what = f"dp_accounting, delta({epsilon!r}) of {text}"
        row.upper(value, pair.delta(epsilon), what, of=row.theirs, profile=(epsilon, pair.delta))


def closed_profiles(book: Book, random: Random) -> None:
    """Gaussian and Laplace noise in their closed forms, from tiny to huge sensitivities."""
    row = book["one release: delta, closed forms"]
    ratio = random.choice(
        [
            laws.size(random, 1e-3, 30.0),
            laws.size(random, 1e-20, 1e-3),
            laws.size(random, 30.0, 3e3),
        ]
    )
    if random.random() < 0.05:
        ratio = laws.size(random, 1e-300, 1e-20)
    is_gaussian = random.random() < 0.6
    noise = gaussian(1.0 / ratio) if is_gaussian else laplace(1.0 / ratio)
    s = random.choice([1.0, 1.0, 0.1, 3.0])
    unit = exact(s) / exact(
        noise.sigma if isinstance(noise, GaussianNoise) else noise.scale
    )  # of the floats of the law itself
    spread = float(unit)
    if is_gaussian:
        usual = [
            spread * random.uniform(0, 8),
            spread * spread / 2 + spread * random.uniform(-3, 8),
            laws.size(random, 1e-18, 1e3),
        ]
    else:
        usual = [
            spread,
            spread * random.random(),
            spread * (1 - laws.size(random, 1e-16, 1.0)),
            math.nextafter(spread, 0.0),
        ]
    epsilon = max(random.choice([0.0, *usual]), 0.0)
    what = f"PrivacyLoss.of({noise!r}, {s!r}).delta_bounds({epsilon!r})"

    def delta_at(e: Number) -> arb:
        return gaussian_delta(unit, e) if is_gaussian else laplace_delta(unit, 1, e)

    truth = row.exactly(lambda: delta_at(epsilon))
    row.bounds(
        row.ask(lambda: PrivacyLoss.of(noise, s).delta_bounds(epsilon), what),
        truth,
        what,
        (epsilon, delta_at),
    )
    if theirs.is_there() and 1e-2 < spread < 1.0:
        one = row.ask_theirs(lambda: theirs.closed(noise, s))
        if one is not None:
            value = row.ask_theirs(lambda: float(one.get_delta_for_epsilon(epsilon)))
            row.upper(
                value, truth, f"dp_accounting: {what}", of=row.theirs, profile=(epsilon, delta_at)
            )


def sphere_profiles(book: Book, random: Random) -> None:
    """The sphere law."""
    row = book["one release: delta, sphere"]
    noise, s, law, text = some_sphere(random)
    top = float(law.distance)
    for epsilon in (
        0.0,
        top * random.random(),
        top * (1 - laws.size(random, 1e-15, 1e-2)),
        laws.size(random, 1e-12, top),
    ):
        what = f"PrivacyLoss.of({text}, {s!r}).delta_bounds({epsilon!r})"
        truth = row.exactly(lambda e=epsilon: law.delta(e))
        row.bounds(
            row.ask(lambda e=epsilon: PrivacyLoss.of(noise, s).delta_bounds(e), what),
            truth,
            what,
            (epsilon, law.delta),
        )
    epsilon = -laws.size(random, 1e-12, 2.0 * top)
    what = f"single_loss({text}, {s!r}).profile({epsilon!r})"
    row.upper(
        row.ask(lambda: float(noise.loss(s).profile(epsilon)), what),
        law.delta(epsilon),
        what,
    )


def cut_cube_profiles(book: Book, random: Random) -> None:
    """The cut cube: where it is the sphere at every ε, and elsewhere from λ on."""
    row = book["one release: delta, cut cube"]
    is_sphere = random.random() < 0.5
    d = random.randint(16, 60) if is_sphere else random.randint(36, 75)
    square = 1.0 if is_sphere else d / 3.0 * random.uniform(0.75, 1.3)
    ratio = laws.size(random, 0.05, 1.5) if is_sphere else laws.size(random, 0.3, 5.0)
    s = random.choice([1.0, 0.1, 3.0])
    noise = CutCubeNoise(s / ratio, square, d, random.choice([s, 0.1 * s, 3.0 * s]))
    pitch = public_pitch(noise.step, "real")
    lam = exact(math.ceil(Fraction(s) / pitch) * pitch) / exact(noise.scale)
    ball = Sphere(d, lam * exact(d).sqrt())
    factors = (0.0, 1.0, random.uniform(0.1, 3.0)) if is_sphere else (1.0, random.uniform(1.0, 1.3))
    for factor in factors:
        epsilon = math.nextafter(float(lam) * factor, math.inf)
        what = f"PrivacyLoss.of({noise!r}, {s!r}).delta_bounds({epsilon!r})"
        truth = row.exactly(
            lambda e=epsilon: (
                ball.delta(e) if is_sphere else cut_cubes.between(d, noise.square, float(lam), e)
            )
        )
        row.bounds(
            row.ask(lambda e=epsilon: PrivacyLoss.of(noise, s).delta_bounds(e), what), truth, what
        )


def some_sphere(random: Random, most: float = 9e3) -> tuple[BallNoise, float, Sphere, str]:
    """A sphere law, a sensitivity, and the exact law of its loss at the distance that the public
    lattice makes of it."""
    d = random.choice([2, 2, 3, 4, 5, 10, 10, 21, 40, 100])
    usual = laws.size(random, 1e-2, 20.0)
    top = min(
        random.choice([usual, usual, laws.size(random, 1e-6, 1e-2), laws.size(random, 20.0, 9e3)]),
        most,
    )
    s = random.choice([1.0, 0.1, 3.0])
    noise = BallNoise(s * math.sqrt(d) / top, d, random.choice([s, 0.1 * s, 3.0 * s]))
    pitch = public_pitch(noise.step, "real")
    distance = (
        math.ceil(Fraction(s) / pitch) * pitch
    )  # what two answers can be apart once they are rounded
    law = Sphere(d, exact(distance) / exact(noise.scale) * exact(d).sqrt())
    return noise, s, law, f"BallNoise({noise.scale!r}, {d}, {noise.step!r})"


# --- divergences ---------------------------------------------------------------------------------


def divergences(book: Book, random: Random) -> None:
    """Rényi divergences of every order, of every family of laws."""
    row = book["one release: Renyi divergences"]
    near_one, usual, high = (
        1.0 + laws.size(random, 1e-12, 1e-2),
        laws.size(random, 1.01, 100.0),
        laws.size(random, 100.0, 1e4),
    )
    orders = [1.0, 1.0 + 1e-8, near_one, usual, high, math.inf]
    recipe = random.choice(["lattice", "lattice", "joint", "closed", "staircase", "sphere"])
    if recipe == "closed":
        _closed_divergences(row, random, orders)
    elif recipe == "sphere":
        _sphere_divergences(row, random, orders)
    elif recipe == "staircase":
        s = random.choice([1.0, 0.1, 2.5])
        sigma, step = s * laws.size(random, 0.3, 5.0), step_of(s, 6)
        text = f"staircase({sigma!r}, sensitivity={s!r}, step={step!r})"
        stairs = row.ask(lambda: staircase(sigma, sensitivity=s, step=step), text)
        if stairs is not None:
            _lattice_divergences(row, stairs, 6, s, text, random.sample(orders, 2))
    else:
        noise = laws.lattice(
            random, 1 if recipe == "lattice" else 2, 8 if recipe == "lattice" else 4
        )
        m = random.randint(1, 3 if recipe == "lattice" else 1)
        if (
            noise is not None and noise.step != 0.1
        ):  # m times 0.1 as a float is not m steps as exact numbers
            _lattice_divergences(
                row, noise, m, m * noise.step, laws.text(noise), random.sample(orders, 2)
            )


def _lattice_divergences(
    row: Row, noise: LatticeNoise, m: int, s: float, text: str, orders: list[float]
) -> None:
    pairs = row.exactly(lambda: pairs_of(noise, m, 3))
    ends = any(not pair.infinite.is_zero() for pair in pairs)
    for order in orders:
        what = f"renyi_divergence({text}, {order!r}, {s!r})"
        claimed = row.ask(lambda a=order: renyi_divergence(noise, a, s), what)
        if ends and claimed is not None:
            row.holds(claimed == math.inf, what, claimed, math.inf)
        elif not ends:
            row.upper(
                claimed, row.exactly(lambda a=order: largest(pair.renyi(a) for pair in pairs)), what
            )


def _sphere_divergences(row: Row, random: Random, orders: list[float]) -> None:
    noise, s, law, text = some_sphere(random)
    for order in random.sample(orders, 3):
        what = f"renyi_divergence({text}, {order!r}, {s!r})"
        if order == math.inf or (order - 1.0) * float(law.distance) < 1e6:
            row.upper(
                row.ask(lambda a=order: renyi_divergence(noise, a, s), what),
                row.exactly(lambda a=order: law.renyi(a)),
                what,
            )


def _closed_divergences(row: Row, random: Random, orders: list[float]) -> None:
    usual, extreme = (
        laws.size(random, 1e-3, 30.0),
        [laws.size(random, 1e-8, 1e-3), laws.size(random, 30.0, 1e3)],
    )
    ratio = random.choice([usual, *extreme, laws.size(random, 1e-200, 1e-8)])
    is_gaussian = random.random() < 0.3
    noise = gaussian(1.0 / ratio) if is_gaussian else laplace(1.0 / ratio)
    unit = 1 / exact(noise.sigma if isinstance(noise, GaussianNoise) else noise.scale)
    for order in random.sample(orders, 3):
        what = f"renyi_divergence({noise!r}, {order!r})"
        claimed = row.ask(lambda a=order: renyi_divergence(noise, a), what)
        if is_gaussian and order == math.inf:
            row.holds(claimed in (None, math.inf), what, claimed, math.inf)
            continue
        truth = row.exactly(
            lambda a=order: exact(a) * unit * unit / 2 if is_gaussian else laplace_renyi(unit, a)
        )
        row.upper(claimed, truth, what, record=ratio == usual)
        if theirs.is_there() and 1.0 < order < math.inf:
            value = row.ask_theirs(lambda a=order: theirs.divergence(noise, a))
            row.upper(value, truth, f"dp_accounting: {what}", of=row.theirs, record=ratio == usual)
