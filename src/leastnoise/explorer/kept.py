"""Answers asked one by one: one draw that is kept secret, beside noise that is drawn anew for each
of them."""

from __future__ import annotations

from typing import Any

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.designer.result import Design
from leastnoise.errors import DesignError, LeastNoiseError
from leastnoise.explorer import snippets
from leastnoise.explorer.known_laws import gaussian_needed
from leastnoise.explorer.picture_numbers import OURS
from leastnoise.explorer.sentences import kept_gain, kept_hint, kept_limits
from leastnoise.explorer.setting import PageSetting
from leastnoise.files.infinity import finite_or_none
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.classic import gaussian
from leastnoise.releases.noise.search import SampledLaw
from leastnoise.series.law import series_law

KEPT = "one kept draw"


def kept_beside(setting: PageSetting, best: Design, is_known: bool) -> dict[str, Any]:
    """One kept draw, the design and Gaussian noise at the target asked for, with the words and the
    code. `best` is drawn anew for each answer. No laws, where answers are not asked one by one.

    `is_known`: no law was designed, out of reach or not in time. One for a series is then not
    looked for either: where it is out of reach that takes up to half a minute to find out.
    """
    nothing = {"laws": [], "gain": "", "hint": "", "limits": "", "python": "", "command": ""}
    if setting.compositions == 1:
        return nothing
    if setting.advantage is not None:
        return {**nothing, "gain": "A draw that is kept has no cap on the attacker's advantage."}
    if is_known:
        return {**nothing, "gain": "Where no law is designed, none that is kept is looked for."}
    try:
        law, cost, domain = _kept_law(setting)
    except LeastNoiseError as error:
        return {**nothing, "gain": f"No draw that could be kept is within reach here. {error}"}
    loss = PrivacyLoss.of(law.noise).compose(law.uses)
    kept = _row(KEPT, cost, setting.sensitivity, law.noise, loss)
    anew = PrivacyLoss.of(best.noise, best.sensitivity).compose(best.uses)
    ours = _row(OURS, best.epsilon, 1.0, best.noise, anew)
    return {
        "laws": [kept, ours, *_gaussian(setting)],
        "gain": kept_gain(setting, kept, ours),
        "hint": kept_hint(setting, kept, ours),
        "limits": kept_limits(kept, ours),
        "python": snippets.series_snippet(setting, domain),
        "command": snippets.series_command(setting, domain),
    }


def _kept_law(setting: PageSetting) -> tuple[SampledLaw, float, Domain]:
    """The law of the series in sensitivities, its ε, and whether its answers are whole numbers: a
    series of whole numbers is for questions that one person changes by 1."""
    s, n, delta = setting.sensitivity, setting.answers, setting.delta
    target = {"epsilon": setting.epsilon} if setting.sigma is None else {"sigma": setting.sigma / s}
    if setting.domain == "integer" and s == 1.0:
        try:
            return *series_law(n, delta, domain="integer", **target), "integer"
        except DesignError:
            pass
    return *series_law(n, delta, **target), "real"


def _gaussian(setting: PageSetting) -> list[dict[str, Any]]:
    """Gaussian noise, drawn anew for each answer; nothing where it is not found in a moment."""
    sigma = setting.sigma
    if sigma is None:
        sigma = gaussian_needed(setting.epsilon or 0.0, setting)
    if sigma is None:
        return []
    noise = gaussian(sigma)
    loss = PrivacyLoss.of(noise, setting.sensitivity).compose(setting.answers)
    epsilon = loss.epsilon(setting.delta) if setting.epsilon is None else setting.epsilon
    return [_row("Gaussian", epsilon, 1.0, noise, loss)]


def _row(
    name: str, epsilon: float, scale: float, noise: Noise, loss: PrivacyLoss
) -> dict[str, Any]:
    return {
        "name": name,
        "epsilon": finite_or_none(epsilon),
        "sigma": noise.std * scale,
        "half_width": noise.interval(0.95) * scale,
        "guess": 0.5 * (1.0 + loss.delta(0.0)),
    }
