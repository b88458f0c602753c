"""The statistics of a plan, answered with the next numbers of a series.

Each answer, divided by its sensitivity, is moved by at most 1, whatever it is: so it may be one of
the questions of a series. How many of them one person can move does not matter; a person who moves
fewer is protected better. A series for questions that all move one way answers what a person who
comes can only add to: counts, and sums of values that are not negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Protocol

from leastnoise.errors import PlanError
from leastnoise.laws.base import Noise
from leastnoise.ledger.event_log import now
from leastnoise.ledger.records import Unit
from leastnoise.releases.advice import unit_of
from leastnoise.releases.noise.layout import asked_answers, in_batches
from leastnoise.releases.noise.mechanism import Draw, Mechanism
from leastnoise.releases.noise.search import SampledLaw, gaussian_epsilon, gaussian_mu
from leastnoise.releases.noise.sensitivity import Block, blocks, is_checks
from leastnoise.releases.plan.file import load_plan
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.record import Standing
from leastnoise.releases.release import AddedNoise, Progress, carry_out
from leastnoise.releases.result import Release
from leastnoise.series.law import changes_served
from leastnoise.text.numbers import above


class OpenSeries(Protocol):
    """What a plan must know of the series that answers it."""

    @property
    def questions(self) -> int: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def noise(self) -> Noise: ...
    @property
    def dataset(self) -> str | None: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def entropy(self) -> str: ...
    @property
    def entry(self) -> int | None: ...
    @property
    def standing(self) -> Standing | None: ...


def for_series(plan: Plan | str | PathLike[str], series: OpenSeries) -> Plan:
    """The plan with the guarantee of the series, if it may be answered from it."""
    wanted = plan if isinstance(plan, Plan) else load_plan(plan)
    named = wanted.dataset or wanted.name
    if series.dataset is not None and series.dataset != named:
        raise PlanError(f"The plan is of {named!r}, and the series of {series.dataset!r}.")
    unit = Unit(**unit_of(wanted))
    if unit != series.unit:
        said = ", ".join(f"{name}={value!r}" for name, value in vars(unit).items() if value)
        raise PlanError(
            f"The plan protects {said}, and the series was not opened for that: "
            "open one for such a plan, open_series(..., plan=...)."
        )
    _check_kinds(wanted)
    _check_keys(wanted)
    weights = {statistic.weight for statistic in wanted.statistics}
    if len(weights) > 1 or any(one.sigma is not None for one in wanted.statistics):
        raise PlanError(
            "A series has the same noise on every answer, in sensitivities: leave out weight and "
            "sigma."
        )
    return replace(wanted, epsilon=series.epsilon, delta=series.delta)


def _check_kinds(plan: Plan) -> None:
    ranked = [one.name for one in plan.statistics if one.kind == "quantile"]
    if ranked:
        raise PlanError(
            f"{ranked[0]!r} comes from a tree of many counts, of which one person changes a few: "
            "release it by itself, a series has noise for a change of all its answers."
        )


def _check_keys(plan: Plan) -> None:
    if plan.discovering:
        raise PlanError(
            "A series answers how many it was opened for, and how many keys are discovered is not "
            "known: declare the keys, or release the plan by itself."
        )


def _check_cap(plan: Plan, made: Mechanism) -> Mechanism:
    """The noise of a series was drawn when it was opened: what a plan caps, it keeps or not."""
    if plan.advantage is not None and not made.advantage <= plan.advantage:
        raise PlanError(
            f"The plan caps the attacker's advantage at {plan.advantage:g}, and the series was "
            f"opened with noise that allows {above(made.advantage)}: leave out advantage, or open "
            "another series."
        )
    return made


def needed(plan: Plan | str | PathLike[str], *, checks: bool = False) -> int:
    """How many answers of a series a plan takes.

    Args:
        plan: What to release, or the TOML file that declares it.
        checks: Whether its checks are asked too, as for `Series.release`.

    Returns:
        The number: one for each count, sum and group.

    Raises:
        PlanError: The plan is none.

    Example:
        >>> from leastnoise import Plan, Statistic
        >>> asked = (Statistic("count"), Statistic("count", group_by={"ward": ("north", "south")}))
        >>> needed(Plan("wards", None, "add/remove", asked, 1.0, one_row_per_person=True))
        3
    """
    wanted = plan if isinstance(plan, Plan) else load_plan(plan)
    _check_kinds(wanted)
    return len(asked_answers(_asked(wanted, checks=checks)))


def _asked(plan: Plan, *, checks: bool) -> tuple[Block, ...]:
    """The answers of a plan; rows of other keys too, where counts are to add up to a total."""
    found = blocks(plan, joint=True)
    if checks:
        return found
    asked = tuple(block for block in found if not is_checks(block))
    if "totals" in plan.postprocess:
        return asked
    return tuple(replace(block, other=None, other_sensitivity=0) for block in asked)


def series_mechanism(plan: Plan, series: OpenSeries, *, checks: bool) -> Mechanism:
    """The noise of a plan that a series answers."""
    asked = _asked(plan, checks=checks)
    entries = asked_answers(asked)
    law = series.noise
    if law.domain == "integer" and any(entry.sensitivity != 1 for entry in entries):
        raise PlanError(
            "The series is of whole numbers that one person changes by 1, and the plan asks for "
            'others: open a series with domain="real".'
        )
    changes = changes_served(law)
    if changes.is_one_sided and not all(entry.is_one_sided for entry in entries):
        raise PlanError(
            "The series is for answers that a person who comes can only raise, and the plan asks "
            "for others, such as sums of values that may be negative, means and checks: open a "
            "series without changes=OneSided()."
        )
    draws = tuple(Draw(0, batch) for batch in in_batches(range(len(entries)), law.dimension))
    mu = math.sqrt(series.questions) / law.std
    made = Mechanism(
        blocks=asked,
        entries=entries,
        laws=(SampledLaw(law, -(-series.questions // law.dimension), "kept draw", changes),),
        draws=draws,
        layout="series",
        epsilon=series.epsilon,
        delta=series.delta,
        gaussian_epsilon=gaussian_epsilon(mu, series.delta),
        gaussian_factor=mu / gaussian_mu(series.epsilon, series.delta),
        plan_hash=plan.hash,
        series=series.questions,
    )
    return _check_cap(plan, made)


def released(
    plan: Plan,
    made: Mechanism,
    pay: Callable[[], AddedNoise],
    told: Progress,
    series: OpenSeries,
    where: Mapping[str, Any],
) -> Release:
    """The published numbers."""
    carried = carry_out(plan, made, pay, told, **where)
    done = Release(*carried, series.entropy, now(), series.entry, series.standing)
    told("adding noise", 1.0)
    return done
