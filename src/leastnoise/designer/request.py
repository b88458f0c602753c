"""What is asked for: in the user's units, and at one sigma in lattice units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Box, Changes, Euclidean, OneSided, checked_changes, farthest
from leastnoise.cost import Cost, quadratic
from leastnoise.designer import whole_numbers
from leastnoise.errors import (
    DesignError,
    InvalidParameterError,
    at_least,
    one_of,
    open_unit,
    positive,
    positive_integer,
    real_number,
)
from leastnoise.lattice.bodies.overlap import worst_moved
from leastnoise.lattice.bodies.range import RangeBody
from leastnoise.lattice.resolution import (
    aligned_bins,
    bins_of_design,
    block_size,
    in_integers,
    step_of_known_law,
)
from leastnoise.lattice.shells import Floats
from leastnoise.lattice.steps import shift_in_steps, step_of
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.correlated import SharedNoise
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.norm import MOST_EXACT, NormNoise
from leastnoise.solver.budget import LatticeBudget
from leastnoise.solver.problem import RenyiProblem, renyi_problem
from leastnoise.solver.staircase import best_staircase

Objective = Literal["tight", "renyi"]

MOST_ANSWERS = 10_000  # of a batch; there a joint draw gains less than 1 % over independent noise
MOST_OF_A_NORM = 60  # answers: beyond, the sphere is better, and counting takes seconds
LARGEST_RATIO = 2_000.0  # sigma/sensitivity that can be designed for
# sigma of integer noise, of which every integer within fifty sigmas has a probability of its own
MOST_INTEGERS = 20_000.0
# The least sigma/sensitivity: on the real line 12,000 bins a sensitivity, on the integers what
# integer weights still draw exactly (the weight of 0 has 53 bits, and at 1e-6 rounding the others
# moves ε by more than 1e-6 of itself).
_SMALLEST: Mapping[Domain, float] = {"real": 1e-3, "integer": 1e-5}
# And of joint laws: below, each answer has noise of its own.
_SMALLEST_JOINT: Mapping[Domain, float] = {"real": 0.01, "integer": 1e-5}
# radius of uniform noise of the cost c(sigma), in sigmas: √3 for the quadratic cost, e for log(1 +
# |z|)
_WIDEST = 4.0
_MOST_UNEQUAL = 1e12  # of two weights: their answers then differ by a thousand in noise


def smallest_ratio(domain: Domain) -> float:
    """The least sigma, in sensitivities, that can be designed for."""
    return _SMALLEST[domain]


@dataclass(frozen=True)
class Request:
    """A design problem in the user's units, checked; see `design` for the meaning of each field.

    `sensitivity` is the largest of `sensitivities`; `changes` are those of `batch` answers. `ties`
    and `parts` are of answers that were scaled to be alike (`fits`), and name the only laws that
    are then looked for.
    """

    delta: float
    sensitivity: float
    compositions: int
    batch: int
    changes: Changes
    sensitivities: tuple[float, ...]
    domain: Domain
    cost: Cost
    objective: Objective
    renyi_order: float | None
    step: float | None
    weights: tuple[float, ...] | None = None
    ties: tuple[float, ...] | None = None  # of a law with a hidden count (`fits`)
    parts: SharedNoise | None = None  # of correlated noise that answers share unequally

    @staticmethod
    def of(
        *,
        delta: float,
        sensitivity: float | Sequence[float] = 1.0,
        compositions: int = 1,
        batch: int = 1,
        domain: str = "real",
        cost: Cost | None = None,
        objective: str = "tight",
        renyi_order: float | None = None,
        step: float | None = None,
        touched: int | None = None,
        changes: Changes | None = None,
        weights: Sequence[float] | None = None,
    ) -> Request:
        """The request, or an InvalidParameterError that says what is wrong with it."""
        cost = _checked_cost(cost)
        batch = _checked_batch(batch)
        sensitivities = _sensitivities(sensitivity, batch, domain)
        request = Request(
            delta=open_unit("delta", delta),
            sensitivity=max(sensitivities),
            compositions=positive_integer("compositions", compositions),
            batch=batch,
            changes=_checked_changes(changes, touched, batch, objective),
            sensitivities=sensitivities,
            domain=one_of("domain", domain, ("real", "integer")),
            cost=cost,
            objective=one_of("objective", objective, ("tight", "renyi")),
            renyi_order=None if renyi_order is None else _checked_order(renyi_order, objective),
            step=None if step is None else positive("step", step),
            weights=_checked_weights(weights, batch),
        )
        _check_scaled(request)
        if request.domain == "integer":
            positive_integer("sensitivity", request.sensitivity)
        if request.step is not None:
            step_of_known_law(1.0, request.sensitivity, request.step, request.domain)
        return request

    @property
    def smallest(self) -> float:
        """The least sigma, in sensitivities."""
        return smallest_ratio(self.domain)

    @property
    def smallest_joint(self) -> float:
        """The least sigma of one draw for the whole batch, in sensitivities: a joint law is judged
        by pairs of bins, which grow too many below."""
        return self.smallest if self.batch == 1 else _SMALLEST_JOINT[self.domain]

    @property
    def largest(self) -> float:
        """The largest sigma, in sensitivities: less where the cost is bounded, or nearly, or where
        there would be too many integers."""
        cost, s, largest = self.cost, self.sensitivity, LARGEST_RATIO
        if self.domain == "integer":
            largest = min(LARGEST_RATIO, MOST_INTEGERS / s)

        def is_within(ratio: float) -> bool:
            return cost.radius(cost.of(ratio * s)) <= _WIDEST * LARGEST_RATIO * s

        if cost.exponent is not None or is_within(largest):
            return largest
        low, high = math.log(self.smallest), math.log(largest)
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if is_within(math.exp(middle)) else (low, middle)
        return math.exp(low)

    def checked_sigma(self, sigma: float) -> float:
        """The sigma, or a DesignError that says what can be designed for."""
        s = self.sensitivity
        if not self.smallest <= sigma / s <= LARGEST_RATIO:
            raise DesignError(
                f"Expected sigma={sigma!r} between {self.smallest * s:g} and "
                f"{LARGEST_RATIO * s:g} for sensitivity={s:g}."
            )
        if not self.cost.of(sigma) > 0.0:
            raise InvalidParameterError("cost of sigma", self.cost.of(sigma), "to be positive")
        if self.domain == "integer" and sigma > MOST_INTEGERS:
            raise DesignError(
                f'Expected sigma={sigma!r} to be at most {MOST_INTEGERS:g} for domain="integer": '
                'design so wide a noise for domain="real" and round what is released, which costs '
                "nothing."
            )
        if sigma / s > (largest := self.largest):
            raise DesignError(
                f"Expected sigma={sigma!r} to be at most {largest * s:g}: beyond, {self.cost!r} "
                "hardly grows, and noise that costs as much on average would be too wide."
            )
        return sigma

    @property
    def touched(self) -> int:
        """How many answers of a batch one person can change."""
        return self.changes.touched_of(self.batch)

    def loss(self, noise: Noise) -> PrivacyLoss:
        """The loss of one draw of a law: for the whole batch, or for one of its answers."""
        changes = self.changes if noise.dimension == self.batch else self.changes.of_a_part()
        return PrivacyLoss.of(noise, self.sensitivity, changes)

    def one_answer(self) -> Request:
        """What one answer of a batch with independent noise asks for: all draws that one person is
        seen in compose."""
        draws = self.compositions * self.touched
        return replace(self, batch=1, changes=self.changes.of_a_part(), compositions=draws)

    @property
    def is_lifted(self) -> bool:
        """Whether our own law is looked for with a hidden count (`laws.lifted`): all answers move
        the same way, and what is limited is the variance."""
        is_plain = self.domain == "real" and self.cost.exponent == 2.0
        return self.batch > 1 and isinstance(self.changes, OneSided) and is_plain

    @property
    def is_of_range(self) -> bool:
        """Whether our own law is looked for on the shells of the range norm (`laws.norm`): whole
        answers that all move the same way, by steps that are judged exactly."""
        is_plain = isinstance(self.changes, OneSided) and self.changes.ranges is None
        is_small = self.batch <= MOST_OF_A_NORM and self.sensitivity <= MOST_EXACT
        is_whole = self.domain == "integer" and self.cost.exponent == 2.0
        return self.batch > 1 and is_plain and is_small and is_whole

    @property
    def has_plain_laws(self) -> bool:
        """Whether the box of the sensitivities holds all changes and every law may serve: not where
        their length may be more than one (`of_length`), and not of answers that were scaled for one
        kind of law."""
        is_scaled = self.ties is not None or self.parts is not None
        return not is_scaled and is_in_box(self.changes)

    def of_length(self) -> Request:
        """The same request with the length of the changes as sensitivity, where a length is all
        that is known: the box then holds all of them. One answer moves by the whole of it."""
        if not isinstance(self.changes, Euclidean):
            return self
        s = self.reach
        space = BOX if self.batch == 1 else Euclidean(1.0)
        return replace(self, sensitivity=s, sensitivities=(s,) * self.batch, changes=space)

    @property
    def reach(self) -> float:
        """How far one person moves any one answer at most, in its units."""
        return reach(self.sensitivity, self.changes, self.domain)

    def on_lattice(self, sigma: float, shift: int | None = None) -> LatticeRequest:
        """The request at one sigma in lattice units; `shift` is how many steps a sensitivity has
        where that is known."""
        if self.is_lifted:
            above = replace(self, batch=self.batch + 1, changes=BOX, ties=None)
            found = above.on_lattice(math.sqrt(2.0) * sigma, shift)
            return replace(found, is_lifted=True, ties=self.ties)
        s, cost = self.sensitivity, self.cost
        budget = cost.of(sigma)
        if not budget > 0.0:
            raise InvalidParameterError("cost of sigma", budget, "to be positive")
        # The size of the laws of this cost, in sensitivities: σ for the quadratic cost, and about
        # that for the others.
        ratio = cost.radius(budget) / (math.sqrt(3.0) * s)
        if self.domain == "integer":
            return self._on_integers(sigma, ratio, shift)
        if self.step is not None:
            shift = shift_in_steps(s, self.step)
        elif shift is None:
            shift = self._bins(ratio, budget)
        step = self.step or step_of(s, shift)
        asked = *cost.in_steps(budget, step), ratio, self.delta, self.compositions
        return LatticeRequest(self.batch, shift, "real", *asked, step)

    def _on_integers(self, sigma: float, ratio: float, shift: int | None) -> LatticeRequest:
        """Each integer a bin, or blocks of them; where the sensitivity has no such blocks, the real
        line and then rounding."""
        cost, budget = self.cost, self.cost.of(sigma)
        whole, needed = round(self.sensitivity), bins_of_design(ratio)
        if self.is_of_range:
            asked = cost.over_blocks(1), budget, ratio, self.delta, self.compositions
            moved = worst_moved(self.batch, self.touched)
            return LatticeRequest(self.batch, whole, "integer", *asked, moved=moved)
        block = block_size(whole, needed)
        if self.batch > 1 or whole // block <= 4 * needed:
            asked = cost.over_blocks(block), budget, ratio, self.delta, self.compositions
            return LatticeRequest(self.batch, whole // block, "integer", *asked, block=block)
        finer = replace(self, domain="real", step=None)
        unrounded = math.sqrt(sigma**2 - 1.0 / 12.0) if cost.exponent == 2.0 else sigma
        return replace(finer.on_lattice(unrounded, shift), rounded_to=(cost, budget))

    def _bins(self, ratio: float, budget: float) -> int:
        """Bins a sensitivity on the real line, with an edge at the first step of the best
        staircase: then the staircase is a law of the lattice, and nothing on the lattice need be
        worse than it."""
        cost = self.cost
        if cost.exponent is None:
            return bins_of_design(ratio)
        least = bins_of_design(ratio, self.batch)
        if least < 4:
            return least
        fine = 8 * least
        _, in_bins = cost.in_steps(budget, self.sensitivity / fine)
        stairs = best_staircase(LatticeBudget(self.batch, fine, cost, in_bins, "real"))
        return aligned_bins(least, (2 * stairs.width - 1) / (2 * fine))


def is_in_box(changes: Changes) -> bool:
    """Whether no answer moves by more than its sensitivity."""
    return not isinstance(changes, Euclidean) or changes.radius <= 1.0


def reach(sensitivity: float, changes: Changes, domain: Domain) -> float:
    """How far one person moves any one answer at most, in its units; rounded to whole numbers, up,
    where the answers are."""
    distance = farthest(sensitivity, changes)
    return float(math.ceil(distance)) if domain == "integer" else distance


@dataclass(frozen=True)
class LatticeRequest:
    """The same problem at one sigma, in lattice units.

    Attributes:
        dimension: Answers of one draw.
        shift: Steps a sensitivity.
        domain: Of the lattice that the law is looked for on.
        cost: In steps.
        budget: Of the cost of one answer.
        ratio: Sigma in sensitivities.
        delta: Of the whole use.
        compositions: Draws that compose.
        step: In the user's units.
        block: Integers to a bin (`lattice.resolution.block_size`).
        rounded_to: The cost and its budget on the integers, where the law is one of the real line
            that is rounded (`whole_numbers`).
        is_lifted: Whether the law is one with a hidden count, of one answer less.
        ties: Of such a law.
        moved: How many answers the worst shift moves, where the shells are those of the range norm.
    """

    dimension: int
    shift: int
    domain: Domain
    cost: Cost
    budget: float
    ratio: float
    delta: float
    compositions: int
    step: float = 1.0
    block: int = 1
    rounded_to: tuple[Cost, float] | None = None
    is_lifted: bool = False
    ties: tuple[float, ...] | None = None
    moved: int | None = None

    def problem(self, order: float, *, monotone: bool = True) -> RenyiProblem:
        """The Rényi program of one order."""
        return renyi_problem(
            shift=self.shift,
            order=order,
            budget=self.budget,
            dimension=self.dimension,
            domain=self.domain,
            cost=self.cost,
            monotone=monotone,
            moved=self.moved,
        )

    def in_steps(self, log_h: Floats) -> tuple[Noise, Changes]:
        """A law of the lattice that ends, in lattice units, and the changes it is judged for."""
        if self.moved is not None:
            body = RangeBody(self.dimension)
            return NormNoise.from_log_weights(body, log_h), OneSided(self._touched)
        d = self.dimension
        return LatticeNoise.from_log_weights(log_h, None, domain=self.domain, dimension=d), BOX

    @property
    def _touched(self) -> int | None:
        """A number of touched answers that has the same worst shift."""
        centre = self.moved is None or self.moved == (self.dimension + 1) // 2
        return None if centre else self.moved

    def noise(self, log_h: Floats, tail_ratio: float | None) -> Noise:
        """A law of the lattice in the user's units."""
        if self.moved is not None:
            return NormNoise.from_log_weights(RangeBody(self.dimension), log_h, tail_ratio)
        log_h, ratio = in_integers(log_h, tail_ratio, self.block)
        law = LatticeNoise.from_log_weights(
            log_h, ratio, step=self.step, domain=self.domain, dimension=self.dimension
        )
        if self.is_lifted:
            return LiftedNoise(law, self.ties)
        if self.rounded_to is None:
            return law
        return whole_numbers.rounded(law, *self.rounded_to)


