"""Known laws that are found in a moment: the page's first answer, and its last one where the best law takes too long."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from leastnoise.classic import cube, discrete_gaussian, discrete_laplace, gaussian, laplace
from leastnoise.designer.compare import least_sigma
from leastnoise.designer.design import Design
from leastnoise.designer.rivals import Rival
from leastnoise.errors import DesignError, LeastNoiseError
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.web.setting import Setting

Build = Callable[[float], Noise]

_SHARES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
_LEAST_NEEDED = 0.05  # of the sensitivity: where the standard deviation of a law on the line is looked for first
_LEAST_WHOLE = 1e-9  # and of a law on the integers, which at ε = 50 is 0 but for one draw in 1e21
_CUBE_LEAST, _CUBE_LEAST_WHOLE = (
    0.15,
    1e-6,
)  # where its standard deviation is looked for, in that of the Gaussian law
_CUBE_CLOSE = 1.001  # and how closely
_LEAST_CUBE = 0.25  # sensitivities: below, the bins of the real cube are so fine that a judgement takes 0.3 s and more
_SPARED = 1e-4  # of ε: the lattice form of a law, as it is sampled, may need so much more than its closed form
_FINE = 3.0  # from this standard deviation on the discrete Gaussian needs that of the continuous one, to 5e-4
_WIDE = 5_000.0  # the discrete Gaussian is not judged beyond: 0.5 s at 10,000, 2.3 s at 40,000


def first_laws(setting: Setting, epsilon: float) -> list[tuple[str, Noise]]:
    """Laws on the real line that are certified at `epsilon` and found in milliseconds: Gaussian and Laplace at their least standard
    deviation; for answers together also the cube, at the least of a few shares of the Gaussian one."""
    found: list[tuple[str, Noise]] = []
    for name, build in (("Gaussian", gaussian), ("Laplace", laplace)):
        sigma = needed(build, epsilon, setting)
        if sigma is not None:
            found.append((name, build(sigma)))
    if setting.together and found and found[0][0] == "Gaussian":
        laws = [
            coarse_cube(share * found[0][1].std, setting.batch, setting.sensitivity)
            for share in _SHARES
        ]
        first = bisect_left(
            laws,
            True,
            key=lambda law: (
                PrivacyLoss.of(law(), setting.sensitivity).epsilon(setting.delta) <= epsilon
            ),
        )
        if first < len(_SHARES):
            found.append(("cube", laws[first]()))
    return found


def coarse_cube(sigma: float, batch: int, sensitivity: float) -> Callable[[], Noise]:
    """The cube law on the real line, when it is wanted: from two sensitivities on with one bin a sensitivity, which gives the same
    ε to four digits and takes 4 ms where the default takes 13 (ten answers, σ = 7 s), 28 where it takes 520 (eighty, 640 s)."""
    step = sensitivity if sigma >= 2.0 * sensitivity else None
    return partial(cube, sigma, batch, sensitivity=sensitivity, step=step)


def needed(
    build: Build, epsilon: float, setting: Setting, least: float = _LEAST_NEEDED
) -> float | None:
    """The standard deviation the law needs, looked for from `least` sensitivities upwards."""
    start = least * setting.sensitivity
    while start < 1e6 * setting.sensitivity:
        found = least_sigma(
            build, epsilon, start, setting.sensitivity, setting.delta, setting.answers
        )
        if found is not None:
            return found
        start *= 20.0
    return None


def best_known(setting: Setting) -> Design:
    """The best of the laws that are found in a moment, in the domain of the answers and at the target asked for.

    Guarantees: the law is certified at the setting's ε or below, or has the setting's σ. A DesignError says that there is none.
    """
    laws = (
        _at_epsilon(setting, setting.epsilon)
        if setting.epsilon is not None
        else known_at(setting, setting.sigma or 0.0)
    )
    kept = [law for law in laws if setting.epsilon is None or law.epsilon <= setting.epsilon]
    if not kept:
        raise DesignError("No known law is found in a moment for this setting.")
    best = min(kept, key=lambda law: law.epsilon if setting.epsilon is None else law.noise.std)
    loss = PrivacyLoss.of(best.noise, setting.sensitivity).compose(best.uses * setting.compositions)
    bounds = loss.epsilon_bounds(setting.delta)
    return Design(
        noise=best.noise,
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=setting.delta,
        sigma=best.noise.std,
        sensitivity=setting.sensitivity,
        sensitivities=(setting.sensitivity,) * setting.batch,
        compositions=setting.compositions,
        batch=setting.batch,
        touched=setting.batch,
        objective="tight",
        origin=best.name,
        renyi_order=None,
        gap=None,
        status="A known law; no better one was looked for.",
        residual=abs(best.noise.total - 1.0) if isinstance(best.noise, LatticeNoise) else 0.0,
        discretisation=None,
        moments_epsilon=None,
        rivals={
            law.name: law.epsilon
            for law in sorted(known_at(setting, best.noise.std), key=lambda law: law.epsilon)
        },
    )


def known_at(setting: Setting, sigma: float) -> list[Rival]:
    """The laws of this module at one standard deviation; what cannot be built or judged is left out."""
    return [
        law
        for name, build, uses in _families(setting)
        if (law := _judged(name, build, uses, sigma, setting)) is not None
    ]


def _at_epsilon(setting: Setting, epsilon: float) -> list[Rival]:
    """Each law at the least standard deviation at which it is certified for the setting."""
    found = []
    for name, build, uses in _families(setting):
        for sigma in _tried(name, build, epsilon * (1.0 - _SPARED), setting):
            law = _judged(name, build, uses, sigma, setting)
            if law is not None and law.epsilon <= epsilon:
                found.append(law)
                break
    return found


def _families(setting: Setting) -> list[tuple[str, Build, int]]:
    """(name, builder from a standard deviation, draws of one release), in the domain of the answers."""
    batch, s = setting.batch, setting.sensitivity
    if setting.domain == "real":
        found: list[tuple[str, Build, int]] = [
            ("Gaussian", gaussian, batch),
            ("Laplace", laplace, batch),
        ]
        if setting.together:
            found.append(("cube", lambda sigma: _wide_cube(sigma, batch, s), 1))
        return found
    found = [
        ("discrete Gaussian", _narrow_gaussian, batch),
        ("discrete Laplace", discrete_laplace, batch),
    ]
    # Beyond a sensitivity of 1 the integer cube takes up to 24 s to judge (three answers, s = 200, σ = 10 s).
    if setting.together and s == 1.0:
        found.append(("cube", lambda sigma: cube(sigma, batch, domain="integer"), 1))
    return found


def _wide_cube(sigma: float, batch: int, sensitivity: float) -> Noise:
    if sigma < _LEAST_CUBE * sensitivity:
        raise DesignError(
            f"Expected sigma={sigma!r} to be at least {_LEAST_CUBE:g} sensitivities: the judge takes too long."
        )
    return coarse_cube(sigma, batch, sensitivity)()


def _narrow_gaussian(sigma: float) -> Noise:
    if sigma > _WIDE:
        raise DesignError(
            f"Expected sigma={sigma!r} to be at most {_WIDE:g}: the judge takes longer than a moment."
        )
    return discrete_gaussian(sigma)


def _judged(name: str, build: Build, uses: int, sigma: float, setting: Setting) -> Rival | None:
    try:
        law = build(sigma)
        loss = PrivacyLoss.of(law, setting.sensitivity).compose(uses * setting.compositions)
        return Rival(name, law, uses, loss.epsilon(setting.delta))
    except LeastNoiseError:
        return None


def _tried(name: str, build: Build, epsilon: float, setting: Setting) -> list[float]:
    """Standard deviations to try, the least first; one that is judged to be enough ends the search."""
    if name == "cube":
        gauss = needed(gaussian, epsilon, setting)
        return [] if gauss is None else [_cube_needed(build, epsilon, gauss, setting)]
    if setting.domain == "real":
        found = needed(build, epsilon, setting)
    elif name == "discrete Laplace":
        found = needed(build, epsilon, setting, _LEAST_WHOLE)
    else:
        found = needed(gaussian, epsilon, setting)
        if found is not None and found < _FINE:
            found = needed(build, epsilon, setting, _LEAST_WHOLE)
        elif found is not None:
            return [found, found * (1.0 + 5e-4), found * (1.0 + 5e-3)]
    return [] if found is None else [found]


def _cube_needed(build: Build, epsilon: float, gauss: float, setting: Setting) -> float:
    """The least standard deviation of the cube below the Gaussian one, by halving: 11 judgements on the real line, 14 on the
    integers, where `needed` takes 18."""
    low, high = (_CUBE_LEAST if setting.domain == "real" else _CUBE_LEAST_WHOLE) * gauss, gauss
    while high > low * _CUBE_CLOSE:
        middle = math.sqrt(low * high)
        law = _judged("cube", build, 1, middle, setting)
        low, high = (low, middle) if law is not None and law.epsilon <= epsilon else (middle, high)
    return high
