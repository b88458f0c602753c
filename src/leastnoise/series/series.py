"""`Series`: questions asked one after another, each answered with the next number of one draw.

The draw is made when the series is opened, charged once, and kept secret; number i is revealed with
answer i. Any analyst, who chooses each question and its sensitivity after seeing the earlier
answers, learns no more than from the same number of answers released at once
(docs/mathematics.md#one-kept-draw). The noise is that of a batch, far less than independent noise.

An answer comes about in an order that cannot repeat a number:

1. the value is rounded to the public lattice; what cannot be answered is refused, at no cost;
2. the number is erased from the file, on the disk, and the ledger counts it;
3. only then is the number added, and the answer leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any, overload

import numpy as np

from leastnoise.changes import Changes
from leastnoise.errors import (
    InvalidParameterError,
    SeriesError,
    at_least,
)
from leastnoise.laws.base import Noise
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.records import (
    Unit,
)
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.record import Standing
from leastnoise.releases.release import AddedNoise, standing_of
from leastnoise.releases.result import Release
from leastnoise.sampling.draws import nearest_float, snapped
from leastnoise.sampling.entropy import OPERATING_SYSTEM
from leastnoise.series import plans
from leastnoise.series.kept_draw import KeptDraw, Taking
from leastnoise.series.law import changes_served
from leastnoise.series.slots import Cipher
from leastnoise.text.html import facts
from leastnoise.text.numbers import above

CONFIDENCE = 0.95


@dataclass(frozen=True)
class NoisyAnswer:
    """One answer of a series. Everything in it may be shown to anyone.

    Attributes:
        value: The answer with noise, in the units of the question.
        std: Standard deviation of the noise, in the same units.
        half_width: Of a 95 % interval from noise, and from rounding to a float: the truth, rounded
            to the lattice, is within `value` ± `half_width` in 95 % of all answers.
        number: Which answer of the series it is, from 1.
        entropy: Where the random bits came from; only the operating system guarantees anything.

    Example:
        >>> answer = NoisyAnswer(value=1207.5, std=6.63, half_width=12.3, number=1)
        >>> f"{answer.value:.0f} ± {answer.half_width:.0f}"
        '1208 ± 12'
    """

    value: float
    std: float
    half_width: float
    number: int
    entropy: str = OPERATING_SYSTEM


class Series:
    """Questions asked one after another, answered on one kept draw. `open_series` makes it.

    Guarantees: whatever the questions depend on, earlier answers included, all answers together are
    (`epsilon`, `delta`)-differentially private for whoever moves each question by at most its
    sensitivity, and where the series is for one-sided `changes`, all of them up or all down. A
    number is used once: it is erased from the file, on the disk, before its answer is revealed,
    whatever is killed when. The noise of different answers is not independent.

    The file is as secret as the table: whoever reads it reads the exact answers. If it is lost, the
    rest of the series is lost, and no privacy.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from leastnoise import open_series
        >>> folder = TemporaryDirectory()
        >>> options = dict(questions=3, epsilon=1.0, delta=1e-6)
        >>> series = open_series(f"{folder.name}/analyst.series", **options)
        >>> first = series.answer(1203, sensitivity=1.0)
        >>> second = series.answer(0.37 if first.value > 1000 else 0.52, sensitivity=0.01)
        >>> second.number, series.remaining, series.epsilon <= 1.0
        (2, 1, True)
        >>> series.close()
        >>> folder.cleanup()
    """

    def __init__(
        self, kept: KeptDraw, law: Noise, cipher: Cipher, ledger: Ledger | None, entry: int | None
    ) -> None:
        self._kept, self._law, self._cipher = kept, law, cipher
        self._ledger, self._entry = ledger, entry
        sampler = law.sampler()
        # kept, for each is a fraction made anew whenever it is asked for
        self._pitch, self._unit = sampler.pitch, sampler.unit

    # What it is

    @property
    def id(self) -> str:
        """Its name in a ledger: a digest of what its file says of itself, which is public."""
        return self._kept.digest

    @property
    def path(self) -> str:
        """Its file."""
        return str(self._kept.path)

    @property
    def questions(self) -> int:
        """How many answers it was opened for."""
        return self._kept.count

    @property
    def epsilon(self) -> float:
        """The privacy loss ε of all its answers together, an upper bound."""
        return float.fromhex(self._kept.header["epsilon"])

    @property
    def delta(self) -> float:
        """The probability with which ε may be exceeded."""
        return float.fromhex(self._kept.header["delta"])

    @property
    def spent(self) -> float:
        """The ε that opening it has cost: all of it, however many questions are asked."""
        return self.epsilon

    @property
    def noise(self) -> Noise:
        """The law of the noise, for questions that one person moves by at most 1."""
        return self._law

    @property
    def changes(self) -> Changes:
        """How one person moves the questions, in sensitivities, which the guarantee is for:
        `OneSided()` where a person who is added may only raise answers, else `Box()`."""
        return changes_served(self._law)

    @property
    def dataset(self) -> str | None:
        """The data set whose budget paid; None without a ledger."""
        found: str | None = self._kept.header["dataset"]
        return found

    @property
    def unit(self) -> Unit:
        """Whom it protects, as far as that was said."""
        return Unit(**self._kept.header["unit"])

    @property
    def entropy(self) -> str:
        """Where its random bits came from; only the operating system guarantees anything."""
        return str(self._kept.header["entropy"])

    @property
    def used(self) -> int:
        """How many of its answers are used up, lost or erased."""
        return self._kept.used

    @property
    def remaining(self) -> int:
        """How many answers are left."""
        return self.questions - self.used

    @property
    def entry(self) -> int | None:
        """The number of its release in the ledger; None without a ledger."""
        return self._entry

    @property
    def standing(self) -> Standing | None:
        """Where the ledger stands now; None without a ledger."""
        if self._ledger is None or self.dataset is None:
            return None
        return standing_of(self._ledger, self.dataset)

    # What it does

    @overload
    def answer(self, value: Sequence[Any], sensitivity: Any) -> tuple[NoisyAnswer, ...]: ...

    @overload
    def answer(self, value: Any, sensitivity: Any) -> NoisyAnswer: ...

    def answer(self, value: Any, sensitivity: Any) -> NoisyAnswer | tuple[NoisyAnswer, ...]:
        """The next answer, or several at once.

        Args:
            value: The exact answer: a number, or a list of them, each of which takes one of the
                answers that are left.
            sensitivity: How far one person can move the answer (of a series for one-sided changes:
                raise it by being added), chosen anew for every question,
                also after seeing earlier answers, but never from the data; for a list one number
                or a list of them. 1 for a series of whole numbers.

        Returns:
            The noisy answer with its ±; a tuple of them for a list.

        Raises:
            InvalidParameterError: A value is no finite number, or a sensitivity not positive;
                nothing is used.
            SeriesError: Fewer answers are left than asked for, the file is damaged, a copy, or
                not the caller's alone; nothing is answered.
            LedgerError: The ledger counts more answers than the file: it is an old copy.

        Guarantees: the numbers are erased on the disk, and counted in the ledger, before this
        returns.
        """
        is_one = not _is_several(value)
        values = [value] if is_one else list(value)
        scales = self._scales(sensitivity, len(values))
        places = [_place(one, self._pitch * s) for one, s in zip(values, scales, strict=True)]
        taken = self._taken(len(values))
        answers = tuple(
            self._noisy(place, scale, number, coordinate)
            for place, scale, (number, coordinate) in zip(places, scales, taken, strict=True)
        )
        return answers[0] if is_one else answers

    def release(
        self,
        plan: Plan | str | PathLike[str],
        *,
        table: Any = None,
        checks: bool = False,
        scratch: str | PathLike[str] | None = None,
        sealed: bool = False,
        progress: Callable[[str, float], None] | None = None,
    ) -> Release:
        """The statistics of a plan, answered from its table with the next numbers.

        Every count, sum and group takes one answer; `plans.needed(plan)` says how many. The
        guarantee is that of the series: the plan's own ε and δ do not count.

        Args:
            plan: What to release, or the TOML file that declares it, without weights and sigmas:
                noise is the same number of sensitivities on every answer of a series. It must
                protect whom the series protects.
            table: As for `release`, in the place of the plan's source.
            checks: Whether to ask the plan's checks too (unreadable, clipped and left-out values,
                other keys), each of which takes one of the answers that are left.
            scratch: As for `release`.
            sealed: As for `release`.
            progress: Is told what is being done and its share in [0, 1].

        Returns:
            The published numbers; their ε is that of the whole series.

        Raises:
            PlanError: The plan does not fit the series or its table; nothing is used.
            SeriesError: Fewer answers are left than the plan needs; nothing is used.
            EngineError: The engine failed; the answers are used up if rows were read.
        """

        wanted = plans.for_series(plan, self)
        made = plans.series_mechanism(wanted, self, checks=checks)
        if len(made.entries) > self.remaining:
            raise SeriesError(
                f"The plan needs {len(made.entries)} answers, and {self.remaining} of the "
                f"{self.questions} are left."
            )

        def pay() -> AddedNoise:
            taken = self._taken(len(made.entries))
            return lambda _, scaled: self._with_noise(taken, scaled)

        where = {"table": table, "scratch": scratch, "sealed": sealed}
        told = progress or (lambda stage, share: None)
        return plans.released(wanted, made, pay, told, self, where)

    def needed(self, plan: Plan | str | PathLike[str], *, checks: bool = False) -> int:
        """How many answers a plan would take; nothing is read or used.

        Args:
            plan: What to release, or the TOML file that declares it.
            checks: Whether the plan's checks are asked too.

        Returns:
            One for each count, sum and group that the plan's statistics are made of.

        Raises:
            PlanError: The plan is none, or does not fit the series.
        """
        return plans.needed(plans.for_series(plan, self), checks=checks)

    @property
    def is_encrypted(self) -> bool:
        """Whether its numbers can be read with a passphrase only."""
        return self._kept.header["encryption"] is not None

    def close(self) -> None:
        """Erase what is left. Nothing is refunded: it was all charged when the series was opened.

        Closing twice is fine.

        Raises:
            SeriesError: The file cannot be erased, or is not the caller's alone.
        """
        self._kept.erase(self._counting)

    def __enter__(self) -> Series:
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the series as it is: only `close` erases."""

    def _scales(self, sensitivity: Any, count: int) -> list[Fraction]:
        """The sensitivities, one for each question, never below what was said."""
        if not count:
            raise InvalidParameterError("value", [], "to be a number, or a list of some")
        given = list(sensitivity) if _is_several(sensitivity) else [sensitivity] * count
        if len(given) != count:
            raise InvalidParameterError(
                "sensitivity", sensitivity, "to be one number, or one for each value"
            )
        scales = [at_least("sensitivity", one) for one in given]
        if math.inf in scales:
            raise InvalidParameterError("sensitivity", math.inf, "to be a finite number")
        if self._law.domain == "integer" and any(one != 1.0 for one in scales):
            raise InvalidParameterError(
                "sensitivity",
                max(scales, key=lambda one: abs(one - 1.0)),
                "to be 1: the series is of whole numbers that one person changes by 1; open one "
                'with domain="real" for other questions',
            )
        return [Fraction(one) for one in scales]

    def _taken(self, count: int) -> tuple[tuple[int, int], ...]:
        """The next numbers with their places, erased and counted."""
        if self._cipher.is_locked:
            raise SeriesError("The series is encrypted: to answer, open it with its passphrase.")
        if self._kept.header["charged"] and self._ledger is None:
            raise SeriesError(
                f"The series was charged to a ledger, for {self.dataset!r}: "
                "to answer, open it with that ledger, which counts its answers."
            )
        return self._kept.take(count, self._cipher, self._counting)

    def _counting(self, taking: Taking) -> AbstractContextManager[None]:
        if self._ledger is None or self._entry is None:
            return nullcontext()
        return self._ledger.counting_series(self._entry, **vars(taking))

    def _with_noise(
        self, taken: Sequence[tuple[int, int]], scaled: Sequence[Fraction]
    ) -> list[Fraction]:
        """Answers in sensitivities with the numbers that were taken for them."""
        pairs = zip(scaled, taken, strict=True)
        return [self._exact(_place(one, self._pitch), 1, number) for one, (_, number) in pairs]

    def _exact(self, place: int, scale: Fraction | int, number: int) -> Fraction:
        """The place with noise, in the units of the question."""
        return (place * self._units + number) * (self._unit * scale)

    @cached_property
    def _units(self) -> int:
        """Units in a pitch: 2 on the real line for lattice laws, else 1."""
        return int(self._pitch / self._unit)

    def _noisy(self, place: int, scale: Fraction, number: int, coordinate: int) -> NoisyAnswer:
        exact = self._exact(place, scale, coordinate)
        value = nearest_float(exact)
        size = float(scale)
        # What is published is off by the rounding to a float too; beyond their range by anything.
        off = abs(Fraction(value) - exact)
        width = self._half_width * size + (float(off) if off <= math.ulp(value) else math.inf)
        return NoisyAnswer(value, self._law.std * size, width, number + 1, self.entropy)

    @cached_property
    def _half_width(self) -> float:
        return self._law.interval(CONFIDENCE)

    def __repr__(self) -> str:
        cost = f"epsilon={above(self.epsilon, 6)}, delta={above(self.delta, 6)}"
        left = f"{self.remaining} of {self.questions} answers left"
        return f"Series({self.path!r}, {left}, {cost}{self._not_private})"

    @property
    def _not_private(self) -> str:
        return "" if self.entropy == OPERATING_SYSTEM else f", {self.entropy}"

    def _repr_html_(self) -> str:
        condition = (
            {"condition": self.changes.condition(self.questions)}
            if self.changes.is_one_sided
            else {}
        )
        return facts(
            {
                "answers left": f"{self.remaining} of {self.questions}",
                "guarantee": f"ε = {above(self.epsilon, 6)} at δ = {above(self.delta, 6)}"
                + self._not_private,
                "noise": f"{self._law.std:.6g} sensitivities, ± {above(self._half_width)} at 95 %",
                "data set": self.dataset or "no ledger",
                **condition,
            }
        )


def _is_several(given: Any) -> bool:
    return isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim > 0)


def _place(value: Any, pitch: Fraction) -> int:
    """The place of one value; a refusal never shows it."""
    holder = np.empty(1, dtype=object)  # a list in it stays one, and is refused
    holder[0] = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    return int(snapped(holder, pitch)[0])
