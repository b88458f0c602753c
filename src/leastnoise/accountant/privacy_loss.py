"""`PrivacyLoss`: what a sequence of releases may reveal, and the guarantees that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from leastnoise.accountant.bounds import Bounds
from leastnoise.accountant.composition import DEFAULT, Composition, joined
from leastnoise.accountant.curve import POINTS, PrivacyCurve, curve_of
from leastnoise.accountant.lower import delta_lower, epsilon_lower
from leastnoise.accountant.saddle import GridSettings
from leastnoise.accountant.upper import delta_upper, epsilon_upper
from leastnoise.changes import BOX, Changes, checked_changes
from leastnoise.errors import InvalidParameterError, non_negative, open_unit, positive_integer
from leastnoise.laws.base import Noise, a_law
from leastnoise.losses.base import Loss


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The privacy loss of a sequence of releases, each with noise fixed in advance; the
    queries may depend on earlier answers.

    Guarantees: `epsilon` and `delta` are upper bounds, `epsilon_bounds` and
    `delta_bounds` enclose the exact value. What cannot be certified is +inf (1 for δ)
    or an AccountingError, never a smaller number.

    Attributes:
        parts: Losses of one release, each with the number of releases that have it.
            Equal losses are counted together.
        settings: How finely losses are composed; the default raises ε by at most about
            5e-6 of itself.

    Example:
        >>> from leastnoise import PrivacyLoss, gaussian
        >>> loss = PrivacyLoss.of(gaussian(8.0), sensitivity=1.0).compose(10)
        >>> round(loss.epsilon(delta=1e-6), 5)
        1.74296
    """

    parts: tuple[tuple[Loss, int], ...]
    settings: GridSettings = DEFAULT

    @staticmethod
    def of(noise: Noise, sensitivity: float = 1.0, changes: Changes = BOX) -> PrivacyLoss:
        """The loss of one release of `noise`.

        Args:
            noise: The law; a joint law releases all its answers at once.
            sensitivity: How far one person can move each answer (each coordinate), in
                the units of the answer.
            changes: Which vectors of changes one person can make, in sensitivities: `Box()`, any
                signs, unless it is stated.

        Returns:
            The exact loss of that release.

        Raises:
            UnsupportedError: `noise` is no law that can be judged for such changes.
            InvalidParameterError: The sensitivity is not positive, or no whole number
                of the law's steps.
            AccountingError: The sensitivity is too large or too small for the law to be judged.

        Example:
            >>> from leastnoise import laplace
            >>> round(PrivacyLoss.of(laplace(2.0 ** 0.5)).epsilon(1e-9), 6)
            1.0
        """
        law = a_law(noise)
        space = checked_changes(changes, law.dimension)
        return PrivacyLoss(((law.loss(sensitivity, space), 1),))

    def compose(self, other: int | PrivacyLoss) -> PrivacyLoss:
        """This loss repeated n times, or followed by another loss.

        Args:
            other: How often to repeat, a positive integer; or the loss of what is released as well.

        Returns:
            The loss of all these releases together, with the settings of this one.

        Raises:
            InvalidParameterError: `other` is neither.

        Example:
            >>> from leastnoise import laplace
            >>> one = PrivacyLoss.of(laplace(8.0))
            >>> one.compose(one).parts == one.compose(2).parts
            True
        """
        if isinstance(other, PrivacyLoss):
            return replace(self, parts=joined(self.parts + other.parts))
        if isinstance(other, Noise):
            raise InvalidParameterError(
                "n",
                other,
                "to be a positive integer, or a PrivacyLoss such as PrivacyLoss.of(noise)",
            )
        n = positive_integer("n", other)
        return replace(self, parts=joined(tuple((loss, count * n) for loss, count in self.parts)))

    def epsilon(self, delta: float) -> float:
        """The least certified ε at `delta`.

        Args:
            delta: Probability with which the guarantee may fail, in (0, 1).

        Returns:
            ε in nats, an upper bound; +inf where the mass of unbounded loss alone exceeds `delta`.

        Raises:
            AccountingError: No bound can be certified with the grid points allowed.

        Example:
            >>> from leastnoise import discrete_laplace
            >>> round(PrivacyLoss.of(discrete_laplace(3.0)).compose(4).epsilon(1e-6), 4)
            1.8686
        """
        return epsilon_upper(self.composition, open_unit("delta", delta))

    def delta(self, epsilon: float) -> float:
        """The least certified δ at `epsilon`.

        Args:
            epsilon: At least 0, in nats.

        Returns:
            δ in [0, 1], an upper bound.

        Raises:
            AccountingError: No bound can be certified with the grid points allowed.

        Example:
            >>> from leastnoise import gaussian
            >>> PrivacyLoss.of(gaussian(8.0)).delta(1.0) < 1e-15
            True
        """
        return delta_upper(self.composition, non_negative("epsilon", epsilon))

    def epsilon_bounds(self, delta: float) -> Bounds:
        """ε at `delta` between two certified bounds.

        Args:
            delta: Probability with which the guarantee may fail, in (0, 1).

        Returns:
            Lower and upper bound on ε; the upper one is that of `epsilon`.

        Raises:
            AccountingError: No upper bound can be certified with the grid points allowed.

        Example:
            >>> from leastnoise import laplace
            >>> lower, upper = PrivacyLoss.of(laplace(8.0)).compose(20).epsilon_bounds(1e-6)
            >>> 0.999 * upper < lower <= upper
            True
        """
        delta = open_unit("delta", delta)
        upper = epsilon_upper(self.composition, delta)
        return Bounds(min(epsilon_lower(self.composition, delta, upper), upper), upper)

    def delta_bounds(self, epsilon: float) -> Bounds:
        """δ at `epsilon` between two certified bounds.

        Args:
            epsilon: At least 0, in nats.

        Returns:
            Lower and upper bound on δ; the upper one is that of `delta`.

        Raises:
            AccountingError: No upper bound can be certified with the grid points allowed.

        Example:
            >>> from leastnoise import laplace
            >>> lower, upper = PrivacyLoss.of(laplace(8.0)).compose(20).delta_bounds(2.0)
            >>> 0.99 * upper < lower <= upper
            True
        """
        epsilon = non_negative("epsilon", epsilon)
        upper = delta_upper(self.composition, epsilon)
        return Bounds(min(delta_lower(self.composition, epsilon, upper), upper), upper)

    def curve(
        self, *, delta: float = 1e-9, points: int = POINTS, reverse: PrivacyLoss | None = None
    ) -> PrivacyCurve:
        """δ for every ε at once, and what an attacker can do: the whole privacy curve.

        Args:
            delta: The smallest δ of interest, in (0, 1): nodes reach to a thousandth of it.
            points: How many nodes, at least 2.
            reverse: The loss of the same releases with the two data sets in the other order, where
                this one bounds one order only; the laws of this package bound both.

        Returns:
            The curve, with certified bounds between its nodes as well.

        Raises:
            InvalidParameterError: A number is out of its range, or `reverse` is no loss.
            AccountingError: No bound can be certified with the grid points allowed.

        Example:
            >>> from leastnoise import laplace
            >>> curve = PrivacyLoss.of(laplace(2.0 ** 0.5)).curve()
            >>> round(curve.advantage, 4)  # 1 − e^(−1/2)
            0.3935
        """
        if reverse is not None and not isinstance(reverse, PrivacyLoss):
            raise InvalidParameterError("reverse", reverse, "to be a PrivacyLoss, or None")
        count = positive_integer("points", points)
        if count < 2:
            raise InvalidParameterError("points", points, "to be at least 2")
        other = None if reverse is None else reverse.composition
        return curve_of(self.composition, other, open_unit("delta", delta), count)

    @cached_property
    def composition(self) -> Composition:
        """The releases as the accountant's own functions take them."""
        return Composition(self.parts, self.settings)
