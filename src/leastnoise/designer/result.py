"""What a design is: the law with its proof, as the user gets it and as the search passes it on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from leastnoise.accountant.attacker import FEW_POINTS, Attacker, about, attacker_of, per_cent
from leastnoise.accountant.constraints import Constraint
from leastnoise.accountant.curve import POINTS, PrivacyCurve
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.artefact.artefact import Artefact, certify
from leastnoise.artefact.exact import as_drawn
from leastnoise.changes import BOX, Changes, OneSided
from leastnoise.designer.lattice_law import LatticeLaw
from leastnoise.designer.request import Objective, reach
from leastnoise.errors import AccountingError, UnsupportedError
from leastnoise.floors.certificates import EpsilonFloor, Floor, VarianceFloor
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import lattice_form
from leastnoise.laws.gaussian import GaussianNoise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.text.html import bars_svg, facts, side_by_side
from leastnoise.text.numbers import above, below, counted, exact_above

OPTIMISED = "optimised"  # the name of laws of our own
OPTIMISED_PRODUCT = "optimised product"  # and of those with independent noise on each answer
# Rivals that put independent noise on each answer, and our own of that kind.
_SHAPES = ("Gaussian", "Laplace", "Staircase")
# A closed form on a lattice may need this much more noise to keep what it was certified for.
_WIDER = 1e-4
_MOST_WIDER = 20
_MOST_TOLD = 8  # standard deviations in a summary
PRODUCTS = (
    *_SHAPES,
    "Cactus",
    "rounded Gaussian",
    *(f"discrete {name}" for name in _SHAPES),
    OPTIMISED_PRODUCT,
)


@dataclass(frozen=True, eq=False)
class FoundLaw:
    """A law that may be the answer, known or of our own, judged as it stands.

    Attributes:
        name: "optimised", or that of the known law.
        noise: The law in the user's units.
        uses: Draws of one release of the whole batch that one person can influence.
        epsilon: Upper bound for all releases.
        again: Makes the law of this kind at another sigma; None where nobody will ask.
        on_lattice: A law of our own in lattice units, with its certificate.
        moments: Objective "renyi": the moments accountant's ε.
    """

    name: str
    noise: Noise
    uses: int
    epsilon: float
    again: Way | None = None
    on_lattice: LatticeLaw | None = None
    moments: float | None = None


# From a sigma and a law found nearby, or None, to the law of one kind at that sigma.
Way = Callable[[float, FoundLaw | None], FoundLaw]


@dataclass(frozen=True, eq=False)
class Design:
    """The best noise found for a request, and the proof of what it guarantees.

    Guarantees: `noise`, used for `compositions` releases of `batch` answers of the given
    sensitivity, is (`epsilon`, `delta`)-differentially private: `epsilon` is the judge's upper
    bound for the law itself, `epsilon_lower` a lower bound on the exact value. With the objective
    "tight" `epsilon` is at most that of every rival, but for designs with `constraints` or `mu`: a
    rival that needs less there breaks another promise. No non-increasing law of the family has a
    smaller Rényi divergence of order `renyi_order` than the one the search started from, up to the
    relative `gap`.

    Attributes:
        noise: The law to draw from, in the units of the answers.
        epsilon: Certified for all releases together; an upper bound on the exact value.
        epsilon_lower: Lower bound on the exact value.
        delta: Probability with which `epsilon` may be exceeded, over all releases.
        sigma: What was asked for or found: the standard deviation on one answer, in its units; with
            another cost c, the noise costs c(sigma).
        sensitivity: By how much one person can move one answer, in its units; the largest, where
            the answers have different ones.
        sensitivities: Of each answer of a batch, in its units.
        compositions: Releases that the guarantee covers.
        batch: Answers a release.
        touched: How many answers of a batch one person can change.
        changes: Which vectors of changes the guarantee covers, in sensitivities.
        objective: "tight" (least certified ε) or "renyi" (least Rényi divergence).
        origin: "optimised", or the name of the known law that could not be beaten.
        renyi_order: Order α of the Rényi program that the law started from; None for a known law.
        gap: Relative duality gap of that program: how far its optimum can be from the best, as a
            share of the divergence; None for a known law.
        status: What the gap is worth, in a sentence.
        residual: How far the law is from unit mass and from its cost budget, relatively.
        discretisation: What the bins and the tail of the lattice cost, as a share of the
            divergence, estimated; None for a known law.
        moments_epsilon: Objective "renyi": the moments accountant's ε, the paper's objective; else
            None.
        rivals: ε that each known law needs at the same cost, best first.
        rival_laws: These laws themselves, by the same names, where their answers have the same
            scales; not part of what is shown or saved.
        weights: How much the squared error of each answer matters; None for all the same.
        factors: What each answer is scaled by beside its sensitivity, where answers move by unequal
            ranges or matter unequally; else None.
        judged_for: The changes of the answers so scaled, in sensitivities, which the law is judged
            for; None where they are not scaled, and it is judged for `changes`.
        constraints: The points of the privacy curve that were asked for, each with its certified
            bound, over all releases; empty where only ε or sigma was.
        mu: μ of Gaussian differential privacy that was asked for, over all releases; else None.
        certificate: What proves `floor` or `floor_variance`, where `floor=True` was asked for and
            something was found; it goes into the artefact, and `verify` checks it.

    Example:
        >>> from leastnoise import design
        >>> best = design(delta=1e-6, sigma=8.0, compositions=10)
        >>> best.epsilon_lower <= best.epsilon <= min(best.rivals.values())
        True
        >>> best.rival_laws["Gaussian"].std
        8.0
    """

    noise: Noise
    epsilon: float
    epsilon_lower: float
    delta: float
    sigma: float
    sensitivity: float
    sensitivities: tuple[float, ...]
    compositions: int
    batch: int
    touched: int
    changes: Changes
    objective: Objective
    origin: str
    renyi_order: float | None
    gap: float | None
    status: str
    residual: float
    discretisation: float | None
    moments_epsilon: float | None
    rivals: Mapping[str, float]
    rival_laws: Mapping[str, Noise] = field(
        default_factory=lambda: MappingProxyType({}), repr=False, compare=False
    )
    weights: tuple[float, ...] | None = None
    factors: tuple[float, ...] | None = None
    judged_for: Changes | None = None
    constraints: tuple[Constraint, ...] = ()
    mu: float | None = None
    certificate: Floor | None = field(default=None, repr=False)

    @property
    def floor(self) -> float | None:
        """For several releases: no noise drawn independently for each, alike or not, of this
        standard deviation has a smaller ε. Draws that serve several answers, or that are kept, may.
        None where it was not asked for or not found."""
        return self.certificate.epsilon if isinstance(self.certificate, EpsilonFloor) else None

    @property
    def floor_variance(self) -> float | None:
        """For one release: no additive noise of any shape has this guarantee with a smaller
        variance on an answer (on integers: no integer noise). None where it was not asked for or
        not found."""
        if not isinstance(self.certificate, VarianceFloor):
            return None
        return self.certificate.variance * self.sensitivity**2

    @property
    def is_joint(self) -> bool:
        """Whether one draw of the noise serves the whole batch."""
        return self.noise.dimension == self.batch

    @property
    def blocks(self) -> int:
        """How many draws one release takes: the batch is cut into blocks of `noise.dimension`
        answers, the last one padded."""
        return math.ceil(self.batch / self.noise.dimension)

    @property
    def uses(self) -> int:
        """How many draws one person can influence over the whole use: what the
        guarantee composes."""
        return self.compositions * min(self.blocks, self.touched)

    def curve(self, *, points: int = POINTS) -> PrivacyCurve:
        """The whole privacy curve of the design's use: δ for every ε, and what an attacker can do.

        Args:
            points: How many nodes it has.

        Returns:
            Certified bounds for all releases together.

        Raises:
            AccountingError: No bound can be certified with the grid points allowed.

        Example:
            >>> from leastnoise import design
            >>> best = design(delta=1e-6, epsilon=1.0, batch=10)
            >>> best.curve().advantage < 0.394
            True
        """
        loss = PrivacyLoss.of(self.noise, self.sensitivity, self.changes_of(self.noise))
        return loss.compose(self.uses).curve(delta=self.delta, points=points)

    @cached_property
    def attacker(self) -> Attacker:
        """What an attacker can do with all releases, beside Gaussian noise of the same ε and δ."""
        return attacker_of(self.curve(points=FEW_POINTS), self.epsilon, self.delta)

    def changes_of(self, noise: Noise) -> Changes:
        """Which vectors of changes one draw of a law for this batch is judged for.

        Args:
            noise: The law of the design, or one of its rivals.

        Returns:
            Those of the whole batch where one draw serves all of it, else the box of its part;
            of answers that are divided by `scales`.
        """
        judged = self.changes if self.judged_for is None else self.judged_for
        if noise.dimension == self.batch:
            return judged
        # ranges of both signs are those of a person who is added or removed
        has_ranges = isinstance(judged, OneSided) and judged.ranges is not None
        both_ways = OneSided(ranges=((-1.0, 1.0),) * noise.dimension)
        return both_ways if has_ranges else judged.of_a_part()

    @property
    def reach(self) -> float:
        """How far one person moves any one answer at most, in its units: the largest sensitivity,
        or where only the length of all changes is known, that length."""
        return reach(self.sensitivity, self.changes, self.noise.domain)

    @property
    def scales(self) -> tuple[float, ...]:
        """What the noise on each answer is multiplied by: its sensitivity over the largest one, and
        where answers move by unequal ranges or matter unequally, its factor."""
        factors = self.factors or (1.0,) * self.batch
        return tuple(
            factor * each / self.sensitivity
            for factor, each in zip(factors, self.sensitivities, strict=True)
        )

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviation of the noise on each answer, in its units."""
        joint = self.noise.stds if self.is_joint else (self.noise.std,) * self.batch
        return tuple(scale * std for scale, std in zip(self.scales, joint, strict=True))

    @property
    def reason(self) -> str:
        """Why the batch is served as it is, in a sentence."""
        if self.batch == 1:
            return "one answer a release"
        if self.noise.dimension == 1:
            touched = min(self.touched, self.batch)
            return f"independent noise on each answer: one person changes {touched} of {self.batch}"
        kind = "one joint draw"
        if not self.is_joint:
            kind = f"joint noise on {self.blocks} blocks of {self.noise.dimension} answers"
        product = min((e for name, e in self.rivals.items() if name in PRODUCTS), default=math.nan)
        return (
            f"{kind} ({self.noise.shape}) for {self.batch} answers: "
            f"epsilon {above(self.epsilon)} against {above(product)} for independent noise"
        )

    def lattice_noise(self) -> LatticeNoise:
        """The law on a lattice, ready to be made exact: the noise itself, or the lattice form of a
        closed-form rival.

        The lattice form of a Gaussian or Laplace law has the same standard deviation and must be
        judged anew.

        Raises:
            UnsupportedError: the best law is the sphere, which needs no lattice, or another that is
                not one of shells.
        """
        law = lattice_form(self.noise, self.reach)
        if not isinstance(law, LatticeNoise):
            raise UnsupportedError(
                "The best law here is not one of shells on a lattice: draw from "
                "leastnoise.designer.result.artefact_of(design).noise, which is exact."
            )
        return law

    def summary(self) -> str:
        """The design in words and numbers, for people."""
        answers = f"{self.batch} answers at once" if self.batch > 1 else "one answer at a time"
        lines = [
            f"{self.origin} {self.noise.domain} noise, {answers}, "
            f"{counted(self.compositions, 'release')}, sensitivity {below(self.sensitivity, 6)}",
            f"  body        {self.reason}",
            f"  guarantee   epsilon = {above(self.epsilon, 6)} at delta = {above(self.delta, 6)}"
            f"{exact_above(self.epsilon_lower)}",
            *(
                []
                if self.changes == BOX
                else [f"  condition   {self.changes.condition(self.batch)}"]
            ),
            self._accuracy,
            f"  attacker    guesses right at most {per_cent(self.attacker.guess)} of the time, "
            f"from even odds ({about(self.attacker.gaussian_guess)} with Gaussian noise of this "
            f"epsilon and delta; {per_cent(self.attacker.allowed)} are allowed)",
            *(f"  constraint  {one.sentence()}" for one in self.constraints),
            *([] if self.mu is None else [f"  curve       {above(self.mu, 6)}-GDP: {self.status}"]),
            *self._floors,
        ]
        if self.gap is not None and self.renyi_order is not None:
            lines.append(
                f"  certificate order {self.renyi_order:.4g}, relative duality gap "
                f"{self.gap:.1e}: {self.status}"
            )
        lines.append(f"  residual    mass and cost meet their constraints to {self.residual:.1e}")
        if self.discretisation is not None:
            lines.append(
                f"  lattice     bins and tail cost about {self.discretisation:.1e} of the "
                "divergence"
            )
        if self.moments_epsilon is not None:
            lines.append(
                f"  moments accountant at this order: epsilon = {above(self.moments_epsilon, 6)}"
            )
        if self.constraints or self.mu is not None:
            lines.append("  at this standard deviation, all other promises aside:")
        lines.extend(
            f"  {name:<18} needs epsilon = {above(epsilon, 6)}"
            for name, epsilon in self.rivals.items()
        )
        return "\n".join(lines)

    @property
    def _floors(self) -> list[str]:
        if self.certificate is None:
            return []
        return [f"  floor       {self.certificate.claim(self.sensitivity)}"]

    @property
    def _accuracy(self) -> str:
        if self.factors is None:
            return (
                f"  accuracy    standard deviation {self.noise.std:.6g}, ± "
                f"{above(self.noise.interval(0.95))} at 95 % from noise alone"
            )
        told = ", ".join(f"{sigma:.6g}" for sigma in self.sigmas[:_MOST_TOLD])
        more = ", …" if self.batch > _MOST_TOLD else ""
        return f"  accuracy    standard deviations {told}{more}; each answer has a scale of its own"

    def _repr_html_(self) -> str:
        noise = self.noise
        draws = "independent draws" if noise.dimension == 1 else "one joint draw"
        if noise.dimension > 1 and not self.is_joint:
            draws = f"joint draws on {self.blocks} blocks"
        low, high = min(self.sensitivities), max(self.sensitivities)
        span = f"{low:g}" if low == high else f"{low:g} to {high:g}, noise in proportion"
        rows = {
            "noise": f"{self.origin}, {noise.domain}, {draws}",
            "guarantee": f"ε = {above(self.epsilon, 6)} at δ = {above(self.delta, 6)}",
            **({"exact ε above": below(self.epsilon_lower, 6)} if self.epsilon_lower > 0.0 else {}),
            **self._spread,
            "use": f"{counted(self.compositions, 'release')} of {counted(self.batch, 'answer')}, "
            f"sensitivity {span}",
        }
        if self.changes != BOX:  # a condition of the guarantee
            rows["condition"] = self.changes.condition(self.batch)
        if self.gap is not None and self.renyi_order is not None:
            rows["certificate"] = (
                f"order {self.renyi_order:.4g}, relative duality gap {self.gap:.1e}"
            )
        bars = bars_svg({"this noise": self.epsilon, **self.rivals}, "ε at the same deviation")
        return side_by_side(facts(rows), noise.density_svg(GaussianNoise(noise.std)) + bars)

    @property
    def _spread(self) -> dict[str, str]:
        if self.factors is None:
            width = above(self.noise.interval(0.95))
            return {"standard deviation": f"{self.noise.std:.6g}", "± at 95 %": width}
        return {"standard deviations": f"{min(self.sigmas):.6g} to {max(self.sigmas):.6g}"}

    def __repr__(self) -> str:
        return (
            f"Design({self.origin}, epsilon={above(self.epsilon, 6)}, "
            f"delta={above(self.delta, 6)}, sigma={self.sigma:.6g}, "
            f"sensitivity={below(self.sensitivity, 6)}, compositions={self.compositions}, "
            f"batch={self.batch})"
        )


