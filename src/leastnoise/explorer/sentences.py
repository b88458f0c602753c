"""Sentences about a design: what its guarantee means, and how accurate it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from leastnoise.accountant.attacker import promised
from leastnoise.changes import Euclidean
from leastnoise.designer.result import Design
from leastnoise.explorer.setting import PageSetting
from leastnoise.text.numbers import above, below, uncertain

_USELESS = 10.0  # e^10 = 22,000


def guarantee_sentences(design: Design, certainty: float) -> list[str]:
    """What the guarantee means, for people. `certainty` is δ(0) of the whole use, an
    upper bound."""
    answers = design.batch * design.compositions
    these = "the one answer" if answers == 1 else f"all {answers:,} answers"
    guess = _in_hundred(0.5 * (1.0 + certainty))
    said = [
        "Take any one person. Leaving that person out changes the chance of any result of "
        f"{these} by a factor of at most e^ε = {_factor(design.epsilon)}, up or down, apart from a "
        f"probability of δ = {odds(design.delta)}. In symbols, for every set S of results: "
        "P(S with the person) ≤ e^ε · P(S without) + δ, and the other way round.",
        "Somebody who knows everybody else's data, thinks it equally likely that this person is "
        f"in them or not, and then sees {these}, guesses right at most {guess} times in 100 "
        f"instead of 50{_beside(design)}.",
        f"This holds if {_condition(design)}, and for these answers only: every further release "
        "from the same people adds to it.",
        "It does not hide what is true of many people at once: a fact the statistic shows, that "
        "smokers fall ill more often, is learnt whether or not any one person takes part.",
    ]
    if design.epsilon >= _USELESS:
        choose = "choose a smaller one, more noise or fewer answers"
        said.insert(0, f"With so large an ε this is hardly a protection: {choose}.")
    return said


def _beside(design: Design) -> str:
    """The right guesses that Gaussian noise leaves, and those that the promise allows."""
    if not math.isfinite(design.epsilon):
        return ""
    told = promised(design.epsilon, design.delta)
    gaussian = f"{100.0 * told.gaussian_guess:.1f}"
    return f" (Gaussian noise of this ε and δ: {gaussian}; allowed: {_in_hundred(told.allowed)})"


def _condition(design: Design) -> str:
    """What one person may do at most."""
    s, space = below(design.sensitivity, 6), design.changes
    if isinstance(space, Euclidean):
        long = below(space.radius * design.sensitivity, 6)
        return (
            f"one person moves the answers by a vector of length at most {long}: the squares of "
            "all changes add up to at most the square of that"
        )
    moved, each = space.touched_of(design.batch), "each answer"
    if moved < design.batch:
        each = f"at most {moved} of the answers, each"
    said = f"one person moves {each} by at most {s}"
    if not space.is_one_sided:
        return said
    return (
        f"{said}, and either all of them up or all of them down, as counts move when a person is "
        "added or removed (it does not hold for persons who are replaced)"
    )


def moves(setting: PageSetting) -> str:
    """How one person moves the answers, in a few words."""
    if setting.length is not None:
        return f"by a length of {below(setting.length, 6)} s"
    few = "" if setting.touched is None else f"at most {setting.touched}, "
    return few + ("all one way" if setting.one_way else "each up or down")


def accuracy_sentence(
    design: Design, gaussian_sigma: float | None, correlated_sigma: float | None = None
) -> str:
    """The noise beside that of the Gaussian law with the same guarantee; and beside the correlated
    one, where that is fitted to what one person can change."""
    said = _beside_gaussian(design, gaussian_sigma)
    if correlated_sigma is None:
        return said
    ratio = (correlated_sigma / design.noise.std) ** 2
    return f"{said} Gaussian noise that is correlated, to fit the same changes, {ratio:.2f} times."


def _beside_gaussian(design: Design, gaussian_sigma: float | None) -> str:
    _, reach = uncertain(0.0, design.noise.interval(0.95), whole=design.noise.domain == "integer")
    width = f"The noise moves an answer by at most {reach} in 95 of 100 cases"
    if gaussian_sigma is None:
        return f"{width}."
    ratio = (gaussian_sigma / design.noise.std) ** 2
    times = f"Gaussian noise with the same guarantee has {ratio:.2f} times the variance"
    if ratio < 0.995:  # beside a known law found in a moment: on whole numbers wide Gaussian is not
        return f"{width}. {times}, less than this."
    if ratio < 1.005:
        return f"{width}. Gaussian noise does as well here."
    return f"{width}. {times}."


def worst_shift(design: Design) -> str:
    """The change of the data against which the guarantee was proved."""
    s, noise = below(design.sensitivity, 6), design.noise
    if isinstance(design.changes, Euclidean):
        long = below(design.changes.radius * design.sensitivity, 6)
        why = "(proved for a density that falls with the distance from 0)"
        return f"the answers move by a vector of length {long} {why}"
    if design.changes.touched_of(design.batch) < design.batch:
        moved = design.changes.touched_of(design.batch)
        return f"{moved} answers move by up to {s}; the worst such change counts (proved)"
    if noise.dimension > 1 and noise.radial is None and design.changes.is_one_sided:
        why = "the worst such change counts (proved, since the law falls away from 0)"
        return f"the answers move by up to {s}, all the same way; {why}"
    if noise.dimension > 1 and noise.radial is None:
        why = "(proved for a density that falls with the distance from 0)"
        return f"every answer moves by {s} at once {why}"
    if noise.dimension > 1:
        why = "a corner of the cube (proved, since the law falls away from 0)"
        return f"every answer of a draw moves by {s} at once, {why}"
    if noise.radial is None or noise.radial.is_monotone:
        why = "the whole sensitivity (proved, since the law falls away from 0)"
        return f"each answer moves by {s}, {why}"
    why = "the worst one counts at each ε (the law has ripples)"
    return f"all moves up to {s} are judged, and {why}"


def kept_gain(setting: PageSetting, kept: Mapping[str, Any], anew: Mapping[str, Any]) -> str:
    """What one kept draw is, and what it gains over noise that is drawn anew for each answer."""
    n = f"{setting.answers:,}"
    said = (
        f"Draw the noise of all {n} answers at the start, keep it secret, and reveal one number of "
        "it with each answer. Whatever a question depends on, earlier answers too, they cost no "
        "more than asked together"
    )
    if not _gains(setting, kept, anew):
        return f"{said}; here that gains nothing over noise drawn anew for each answer."
    if setting.sigma is None:
        return f"{said}: {_less_variance(kept, anew)} than noise drawn anew for each answer."
    instead = "" if anew["epsilon"] is None else f" instead of {above(anew['epsilon'], 3)}"
    return f"{said}: ε = {above(kept['epsilon'], 3)}{instead}, at the same standard deviation."


def kept_hint(setting: PageSetting, kept: Mapping[str, Any], anew: Mapping[str, Any]) -> str:
    """The same in a few words; none where nothing is gained."""
    if not _gains(setting, kept, anew):
        return ""
    if setting.sigma is None:
        return f"One kept draw, below, has {_less_variance(kept, anew)} than this."
    return f"One kept draw, below, has ε = {above(kept['epsilon'], 3)} at this accuracy."


def kept_limits(kept: Mapping[str, Any], anew: Mapping[str, Any]) -> str:
    """What one kept draw asks for in return."""
    guesses = [_in_hundred(row["guess"]) for row in (kept, anew)]
    said = (
        "In return the number of answers is settled at the start, the draw is kept in a file that "
        "is as secret as the data, and the noise of the answers is not independent"
    )
    if float(guesses[0]) <= float(guesses[1]):
        return f"{said}."
    return (
        f"{said}; and it is more exposed in the middle of the privacy curve: somebody who starts "
        f"from even odds guesses right up to {guesses[0]} times in 100, with noise drawn anew up "
        f"to {guesses[1]}."
    )


def _gains(setting: PageSetting, kept: Mapping[str, Any], anew: Mapping[str, Any]) -> bool:
    """Whether the difference can be seen in the digits that are shown."""
    free = "epsilon" if setting.epsilon is None else "sigma"
    if kept[free] is None or anew[free] is None:
        return kept[free] is not None
    return bool(kept[free] < 0.9975 * anew[free])


def _less_variance(kept: Mapping[str, Any], anew: Mapping[str, Any]) -> str:
    return f"{(anew['sigma'] / kept['sigma']) ** 2:.2f} times less variance"


def _in_hundred(guess: float) -> str:
    """A share of right guesses in 100, rounded up: it is an upper bound."""
    return f"{math.ceil(1000.0 * min(guess, 1.0)) / 10.0:g}"


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


def claims(design: Design, setting: PageSetting, gaussian_sigma: float | None) -> dict[str, str]:
    """What each picture says, in one sentence."""
    sigma, epsilon = above(design.sigma, 3), above(design.epsilon, 3)
    rivals = {name: loss for name, loss in design.rivals.items() if math.isfinite(loss)}
    gaussians = {name: rivals[name] for name in rivals if name.endswith("aussian")}
    others = {name: rivals[name] for name in rivals if name not in gaussians}
    beside = "".join(f", Gaussian noise ε = {above(loss, 3)}" for loss in [*gaussians.values()][:1])
    best = sorted(others, key=others.__getitem__)[:1]
    known = "".join(f", the best known law ({name}) ε = {above(others[name], 3)}" for name in best)
    needed = ""
    if gaussian_sigma is not None:
        needed = f"; Gaussian noise would need σ = {above(gaussian_sigma, 3)}"
    return {
        "law": f"The noise for ε = {epsilon} has σ = {sigma}{needed}.",
        "curve": f"At δ = {odds(design.delta)} this design has ε = {epsilon}{beside}.",
        "numbers": f"At σ = {sigma}, {_costs(setting)} ε = {epsilon}; each further one adds to it.",
        "rivals": f"At σ = {sigma} this design has ε = {epsilon}{beside}{known}.",
    }


def _costs(setting: PageSetting) -> str:
    if setting.answers == 1:
        return "one answer costs"
    return f"{setting.answers:,} answers, {'together' if setting.together else 'one by one'}, cost"
