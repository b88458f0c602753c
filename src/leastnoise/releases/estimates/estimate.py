"""From noisy answers to statistics, their standard deviations and intervals. All of it is
post-processing: no private value enters.

With S = Σ(x − c) and n noisy, c the middle of the bounds:

    sum       S + c·n                    where n is asked for too; else it has an answer of its own

Means and variances are in `ratios`, the declared post-processing in `postprocessing`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from leastnoise.releases.estimates.checks import NamedCheck, checks
from leastnoise.releases.estimates.linear import exact_width
from leastnoise.releases.estimates.ratios import Ratios, centre
from leastnoise.releases.estimates.reconstructed import numbers
from leastnoise.releases.estimates.row import ReleasedRow
from leastnoise.releases.estimates.trials import CONFIDENCE, Pattern, Trials, noise_on, worth
from leastnoise.releases.noise.mechanism import Mechanism
from leastnoise.releases.noise.sensitivity import answers_in, apart_of, is_checks
from leastnoise.releases.plan.keys import group_keys, group_titles
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.statistic import RATIOS, Statistic


def entries_of(plan: Plan, made: Mechanism) -> Iterator[tuple[Statistic, list[list[int]]]]:
    """The entries that each statistic is computed from, group by group."""
    place = {(entry.block, entry.group, entry.answer): i for i, entry in enumerate(made.entries)}
    direct = {
        block.view: b
        for b, block in enumerate(made.blocks)
        if not is_checks(block) and block.marginal is None
    }
    asked = {block.view: block for block in made.groupings if not is_checks(block)}
    of_tables = numbers(made)
    for statistic in plan.statistics:
        view = statistic.group_by, statistic.condition, apart_of(statistic)
        block = asked[view]
        columns = []
        for answer in answers_in(block, statistic):
            found = of_tables.groups(statistic.group_by, answer)
            if found is None:
                b = direct[view]
                found = [place[b, group, answer] for group in range(len(block.groups))]
            columns.append(found)
        yield statistic, [list(entries) for entries in zip(*columns, strict=True)]


@lru_cache(maxsize=4)
def estimators(made: Mechanism) -> tuple[Trials, Ratios]:
    """What knows how the numbers of a mechanism move: the same in every release of it."""
    trials = Trials(made)
    return trials, Ratios(made, trials)


def rows(plan: Plan, made: Mechanism, noisy: Sequence[float]) -> tuple[ReleasedRow, ...]:
    """The statistics from the noisy answers, one for each entry of the mechanism and in its own
    units, and the checks."""
    trials, ratios = estimators(made)
    measured, noisy = noisy, numbers(made).values(noisy)
    found: list[ReleasedRow] = []
    for statistic, used in entries_of(plan, made):
        values = [[noisy[i] for i in entries] for entries in used]
        if statistic.kind in RATIOS:
            found += _ratio_rows(statistic, used, values, ratios)
        else:
            exact = _exact_sums(statistic, used, made, measured)
            found += _plain_rows(statistic, used, exact or values, made, trials)
    return (*found, *(_check_row(check, noisy[check.entry], made) for check in checks(plan, made)))


def agreeing(plan: Plan, made: Mechanism, noisy: Sequence[float]) -> dict[int, float] | None:
    """The counts of tables after the declared post-processing, which keeps their sums, by the
    places of their rows in `rows`; None where there are no tables that count rows."""
    if not any(table.counts_rows for table in made.tables):
        return None
    if set(plan.postprocess) <= {"totals"}:
        return {}
    whole = {
        "non_negative": "non-negative" in plan.postprocess,
        "integer": "integer" in plan.postprocess,
    }
    numbered = numbers(made).agreeing(noisy, **whole)
    places = [
        used[0] if statistic.kind in ("count", "histogram") else -1
        for statistic, groups in entries_of(plan, made)
        for used in groups
    ]
    places += [check.entry for check in checks(plan, made)]
    return {i: numbered[place] for i, place in enumerate(places) if place in numbered}


def _exact_sums(
    statistic: Statistic, used: Sequence[Sequence[int]], made: Mechanism, noisy: Sequence[float]
) -> list[list[float]] | None:
    """Sums S + c·n of a table whose own sums are exact; None where they are no such sums."""
    is_of_table = len(used[0]) == 2 and min(used[0]) >= len(made.entries)
    if not is_of_table:
        return None
    pairs = [(first, second) for first, second in used]
    found = numbers(made).sums(noisy, pairs, centre(statistic))
    return None if found is None else [[value] for value in found]


def _plain_rows(
    statistic: Statistic,
    used: Sequence[Sequence[int]],
    values: Sequence[Sequence[float]],
    made: Mechanism,
    trials: Trials,
) -> Iterator[ReleasedRow]:
    titles, keys = group_titles(statistic.group_by), group_keys(statistic.group_by)
    noise: dict[Pattern, tuple[float, float]] = {}  # the same in every group, or in those alike
    listed = zip(titles, keys, used, values, trials.patterns(used), strict=True)
    for title, key, entries, (first, *rest), pattern in listed:
        value = first + centre(statistic) * rest[0] if rest else first
        if pattern not in noise:
            noise[pattern] = plain_noise(statistic, entries, made, trials)
        yield ReleasedRow(statistic.name, statistic.kind, title, value, *noise[pattern], keys=key)


def _ratio_rows(
    statistic: Statistic,
    used: Sequence[Sequence[int]],
    values: Sequence[Sequence[float]],
    ratios: Ratios,
) -> Iterator[ReleasedRow]:
    name, kind = statistic.name, statistic.kind
    titles, keys = group_titles(statistic.group_by), group_keys(statistic.group_by)
    for title, key, entries, noisy in zip(titles, keys, used, values, strict=True):
        found = ratios.estimate(statistic, entries, noisy)
        if found is None:
            yield ReleasedRow(name, kind, title, None, math.nan, math.nan, keys=key)
            continue
        noise, interval = (found.noise_std, found.half_width), (found.lower, found.upper)
        yield ReleasedRow(name, kind, title, found.value, *noise, keys=key, interval=interval)


def _check_row(check: NamedCheck, value: float, made: Mechanism) -> ReleasedRow:
    noise = noise_on(made, check.entry)
    named = (check.statistic, check.kind, check.group)
    return ReleasedRow(*named, value, *noise, keys=check.keys, check=check.of)


def plain_noise(
    statistic: Statistic, used: Sequence[int], made: Mechanism, trials: Trials
) -> tuple[float, float]:
    """Standard deviation and half-width of a statistic whose noise does not depend on the answers:
    one answer, or S + c·n.

    The two are uncorrelated under every law that is drawn: S moves either way, so the middle of its
    range is 0, and with it its share of a hidden count or of a common part
    (docs/mathematics.md#unequal-ranges)."""
    if len(used) == 1:
        return noise_on(made, used[0])
    middle = centre(statistic)
    centred, number = (noise_on(made, i)[0] for i in used)
    weights = (worth(made, used[0]), middle * worth(made, used[1]))
    width = exact_width(made, used, weights)
    if width is None:
        moved, moved_number = trials.noise(used)
        width = float(np.quantile(np.abs(moved + middle * moved_number), CONFIDENCE))
    return math.hypot(centred, middle * number), width
