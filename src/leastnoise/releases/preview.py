"""What a plan will give, before any row is read: the error of each statistic and check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leastnoise.releases.estimates.adding_up import noise_after
from leastnoise.releases.estimates.checks import checks
from leastnoise.releases.estimates.estimate import entries_of, estimators, plain_noise
from leastnoise.releases.estimates.quantiles import rank_noise
from leastnoise.releases.estimates.reconstructed import numbers
from leastnoise.releases.estimates.trials import Trials, noise_on, worth
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import RATIOS, Statistic


@dataclass(frozen=True)
class Outlook:
    """One statistic of a plan. `noise_std` and `half_width` (95 %) are in its own units, or, where
    `of_sum`, those of the sum that will be divided by a noisy number of rows.

    Of what is put together from the measured marginals of a table `separate_std` is the noise that
    it would have if every grouping were measured by itself.

    Those of a mean or variance are for `n` values, public or expected, and None where so few are
    too few to say. Those of a quantile are `of_ranks`: about how many rows noise
    misplaces it by.
    """

    statistic: str
    kind: str
    groups: int
    noise_std: float | None
    half_width: float | None
    of_sum: bool
    n: int | None = None
    separate_std: float | None = None
    of_ranks: bool = False


def outlook(plan: Plan, made: Mechanism) -> tuple[Outlook, ...]:
    """The error that noise alone puts on every statistic, the same in each group, and check."""
    trials, ratios = estimators(made)
    after = noise_after(plan, made)
    found = []
    for statistic, used in entries_of(plan, made):
        named = (statistic.name, statistic.kind, len(used))
        if statistic.kind == "quantile":
            ranked = rank_noise(made, statistic)
            groups = len(used) // len(statistic.at)
            found.append(Outlook(*named[:2], groups, *ranked, of_sum=False, of_ranks=True))
            continue
        if statistic.kind not in RATIOS:
            noise = after.get(used[0][0]) if len(used[0]) == 1 else None
            noise = noise or _largest(statistic, used, made, trials)
            apart = _separately(made, statistic, used[0])
            found.append(Outlook(*named, *noise, of_sum=False, separate_std=apart))
            continue
        n = statistic.expected_n if statistic.public_n is None else statistic.public_n
        if n is None:
            # Of a variance the sum of squares leads, its second answer.
            first = used[0][1 if statistic.kind == "variance" else 0]
            apart = _separately(made, statistic, [first])
            noise = noise_on(made, first)
            found.append(Outlook(*named, *noise, of_sum=True, separate_std=apart))
        else:
            std, half_width = ratios.expected(statistic, used[0], n) or (None, None)
            found.append(Outlook(*named, std, half_width, of_sum=False, n=n))
    for check in checks(plan, made):
        name = f"{check.statistic}: {check.group}"
        noise = after.get(check.entry) or noise_on(made, check.entry)
        found.append(Outlook(name, check.kind, 1, *noise, of_sum=False))
    return tuple(found)


def _largest(
    statistic: Statistic, used: Sequence[Sequence[int]], made: Mechanism, trials: Trials
) -> tuple[float, float]:
    """The noise of a statistic, the largest of its groups, which differ in a hierarchy only."""
    alike = dict(zip(trials.patterns(used), used, strict=True))
    return max(plain_noise(statistic, one, made, trials) for one in alike.values())


def _separately(made: Mechanism, statistic: Statistic, used: Sequence[int]) -> float | None:
    """The noise of a number of a table if its grouping were measured by itself."""
    if len(used) > 1 or used[0] < len(made.entries):
        return None
    one, _ = numbers(made).of(used[0])
    return made.separate[statistic.group_by, one.answer] * worth(made, used[0])
