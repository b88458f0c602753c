"""A design as an OpenDP measurement: `pip install "leastnoise[opendp]"` (OpenDP 0.16 or newer).

OpenDP adds (ε, δ) up, so ten measurements with noise that was designed for ten releases
would lose what the design gained. ONE vector measurement for all answers keeps the
tight guarantee, whether they share one joint draw (a batch) or get independent draws.

    import opendp.prelude as dp
    from leastnoise import design
    from leastnoise.interop.opendp import enable, measurement, then_leastnoise

    enable()                                     # "contrib" and "honest-but-curious" of OpenDP
    best = design(delta=1e-6, epsilon=1.0, domain="integer")
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
    private_count = count >> then_leastnoise(best)
    private_count.map(1)                         # (ε, δ) at one row more or less

Guarantees: the function draws from integer weights with the operating system's entropy, and the
privacy map judges that same law. The map answers for every distance, 0 and infinity included, by an
upper bound on ε at the δ of the design (see `leastnoise.interop.distance`); where the law ends too
early for a distance far beyond its sensitivity, at a larger δ. Infinite answers are clamped and
integers saturate: no error depends on a value of the data.

OpenDP states the distance of floating-point sums a little above the one you expect, 1.000000009 for
1. Design for what it states, `design(sensitivity=total.map(1), …)`: some of the best
laws fall in steps as wide as the sensitivity, and a hair beyond a step costs the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import InvalidParameterError, UnsupportedError, one_of, positive_integer
from leastnoise.interop.distance import (
    IntendedUse,
    Source,
    as_distance,
    loss_at,
    loss_at_length,
    loss_of_some,
)
from leastnoise.interop.untruncated import UntruncatedLaw
from leastnoise.laws.base import Noise
from leastnoise.losses.base import Loss
from leastnoise.losses.distance import NO_LOSS
from leastnoise.losses.rounding import ULP
from leastnoise.optional import required
from leastnoise.sampling import Draws, Sampled, release

Measure = Literal["approximate", "renyi"]

_INTEGERS = {f"{sign}{bits}": (sign, bits) for sign in "iu" for bits in (8, 16, 32, 64)}
_LARGEST = 1e300  # infinite answers count as this; clamping moves no two answers apart
# The exponent of the norm.
_METRICS = {
    "AbsoluteDistance": math.inf,
    "LInfDistance": math.inf,
    "L1Distance": 1,
    "L2Distance": 2,
}


def enable() -> None:
    """Switch on the two features of OpenDP that measurements from other libraries need.

    "honest-but-curious" says that you trust the author of the measurement, here
    leastnoise, to state its privacy truly.

    Raises:
        MissingExtraError: OpenDP is not installed.
    """
    _dp().enable_features("contrib", "honest-but-curious")


def make_leastnoise(
    input_domain: Any,
    input_metric: Any,
    law: Source,
    *,
    answers: int | None = None,
    delta: float | None = None,
    sensitivity: float | None = None,
    measure: Measure = "approximate",
) -> Any:
    """The measurement that adds the noise of `law`, a Design, an Artefact or a Noise, to its input.

    The l∞ distance lets one person move every answer, up or down: that a person touches only some,
    `design(touched=…)`, counts for integers in the l1 or l2 distance. A length of all changes,
    `Euclidean`, counts in the l2 distance; that they all move the same way, `OneSided`, in none,
    and noise that is only for that is refused. Answers of different sensitivities are to be divided
    by `Design.scales` first.

    Args:
        input_domain: An atom domain (one answer) or a vector domain (all answers of the use):
            integers for a law on the integers, f64 without NaN for a law on the real line.
        input_metric: The absolute distance, or the l∞, l1 or l2 distance of vectors.
        law: A Design, an Artefact or a Noise.
        answers: How many answers a vector has, if its domain has no size.
        delta: The δ at which ε is stated; that of the design unless given. A bare Noise has none.
        sensitivity: What the law is made exact for; that of the design, or 1, unless given.
        measure: "approximate" maps a distance to (ε, δ), tight over all answers;
            "renyi" maps it to a function of the order, for those who compose in OpenDP,
            and draws from a law without end (one answer a draw, or the ball law).

    Returns:
        A measurement of OpenDP.

    Raises:
        MissingExtraError: OpenDP is not installed.
        UnsupportedError: The law, the domain and the metric do not fit together.
        InvalidParameterError: An argument is outside its range.
    """
    dp = _dp()
    one_of("measure", measure, ("approximate", "renyi"))
    use = IntendedUse.of(law, delta=delta, sensitivity=sensitivity)
    carrier, size = _carrier(input_domain, use)
    exponent, is_vector = _exponent(input_metric), size is not None
    if (str(_origin(input_metric)) == "AbsoluteDistance") == is_vector:
        raise UnsupportedError(f"Expected {input_metric} to measure the members of {input_domain}.")
    count = _count(use, size, answers)
    mechanism = _Measured.of(use, count // use.noise.dimension, measure)
    # what cannot be judged for a distance is refused here, not when somebody asks for its cost
    mechanism.moved(Fraction(use.sensitivity), exponent)

    def function(argument: Any) -> Any:
        values = argument if is_vector else [argument]
        if len(values) != count:
            raise ValueError(
                f"Expected {count} answers, not {len(values)}: the noise is for all of them "
                "together."
            )
        noisy = mechanism.release(values, carrier)
        return noisy if is_vector else noisy[0]

    def privacy_map(distance: Any) -> Any:
        return mechanism.cost(as_distance("d_in", distance), exponent)

    return dp.m.make_user_measurement(
        input_domain,
        input_metric,
        dp.renyi_divergence() if measure == "renyi" else dp.approximate(dp.max_divergence()),
        function,
        privacy_map,
        TO=f"Vec<{carrier}>" if is_vector else carrier,
    )


def then_leastnoise(
    law: Source,
    *,
    answers: int | None = None,
    delta: float | None = None,
    sensitivity: float | None = None,
    measure: Measure = "approximate",
) -> Any:
    """`make_leastnoise` for chains: `transformation >> then_leastnoise(design)`.

    Args:
        law: A Design, an Artefact or a Noise.
        answers: How many answers a vector has, if its domain has no size.
        delta: The δ at which ε is stated; that of the design unless given.
        sensitivity: What the law is made exact for; that of the design, or 1, unless given.
        measure: "approximate" or "renyi"; see `make_leastnoise`.

    Returns:
        What waits for a domain and a metric, to the right of `>>`.

    Raises:
        MissingExtraError: OpenDP is not installed.
    """

    def make(domain: Any, metric: Any) -> Any:
        given: dict[str, Any] = {"answers": answers, "delta": delta, "sensitivity": sensitivity}
        return make_leastnoise(domain, metric, law, measure=measure, **given)

    return required("opendp.mod", "opendp")._PartialConstructor(make)


def measurement(
    law: Source,
    *,
    answers: int | None = None,
    delta: float | None = None,
    sensitivity: float | None = None,
    measure: Measure = "approximate",
    carrier: str | None = None,
) -> Any:
    """A measurement for answers that are there already: a vector for several (in the l∞
    distance), a number for one.

    Args:
        law: A Design, an Artefact or a Noise.
        answers: How many answers; those of the whole use of a design unless given.
        delta: The δ at which ε is stated; that of the design unless given.
        sensitivity: What the law is made exact for; that of the design, or 1, unless given.
        measure: "approximate" or "renyi"; see `make_leastnoise`.
        carrier: The type of an answer; i32 for a law on the integers, as OpenDP counts,
            and f64 on the real line, unless given.

    Returns:
        A measurement of OpenDP.

    Raises:
        MissingExtraError: OpenDP is not installed.
        UnsupportedError: The law and the type do not fit together.
        InvalidParameterError: An argument is outside its range.
    """
    dp = _dp()
    use = IntendedUse.of(law, delta=delta, sensitivity=sensitivity)
    count = use.answers if answers is None else positive_integer("answers", answers)
    kind = carrier or ("i32" if use.noise.domain == "integer" else "f64")
    atom = dp.atom_domain(T=kind, nan=False) if kind in ("f32", "f64") else dp.atom_domain(T=kind)
    space = (atom, dp.absolute_distance(T=kind))
    if count > 1:
        space = (dp.vector_domain(atom, size=count), dp.linf_distance(T=kind))
    given: dict[str, Any] = {"answers": count, "delta": delta, "sensitivity": sensitivity}
    return make_leastnoise(*space, law, measure=measure, **given)


def register() -> None:
    """Let `Context` queries end in `.leastnoise(design)`; calling it again does no harm.

    Raises:
        MissingExtraError: OpenDP is not installed.
    """
    context = required("opendp.context", "opendp")
    if "leastnoise" not in context.constructors:
        context.register(make_leastnoise, "leastnoise")


@dataclass(frozen=True, eq=False)
class _Measured:
    """The law that is drawn, how many draws, and what they cost at any distance."""

    law: Noise  # judged
    drawn: Sampled  # as it is drawn
    draws: int
    delta: float | None  # None: costs are Rényi divergences

    @staticmethod
    def of(use: IntendedUse, draws: int, measure: str) -> _Measured:
        if measure == "approximate":
            law = use.drawn(draws)
            return _Measured(law, law, draws, use.stated_delta)
        law = use.drawable()
        if law.radial is None:
            return _Measured(law, law, draws, None)
        untruncated = UntruncatedLaw.of(law)
        return _Measured(untruncated.noise, untruncated, draws, None)

    def release(self, values: Sequence[Any], carrier: str) -> list[Any]:
        """The answers with noise: exact integers on the public lattice, converted at the end."""
        if self.law.domain == "integer":
            sign, bits = _INTEGERS[carrier]
            low = 0 if sign == "u" else -(1 << (bits - 1))
            high = low + (1 << bits) - 1
            noisy = self._drawn(np.array([int(value) for value in values], dtype=object))
            return [min(max(int(value), low), high) for value in noisy.integers.ravel().tolist()]
        array = np.clip(np.array(values, dtype=np.float64), -_LARGEST, _LARGEST)
        return [float(value) for value in self._drawn(array).floats().ravel().tolist()]

    def _drawn(self, answers: Any) -> Draws:
        if self.law.dimension > 1:
            answers = answers.reshape(self.draws, self.law.dimension)
        return release(self.drawn, answers)

    def cost(self, distance: Fraction | None, exponent: float) -> Any:
        """(ε, δ), or the divergence as a function of the order."""
        if self.delta is None:
            return self._divergences(distance, exponent)
        if distance is None:
            return math.inf, 1.0
        loss, draws = self.moved(distance, exponent)
        if loss is NO_LOSS:
            return 0.0, 0.0
        total = PrivacyLoss(((loss, 1),)).compose(draws)
        epsilon = total.epsilon(self.delta)
        if math.isfinite(epsilon) or loss.infinite >= 1.0:
            return epsilon, self.delta if math.isfinite(epsilon) else 1.0
        # Farther than the law was made for, its end matters: that probability goes to
        # δ, and ε stays finite.
        beyond = -math.expm1(draws * math.log1p(-loss.infinite)) * (1.0 + 1e-9)
        delta = min(beyond + self.delta, 1.0 - 1e-9)
        return total.epsilon(delta), delta

    def _divergences(self, distance: Fraction | None, exponent: float) -> Callable[[float], float]:
        loss, draws = (NO_LOSS, 1) if distance is None else self.moved(distance, exponent)

        def divergence(order: float) -> float:
            if not order >= 1.0:
                raise InvalidParameterError("order", order, "to be at least 1")
            if distance is None:
                return math.inf
            return draws * loss.divergence(float(order)) * (1.0 + 4.0 * ULP)

        return divergence

    def moved(self, distance: Fraction, exponent: float) -> tuple[Loss, int]:
        """The loss of a draw, and how many draws one person can touch at this distance.

        Integers whose l1 distance is d differ in at most d places, in l2 distance in at most d² (a
        little more is allowed for roots that were rounded down); other numbers in any.
        """
        touched = self.draws
        if self.law.domain == "integer" and math.isfinite(exponent):
            places = math.floor(distance ** int(exponent) * (1 + Fraction(1, 1 << 40)))
            touched = min(touched, places)
            if touched and self.law.dimension > 1:
                return loss_of_some(self.law, distance, places), touched
        if touched == 0:
            return NO_LOSS, 1
        at = loss_at_length if exponent == 2 else loss_at
        return at(self.law, distance), touched


def _dp() -> Any:
    return required("opendp.prelude", "opendp")


def _origin(thing: Any) -> str:
    """The name of a domain's or metric's type without its path and arguments."""
    library = required("opendp.mod", "opendp")
    if not isinstance(thing, (library.Domain, library.Metric)):
        expected = "to be a domain and a metric of OpenDP"
        raise InvalidParameterError("input space", type(thing).__name__, expected)
    return str(thing.type).split("<")[0].split("::")[-1]


def _carrier(domain: Any, use: IntendedUse) -> tuple[str, int | None]:
    """The type of one answer, and for a vector domain its size (0 if it has none)."""
    origin = _origin(domain)
    if origin not in ("AtomDomain", "VectorDomain"):
        raise UnsupportedError(f"Expected an atom domain or a vector domain, not {domain}.")
    atom = domain.element_domain if origin == "VectorDomain" else domain
    if _origin(atom) != "AtomDomain":
        raise UnsupportedError(f"Expected a vector domain of numbers, not {domain}.")
    carrier = str(atom.carrier_type)
    if use.noise.domain == "integer" and carrier not in _INTEGERS:
        raise UnsupportedError(
            f"A law on the integers is for integers of up to 64 bits, not for {carrier}; design "
            "for domain='real'."
        )
    if use.noise.domain == "real" and carrier != "f64":
        raise UnsupportedError(
            f"A law on the real line is for f64, not for {carrier}; for integers design for "
            "domain='integer'."
        )
    if carrier == "f64" and atom.nan:
        raise UnsupportedError(
            "NaN has no distance to anything: use a domain without it, atom_domain(T=float, "
            "nan=False)."
        )
    return carrier, (domain.size or 0) if origin == "VectorDomain" else None


def _exponent(metric: Any) -> float:
    if _origin(metric) not in _METRICS:
        raise UnsupportedError(f"Expected the absolute, l1, l2 or l∞ distance, not {metric}.")
    return _METRICS[_origin(metric)]


def _count(use: IntendedUse, size: int | None, answers: int | None) -> int:
    """How many answers the measurement takes."""
    wanted = None if answers is None else positive_integer("answers", answers)
    known = 1 if size is None else (size or None)
    if wanted is not None and known is not None and wanted != known:
        expected = f"to be {known}, the size of the input domain"
        raise InvalidParameterError("answers", answers, expected)
    count = known or wanted or use.answers
    if count % use.noise.dimension:
        expected = f"to be a multiple of {use.noise.dimension}, the answers of one joint draw"
        raise InvalidParameterError("answers", count, expected)
    return count
