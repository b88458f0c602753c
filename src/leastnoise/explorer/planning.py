"""What the page says of a plan: what each number's ± will be, what it costs, and what would make it
better. The same functions as `leastnoise check`, on the same text as `leastnoise init` writes.

No table is opened: a plan says where one lies, and nothing here looks there.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from leastnoise.errors import DesignError, LeastNoiseError, PlanError
from leastnoise.explorer.plan_form import declarations, document_from, form_from, kinds
from leastnoise.files.infinity import finite_or_none
from leastnoise.files.reading import finite
from leastnoise.releases.explanation import explained
from leastnoise.releases.noise.mechanism import Mechanism, known_mechanism, mechanism
from leastnoise.releases.plan.file import plan_from
from leastnoise.releases.plan.plan import Plan
from leastnoise.releases.plan.written import as_python, as_toml
from leastnoise.releases.preview import outlook
from leastnoise.releases.rehearsal import LACKING_DELTA

_MOST_VARIANTS = 6


def asked_plan(question: str) -> tuple[dict[str, Any], Plan]:
    """The document and the plan of a question of the page: JSON with a `form`, or with `toml`."""
    try:
        told = json.loads(question)
    except (ValueError, RecursionError):
        raise PlanError("The page sent no plan.") from None
    if not isinstance(told, dict):
        raise PlanError("The page sent no plan.")
    document = _from_toml(told["toml"]) if "toml" in told else document_from(_form(told))
    return document, plan_from(document)


def _form(told: Mapping[str, Any]) -> Mapping[str, Any]:
    form = told.get("form")
    if not isinstance(form, Mapping):
        raise PlanError("The page sent no plan.")
    return form


def _from_toml(text: Any) -> dict[str, Any]:
    try:
        return tomllib.loads(str(text), parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"This is not a plan in TOML: {error}.") from None


def plan_kinds() -> dict[str, Any]:
    """What the form offers."""
    return {"kinds": kinds(), "declarations": declarations()}


def plan_first(question: str) -> dict[str, Any]:
    """The plan as text, and with Gaussian noise, which is found in a moment."""
    document, plan = asked_plan(question)
    texts = {"form": form_from(document), **_texts(document, plan)}
    try:
        return {**texts, **_answer(plan, known_mechanism(_whole(plan))), "is_first": True}
    except DesignError:  # all sigmas are declared: the design says whether they are enough
        return {**texts, "statistics": [], "warnings": [], "protected": "", "is_first": True}


def plan_design(question: str) -> dict[str, Any]:
    """The plan with the least noise that was found."""
    document, plan = asked_plan(question)
    made = mechanism(_whole(plan))
    variants = [
        {"title": title, "of": of, "toml": as_toml(other)}
        for title, of, other in _variants(document, plan)
    ]
    return {
        **_answer(plan, made),
        "is_first": False,
        "gaussian_factor": made.gaussian_factor,
        "guess": made.attacker.guess,
        "variants": variants[:_MOST_VARIANTS],
    }


def plan_variant(question: str) -> dict[str, Any]:
    """The same of a plan that was changed in one thing, without what would change it further."""
    _, plan = asked_plan(question)
    return {**_answer(plan, mechanism(_whole(plan))), "is_first": False}


def _whole(plan: Plan) -> Plan:
    """The plan with a δ: what `leastnoise check` assumes where none is declared."""
    return plan if plan.delta is not None else replace(plan, delta=LACKING_DELTA)


def _texts(document: Mapping[str, Any], plan: Plan) -> dict[str, str]:
    name = plan.dataset or plan.name
    ledger = "plan.ledger"
    commands = [
        f"leastnoise ledger open {ledger} {_word(name)} --epsilon 3 --delta 1e-6",
        f"leastnoise check plan.toml --ledger {ledger}",
        f"leastnoise release plan.toml --ledger {ledger} --rehearse",
        f"leastnoise release plan.toml --ledger {ledger} --out numbers.csv --out report.html",
    ]
    python = as_python(document, also=("Ledger", "release"))
    python += f'\nwith Ledger("{ledger}") as ledger:\n    print(release(plan, ledger=ledger))\n'
    return {
        "toml": as_toml(document),
        "python": python,
        "command": "\n".join(commands),
    }


def _word(name: str) -> str:
    is_plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_plain else "'" + name.replace("'", "'\\''") + "'"


def _answer(plan: Plan, made: Mechanism) -> dict[str, Any]:
    whole = _whole(plan)
    found = explained(whole, made)
    ahead = {row.statistic: row for row in outlook(whole, made)}
    return {
        "name": plan.name,
        "epsilon": finite_or_none(made.epsilon),
        "asked": plan.epsilon,
        "delta": made.delta,
        "is_lacking_delta": plan.delta is None,
        "protected": found.protected,
        "warnings": list(found.warnings),
        "statistics": [
            {
                **asdict(one),
                "kind": ahead[one.statistic].kind,
                "groups": ahead[one.statistic].groups,
                "half_width": ahead[one.statistic].half_width,
                "of_sum": ahead[one.statistic].of_sum,
                "n": ahead[one.statistic].n,
            }
            for one in found.statistics
        ],
    }


# What would make it better


def _variants(
    document: Mapping[str, Any], plan: Plan
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Plans that differ in one thing, with what that is, and the name of the statistic it is about:
    the page asks for the design of each and says what comes of it."""
    statistics = list(document.get("statistic", []))
    for title, of, other in (
        *_with_total(document, plan, statistics),
        *_narrower(document, plan, statistics),
        *_fewer(document, plan),
        *_without_one(document, plan, statistics),
        ("Twice the ε", None, {**document, "epsilon": 2.0 * plan.epsilon}),
    ):
        try:
            plan_from(other)
        except LeastNoiseError:
            continue
        yield title, of, other