def _checked_cost(cost: Cost | None) -> Cost:
    cost = quadratic() if cost is None else cost
    if not isinstance(cost, Cost):
        raise InvalidParameterError(
            "cost", cost, "to be a Cost, such as leastnoise.cost.absolute()"
        )
    return cost


def _checked_changes(
    changes: Changes | None, touched: int | None, batch: int, objective: str
) -> Changes:
    """The space of changes, with `touched` where that is given beside it."""
    found = checked_changes(changes, batch)
    if touched is not None:
        touched = positive_integer("touched", touched)
        if found.touched_of(batch) < batch or not isinstance(found, (Box, OneSided)):
            raise InvalidParameterError(
                "touched",
                touched,
                f"to be left out beside changes={found!r}, which says it already",
            )
        found = replace(found, touched=touched).fitted(batch)
    if objective == "renyi" and not isinstance(found, Box):
        raise InvalidParameterError("objective", objective, f'to be "tight" with changes={found!r}')
    return found


def _checked_weights(weights: Sequence[float] | None, batch: int) -> tuple[float, ...] | None:
    """The weights of the answers; None where they are all the same."""
    if weights is None:
        return None
    found = tuple(positive(f"weights[{index}]", each) for index, each in enumerate(weights))
    if len(found) != batch:
        raise InvalidParameterError(
            "weights", list(found), f"to have one entry for each of batch={batch} answers"
        )
    if max(found) > _MOST_UNEQUAL * min(found):
        raise InvalidParameterError(
            "weights", list(found), f"to differ by a factor of at most {_MOST_UNEQUAL:g}"
        )
    return None if len(set(found)) == 1 else found


