"""The guarantee of a release, what was bounded for it, and its noise: as data and in words."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any

from leastnoise.accountant.attacker import about, per_cent
from leastnoise.laws.base import Noise
from leastnoise.releases.estimates.row import CHECKS
from leastnoise.releases.estimates.shares import share
from leastnoise.releases.noise.margins import named_marginal
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.releases.noise.sensitivity import Block, MeasuredMarginal, bounded_columns
from leastnoise.releases.plan.keys import Key, group_titles, hidden_shown
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.record import ReleaseRecord
from leastnoise.text.numbers import above, below

_LAYOUTS = {
    "joint": "one joint draw for all answers",
    "by group": "one joint draw for the answers of each group",
    "product": "independent noise on each answer",
    "joint, weights apart": "one joint draw for all answers of a weight",
    "by group, weights apart": "one joint draw for the answers of each group and weight",
    "spread": "independent noise on each answer, for all rows of a person in one group",
    "residuals": "one joint draw for what each marginal of the table adds to the smaller ones",
    "series": "the next numbers of one joint draw that is kept for a series of questions",
}
_ONE_VIEW = (
    " All of them are of the same rows, chosen once for each person: at most rows_per_person of "
    "them, whatever groups they are in."
)
_ONCE = (
    "Where a range stands in the place of a ±, a line may be about persons who are counted under "
    "another line, for each is counted under one of these only. Its lower end is what is counted "
    "there; its upper end adds the lines that may hide it. What the line is named after is between "
    "the two."
)


def unit(plan: Plan, made: Mechanism | None = None) -> str:
    """Whom the release protects, in words."""
    if plan.one_row_per_person:
        return "one row of the table, which is one person"
    parts = [f"at most {plan.rows_per_person} rows"]
    if made is not None and made.is_one_view:
        parts = [f"the same {parts[0]} for all groupings"]
        parts += [] if plan.rows_per_group is None else [_in_one_cell(plan.rows_per_group)]
    elif plan.groups_per_person is not None:
        parts.append(f"in at most {plan.groups_per_person} groups of each grouping")
    return f"one person: all rows with the same {plan.person}, of which {' '.join(parts)} count"


def _in_one_cell(rows: int) -> str:
    return f"(at most {rows} with the same keys)"


def guarantee(release: ReleaseRecord) -> dict[str, Any]:
    """The guarantee as data."""
    plan = release.plan
    return {
        "epsilon": release.epsilon,
        "epsilon_allowed": plan.epsilon,
        "delta": release.delta,
        "relation": plan.relation,
        "unit": unit(plan, release.mechanism),
        "rows_per_person": 1 if plan.one_row_per_person else plan.rows_per_person,
        "groups_per_person": _groups(release),
        "covers": covers(release),
        "entropy": release.entropy,
        "in_words": in_words(release),
        "attacker": attacker(release),
    }


def attacker(release: ReleaseRecord) -> dict[str, Any] | None:
    """What somebody who sees the release can guess about one person, as data; None where nothing is
    guaranteed."""
    if not release.is_private:
        return None
    found = release.mechanism.attacker
    return {
        "advantage": release.mechanism.advantage,
        "advantage_allowed": release.plan.advantage,
        "right_guesses": found.guess,
        "right_guesses_allowed": _allowed_guesses(release),
        "right_guesses_with_gaussian_noise": found.gaussian_guess,
        "in_words": attacker_in_words(release),
    }


def _allowed_guesses(release: ReleaseRecord) -> float:
    """The right guesses that the promise allows: by (ε, δ), and by a cap."""
    by_epsilon, cap = release.mechanism.attacker.allowed, release.plan.advantage
    return by_epsilon if cap is None else min(by_epsilon, 0.5 * (1.0 + cap))


def attacker_in_words(release: ReleaseRecord) -> str:
    """What somebody who sees the release can guess about one person; "" where nothing is
    guaranteed."""
    if not release.is_private:
        return ""
    made, is_series = release.mechanism, bool(release.mechanism.series)
    other = "without one given person"
    if release.plan.relation == "replace":
        other = "with another person in the place of one given person"
    cap, promise = release.plan.advantage, "the promised ε and δ allow"
    if cap is not None:
        promise = f"the plan, which caps the advantage at {below(cap, 6)}, allows"
    larger = f"{made.gaussian_factor:.3g} times as large"
    return (
        "Someone who knows all the rest of the table, starts from even odds and must say whether "
        f"{'these answers were' if is_series else 'this release was'} published, or the same made "
        f"{other}, is right at most {per_cent(made.attacker.guess)} of the time instead of 50 % "
        f"({promise} {per_cent(_allowed_guesses(release))}; with Gaussian noise of the same ε and "
        f"δ, {larger}, it is {about(made.attacker.gaussian_guess)})."
    )


def _groups(release: ReleaseRecord) -> int | None:
    """In how many groups of a grouping one person counts; None where nothing bounds that."""
    if release.plan.one_row_per_person:
        return 1
    return None if release.mechanism.is_one_view else release.plan.groups_per_person


def covers(release: ReleaseRecord) -> str:
    """What ε is of."""
    questions = release.mechanism.series
    if questions:
        asked = len(release.mechanism.entries)
        return f"all {questions} questions of a series together, of which this release asks {asked}"
    if release.entry is None:
        return "this release alone"
    return "this release; the ledger adds up all releases"


def in_words(release: ReleaseRecord) -> str:
    """The guarantee for people."""
    if release.is_rehearsed:
        return "Nothing is guaranteed and nothing was spent: this is a rehearsal on invented rows."
    if not release.is_private:
        return (
            "Nothing is guaranteed: the noise does not come from the operating system's generator, "
            f"and whoever knows where it comes from can take it away again ({release.entropy})."
        )
    without = "with another person in the place of any one person"
    if release.plan.relation == "add/remove":
        without = (
            "without any one person: all their rows taken away, or, for a person who is not in the "
            "table, put in"
        )
    factor = above(math.exp(release.epsilon))
    questions = release.mechanism.series
    whole = f"all {questions} answers of the series it belongs to" if questions else "this release"
    same = "the same answers" if questions else "the same release"
    return (
        f"Compare {whole} with {same} made {without}. No result is more than e^ε = "
        f"{factor} times as likely in one of the two as in the other "
        f"(ε = {above(release.epsilon)}), except with probability δ = {above(release.delta, 6)}. "
        "So whatever somebody who sees this page concludes about that person or does, with all "
        "else they know, would have been about as likely without that person, within the same "
        "factor. It does not say that nothing can be learnt about a person: what the numbers show "
        "of many people can concern a person who is not even among them."
    )


def bounds(release: ReleaseRecord) -> dict[str, Any]:
    """What the plan bounds, and the shares that the bounds concern, between published numbers."""
    plan, rows = release.plan, release.rows
    limits = ("rows_per_person", "groups_per_person", "rows_per_group")
    declared = ("column", "lower", "upper", "pitch", "missing")
    return {
        **{name: 1 if plan.one_row_per_person else getattr(plan, name) for name in limits},
        "columns": [
            {name: getattr(one, name) for name in declared} for one in bounded_columns(plan)
        ],
        "shares_of": shares_of(plan),
        "shares": [
            {"statistic": row.statistic, "group": row.group, "between": share(plan, rows, row)}
            for row in rows
            if row.kind in CHECKS
        ],
    }


def shares_of(plan: Plan) -> str:
    """Of what the shares beside the bounds are, and why they are of that."""
    if plan.one_row_per_person:
        return (
            "One row is one person, so a share of the persons is a share of the rows, where "
            f"their number is published. {_ONCE}"
        )
    return (
        "The share is of the persons, where their number is published, and not of the rows or "
        "values: how many rows one person loses has no bound, so no noise could hide it, and one "
        f"person may have clipped values in all their {plan.rows_per_person} rows, so a count of "
        f"values would need {plan.rows_per_person} times the noise. {_ONCE}"
    )


def intervals_in_words(release: ReleaseRecord) -> str:
    """Of which values the intervals are, where there was post-processing."""
    if "totals" in release.plan.postprocess and not release.mechanism.tables:
        return (
            "Counts that were made to add up have intervals of their own, recomputed; the "
            "others are those of the values before it."
        )
    return "The intervals are those of the values before it."


def law(release: ReleaseRecord) -> dict[str, Any]:
    """The noise, and what the usual alternative would have cost."""
    made = release.mechanism
    return {
        "layout": made.layout,
        "layout_in_words": layout_in_words(release),
        "laws": [
            {
                "origin": one.origin,
                "answers_a_draw": one.noise.dimension,
                "draws_that_see_a_person": one.uses,
                **_sizes(one),
                "one_person_changes": _changes_in_words(one),
            }
            for one in made.laws
        ],
        "drawn_together": drawn_together(release),
        "tables": tables(made),
        "keys_shown_from": made.threshold,
        "keys_in_words": keys_in_words(release.plan, made),
        "other_layouts_relative_noise": dict(made.alternatives),
        "gaussian_epsilon_at_the_same_noise": made.gaussian_epsilon,
        "gaussian_std_at_the_same_budget": made.gaussian_factor,
        "why": why(release),
    }


def _changes_in_words(law: SampledLaw) -> str:
    """What one person changes in the draws of a law."""
    if not law.shifts:
        return law.changes.sentence(law.noise.dimension)
    worst = ", ".join(
        f"{count} answer{'s' if count > 1 else ''} by {shift}" for shift, count in law.shifts
    )
    return (
        "one person spreads a bounded number of rows over the answers; the worst way is to move "
        f"{worst} units, for the law is log-concave"
    )


def drawn_together(release: ReleaseRecord) -> list[dict[str, Any]]:
    """The numbers whose noise is correlated, draw by draw: the covariance of two of them is the
    correlation times their standard deviations; with ties, the correlation of two is
    ττ′/√((1 + τ²)(1 + τ′²))."""
    made = release.mechanism
    found = []
    for draw in made.draws:
        noise = made.laws[draw.law].noise
        if not _largest_correlation(noise):
            continue
        named = [named_entry(made, entry) for entry in draw.entries]
        if noise.ties is None:
            found.append({"correlation": noise.correlation, "answers": named})
        else:
            found.append({"ties": list(noise.ties[: len(named)]), "answers": named})
    return found


def _sizes(law: SampledLaw) -> dict[str, Any]:
    """The standard deviation of the noise, in sensitivities, and the correlation of two answers;
    of answers that are not alike one for each, with the ties."""
    noise = law.noise
    if noise.ties is None and law.scales is None:
        return {"std": noise.std, "correlation_of_two_answers": noise.correlation}
    answers = noise.dimension if law.scales is None else len(law.scales)
    told: dict[str, Any] = {"std": law.spread(answers), "stds": list(law.stds(answers))}
    if noise.ties is None:
        return {**told, "correlation_of_two_answers": noise.correlation}
    return {**told, "ties": list(noise.ties)}


def _largest_correlation(noise: Noise) -> float:
    """Of two answers of a draw, in absolute value."""
    if noise.ties is None:
        return noise.correlation
    alone = sorted((abs(tie) / math.hypot(1.0, tie) for tie in noise.ties), reverse=True)
    return alone[0] * alone[1]


def named_entry(made: Mechanism, entry: int) -> dict[str, str]:
    """What an answer counts or sums, and in which group."""
    asked = made.entries[entry]
    block = made.blocks[asked.block]
    column = "" if asked.answer.values is None else asked.answer.values.column
    group = "other keys"
    if block.precision is not None and asked.group < len(block.groups):
        named = " × ".join(key.column for key in block.group_by)
        group = f"contrast {asked.group + 1} of {named or 'the total'}"
    elif asked.group < len(block.groups):
        group = _group_title(block, asked.group)
    return {"measure": asked.answer.measure, "column": column, "group": group}


def _group_title(block: Block, group: int) -> str:
    """A group of a block for people; of a table that has hidden keys, with those."""
    if block.level is not None:
        return ", ".join(block.groups[group])
    if block.marginal is None:
        return group_titles(block.group_by)[group]
    return _titles_of_table(block.group_by, block.marginal)[group]


@lru_cache(maxsize=16)
def _titles_of_table(group_by: tuple[Key, ...], about: MeasuredMarginal) -> list[str]:
    each = [(*key.keys_shown, *hidden_shown(key, about.hidden, about.within)) for key in group_by]
    return [
        ", ".join(f"{column} = {title}" for shown in cell for column, title in shown)
        for cell in product(*each)
    ]


def tables(made: Mechanism) -> list[dict[str, Any]]:
    """The tables with margins: what was measured of each, and what was put together from that."""
    return [
        {
            "columns": [key.column for key in table.keys],
            "answers": [answer.measure for answer in table.answers],
            "measured": [named_marginal(table, one) for one in table.support],
            "put_together": [
                named_marginal(table, one)
                for one in dict.fromkeys(map(table.marginal, table.published))
                if table.precisions or one not in table.support
            ],
            "residuals": bool(table.precisions),
            "columns_with_a_hidden_key": [key.column for key in table.hidden_keys],
        }
        for table in made.tables
    ]


def margins_in_words(made: Mechanism) -> str:
    """That margins are sums of measured numbers; nothing where each grouping is measured itself."""
    if not made.tables:
        return ""
    measured = "; ".join(
        dict.fromkeys(named_marginal(table, one) for table in made.tables for one in table.support)
    )
    if any(table.precisions for table in made.tables):
        return (
            "Measured with one joint draw of noise was what each of these adds to the smaller ones "
            f"(their residuals): {measured}. All counts and sums of the table are put together "
            "from that, so totals, margins and cells add up."
        )
    return (
        f"Measured with noise was: {measured}. All other counts and sums of these tables are put "
        "together from the measured numbers by least squares, so totals, margins and cells add up."
        f"{_ONE_VIEW if made.is_one_view else ''}"
    )


def keys_in_words(plan: Plan, made: Mechanism) -> str:
    """Which keys are shown where they are not declared; nothing where all are."""
    if made.threshold is None:
        return ""
    columns = " and ".join(key.column for key in plan.discovering)
    return (
        f"The keys of {columns} are not declared. A key is shown if the number of persons who "
        f"have it, with noise of up to {made.threshold - 1:,}, is {made.threshold:,} or more: a "
        "key that nobody has is never shown, one that one person has almost never, and one that "
        f"{made.threshold:,} have at least every second time. Near that number what is shown is "
        "too high more often than too low, and its interval says so. Who has a key that is not "
        "shown, or none, is counted under other keys."
    )


def layout_in_words(release: ReleaseRecord) -> str:
    """How the noise was drawn. One joint draw of independent noise is independent noise."""
    made = release.mechanism
    is_independent = all(one.noise.dimension == 1 for one in made.laws)
    if made.layout.startswith("joint") and is_independent and len(made.entries) > 1:
        return _LAYOUTS["product"]
    return _LAYOUTS[made.layout]


def why(release: ReleaseRecord) -> str:
    """Which noise was chosen and what it gains."""
    made = release.mechanism
    chosen = [
        f"Chosen: {layout_in_words(release)}",
        *(
            f"{_LAYOUTS[name]} would have needed {ratio:.3g} times the noise"
            for name, ratio in made.alternatives.items()
            if name != made.layout
        ),
    ]
    gain = 100.0 * (1.0 - 1.0 / made.gaussian_factor**2)
    return (
        f"{'; '.join(chosen)}. Gaussian noise with the same guarantee would need "
        f"{made.gaussian_factor:.3g} times the standard deviation (this noise has {gain:.0f} % "
        "less variance); with the same standard deviation it would cost "
        f"ε = {made.gaussian_epsilon:.4g}.{_correlated(release)}"
    )


def _correlated(release: ReleaseRecord) -> str:
    """That errors do not add up as those of independent numbers, where they do not."""
    found = max(_largest_correlation(one.noise) for one in release.mechanism.laws)
    if not found:
        return ""
    at_most = "" if all(one.noise.ties is None for one in release.mechanism.laws) else "at most "
    return (
        " The noise of numbers that are drawn together is correlated "
        f"({at_most}{found:.2g}): their differences are more accurate, and their sums less, than "
        "those of independent numbers; Release.combine gives the ± of both."
    )
