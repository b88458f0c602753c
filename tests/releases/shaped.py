"""Releases of real tables whose noise is fitted to what one person can change, beside the same
releases for changes of any signs: for tests, and for `python -m benchmarks shapes`.

A sum of values that may be negative, from −U to U, has the sensitivity of one of values from 0 to U
when a person is added or removed, but moves either way: declared like that, a plan has the noise
for any signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leastnoise import Plan, Statistic
from leastnoise.releases.data.counts import aggregate
from leastnoise.releases.data.opening import open_table
from leastnoise.releases.estimates import estimate
from leastnoise.releases.noise.mechanism import mechanism
from leastnoise.releases.release import _drawn, _noisy
from leastnoise.sampling import InsecureSeededEntropy
from releases import real_tables, three_sets

EPSILON, DELTA = 1.0, 1e-6
MONTHS = tuple(range(1, 13))


@dataclass(frozen=True)
class Case:
    """A real table, the sums that are asked for, and the true ones by statistic and group."""

    title: str
    table: Any
    sums: dict[str, tuple[float, float]]  # upper bound and pitch by column; missing values are 0
    persons: dict[str, Any]
    group_by: Any = None  # the values of one column

    def plan(self, *, any_signs: bool) -> Plan:
        asked = tuple(
            Statistic(
                "sum",
                name=column,
                column=column,
                lower=-upper if any_signs else 0,
                upper=upper,
                pitch=pitch,
                missing=0,
                group_by=self.group_by or (),
            )
            for column, (upper, pitch) in self.sums.items()
        )
        return Plan("shaped", None, "add/remove", asked, EPSILON, DELTA, **self.persons)

    def truth(self) -> list[float]:
        """In the order of the released numbers."""
        found = []
        for column, (upper, pitch) in self.sums.items():
            values = np.array(self.table[column].to_numpy(zero_copy_only=False), dtype=float)
            places = np.floor(np.clip(np.nan_to_num(values), 0.0, upper) / pitch + 0.5)
            if self.group_by is None:
                found.append(pitch * float(np.sum(places)))
                continue
            ((key, groups),) = self.group_by.items()
            keys = self.table[key].to_numpy()
            found += [pitch * float(np.sum(places[keys == group])) for group in groups]
        return found


@dataclass(frozen=True)
class Measured:
    """What releases of one plan showed; errors in sensitivities."""

    moved: str  # what one person moves, in a few words
    law: str
    stated: float  # standard deviation
    error: float  # root of the mean square
    within: float  # share of the numbers within their ±
    gaussian: float  # standard deviation of the best Gaussian noise for the same changes


def cases() -> dict[str, Callable[[], Case]]:
    """By name, a function that makes the case or skips where its table is not there."""
    return {
        "heart": lambda: Case(
            "303 patients, ten yes/no columns",
            three_sets.heart_signs(),
            dict.fromkeys(three_sets.SIGNS, (1, 1)),
            {"one_row_per_person": True},
        ),
        "tumours": lambda: Case(
            "569 tumours, ten sums",
            real_tables.tumours(),
            {
                column: (upper, pitch)
                for column, (_, upper, pitch) in three_sets.BOUNDS["breast_cancer"].items()
            },
            {"one_row_per_person": True},
        ),
        "aircraft": lambda: Case(
            "aircraft in at most 6 of 12 months, miles by month",
            real_tables.aircraft_months(),
            {"miles": (100_000, 100)},
            {
                "person": "tailnum",
                "rows_per_person": 6,
                "groups_per_person": 6,
                "rows_per_group": 1,
            },
            {"month": MONTHS},
        ),
    }


def measured(case: Case, releases: int, *, any_signs: bool) -> Measured:
    """So many releases of the table, which is scanned once; noise is drawn as ever, from seeds."""
    plan = case.plan(any_signs=any_signs)
    made, truth = mechanism(plan), case.truth()
    opened = open_table(plan, case.table)
    try:
        counts = [aggregate(plan, opened, block) for block in made.blocks]
    finally:
        opened.close()
    uppers = [upper for upper, _ in case.sums.values()]
    scales = np.repeat(uppers, len(truth) // len(uppers))
    errors, within = [], []
    for seed in range(releases):
        noisy = _noisy(made, counts, partial(_drawn, InsecureSeededEntropy(seed)))
        rows = estimate.rows(plan, made, noisy)[: len(truth)]
        missed = np.array([row.value for row in rows]) - truth
        errors.append(missed / scales)
        within.append(np.abs(missed) <= [row.half_width for row in rows])
    law, answers = made.laws[0], made.laws[0].noise.dimension
    words = "all up or down" if law.changes.is_one_sided else "any signs"
    return Measured(
        f"{law.changes.touched_of(answers)} of {answers}, {words}",
        law.origin,
        law.noise.std,
        math.sqrt(float(np.mean(np.square(errors)))),
        float(np.mean(within)),
        law.noise.std * made.gaussian_factor,
    )
