"""Sentences about a design, and the same request as code, command and plan."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from typing import Any

from leastnoise.ball import BallNoise
from leastnoise.designer.design import Design
from leastnoise.digits import above, below, uncertain
from leastnoise.lattice import LatticeNoise
from leastnoise.web.setting import Setting

_USELESS = 10.0  # e^10 = 22,000
_LEAST_EPSILON = 0.001  # of a plan, as small as the page takes
_PLACES = 1000  # of the plan's value lattice in one sensitivity


def sentences(design: Design, certainty: float) -> list[str]:
    """What the guarantee means, for people. `certainty` is δ(0) of the whole use, an upper bound."""
    answers = design.batch * design.compositions
    these = "the one answer" if answers == 1 else f"all {answers:,} answers"
    guess = (
        math.ceil(1000.0 * min(0.5 * (1.0 + certainty), 1.0)) / 10.0
    )  # rounded up: it is an upper bound
    said = [
        f"Take any one person. Leaving that person out changes the chance of any result of {these} by a factor of at most "
        f"e^ε = {_factor(design.epsilon)}, up or down, apart from a probability of δ = {odds(design.delta)}. In symbols, for every "
        "set S of results: P(S with the person) ≤ e^ε · P(S without) + δ, and the other way round.",
        f"Somebody who knows everybody else's data, thinks it equally likely that this person is in them or not, and then sees "
        f"{these}, guesses right at most {guess:g} times in 100 instead of 50.",
        f"This holds if one person moves each answer by at most {below(design.sensitivity, 6)}, and for these answers only: every "
        "further release from the same people adds to it.",
        "It does not hide what is true of many people at once: a fact the statistic shows, that smokers fall ill more often, is "
        "learnt whether or not any one person takes part.",
    ]
    if design.epsilon >= _USELESS:
        said.insert(
            0,
            "With so large an ε this is hardly a protection: choose a smaller one, more noise or fewer answers.",
        )
    return said


def accuracy_sentence(design: Design, gaussian_sigma: float | None) -> str:
    """The noise beside that of the Gaussian law with the same guarantee."""
    _, reach = uncertain(0.0, design.noise.interval(0.95), whole=design.noise.domain == "integer")
    width = f"The noise moves an answer by at most {reach} in 95 of 100 cases"
    if gaussian_sigma is None:
        return f"{width}."
    ratio = (gaussian_sigma / design.noise.std) ** 2
    if (
        ratio < 0.995
    ):  # a known law that was found in a moment: on whole numbers wide Gaussian noise is not
        return f"{width}. Gaussian noise with the same guarantee has {ratio:.2f} times the variance, less than this."
    if ratio < 1.005:
        return f"{width}. Gaussian noise does as well here."
    return f"{width}. Gaussian noise with the same guarantee has {ratio:.2f} times the variance."


def worst_shift(design: Design) -> str:
    """The change of the data against which the guarantee was proved."""
    s, noise = below(design.sensitivity, 6), design.noise
    if isinstance(noise, BallNoise):
        return f"every answer moves by {s} at once (proved for a density that falls with the distance from 0)"
    if noise.dimension > 1:
        return f"every answer of a draw moves by {s} at once, a corner of the cube (proved, since the law falls away from 0)"
    if not isinstance(noise, LatticeNoise) or noise.is_monotone:
        return f"each answer moves by {s}, the whole sensitivity (proved, since the law falls away from 0)"
    return (
        f"all moves up to {s} are judged, and the worst one counts at each ε (the law has ripples)"
    )


def _factor(epsilon: float) -> str:
    """e^ε, rounded up: it is an upper bound."""
    if epsilon > 16.0:
        return f"10^{math.ceil(epsilon / math.log(10.0))}"
    return above(math.exp(epsilon), 3)


def odds(probability: float) -> str:
    """1e-6 as "1 in 1,000,000"; other numbers as they are."""
    times = 1.0 / probability
    whole = round(times)
    is_meant = whole < 10**16 and 1.0 / whole >= probability and abs(times / whole - 1.0) < 1e-9
    return f"1 in {whole:,}" if is_meant else above(probability)


def instead(design: Design, setting: Setting, reason: str, is_designable: bool) -> dict[str, str]:
    """Why a known law is shown, the code that makes it, and the command that finds the best one, if there is one to be found."""
    shown = f"Shown is {design.origin} noise, a known law, with the guarantee that is stated here."
    more = (
        " The command below looks for the best law, as long as it takes." if is_designable else ""
    )
    return {
        "notice": f"{reason} {shown}{more}",
        "python": _known_snippet(design, setting),
        "command": command(setting)
        if is_designable
        else f"# The designer has no law for this setting. {reason}",
    }


def _known_snippet(design: Design, setting: Setting) -> str:
    """A script that makes the known law and releases with it."""
    noise, s = design.noise, f"sensitivity={design.sensitivity!r}"
    name, made = {
        "Gaussian": ("generalized_gaussian", f"generalized_gaussian({noise.std!r}, 2.0, {s})"),
        "Laplace": ("generalized_gaussian", f"generalized_gaussian({noise.std!r}, 1.0, {s})"),
        "cube": (
            "cube",
            f'cube({noise.std!r}, {noise.dimension}, domain="{noise.domain}", {s}, step={noise.step!r})',
        ),
        "discrete Gaussian": ("discrete_gaussian", f"discrete_gaussian({noise.std!r})"),
        "discrete Laplace": ("discrete_laplace", f"discrete_laplace({noise.std!r})"),
    }[design.origin]
    lines = [
        f"from leastnoise import PrivacyLoss, {name}, exact",
        "",
        f"law = exact({made}, delta={design.delta!r}, {s}, compositions={design.uses})",
        f"print(PrivacyLoss.of(law, {s}).compose({design.uses}).epsilon({design.delta!r}))",
        "",
        *_released(design, setting, "law"),
    ]
    return "\n".join(lines) + "\n"


def python_snippet(design: Design, setting: Setting) -> str:
    """A script that makes the same design and releases with it."""
    given = ", ".join(
        f"{name}={value!r}"
        for name, value in setting.request().items()
        if not _default(name, value)
    )
    has_weights = not isinstance(design.noise, BallNoise)  # the sphere is drawn exactly as it is
    lines = [
        "from leastnoise import design, exact" if has_weights else "from leastnoise import design",
        "",
    ]
    lines += [f"best = design({given})", "print(best.summary())", ""]
    law = "best.noise"
    if has_weights:
        law = "law"
        lines += [
            "# The law as integer weights, judged again as it is sampled; draws use the operating system's entropy.",
            "law = exact(best.lattice_noise(), delta=best.delta, sensitivity=best.sensitivity, compositions=best.uses)",
        ]
    return "\n".join([*lines, *_released(design, setting, law)]) + "\n"


def _released(design: Design, setting: Setting, law: str) -> list[str]:
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
        f"answers = [0] * {padded}  # the {setting.answers} true answers, then zeros: {design.blocks} blocks, one draw each",
        f"blocks = [answers[k : k + {design.noise.dimension}] for k in range(0, {padded}, {design.noise.dimension})]",
        f"print({law}.release(blocks))",
    ]


def command(setting: Setting) -> str:
    """The command that makes the same design and its artefact."""
    given = " ".join(
        f"--{name} {_plain(value)}"
        for name, value in setting.request().items()
        if not _default(name, value)
    )
    return f"leastnoise design {given} --out noise.json"


def plan(design: Design, setting: Setting) -> str:
    """A release plan whose answers have this number, this sensitivity and this guarantee: one person moves each of them."""
    # A plan states a positive ε, also where the noise is so large that δ alone suffices.
    epsilon = (
        setting.epsilon
        if setting.epsilon is not None
        else max(rounded_up(design.epsilon, 4), _LEAST_EPSILON)
    )
    n, real = setting.answers, setting.domain == "real"
    rows = 1 if real else int(setting.sensitivity)
    lines = [
        "# A plan for: leastnoise release. Names of tables and columns are examples; put yours in their place.",
        *(
            [
                "# A plan asks for all its answers together, which never costs more than asking one by one."
            ]
            if n > 1
            else []
        ),
        'name = "explored"',
        f"epsilon = {_plain(epsilon)}",
        f"delta = {_plain(setting.delta)}",
        'relation = "add/remove"               # neighbouring tables: one person is there or not',
    ]
    if n == 1 and rows == 1:
        lines.append("one_row_per_person = true")
    else:
        lines += ['person = "person_id"', f"rows_per_person = {rows * n}"]
        if n > 1:
            lines += [f"groups_per_person = {n}", f"rows_per_group = {rows}"]
    lines += ["", "[[statistic]]", f'kind = "{"sum" if real else "count"}"', 'name = "answer"']
    if real:
        pitch = Decimal(_plain(setting.sensitivity)) / _PLACES
        lines += [
            'column = "value"',
            "lower = 0",
            f"upper = {_plain(setting.sensitivity)}",
            f"pitch = {_float_literal(pitch)}",
            'missing = "drop"',
        ]
    if n > 1:
        lines.append(f"group_by = {{ part = [{', '.join(str(k) for k in range(1, n + 1))}] }}")
    return "\n".join(lines) + "\n"


def _default(name: str, value: Any) -> bool:
    return (name in ("compositions", "batch") and value == 1) or (
        name == "domain" and value == "real"
    )


def _plain(value: Any) -> str:
    """A number without needless digits: 1 for 1.0."""
    return (
        f"{value:.0f}"
        if isinstance(value, float) and value == int(value) and abs(value) < 1e9
        else str(value)
    )


def _float_literal(number: Decimal) -> str:
    text = format(number.normalize(), "f")
    return text if "." in text else f"{text}.0"


def rounded_up(number: float, digits: int) -> float:
    """To so many digits, never below: upper bounds stay ones. In decimals, since 10^n is no double for the smallest numbers."""
    exact = Decimal(repr(float(number)))
    if not exact:
        return 0.0
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_CEILING))
