"""What was checked, what failed, how far above the truth the bounds are, and what it cost."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flint import arb

from benchmarks.audit.oracles import Number, exact, surely_above, surely_below
from leastnoise import Bounds
from leastnoise.errors import LeastNoiseError

T = TypeVar("T")
DeltaAt = Callable[[Number], arb]

USUAL = (1e-30, 0.9)  # the δ whose excesses are recorded; beyond, only violations count
_FAR = 1e7  # an ε beyond every finite loss asked about here
_NARROW = 1e-9  # an excess is recorded where the exact value is known at least this well
_SAME = (
    2.0**-60
    # an enclosure this narrow around a float says that they agree, though not which of the two is
    # less
)
_SHARES = [10.0**-digits for digits in range(15, 0, -1)]


class BeyondTheOracleError(ArithmeticError):
    """The exact value cannot be had by the means here; the case is left out."""


@dataclass(frozen=True)
class Violation:
    """A number on the wrong side of the truth, or an error that is none of the package's own."""

    what: str  # the call, with everything it was given
    claimed: str
    truth: str
    short: float = math.nan  # the share of the truth by which it falls short
    again: str = ""  # the command that repeats the case


@dataclass
class Side:
    """One accountant's part of a row: ours, or dp_accounting's."""

    checks: int = 0
    undecided: int = (
        0  # no check: the enclosure of the exact value neither confirms nor refutes the number
    )
    unanswered: int = 0  # refused with a reason, failed, or +inf where the truth is finite
    seconds: float = 0.0
    excesses: list[float] = field(default_factory=list)
    worst: tuple[float, str] = (-1.0, "")  # the largest excess, and the call
    violations: list[Violation] = field(default_factory=list)

    def record(self, excess: float, what: str) -> None:
        self.excesses.append(excess)
        if excess > self.worst[0]:
            self.worst = excess, what

    def excess(self, share: float) -> float | None:
        """The excess that this share of the checks does not exceed."""
        ordered = sorted(self.excesses)
        return ordered[min(math.ceil(share * len(ordered)), len(ordered)) - 1] if ordered else None

    def decides(self, value: float, truth: arb) -> bool:
        """Whether the enclosure tells `value` from the exact number, or is within 2^−60 of it;
        counted either way."""
        decided = truth.is_finite() and (
            not math.isfinite(value)
            or bool(exact(value) < truth)
            or bool(exact(value) > truth)
            or bool(abs(truth - exact(value)) <= exact(_SAME) * abs(exact(value)))
        )
        self.checks += decided
        self.undecided += not decided
        return decided


