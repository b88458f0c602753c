"""The fields of the registry of deployments kept by OpenDP."""

from __future__ import annotations

from typing import Any

from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.record import ReleaseRecord
from leastnoise.releases.report.guarantee import in_words, layout_in_words, unit, why
from leastnoise.text.numbers import above


def registry(release: ReleaseRecord) -> dict[str, Any]:
    """The fields of a record in the OpenDP registry; what only the curator knows: from [about]."""
    plan, about = release.plan, release.plan.about
    bounds = (
        "Clipping bounds, contribution bounds, group keys and lattice pitches are declared "
        "in advance, not computed from data."
    )
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
                "bound_on_output_distance": f"ε = {above(release.epsilon, 6)}, δ = "
                f"{above(release.delta, 6)}",
                "data_domain": about.get("data_domain", "A table of rows, each of one person."),
                "unprotected_quantities": _unprotected(plan),
            },
            "privacy_loss": {
                "privacy_unit": "Person-level",
                "privacy_unit_description": (
                    f"Protected is {unit(plan, release.mechanism)}. "
                    f"Neighbouring tables: {plan.relation} one person."
                ),
                "privacy_parameters": {"epsilon": release.epsilon, "delta": release.delta},
                "privacy_parameters_description": in_words(release),
            },
            "model": {
                "model_name": "Central",
                "actors": "The curator holds the table and runs the release; the public sees the "
                "released numbers only.",
                "release_type": "One-time" if release.entry is None else "Many releases",
                "data_source_type": about.get("data_source_type", "Static"),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "composition": "Privacy losses of all draws composed numerically "
                "(Connect-the-Dots, FFT); an upper bound.",
                "post_processing": ", ".join(plan.postprocess)
                or "None beyond forming means and variances from noisy sums and counts.",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": bounds,
                "mechanisms": "Additive noise with integer weights, sampled exactly; "
                f"entropy: {release.entropy}; {layout_in_words(release)}. "
                "Data are integers on a public lattice before they are summed; no floating-point "
                "number is noised.",
                "justification": why(release),
            },
        },
    }


def _unprotected(plan: Plan) -> str:
    stated = [f"{s.name}: n = {s.public_n}" for s in plan.statistics if s.public_n is not None]
    return "Declared public numbers of values: " + "; ".join(stated) + "." if stated else "None."