def _check_scaled(request: Request) -> None:
    """Answers of unequal ranges or weights are designed for by their variance alone."""
    is_unequal = isinstance(request.changes, OneSided) and request.changes.ranges is not None
    for name, is_given in (("ranges", is_unequal), ("weights", request.weights is not None)):
        if not is_given:
            continue
        if request.cost.exponent != 2.0:
            expected = f"to be the square of the error beside {name} of the answers"
            raise InvalidParameterError("cost", request.cost, expected)
        if request.objective != "tight":
            expected = f'to be "tight" beside {name} of the answers'
            raise InvalidParameterError("objective", request.objective, expected)


def _checked_batch(batch: int) -> int:
    batch = positive_integer("batch", batch)
    if batch > MOST_ANSWERS:
        raise InvalidParameterError(
            "batch", batch, f"to be at most {MOST_ANSWERS}: independent noise serves more as well"
        )
    return batch


def _sensitivities(
    sensitivity: float | Sequence[float], batch: int, domain: str
) -> tuple[float, ...]:
    """One sensitivity for each answer of the batch."""
    if not isinstance(sensitivity, (Sequence, np.ndarray)) or isinstance(sensitivity, (str, bytes)):
        return (at_least("sensitivity", sensitivity),) * batch
    found = tuple(at_least(f"sensitivity[{index}]", each) for index, each in enumerate(sensitivity))
    if len(found) != batch:
        raise InvalidParameterError(
            "sensitivity", list(found), f"to have one entry for each of batch={batch} answers"
        )
    if domain == "integer" and len(set(found)) > 1:
        raise InvalidParameterError(
            "sensitivity", list(found), 'to be the same for all answers when domain="integer"'
        )
    return found


def _checked_order(order: float, objective: str) -> float:
    infinite = isinstance(order, (float, np.floating)) and order == math.inf
    number = math.inf if infinite else real_number("renyi_order", order)
    if objective != "renyi" or number < 1.0:
        raise InvalidParameterError(
            "renyi_order", order, 'to be at least 1, with objective="renyi"'
        )
    return number