@dataclass
class Row:
    """One kind of check: ask for a number with `ask`, hand the exact one to `upper`, `lower`,
    `epsilon` or `holds`.

    What the exact one does not decide is no check, and neither is a lower bound of 0, which is
    always true.
    """

    kind: str
    ours: Side = field(default_factory=Side)
    theirs: Side = field(default_factory=Side)
    oracle_seconds: float = 0.0

    def ask(self, call: Callable[[], T], what: str) -> T | None:
        """A number of the package; None where it refuses. Any other error, and any warning, counts
        as a violation."""
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return call()
        except LeastNoiseError:
            self.ours.unanswered += 1
        except Exception as error:
            self.ours.checks += 1
            self.ours.violations.append(
                Violation(what, f"{type(error).__name__}: {error}", "a number or a refusal")
            )
        finally:
            self.ours.seconds += time.process_time() - start
        return None

    def ask_theirs(self, call: Callable[[], Any]) -> Any:
        """Anything of dp_accounting's; None, and counted, where it fails."""
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return call()
        except Exception:
            self.theirs.unanswered += 1
        finally:
            self.theirs.seconds += time.process_time() - start
        return None

    def exactly(self, call: Callable[[], T]) -> T:
        """Something of an oracle."""
        start = time.process_time()
        try:
            return call()
        finally:
            self.oracle_seconds += time.process_time() - start

    def upper(
        self,
        claimed: float | None,
        truth: arb,
        what: str,
        *,
        of: Side | None = None,
        profile: tuple[float, DeltaAt] | None = None,
        record: bool = True,
    ) -> None:
        """An upper bound: never below the truth. How far above it is, is recorded.

        A δ at some ε comes with its `profile`, (ε, δ(·)): next to a kink δ falls by orders of
        magnitude within a rounding of ε, so its excess is the share by which either δ or ε is off,
        whichever is less.
        """
        side = self.ours if of is None else of
        if claimed is None or self._is_nan(claimed, what, side) or not side.decides(claimed, truth):
            return
        if surely_below(claimed, truth):
            side.violations.append(
                Violation(what, repr(claimed), truth.str(25), float(1 - exact(claimed) / truth))
            )
        elif claimed == math.inf:
            side.unanswered += 1
        elif record and truth > 0 and truth.rad() <= exact(_NARROW) * truth.mid():
            excess = max(float(exact(claimed) / truth - 1), 0.0)
            if profile is not None:
                if not USUAL[0] <= float(truth) <= 1.0:
                    return
                epsilon, delta_at = profile
                for share in _SHARES if excess > _NARROW else []:
                    if share >= excess:
                        break
                    if delta_at(epsilon - share * abs(epsilon)) >= exact(claimed):
                        excess = share
                        break
            side.record(excess, what)

    def bounds(
        self,
        claimed: Bounds | None,
        truth: arb,
        what: str,
        profile: tuple[float, DeltaAt] | None = None,
    ) -> None:
        """Both sides of a δ at some ε."""
        if claimed is not None:
            self.upper(claimed.upper, truth, what, profile=profile)
            self.lower(claimed.lower, truth, what)

    def lower(self, claimed: float | None, truth: arb, what: str) -> None:
        """A lower bound: never above the truth."""
        if claimed is None or claimed == 0.0 or self._is_nan(claimed, what, self.ours):
            return
        if self.ours.decides(claimed, truth) and surely_above(claimed, truth):
            self.ours.violations.append(
                Violation(what + ", lower bound", repr(claimed), truth.str(25))
            )

    def epsilon(
        self,
        claimed: float | None,
        delta: float,
        delta_at: DeltaAt,
        what: str,
        *,
        of: Side | None = None,
    ) -> None:
        """An ε for δ: the exact δ(ε) must not exceed δ. The excess is measured from the least ε of
        which that is true."""
        side = self.ours if of is None else of
        if claimed is None or self._is_nan(claimed, what, side):
            return
        start = time.process_time()
        try:
            if claimed == math.inf:
                there = delta_at(
                    _FAR
                )  # where the loss is unbounded more often than δ, +inf is the truth
                side.unanswered += side.decides(delta, there) and not there > exact(delta)
                return
            there = delta_at(claimed)
            if not side.decides(delta, there):
                return
            if there > exact(delta):
                short = float(1 - exact(delta) / there)
                side.violations.append(
                    Violation(what, repr(claimed), f"delta({claimed!r}) = {there.str(20)}", short)
                )
            elif USUAL[0] <= delta <= USUAL[1]:
                least = least_epsilon(delta_at, delta, claimed)
                if least > 0.0 or claimed == 0.0:
                    side.record(claimed / least - 1.0 if claimed > 0.0 else 0.0, what)
        finally:
            self.oracle_seconds += time.process_time() - start

    def epsilon_lower(
        self, claimed: float | None, delta: float, delta_at: DeltaAt, what: str
    ) -> None:
        """A lower bound on ε: the exact δ just below it must not be under δ."""
        if claimed is None or claimed == 0.0 or self._is_nan(claimed, what, self.ours):
            return
        start = time.process_time()
        there = delta_at(exact(min(claimed, _FAR)) * (1 - exact(2.0**-60)))
        self.oracle_seconds += time.process_time() - start
        if self.ours.decides(delta, there) and there < exact(delta):
            self.ours.violations.append(
                Violation(what + ", lower bound", repr(claimed), f"delta there = {there.str(20)}")
            )

    def _is_nan(self, claimed: float, what: str, side: Side) -> bool:
        """Ours is never NaN, whatever the truth; theirs is an answer that was not had."""
        if not math.isnan(claimed):
            return False
        if side is self.theirs:
            side.unanswered += 1
        else:
            self.holds(False, what, claimed, "a number")
        return True

    def holds(self, condition: bool, what: str, claimed: object = "", truth: object = "") -> None:
        """A statement that is true or not."""
        self.ours.checks += 1
        if not condition:
            self.ours.violations.append(Violation(what, str(claimed), str(truth)))


class Book:
    """All rows, by kind, in the order in which they are first written to."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def __getitem__(self, kind: str) -> Row:
        return self.rows.setdefault(kind, Row(kind))


def least_epsilon(delta_at: DeltaAt, delta: float, above: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ `delta`, from an upper bound on it, to a hundredth of what that
    is too large (or 1e-12)."""
    if above == 0.0 or not delta_at(0.0) > exact(delta):
        return 0.0
    high, share = above, 1e-10
    low = above * (1.0 - share)
    while share < 1.0 and not delta_at(low) > exact(delta):
        high, share = low, share * 10.0
        low = above * max(1.0 - share, 0.0)
    while high - low > 1e-2 * (above - low) + 1e-12 * above:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta_at(middle) > exact(delta) else (low, middle)
    return high
