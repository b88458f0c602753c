"""What a plan will give, before any row is read: the error of each statistic, and what the ledger would say."""

from __future__ import annotations

from dataclasses import dataclass

from leastnoise.releases.estimate import block_numbers, checks, plain_noise
from leastnoise.releases.keys import group_titles
from leastnoise.releases.mechanism import Mechanism
from leastnoise.releases.plan import Plan, Statistic
from leastnoise.releases.ratios import CONFIDENCE, Ratios
from leastnoise.releases.sensitivity import answers_in
from leastnoise.releases.trials import Trials, worth


@dataclass(frozen=True)
class Outlook:
    """One statistic of a plan. `noise_std` and `half_width` (95 %) are in its own units, or, where `of_sum`, those of the sum that
    will be divided by a noisy number of rows.

    Those of a mean or variance are for `n` values, public or expected, and None where so few are too
    few to say.
    """

    statistic: str
    kind: str
    groups: int
    noise_std: float | None
    half_width: float | None
    of_sum: bool
    n: int | None = None


def outlook(plan: Plan, made: Mechanism) -> tuple[Outlook, ...]:
    """The error that noise alone puts on every statistic, the same in each of its groups, and on the checks."""
    place = {(entry.block, entry.group, entry.answer): i for i, entry in enumerate(made.entries)}
    blocks = block_numbers(made)
    laws, trials = made.law_of, Trials(made)
    ratios = Ratios(made, trials)
    found = []
    for statistic in plan.statistics:
        b = blocks[statistic.group_by]
        groups = len(group_titles(statistic.group_by))
        used = [place[b, 0, answer] for answer in answers_in(made.blocks[b], statistic)]
        if statistic.kind in ("mean", "variance"):
            found.append(_ratio(statistic, groups, used, made, ratios))
        else:
            noise = plain_noise(statistic, used, made, trials)
            found.append(Outlook(statistic.name, statistic.kind, groups, *noise, of_sum=False))
    for check in checks(plan, made):
        law, one = laws[check.entry].noise, made.entries[check.entry].sensitivity
        name = f"{check.statistic}: {check.group}"
        half_width = law.interval(CONFIDENCE) * one
        found.append(Outlook(name, check.kind, 1, law.std * one, half_width, of_sum=False))
    return tuple(found)


def _ratio(
    statistic: Statistic, groups: int, used: list[int], made: Mechanism, ratios: Ratios
) -> Outlook:
    n = statistic.expected_n if statistic.public_n is None else statistic.public_n
    if n is None:
        # The first answer of a mean is its sum; of a variance the second, the sum of squares, leads.
        leading = used[1 if statistic.kind == "variance" else 0]
        law, one = made.law_of[leading].noise, worth(made, leading)
        return Outlook(
            statistic.name,
            statistic.kind,
            groups,
            law.std * one,
            law.interval(CONFIDENCE) * one,
            of_sum=True,
        )
    std, half_width = ratios.expected(statistic, used, n) or (None, None)
    return Outlook(statistic.name, statistic.kind, groups, std, half_width, of_sum=False, n=n)
