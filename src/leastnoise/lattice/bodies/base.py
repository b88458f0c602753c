"""What a body says of itself: the one Protocol of all integer-valued norms.

A body is a norm r on Z^d with whole values, and shell t is the set of points with r(x) = t. A law
of the norm gives a point the probability h_r(x). Everything that depends on the shape alone is
asked from here: how many points a shell holds, how one coordinate and a pair of them are spread
over it, and for which changes |r(x + v) − r(x)| ≤ m holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from numpy.typing import ArrayLike

from leastnoise.changes import Changes
from leastnoise.lattice.shells import Floats


class Body(Protocol):
    """An integer-valued norm on Z^d that does not change when x becomes −x or is permuted."""

    def __hash__(self) -> int:
        """Bodies are equal by value."""

    @property
    def name(self) -> str:
        """The name of the body in files."""

    @property
    def dimension(self) -> int:
        """d, the number of answers."""

    @property
    def touched(self) -> int:
        """How many answers one person moves at most, for the changes it is made for."""

    @property
    def made_for(self) -> Changes:
        """The widest of these changes."""

    def radius(self, point: Sequence[int]) -> int:
        """r(x)."""

    def refusal(self, changes: Changes) -> str | None:
        """Why a law of this norm is not judged for such changes, or None: where none is given, m
        whole steps of them move r by at most m."""

    def shell_counts(self, size: int) -> list[int]:
        """n_0 … n_(size−1) as exact integers."""

    def log_shell_counts(self, k: ArrayLike) -> Floats:
        """log n_k."""

    def squares(self, last: int) -> Floats:
        """E[x_1² | shell t] for t = 0 … last."""

    def products(self, last: int) -> Floats:
        """E[x_1·x_2 | shell t] for t = 0 … last."""

    def coordinate(self, masses: Floats) -> Floats:
        """P(x_1 = a), a = 0 … last, of the law with these shell masses."""

    def characteristic(self, masses: Floats, coefficients: Floats, t: Floats) -> Floats:
        """E cos(t·Σ c_i·x_i) of the law with these shell masses; an UnsupportedError where it would
        take too long."""
