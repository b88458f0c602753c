"""What a plan will give, before any row is read: the error of each statistic, and what the ledger would say."""

from __future__ import annotations

from dataclasses import dataclass

from leastnoise.releases.estimate import CONFIDENCE, Again, block_numbers, checks, sum_noise
from leastnoise.releases.keys import group_titles
from leastnoise.releases.mechanism import Mechanism
from leastnoise.releases.plan import Plan
from leastnoise.releases.sensitivity import answers_in


@dataclass(frozen=True)
class Outlook:
    """One statistic of a plan. `noise_std` and `half_width` (95 %) are in its own units, or, where `of_sum`, those of the sum that
    will be divided by a noisy number of rows."""

    statistic: str
    kind: str
    groups: int
    noise_std: float
    half_width: float
    of_sum: bool


def outlook(plan: Plan, made: Mechanism) -> tuple[Outlook, ...]:
    """The error that noise alone puts on every statistic, the same in each of its groups, and on the checks."""
    place = {(entry.block, entry.group, entry.answer): i for i, entry in enumerate(made.entries)}
    blocks = block_numbers(made)
    laws, again = made.law_of, Again(made)
    found = []
    for statistic in plan.statistics:
        b = blocks[statistic.group_by]
        groups = len(group_titles(statistic.group_by))
        answers = answers_in(made.blocks[b], statistic)
        if statistic.kind == "sum" and len(answers) == 2:
            noise = sum_noise(statistic, [place[b, 0, answer] for answer in answers], made, again)
            found.append(Outlook(statistic.name, statistic.kind, groups, *noise, of_sum=False))
            continue
        # The first answer of a mean is its sum; of a variance the second, the sum of squares, leads.
        answer = answers[1 if statistic.kind == "variance" else 0]
        index = place[b, 0, answer]
        scale = made.entries[index].sensitivity * float(answer.unit)
        ratio = statistic.kind in ("mean", "variance")
        scale /= statistic.public_n if ratio and statistic.public_n is not None else 1.0
        law = laws[index].noise
        found.append(
            Outlook(
                statistic.name,
                statistic.kind,
                groups,
                law.std * scale,
                law.interval(CONFIDENCE) * scale,
                ratio and statistic.public_n is None,
            )
        )
    for check in checks(made):
        law, one = laws[check.entry].noise, made.entries[check.entry].sensitivity
        name = f"{check.statistic}: {check.group}"
        half_width = law.interval(CONFIDENCE) * one
        found.append(Outlook(name, check.kind, 1, law.std * one, half_width, of_sum=False))
    return tuple(found)
