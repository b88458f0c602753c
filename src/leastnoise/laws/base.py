"""What a law of noise is: `Noise`, the one interface of all laws.

A law is one file of this folder: its density, its privacy loss, its sampler, its
description for files and its name there. `registry` lists them.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise.changes import BOX, Changes
from leastnoise.cost import Cost
from leastnoise.errors import (
    InvalidFileError,
    InvalidParameterError,
    LeastNoiseError,
    UnsupportedError,
    open_unit,
    positive_integer,
    real_array,
)
from leastnoise.files.sealed import SealedFormat
from leastnoise.files.writing import write_whole
from leastnoise.lattice.radial import Radial
from leastnoise.lattice.shells import Floats
from leastnoise.losses.base import Loss
from leastnoise.sampling.draws import Sampler, draw, release
from leastnoise.text.html import curves_svg, facts, side_by_side
from leastnoise.text.numbers import above

Domain = Literal["real", "integer"]

LAW_FILE = SealedFormat("leastnoise.noise", "law", "a saved noise law")
# of one draw, in a file: to judge the sphere law for 10^9 takes minutes
MOST_ANSWERS = 10**6
# filled by the registry, which lists all laws
LAWS: dict[str, type[Noise]] = {}  # by their kind in law files
# by their body in artefacts; the cube says none
BODIES: dict[str | None, type[Noise]] = {}
_POINTS = 121  # of a drawn density


class Noise(ABC):
    """A law of additive noise, symmetric about zero.

    `pdf`, `cdf`, `ccdf`, `quantile` and `interval` speak of the noise on ONE answer, in
    the units of the answer. For a joint law on several answers (`dimension` > 1) that
    is the law of one coordinate; `pmf` is always the probability of one lattice point.

    Guarantees: `ccdf` and `quantile(u, upper=True)` keep full relative accuracy in the
    far tail (they are never 1 − cdf).

    Attributes:
        kind: The name of the law in files.
        exponent: a of a closed form on the line, whose density is ∝ exp(−|x/b|^a); None
            where there is a lattice.

    Example:
        >>> from leastnoise import laplace
        >>> noise = laplace(2.0)
        >>> noise.std, noise.dimension, noise.domain
        (2.0, 1, 'real')
        >>> round(noise.interval(0.95), 3)
        4.237
    """

    kind: ClassVar[str] = ""
    exponent: ClassVar[float | None] = None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many answers one draw serves."""

    @property
    @abstractmethod
    def step(self) -> float | None:
        """Pitch of the lattice, in the units of the answer; None for a closed form that
        has no lattice."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """`real`: a density, constant on each bin of a lattice law. `integer`: the
        noise is an integer."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise on one answer."""

    @property
    def shape(self) -> str:
        """What the noise on several answers is like, in a word or two."""
        return self.kind

    @property
    def radial(self) -> Radial | None:
        """Its shells, where it is a radial law on a lattice."""
        return None

    @property
    def has_convex_levels(self) -> bool:
        """Whether every set of points above a height of the density is convex and keeps its shape
        when the sign of an answer is changed: then one kept draw may serve questions that depend on
        earlier answers (docs/mathematics.md#one-kept-draw). False where it is not known."""
        return False

    @property
    def kept_for(self) -> Changes | None:
        """How one person may move questions that one kept draw serves one after another, in
        sensitivities: up or down, or all the same way; None where nothing is proven of it."""
        return BOX if self.dimension == 1 or self.has_convex_levels else None

    @property
    def correlation(self) -> float:
        """The correlation of the noise on two answers of one draw, the same for any two: 0 for a
        law that keeps its shape when the sign of an answer is changed."""
        return 0.0

    @property
    def ties(self) -> tuple[float, ...] | None:
        """τ of noise whose answers are not alike: two have the correlation ττ′/√((1 + τ²)(1 +
        τ′²)), before they are rounded to whole numbers; None where all are alike."""
        return None

    @property
    def stds(self) -> tuple[float, ...]:
        """Standard deviation of the noise on each answer of one draw. It is the same for all but
        where the law is fitted to answers that move by unequal ranges: then what is said of one
        answer is said of that with the most noise, and holds for the others all the more."""
        if self.ties is None:
            return (self.std,) * self.dimension
        widest = max(abs(tie) for tie in self.ties)
        return tuple(
            self.std * math.sqrt((1.0 + tie * tie) / (1.0 + widest * widest)) for tie in self.ties
        )

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of the noise on the answers of one draw."""
        d = self.dimension
        if self.ties is not None:
            ties = np.array(self.ties)
            alone = self.variance / (1.0 + float(np.max(ties**2)))
            return np.asarray(alone * (np.eye(d) + np.outer(ties, ties)))
        together = np.full((d, d), self.correlation)
        np.fill_diagonal(together, 1.0)
        return self.variance * together

    def of_answer(self, answer: int) -> Noise:
        """A law whose `pdf`, `cdf`, `ccdf`, `quantile` and `interval` are those of the noise on one
        answer: the law itself where all answers are alike.

        Args:
            answer: Its place in a draw.

        Returns:
            A law to describe that answer by, not to draw from.
        """
        return self

    def variance_of(self, coefficients: ArrayLike) -> float:
        """The variance of a linear combination of the noise on the answers of one draw.

        Args:
            coefficients: One number for each answer.

        Returns:
            The variance, in the units of the answer squared.

        Raises:
            InvalidParameterError: There are not as many coefficients as answers.
        """
        each = coefficients_of(self, coefficients)
        if self.ties is not None:
            return float(each @ self.covariance @ each)
        apart, together = float(np.sum(each**2)), float(np.sum(each)) ** 2
        return self.variance * ((1.0 - self.correlation) * apart + self.correlation * together)

    def as_one_answer(self, coefficients: ArrayLike) -> tuple[Noise, float] | None:
        """A linear combination of the noise on the answers of one draw as the noise on one answer
        of a law, times a length: of one answer, or of noise that is the same in every direction.

        Args:
            coefficients: One number for each answer.

        Returns:
            The law and the length; None where the combination has a law of another shape.
        """
        each = coefficients_of(self, coefficients)
        moved = np.flatnonzero(each)
        if moved.size != 1:
            return None
        return self.of_answer(int(moved[0])), abs(float(each[moved[0]]))

    def characteristic(self, coefficients: ArrayLike, t: ArrayLike) -> Floats:
        """E cos(t·Σ c_i·noise_i): the characteristic function of a linear combination of the noise
        on the answers of one draw, which is its law.

        Args:
            coefficients: c_i, one number for each answer.
            t: Places, per unit of the answer.

        Returns:
            A number in [−1, 1] for each of `t`, to 1e-9.

        Raises:
            UnsupportedError: It is not known here, or would take too long.
        """
        raise UnsupportedError(f"{type(self).__name__} says nothing here of several answers.")

    @abstractmethod
    def pmf(self, k: ArrayLike) -> Floats:
        """Probability of one lattice point at radius |k|.

        Args:
            k: Whole numbers, in steps of the lattice; the radius of a point is its
                largest coordinate.

        Returns:
            A probability for each of `k`; for a joint law that of one of all points at this radius.

        Raises:
            UnsupportedError: The law has no lattice.
            InvalidParameterError: `k` are not whole numbers.
        """

    @abstractmethod
    def pdf(self, x: ArrayLike) -> Floats:
        """Density at x of the noise on one answer (real domain).

        Args:
            x: Places, in the units of the answer.

        Returns:
            A density for each of `x`, per unit of the answer.

        Raises:
            UnsupportedError: The law is on the integers.
        """

    @abstractmethod
    def ccdf(self, x: ArrayLike) -> Floats:
        """P(Z > x) for one answer.

        Args:
            x: Places, in the units of the answer.

        Returns:
            A probability for each of `x`, exact in the upper tail.
        """

    @abstractmethod
    def quantile(self, u: ArrayLike, *, upper: bool = False) -> Floats:
        """Smallest z with P(Z ≤ z) ≥ u; with `upper`, smallest z with P(Z > z) ≤ u.

        Args:
            u: Probabilities, in (0, 1).
            upper: Whether `u` are those of the upper tail: exact for tiny ones.

        Returns:
            A place for each of `u`, in the units of the answer.

        Raises:
            InvalidParameterError: `u` are not in (0, 1).
        """

    def loss(self, sensitivity: float, changes: Changes = BOX) -> Loss:
        """The exact privacy loss of one release.

        Args:
            sensitivity: How far one person can move each answer, in the units of the answer.
            changes: Which vectors of changes one person can make, in sensitivities; any signs
                unless it is stated.

        Returns:
            The loss at the worst shift; `PrivacyLoss.of` composes and converts it.

        Raises:
            UnsupportedError: The law cannot be judged, or not for such changes.
            InvalidParameterError: The sensitivity is not positive, or no whole number of steps.
            AccountingError: The sensitivity is too large or too small for the law.
        """
        raise UnsupportedError(f"{type(self).__name__} has no privacy loss here.")

    def loss_at(self, distance: Fraction) -> Loss:
        """The loss of one draw at any distance between neighbours, an upper bound.

        Args:
            distance: How far one person moves each answer at most, an exact number, in
                the units of the answer; it need not be a whole number of steps.

        Returns:
            A loss that dominates that of every shift within the distance.

        Raises:
            UnsupportedError: The law has no lattice.
            AccountingError: The distance is too large to be judged.
        """
        raise without_lattice(self)

    def sampler(self) -> Sampler:
        """How the law is drawn, or an UnsupportedError."""
        raise without_lattice(self)

    def with_weights(self, weighted: Callable[[Any], Any]) -> Noise:
        """The law with integer weights, where it is drawn by shells of a lattice.

        Args:
            weighted: Gives a `LatticeNoise` integer weights.

        Returns:
            The law that is drawn.

        Raises:
            UnsupportedError: The law has no shells to be weighted.
        """
        raise without_lattice(self)

    def describe(self) -> dict[str, Any]:
        """The law as plain JSON data, floats in hexadecimal: what files and digests hold.

        Returns:
            What `from_description` takes; its "kind" names the law.

        Raises:
            UnsupportedError: The law has no description.
        """
        raise UnsupportedError(f"{type(self).__name__} cannot be saved.")

    @staticmethod
    def from_description(content: Mapping[str, Any]) -> Noise:
        """The inverse of `describe`, for a law of any registered kind.

        Args:
            content: What `describe` gave, to the bit.

        Returns:
            The law.

        Raises:
            InvalidFileError: No law of this kind is known.
            LeastNoiseError: What is described is no law.

        Example:
            >>> from leastnoise import gaussian
            >>> Noise.from_description(gaussian(2.0).describe())
            GaussianNoise(sigma=2.0)
        """
        kind = content["kind"]
        law = LAWS.get(kind) if isinstance(kind, str) else None
        if law is None:
            raise InvalidFileError(f"unknown kind of law {kind!r}")
        return law.from_description(content)

    def describe_drawn(self) -> dict[str, Any]:
        """The law as it is drawn, as plain JSON data: what artefacts hold.

        Returns:
            What `from_drawn` takes.

        Raises:
            UnsupportedError: The law is not drawn exactly.
        """
        raise without_lattice(self)

    @staticmethod
    def from_drawn(content: Mapping[str, Any]) -> Noise:
        """The inverse of `describe_drawn`, for a law of any registered body.

        Args:
            content: The law as an artefact holds it.

        Returns:
            The law.

        Raises:
            ValueError: The content is none of ours; also a KeyError or TypeError.
        """
        body = content.get("body")
        if body not in BODIES:
            raise ValueError(f"the body {body!r} is not known here")
        return BODIES[body].from_drawn(content)

    @property
    def std(self) -> float:
        """Standard deviation of the noise on one answer."""
        return math.sqrt(self.variance)

    def cdf(self, x: ArrayLike) -> Floats:
        """P(Z ≤ x) for one answer; by symmetry P(Z ≥ −x), so it is exact in the lower tail too.

        Args:
            x: Places, in the units of the answer.

        Returns:
            A probability for each of `x`.
        """
        x = real_array("x", x)
        if self.domain == "integer":
            return self.ccdf(-np.floor(x) - 1.0)
        return self.ccdf(-x)

    def interval(self, confidence: float) -> float:
        """Half-width w with P(|Z| ≤ w) ≥ confidence: the ± of one answer, from noise alone.

        Args:
            confidence: In (0, 1).

        Returns:
            The half-width, in the units of the answer.

        Raises:
            InvalidParameterError: The confidence is not in (0, 1).

        Example:
            >>> from leastnoise import gaussian
            >>> round(gaussian(2.0).interval(0.95), 2)
            3.92
        """
        level = open_unit("confidence", confidence)
        return max(0.0, float(self.quantile(0.5 * (1.0 - level), upper=True)))

    def expected_cost(self, cost: Cost) -> float:
        """E[c(Z)] for one answer.

        Args:
            cost: What an error of a size costs.

        Returns:
            The expected cost of the noise on one answer.
        """
        if cost.exponent == 2.0:
            return self.variance
        return self._summed_cost(cost) if self.domain == "integer" else self._integrated_cost(cost)

    def _summed_cost(self, cost: Cost) -> float:
        """On the integers, as far as 60 standard deviations."""
        k = np.arange(math.ceil(60.0 * self.std) + 60.0)
        beyond = self.ccdf(k - 1.0)
        masses = beyond[1:-1] - beyond[2:]
        both_sides = 2.0 * float(np.sum(masses * cost.average(k[1:-1], 1.0, "integer")))
        return both_sides + cost.of(0.0) * float(self.ccdf(-1.0) - self.ccdf(0.0))

    def _integrated_cost(self, cost: Cost) -> float:
        """From the density, as far as 60 standard deviations."""
        places, weights = _quadrature()
        costs = weights * self.pdf(self.std * places) * cost.function(self.std * places)
        return 2.0 * self.std * float(np.sum(costs))

    def sample(self, size: int | tuple[int, ...] | None = None) -> NDArray[Any]:
        """Independent draws from the operating system's entropy: integers, or floats on
        the fine public lattice.

        Joint laws give the answers of one draw along a last axis. To look at, not to
        add to data: the noise is on a lattice, and an answer that is not shows in what
        the sum leaves over. To add noise use `release`.

        Args:
            size: How many draws, or the shape of an array of them; one draw without it.

        Returns:
            int64 on the integers, float64 on the real line.

        Raises:
            UnsupportedError: The law has no integer weights to draw by: see `leastnoise.exact`.

        Example:
            >>> from leastnoise import discrete_laplace, exact
            >>> exact(discrete_laplace(3.0), delta=1e-6).sample((2, 3)).shape
            (2, 3)
        """
        drawn = draw(self, size)
        return drawn.integers if self.domain == "integer" else drawn.floats()

    def release(self, answers: ArrayLike, *, decimals: bool = False) -> NDArray[Any]:
        """The answers with noise, added as exact integers on the public lattice; floats
        (or Decimals) only at the end.

        Every draw counts as one release: n answers with a law for one answer are n
        compositions. Needs a law with integer weights: see `leastnoise.exact`.

        The type never depends on the answers: int64 on the integers (what is beyond is
        put at its end), float64 on the real line.

        Args:
            answers: The exact answers; for a joint law the last axis runs over those of one draw.
            decimals: Whether to give exact Decimals instead.

        Returns:
            The noisy answers, in the shape of `answers`.

        Raises:
            UnsupportedError: The law has no integer weights to draw by.
            InvalidParameterError: The answers are not finite, or not of the law's dimension.

        Example:
            >>> from leastnoise import discrete_laplace, exact
            >>> exact(discrete_laplace(3.0), delta=1e-6).release([10, 20]).dtype
            dtype('int64')
        """
        released = release(self, answers)
        if decimals:
            return released.decimals()
        return released.words() if self.domain == "integer" else released.floats()

    def as_scipy(self) -> Any:
        """The noise on one answer as a frozen scipy distribution: for analysis, not for
        releases."""
        from leastnoise.laws.as_scipy import as_scipy  # scipy.stats takes half a second

        return as_scipy(self)

    def insecure_draws(self, size: Any, generator: Any) -> Floats:
        """The noise on one answer, simulated with numpy's generator: for analysis only.

        Args:
            size: How many, or the shape of an array of them.
            generator: Where the numbers come from; it is not secure.

        Returns:
            Floating-point numbers of this law, on no lattice.
        """
        tiny = float(np.finfo(np.float64).tiny)
        return self.quantile(np.maximum(generator.uniform(size=size), tiny))

    def _repr_html_(self) -> str:
        answers = "one answer" if self.dimension == 1 else f"{self.dimension} answers at once"
        rows = {
            "law": f"{type(self).__name__}, {self.domain}, {answers}",
            "standard deviation": f"{self.std:.6g}",
            "± at 95 %": above(self.interval(0.95)),
            "± at 99.9 %": above(self.interval(0.999)),
        }
        if self.step is not None:
            rows["step"] = f"{self.step:.6g}"
        return side_by_side(facts(rows), self.density_svg())

    def density_svg(self, beside: Noise | None = None) -> str:
        """The law of the noise on one answer as a small drawing.

        Args:
            beside: Another law, drawn in grey behind it.

        Returns:
            An SVG element.
        """
        reach = max(self.interval(0.998), 1e-300)
        laws = [self] if beside is None else [beside, self]
        curves = [law._curve(reach, self.domain == "integer") for law in laws]
        points = [(x.tolist(), y.tolist()) for x, y in curves]
        return curves_svg(points, reach, self.interval(0.95))

    def _curve(self, reach: float, on_integers: bool) -> tuple[Floats, Floats]:
        """Points of the density; on the integers the probability of each (of a group of
        neighbours, where there are very many)."""
        if not on_integers:
            x = np.linspace(-reach, reach, _POINTS)
            return x, self.pdf(x)
        every = max(1, math.ceil(2.0 * reach / 400.0))
        groups = math.floor(reach / every)
        x = every * np.arange(-groups, groups + 1, dtype=np.float64)
        return x, self.ccdf(x - 0.5 * every) - self.ccdf(x + 0.5 * every)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the law as versioned JSON; `Noise.load` gives it back bit for bit.

        Args:
            path: Where; what is there is replaced, whole or not at all.

        Raises:
            UnsupportedError: The law has no description.
            OSError: The file cannot be written.
        """
        write_whole(path, LAW_FILE.text(self.describe()))

    @staticmethod
    def load(path: str | PathLike[str]) -> Noise:
        """Read a law written by `save`.

        Args:
            path: The file.

        Returns:
            The law, bit for bit.

        Raises:
            InvalidFileError: The file cannot be read or trusted; the message says why.
        """
        content = LAW_FILE.content(path)
        try:
            return Noise.from_description(content)
        except (KeyError, TypeError, ValueError, ArithmeticError, LeastNoiseError) as error:
            raise InvalidFileError(
                f"{os.fspath(path)!r} does not describe a law: {error}"
            ) from None


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Gauss–Legendre panels from 0 to 60 standard deviations, finer towards 0, where a
    cost may have a kink."""
    edges = np.concatenate([[0.0], np.geomspace(1e-9, 0.05, 40), np.arange(0.1, 60.0, 0.05)])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    middle, half = 0.5 * (edges[1:] + edges[:-1])[:, None], 0.5 * np.diff(edges)[:, None]
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def without_lattice(noise: Noise) -> UnsupportedError:
    """What is said of a law that has no shells on a lattice where they are needed."""
    return UnsupportedError(
        f"{type(noise).__name__} is a closed form without a lattice and cannot be sampled exactly; "
        "use its lattice form, generalized_gaussian(sigma, 2.0) or generalized_gaussian(sigma, "
        "1.0)."
    )


def coefficients_of(law: Noise, coefficients: ArrayLike) -> Floats:
    """One number for each answer of a draw."""
    each = real_array("coefficients", coefficients)
    if each.shape != (law.dimension,):
        raise InvalidParameterError(
            "coefficients", coefficients, f"to be {law.dimension} numbers, one for each answer"
        )
    return each


def probabilities(name: str, u: ArrayLike) -> Floats:
    """`u` as an array of numbers strictly between 0 and 1."""
    array = real_array(name, u)
    if not np.all((array > 0.0) & (array < 1.0)):
        raise InvalidParameterError(name, u, "in (0, 1)")
    return array


def a_law(noise: Noise) -> Noise:
    """`noise`; what is no law of noise is refused by its name."""
    if not isinstance(noise, Noise):
        raise UnsupportedError(f"{type(noise).__name__} has no privacy loss here.")
    return noise


def answers_of_a_draw(stated: Any) -> int:
    """How many answers one draw serves, as a file states it: whoever wrote it does not
    pay for the work."""
    answers = positive_integer("dimension", stated)
    if answers > MOST_ANSWERS:
        raise InvalidParameterError("dimension", answers, f"to be at most {MOST_ANSWERS} in a file")
    return answers
