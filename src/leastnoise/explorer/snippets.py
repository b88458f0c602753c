"""The same request as code, command and plan."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from leastnoise.changes import BOX, Box, Changes, Euclidean, OneSided
from leastnoise.designer.result import Design
from leastnoise.explorer.setting import PageSetting
from leastnoise.laws.base import Domain, Noise
from leastnoise.text.numbers import rounded_up

_MODULES = {
    "LiftedNoise": "leastnoise.laws.lifted",
    "range_law": "leastnoise.laws.exponential",
    "normal": "leastnoise.laws.correlated",
}
_NO_LENGTH = "# It bounds each answer and not the length of all changes: its noise is another."
_LEAST_EPSILON = 0.001  # of a plan, as small as the page takes
_PLACES = 1000  # of the plan's value lattice in one sensitivity


def instead(
    design: Design, setting: PageSetting, reason: str, is_designable: bool
) -> dict[str, str]:
    """Why a known law is shown, the code that makes it, and the command that finds the best one, if
    there is one to be found."""
    shown = f"Shown is {design.origin} noise, a known law, with the guarantee that is stated here."
    more, typed = "", f"# The designer has no law for this setting. {reason}"
    if is_designable:
        more = " The command below looks for the best law, as long as it takes."
        typed = command(setting)
    python = _known_snippet(design, setting)
    return {"notice": f"{reason} {shown}{more}", "python": python, "command": typed}


def _known_snippet(design: Design, setting: PageSetting) -> str:
    """A script that makes the known law and releases with it."""
    noise, s = design.noise, f"sensitivity={design.sensitivity!r}"
    place = f'{noise.dimension}, domain="{noise.domain}", {s}, step={noise.step!r}'
    base = f"{math.sqrt(2.0) * noise.std!r}, {noise.dimension + 1}, {s}, step={noise.step!r}"
    line = f', {s}, domain="real"' if noise.domain == "real" else ""
    alone = f"generalized_gaussian({noise.std!r}, 2.0, {s})"
    touched = "" if setting.touched is None else f", changes={_python(setting.space)}"
    made = {
        "Gaussian": f"normal({noise.std!r}, {noise.dimension}, {s})" if setting.length else alone,
        "sphere": f"sphere({noise.std!r}, {place})",
        "Laplace": f"generalized_gaussian({noise.std!r}, 1.0, {s})",
        "cube": f"cube({noise.std!r}, {place})",
        "discrete Gaussian": f"discrete_gaussian({noise.std!r})",
        "discrete Laplace": f"discrete_laplace({noise.std!r})",
        "correlated sphere": f"correlated({noise.std!r}, {place}{touched})",
        "lifted cube": f"LiftedNoise(cube({base}))",
        "range": f"range_law({noise.std!r}, {noise.dimension}{line})",
    }[design.origin]
    is_drawn = _is_drawn(noise)
    weighted = f"exact({made}, delta={design.delta!r}, {s}, compositions={design.uses})"
    judged = setting.changes_of(noise)
    space = "" if judged == BOX else f", changes={_python(judged)}"
    text = (made if is_drawn else weighted) + space
    names = ["PrivacyLoss", *re.findall(r"\w+(?=\()", text)]
    lines = [
        *_imports(names),
        "",
        f"law = {made if is_drawn else weighted}",
        f"print(PrivacyLoss.of(law, {s}{space}).compose({design.uses}).epsilon({design.delta!r}))",
        "",
        *_released(design, setting, "law"),
    ]
    return "\n".join(lines) + "\n"


def _imports(names: Sequence[str]) -> list[str]:
    """The lines that import them; some laws stand in their own modules."""
    public = ", ".join(sorted(name for name in names if name not in _MODULES))
    others = [f"from {_MODULES[name]} import {name}" for name in names if name in _MODULES]
    return [f"from leastnoise import {public}", *others]


def _is_drawn(noise: Noise) -> bool:
    """Whether the law is drawn exactly as it is, without integer weights."""
    return noise.exponent is None and noise.sampler().is_exact


def python_snippet(design: Design, setting: PageSetting) -> str:
    """A script that makes the same design and releases with it."""
    given = ", ".join(f"{name}={_python(value)}" for name, value in _given(setting).items())
    is_all = setting.space == BOX
    names = ["design", *([] if is_all else [type(setting.space).__name__])]
    made = ["", f"best = design({given})", "print(best.summary())", ""]
    noise = design.noise
    if _is_drawn(noise):
        lines, law = [*_imports(names), *made], "best.noise"
    else:
        law = "law"
        shells = noise.radial is not None or noise.exponent is not None
        source = "best.lattice_noise()" if shells else "best.noise"
        lines = [
            *_imports([*names, "exact"]),
            *made,
            "# The law as integer weights, judged again as it is sampled; draws use the operating "
            "system's entropy.",
            f"law = exact({source}, delta=best.delta, sensitivity=best.sensitivity, "
            "compositions=best.uses)",
        ]
    return "\n".join([*lines, *_released(design, setting, law)]) + "\n"


def _python(value: Any) -> str:
    if isinstance(value, Euclidean):
        return f"Euclidean({value.radius!r})"
    if isinstance(value, (Box, OneSided)):
        return f"{type(value).__name__}({'' if value.touched is None else value.touched})"
    return repr(value)


def _released(design: Design, setting: PageSetting, law: str) -> list[str]:
    """The lines that release with `law`."""
    padded = design.blocks * design.noise.dimension
    if setting.answers == 1:
        return ["answers = [1204]  # the true answer", f"print({law}.release(answers))"]
    if not setting.together:
        return [
            f"# One answer at a time, at most {setting.answers} times in all.",
            f"print({law}.release([1204]))",
        ]
    if design.noise.dimension in (1, setting.answers):
        return [
            f"answers = [0] * {setting.answers}  # the true answers, all of them at once",
            f"print({law}.release(answers))",
        ]
    return [
        f"answers = [0] * {padded}  # the {setting.answers} true answers, then zeros: "
        f"{design.blocks} blocks, one draw each",
        f"blocks = [answers[k : k + {design.noise.dimension}] for k in range(0, {padded}, "
        f"{design.noise.dimension})]",
        f"print({law}.release(blocks))",
    ]


def command(setting: PageSetting) -> str:
    """The command that makes the same design and its artefact."""
    options: dict[str, Any] = {}
    for name, value in _given(setting).items():
        options |= _of_space(value) if isinstance(value, Changes) else {name: value}
    given = " ".join(f"--{name} {_plain(value)}" for name, value in options.items())
    return f"leastnoise design {given} --out noise.json"


def _of_space(space: Changes) -> dict[str, Any]:
    """What one person can change, as options of a command."""
    if isinstance(space, Euclidean):
        return {"radius": space.radius}
    touched = getattr(space, "touched", None)
    ways = {"changes": space.kind} if space.is_one_sided else {}
    return ways | ({} if touched is None else {"touched": touched})


def series_snippet(setting: PageSetting, domain: Domain) -> str:
    """A script that keeps one draw for all answers and gives them one after another."""
    given = ", ".join(f"{name}={value!r}" for name, value in _series(setting, domain).items())
    lines = [
        "from leastnoise import open_series",
        "",
        "# The file is as secret as the data until it is used up.",
        "series = open_series(",
        f'    "analyst.series", {given}',
        ")",
        "print(series)",
        "",
        "# The next question may depend on this answer.",
        f"answer = series.answer(1204, sensitivity={setting.sensitivity!r})",
        'print(answer.value, "±", answer.half_width)',
    ]
    return "\n".join(lines) + "\n"


def series_command(setting: PageSetting, domain: Domain) -> str:
    """The same as commands. The exact answer is in a file: commands can be seen by others."""
    given = " ".join(
        f"--{name} {_plain(value)}" for name, value in _series(setting, domain).items()
    )
    asked = f"answer.txt --sensitivity {_plain(setting.sensitivity)}"
    return (
        f"leastnoise series open analyst.series {given}\n"
        f"leastnoise series ask analyst.series {asked}"
    )


def _series(setting: PageSetting, domain: Domain) -> dict[str, Any]:
    """The arguments of `open_series`, which takes σ in sensitivities."""
    target = {"epsilon": setting.epsilon}
    if setting.sigma is not None:
        target = {"sigma": setting.sigma / setting.sensitivity}
    whole = {"domain": domain} if domain == "integer" else {}
    return {"questions": setting.answers, **target, "delta": setting.delta, **whole}


def plan(design: Design, setting: PageSetting) -> str:
    """A release plan whose answers have this number, this sensitivity and this guarantee: one
    person moves each of them."""
    # A plan states a positive ε, also where the noise is so large that δ alone suffices.
    epsilon = setting.epsilon
    if epsilon is None:
        epsilon = max(rounded_up(design.epsilon, 4), _LEAST_EPSILON)
    together = "# A plan asks for all its answers together, which never costs more than asking"
    lines = [
        "# A plan for: leastnoise release. Names of tables and columns are examples; put yours in "
        "their place.",
        *([f"{together} one by one."] if setting.answers > 1 else []),
        *([_NO_LENGTH] if setting.length else []),
        'name = "explored"',
        f"epsilon = {_plain(epsilon)}",
        f"delta = {_plain(setting.delta)}",
        *([] if setting.advantage is None else [f"advantage = {_plain(setting.advantage)}"]),
        'relation = "add/remove"               # neighbouring tables: one person is there or not',
        *_plan_bounds(setting),
        "",
        "[[statistic]]",
        *_plan_statistic(setting),
    ]
    return "\n".join(lines) + "\n"


def _plan_bounds(setting: PageSetting) -> list[str]:
    """Whose rows belong together, and how many rows and groups one person has."""
    n = setting.answers
    rows = 1 if setting.domain == "real" else int(setting.sensitivity)
    if n == 1 and rows == 1:
        return ["one_row_per_person = true"]
    moved = setting.touched or n
    lines = ['person = "person_id"', f"rows_per_person = {rows * moved}"]
    if n > 1:
        lines += [f"groups_per_person = {moved}", f"rows_per_group = {rows}"]
    return lines


def _plan_statistic(setting: PageSetting) -> list[str]:
    """A count, or a sum of values between 0 and the sensitivity; in as many groups as answers."""
    if setting.domain == "real":
        pitch = Decimal(_plain(setting.sensitivity)) / _PLACES
        upper = f"upper = {_plain(setting.sensitivity)}"
        lines = ['kind = "sum"', 'name = "answer"', 'column = "value"', "lower = 0", upper]
        lines += [f"pitch = {_float_literal(pitch)}", 'missing = "drop"']
    else:
        lines = ['kind = "count"', 'name = "answer"']
    if setting.answers > 1:
        parts = ", ".join(str(k) for k in range(1, setting.answers + 1))
        lines.append(f"group_by = {{ part = [{parts}] }}")
    return lines


def _given(setting: PageSetting) -> dict[str, Any]:
    """The arguments of `design` that are not its defaults."""
    defaults = {"compositions": 1, "batch": 1, "domain": "real"}
    given = setting.request().items()
    return {name: value for name, value in given if value != defaults.get(name)}


def _plain(value: Any) -> str:
    """A value as it is typed; a number without needless digits, 1 for 1.0."""
    is_whole = isinstance(value, float) and value == int(value) and abs(value) < 1e9
    return f"{value:.0f}" if is_whole else str(value)


def _float_literal(number: Decimal) -> str:
    text = format(number.normalize(), "f")
    return text if "." in text else f"{text}.0"