def artefact_of(design: Design) -> Artefact:
    """The design's law as it is sampled and the guarantee it gives, ready to be written: exact
    integer weights, or the sphere.

    Guarantees: the stated ε is the judge's for the law in the file, over the design's whole use,
    and so is what is stated of every constraint; all of them hold.

    Raises:
        AccountingError: The law with integer weights misses a constraint by what rounding moved.
    """
    stated = ("sigma", "batch", "touched", "compositions", "objective")
    problem, rivals = {name: getattr(design, name) for name in stated}, dict(design.rivals)
    if design.factors is not None:  # the law is for answers that are divided by these
        problem |= {"scales": list(design.scales), "changes": design.changes.describe()}
    if design.mu is not None:
        problem["mu"] = design.mu
    refusal: AccountingError | None = None
    for attempt in range(_MOST_WIDER if design.constraints else 1):
        try:
            artefact = _certified(design, 1.0 + _WIDER * attempt, problem, rivals)
            return replace(artefact, floor=design.certificate)
        except AccountingError as error:
            refusal = refusal or error
            if design.noise.exponent is None:  # no closed form, which alone can be widened
                break
    raise refusal or AccountingError("The law could not be certified.")


def _certified(
    design: Design, wider: float, problem: dict[str, Any], rivals: dict[str, float]
) -> Artefact:
    """The law as it is drawn, a closed form so much wider, with its guarantee."""
    delta, uses = design.delta, design.uses
    law = lattice_form(design.noise, design.reach, wider)
    return certify(
        as_drawn(law, delta=delta, sensitivity=design.reach, compositions=uses),
        delta=delta,
        compositions=uses,
        sensitivity=design.sensitivity,
        changes=design.changes_of(design.noise),
        rivals=rivals,
        problem=problem,
        constraints=[(one.epsilon, one.delta) for one in design.constraints],
    )