def _with_total(
    document: Mapping[str, Any], plan: Plan, statistics: list[dict[str, Any]]
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    kind = "count" if plan.one_row_per_person else "persons"
    has_total = any(
        one.kind in ("count", "persons") and not one.group_by for one in plan.statistics
    )
    if not has_total and any(one.group_by for one in plan.statistics):
        yield (
            f"The number of {'rows' if kind == 'count' else 'persons'} as well",
            None,
            {**document, "statistic": [*statistics, {"kind": kind}]},
        )


def _narrower(
    document: Mapping[str, Any], plan: Plan, statistics: list[dict[str, Any]]
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    for place, one in enumerate(plan.statistics):
        if one.lower is None or one.upper is None:
            continue
        half = one.lower + 0.5 * (one.upper - one.lower)
        other = {**statistics[place], "upper": half, "name": one.name}
        changed = [*statistics[:place], other, *statistics[place + 1 :]]
        title = f"Half the range of {one.column}: {one.lower:g} to {half:g}"
        yield title, one.name, {**document, "statistic": changed}


def _fewer(
    document: Mapping[str, Any], plan: Plan
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    for name, what in (("rows_per_person", "rows"), ("groups_per_person", "groups")):
        most = getattr(plan, name)
        if most is not None and most > 1:
            fewer = max(1, most // 2)
            changed = {**document, name: fewer}
            groups = document.get("groups_per_person")
            if name == "rows_per_person" and groups is not None and groups > fewer:
                changed["groups_per_person"] = fewer
            yield f"{fewer} of a person's {what} instead of {most}", None, changed


def _without_one(
    document: Mapping[str, Any], plan: Plan, statistics: list[dict[str, Any]]
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    if len(statistics) < 2:
        return
    named = [
        {**one, "name": known.name} for one, known in zip(statistics, plan.statistics, strict=True)
    ]
    yield f"Without {plan.statistics[-1].name!r}", None, {**document, "statistic": named[:-1]}
