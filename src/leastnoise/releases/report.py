"""What the public is told: the guarantee in words, the numbers with their error bars, the law, and the fields of the registry of
deployments kept by OpenDP. No mathematics here, and nothing that is not in the release."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from leastnoise.digits import above
from leastnoise.releases.cautions import beside
from leastnoise.releases.estimate import CHECKS
from leastnoise.releases.plan import Plan, Values
from leastnoise.releases.shares import share
from leastnoise.storage import spreadsheet_text

if TYPE_CHECKING:
    from leastnoise.releases.run import Release

_LAYOUTS = {
    "joint": "one joint draw for all answers",
    "by group": "one joint draw for the answers of each group",
    "product": "independent noise on each answer",
}
_ONCE = (
    "Where a range stands in the place of a ±, a line may be about persons who are counted under another line, for each is counted "
    "under one of these only. Its lower end is what is counted there; its upper end adds the lines that may hide it. What the line "
    "is named after is between the two."
)


def unit(plan: Plan) -> str:
    """Whom the release protects, in words."""
    if plan.one_row_per_person:
        return "one row of the table, which is one person"
    parts = [f"at most {plan.rows_per_person} rows"]
    if plan.groups_per_person is not None:
        parts.append(f"in at most {plan.groups_per_person} groups of each grouping")
    return f"one person: all rows with the same {plan.person}, of which {' '.join(parts)} count"


def guarantee(release: Release) -> dict[str, Any]:
    """The guarantee as data."""
    plan = release.plan
    return {
        "epsilon": release.epsilon,
        "epsilon_allowed": plan.epsilon,
        "delta": release.delta,
        "relation": plan.relation,
        "unit": unit(plan),
        "rows_per_person": 1 if plan.one_row_per_person else plan.rows_per_person,
        "groups_per_person": 1 if plan.one_row_per_person else plan.groups_per_person,
        "covers": "this release alone"
        if release.entry is None
        else "this release; the ledger adds up all releases",
        "entropy": release.entropy,
        "in_words": in_words(release),
    }


def in_words(release: Release) -> str:
    """The guarantee for people."""
    plan = release.plan
    if not release.is_private:
        return (
            "Nothing is guaranteed: the noise does not come from the operating system's generator, "
            f"and whoever knows where it comes from can take it away again ({release.entropy})."
        )
    without = (
        "without any one person: all their rows taken away, or, for a person who is not in the table, put in"
        if plan.relation == "add/remove"
        else "with another person in the place of any one person"
    )
    factor = above(math.exp(release.epsilon))
    return (
        f"Compare this release with the same release made {without}. No result is more than e^ε = {factor} times as likely in one "
        f"of the two as in the other (ε = {above(release.epsilon)}), except with probability "
        f"δ = {above(release.delta, 6)}. So whatever "
        "somebody who sees this page concludes about that person or does, with all else they know, would have been about as likely "
        "without that person, within the same factor. It does not say that nothing can be learnt about a person: what the numbers "
        "show of many people can concern a person who is not even among them."
    )


def bounds(release: Release) -> dict[str, Any]:
    """What the plan bounds, and the shares that the bounds concern: between noisy numbers that are part of the release."""
    plan, rows = release.plan, release.rows
    return {
        "rows_per_person": 1 if plan.one_row_per_person else plan.rows_per_person,
        "groups_per_person": 1 if plan.one_row_per_person else plan.groups_per_person,
        "rows_per_group": 1 if plan.one_row_per_person else plan.rows_per_group,
        "columns": [
            {
                "column": one.column,
                "lower": one.lower,
                "upper": one.upper,
                "pitch": one.pitch,
                "missing": one.missing,
            }
            for one in clipped(plan)
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
        return f"One row is one person, so a share of the persons is a share of the rows, where their number is published. {_ONCE}"
    return (
        "The share is of the persons, where their number is published, and not of the rows or values: how many rows one person "
        "loses has no bound, so no noise could hide it, and one person may have clipped values in all their "
        f"{plan.rows_per_person} rows, so a count of values would need {plan.rows_per_person} times the noise. "
        + _ONCE
    )


def clipped(plan: Plan) -> list[Values]:
    """The columns of numbers with their bounds, each once."""
    found = (statistic.values for statistic in plan.statistics)
    return list(
        {(one.column, one.lower, one.upper): one for one in found if one is not None}.values()
    )


def intervals_in_words(plan: Plan) -> str:
    """Of which values the intervals are, where there was post-processing."""
    if "totals" in plan.postprocess:
        return "Counts that were made to add up have intervals of their own, recomputed; the others are those of the values before it."
    return "The intervals are those of the values before it."


def law(release: Release) -> dict[str, Any]:
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
                "std": one.noise.std,
            }
            for one in made.laws
        ],
        "other_layouts_relative_noise": dict(made.alternatives),
        "gaussian_epsilon_at_the_same_noise": made.gaussian_epsilon,
        "gaussian_std_at_the_same_budget": made.gaussian_factor,
        "why": why(release),
    }


def layout_in_words(release: Release) -> str:
    made = release.mechanism
    if (
        made.layout == "joint"
        and all(one.noise.dimension == 1 for one in made.laws)
        and len(made.entries) > 1
    ):
        return _LAYOUTS["product"]
    return _LAYOUTS[made.layout]


def why(release: Release) -> str:
    """Which noise was chosen and what it gains."""
    made = release.mechanism
    others = [
        f"{_LAYOUTS[name]} would have needed {ratio:.3g} times the noise"
        for name, ratio in made.alternatives.items()
        if name != made.layout
    ]
    gain = 100.0 * (1.0 - 1.0 / made.gaussian_factor**2)
    compared = (
        f"Gaussian noise with the same guarantee would need {made.gaussian_factor:.3g} times the standard deviation "
        f"(this noise has {gain:.0f} % less variance); with the same standard deviation it would cost "
        f"ε = {made.gaussian_epsilon:.4g}."
    )
    return (
        f"Chosen: {layout_in_words(release)}"
        + (f"; {'; '.join(others)}" if others else "")
        + ". "
        + compared
    )


def registry(release: Release) -> dict[str, Any]:
    """The fields of a record in the OpenDP deployments registry; what only the curator knows is taken from [about]."""
    plan, about = release.plan, release.plan.about
    bounds = "Clipping bounds, contribution bounds, group keys and lattice pitches are declared in advance, not computed from data."
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": about.get("title", plan.name),
                "data_curators": [about["curator"]] if "curator" in about else [],
                "intended_use": about.get("intended_use", ""),
                "data_product_type": "Summary statistics",
                "data_product_region": about.get("region", ""),
                "data_product_sector": about.get("sector", ""),
                "description": about.get(
                    "description", f"{len(release.rows)} statistics of one table."
                ),
                "publication_date": release.published[:10],
            },
            "dp_flavor": {
                "name": "Approximate DP",
                "input_metric": "symmetric distance between sets of persons"
                if plan.relation == "add/remove"
                else "change-one distance",
                "bound_on_input_distance": "1 person",
                "output_measure": "(ε, δ)-indistinguishability",
                "bound_on_output_distance": f"ε = {above(release.epsilon, 6)}, δ = {above(release.delta, 6)}",
                "data_domain": about.get("data_domain", "A table of rows, each of one person."),
                "unprotected_quantities": _unprotected(plan),
            },
            "privacy_loss": {
                "privacy_unit": "Person-level",
                "privacy_unit_description": f"Protected is {unit(plan)}. Neighbouring tables: {plan.relation} one person.",
                "privacy_parameters": {"epsilon": release.epsilon, "delta": release.delta},
                "privacy_parameters_description": in_words(release),
            },
            "model": {
                "model_name": "Central",
                "actors": "The curator holds the table and runs the release; the public sees the released numbers only.",
                "release_type": "One-time" if release.entry is None else "Many releases",
                "data_source_type": about.get("data_source_type", "Static"),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "composition": "Privacy losses of all draws composed numerically (Connect-the-Dots, FFT); an upper bound.",
                "post_processing": ", ".join(plan.postprocess)
                or "None beyond forming means and variances from noisy sums and counts.",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": bounds,
                "mechanisms": "Additive noise with integer weights, sampled exactly; "
                f"entropy: {release.entropy}; {layout_in_words(release)}. "
                "Data are integers on a public lattice before they are summed; no floating-point number is noised.",
                "justification": why(release),
            },
        },
    }


def _unprotected(plan: Plan) -> str:
    stated = [f"{s.name}: n = {s.public_n}" for s in plan.statistics if s.public_n is not None]
    return "Declared public numbers of values: " + "; ".join(stated) + "." if stated else "None."


def attached(release: Release) -> dict[str, Any]:
    """What goes with the numbers wherever they are a table: the guarantee, and what to know before they are read."""
    return {"leastnoise": guarantee(release), "read_first": list(release.cautions)}


def records(release: Release) -> list[dict[str, Any]]:
    """The numbers as flat records, one column a key of a grouping. Empty where a row has none.

    What to know before a number is read stands before it.
    """
    columns = list(dict.fromkeys(column for row in release.rows for column, _ in row.keys))
    plain = [row.as_dict() for row in release.rows]
    named: dict[str, str] = {}
    for column in columns:
        name = column
        while name in (*plain[0], "read_first", *named.values()):
            name += " (key)"
        named[column] = name
    found = []
    for record, read_first in zip(plain, beside(release.plan, release.rows), strict=True):
        keys = record.pop("keys")
        first = {name: record.pop(name) for name in ("statistic", "kind", "group")}
        found.append(
            {
                **first,
                **{named[column]: keys.get(column) for column in columns},
                "read_first": read_first,
                **record,
            }
        )
    return found


def as_csv(release: Release) -> str:
    """The numbers as CSV; cells that a spreadsheet would take for a formula are quoted with an
    apostrophe. Numbers that are not private say so in a column of their own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    marked = {} if release.is_private else {"entropy": release.entropy}
    lines = [{**record, **marked} for record in records(release)]
    for cells in ([*lines[0]], *([*line.values()] for line in lines)):
        writer.writerow(
            [spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in cells]
        )
    return text.getvalue()
