"""What worker processes compute: calls of the public functions, put into plain JSON data. `prepare` runs once in each worker."""

from __future__ import annotations

import math
import signal
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.artefact import write_artefact
from leastnoise.classic import cube, gaussian, laplace
from leastnoise.cost import quadratic
from leastnoise.designer.artefacts import artefact_of
from leastnoise.designer.compare import least_sigma
from leastnoise.designer.design import Design, design
from leastnoise.designer.rivals import Rival, known_laws, rivals
from leastnoise.errors import DesignError, InvalidParameterError, LeastNoiseError
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.shells import Floats
from leastnoise.web import words
from leastnoise.web.setting import FIELDS, InvalidSettingError, Setting

MEMORY = 2 << 30  # bytes of address space of one worker
_REACH = 6.0  # standard deviations that the picture of the laws shows on each side
_POINTS = 240
_CURVE_POINTS = 25
_SHARES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
_LEAST_NEEDED = 0.05  # of the sensitivity: where the standard deviation of a known law is looked for first
_OURS = "this design"
_NUMBERS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, eq=False)
class Study:
    """A design and, once they are built, the known laws at its standard deviation: what later questions start from."""

    setting: Setting
    design: Design
    rivals: tuple[Rival, ...] = ()


def prepare() -> None:
    """An interrupt is the server's business; no request may take all memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def known(setting: Setting) -> dict[str, Any]:
    """The first answer: what the known laws need, before the design is there."""
    rows: list[dict[str, Any]] = []
    if setting.sigma is not None:
        for rival in _sensible(setting, lambda: _rivals(setting, setting.sigma or 0.0)):
            rows.append(
                {"name": rival.name, "epsilon": _finite(rival.epsilon), "sigma": setting.sigma, "half_width": _width(rival)}
            )
    else:
        for name, noise in _quick_laws(setting, setting.epsilon or 0.0):
            rows.append({"name": name, "epsilon": setting.epsilon, "sigma": noise.std, "half_width": noise.interval(0.95)})
        rows.sort(key=lambda row: row["sigma"])
    return {"laws": rows}


def study(setting: Setting) -> tuple[dict[str, Any], Study]:
    """The design with its proof, its law as a curve, and the words."""
    best = _sensible(setting, lambda: design(**setting.request()))
    loss = PrivacyLoss.of(best.noise, best.sensitivity).compose(best.uses)
    certainty = loss.delta(0.0)
    # Beside whole-number noise too: the discrete Gaussian needs the same σ to three digits, and up to 1.4 s to find it.
    gaussian_sigma = least_sigma(gaussian, best.epsilon, best.sigma, best.sensitivity, best.delta, setting.answers)
    rival: dict[str, Any] = {"sigma": gaussian_sigma, "variance_ratio": None, "half_width": None}
    if gaussian_sigma is not None:
        rival |= {"variance_ratio": (gaussian_sigma / best.noise.std) ** 2, "half_width": gaussian(gaussian_sigma).interval(0.95)}
    answer = {
        "epsilon": _finite(best.epsilon),
        "epsilon_lower": _finite(best.epsilon_lower),
        "delta": best.delta,
        "sigma": best.sigma,
        "std": best.noise.std,
        "half_width": best.noise.interval(0.95),
        "answers": setting.answers,
        "together": setting.together,
        "sensitivity": best.sensitivity,
        "domain": setting.domain,
        "origin": best.origin,
        "reason": best.reason,
        "status": best.status,
        "renyi_order": _order(best.renyi_order),
        "gap": best.gap,
        "residual": best.residual,
        "discretisation": best.discretisation,
        "worst_shift": words.worst_shift(best),
        "guess": 0.5 * (1.0 + certainty),
        "gaussian": rival,
        "rivals": [{"name": name, "epsilon": _finite(epsilon)} for name, epsilon in best.rivals.items()],
        "law": _law(best, [(_OURS, best.noise, 1)]),
        "accuracy": words.accuracy_sentence(best, gaussian_sigma),
        "sentences": words.sentences(best, certainty),
        "python": words.python_snippet(best, setting),
        "command": words.command(setting),
        "plan": words.plan(best, setting),
    }
    # A plain dict: a read-only view of one cannot be sent to another process.
    return answer, Study(setting, replace(best, rivals=dict(best.rivals)))


def laws(study: Study) -> tuple[dict[str, Any], Study]:
    """The known laws at the design's standard deviation, as curves."""
    others = _rivals(study.setting, study.design.sigma)
    return _law(study.design, [(rival.name, rival.noise, 1) for rival in others]), replace(study, rivals=tuple(others))


def curve(study: Study) -> dict[str, Any]:
    """δ against ε over the whole use, of the design and of the known laws at the same standard deviation."""
    best = study.design
    rival = max((rival.epsilon for rival in study.rivals if rival.name.endswith("Gaussian")), default=best.epsilon)
    end = 1.25 * max(best.epsilon, min(rival, 4.0 * best.epsilon))
    # With the guarantee's own ε, so that the line passes through it also where it drops.
    epsilons = np.unique([*np.linspace(0.0, end, _CURVE_POINTS), 0.999 * best.epsilon_lower, best.epsilon])

    def deltas(noise: Noise, uses: int) -> list[float | None]:
        loss = PrivacyLoss.of(noise, best.sensitivity).compose(uses)
        return _digits([loss.delta(float(e)) for e in epsilons])

    laws = [(_OURS, best.noise, best.uses), *((r.name, r.noise, r.uses * best.compositions) for r in study.rivals)]
    return {"epsilon": _digits(epsilons), "series": _each(laws, deltas)}


def numbers(study: Study) -> dict[str, Any]:
    """ε against the number of answers at the same standard deviation and δ: noise drawn for each answer by itself, used n times;
    and the known joint laws, made for n answers at once."""
    best, setting = study.design, study.setting
    most = max(20, 2 * setting.answers)
    counts = sorted({n for n in _NUMBERS if n <= most} | {setting.answers})

    def repeated(noise: Noise, _: int) -> list[float | None]:
        loss = PrivacyLoss.of(noise, best.sensitivity)
        return _digits([loss.compose(n).epsilon(best.delta) for n in counts])

    alone = [] if best.noise.dimension > 1 else [(_OURS, best.noise, 1)]
    alone += [(r.name, r.noise, 1) for r in study.rivals if r.noise.dimension == 1]
    series = _each(alone, repeated)
    if setting.together:
        series.append({"name": "best known joint law", "y": _digits([_joint(study, n) for n in counts])})
    return {"answers": counts, "series": series, "here": {"answers": setting.answers, "epsilon": _finite(best.epsilon)}}


def artefact(study: Study) -> str:
    """The text of `noise.json`."""
    with tempfile.TemporaryDirectory(prefix="leastnoise-") as folder:
        path = Path(folder) / "noise.json"
        write_artefact(artefact_of(study.design), path)
        return path.read_text(encoding="utf-8")


def _rivals(setting: Setting, sigma: float) -> list[Rival]:
    return rivals(
        sigma=sigma,
        sensitivity=setting.sensitivity,
        delta=setting.delta,
        compositions=setting.compositions,
        batch=setting.batch,
        domain=setting.domain,
        cost=quadratic(),
    )


def _quick_laws(setting: Setting, epsilon: float) -> list[tuple[str, Noise]]:
    """Laws on the real line that are certified at `epsilon` and found in milliseconds: Gaussian and Laplace at their least standard
    deviation; for answers together also the cube, at the least of a few shares of the Gaussian one."""
    found: list[tuple[str, Noise]] = []
    for name, build in (("Gaussian", gaussian), ("Laplace", laplace)):
        sigma = _needed(build, epsilon, setting)
        if sigma is not None:
            found.append((name, build(sigma)))
    if setting.together and found and found[0][0] == "Gaussian":
        laws = [_cube(share * found[0][1].std, setting.batch, setting.sensitivity) for share in _SHARES]
        first = bisect_left(
            laws, True, key=lambda law: PrivacyLoss.of(law(), setting.sensitivity).epsilon(setting.delta) <= epsilon
        )
        if first < len(_SHARES):
            found.append(("cube", laws[first]()))
    return found


def _cube(sigma: float, batch: int, sensitivity: float) -> Callable[[], Noise]:
    """The cube law on the real line, when it is wanted: from two sensitivities on with one bin a sensitivity, which gives the same
    ε to four digits and takes 4 ms where the default takes 13 (ten answers, σ = 7 s), 28 where it takes 520 (eighty, 640 s)."""
    step = sensitivity if sigma >= 2.0 * sensitivity else None
    return partial(cube, sigma, batch, sensitivity=sensitivity, step=step)


def _needed(build: Callable[[float], Noise], epsilon: float, setting: Setting) -> float | None:
    """The standard deviation the law needs, looked for from the smallest upwards."""
    start = _LEAST_NEEDED * setting.sensitivity
    for stretch in range(4):
        found = least_sigma(build, epsilon, start * 20.0**stretch, setting.sensitivity, setting.delta, setting.answers)
        if found is not None:
            return found
    return None


def _joint(study: Study, n: int) -> float:
    """ε of the best known joint law for n answers at once; +inf where there is none."""
    best, found = study.design, math.inf
    for name, build, uses in known_laws(best.sensitivity, n, study.setting.domain):
        if (name in ("cube", "sphere")) if n > 1 else name.endswith("Laplace"):
            is_cube = name == "cube" and study.setting.domain == "real"
            try:
                law = _cube(best.sigma, n, best.sensitivity)() if is_cube else build(best.sigma)
                found = min(found, PrivacyLoss.of(law, best.sensitivity).compose(uses).epsilon(best.delta))
            except LeastNoiseError:
                continue
    return found


def _law(best: Design, laws: Sequence[tuple[str, Noise, int]]) -> dict[str, Any]:
    """The chance of each size of the noise on one answer, from 0 outwards: a density, or for integers a probability."""
    reach = _REACH * best.noise.std
    if best.noise.domain == "integer":
        x: Floats = np.unique(np.round(np.linspace(0.0, max(math.ceil(reach), 4), _POINTS + 1)))
    else:
        x = np.linspace(0.0, reach, _POINTS + 1)

    def chances(noise: Noise, _: int) -> list[float | None]:
        if noise.domain == "real":
            return _digits(noise.pdf(x))
        return _digits(noise.pmf(x) if noise.dimension == 1 else noise.ccdf(x - 1.0) - noise.ccdf(x))

    return {"x": _digits(x), "series": _each(laws, chances), "is_density": best.noise.domain == "real"}


def _each(laws: Sequence[tuple[str, Noise, int]], values: Callable[[Noise, int], list[float | None]]) -> list[dict[str, Any]]:
    """One series a law; a known law that cannot be judged is left out, ours never."""
    series = []
    for name, noise, uses in laws:
        try:
            series.append({"name": name, "y": values(noise, uses)})
        except LeastNoiseError:
            if name == _OURS:
                raise
    return series


def _sensible(setting: Setting, make: Callable[[], Any]) -> Any:
    """What the designer refuses is said beside the field it is about."""
    try:
        return make()
    except InvalidParameterError as error:
        if error.name in FIELDS:
            raise InvalidSettingError({error.name: str(error)}) from None
        raise InvalidSettingError({setting.target: f"This setting is beyond what can be computed here. {error}"}) from None
    except DesignError as error:
        raise InvalidSettingError({setting.target: str(error)}) from None


def _width(rival: Rival) -> float:
    return rival.noise.interval(0.95)


def _order(order: float | None) -> float | str | None:
    return "∞" if order == math.inf else order


def _finite(number: float) -> float | None:
    """JSON has no infinity: None says that there is no finite number."""
    return float(number) if math.isfinite(number) else None


def _digits(values: Sequence[float] | Floats) -> list[float | None]:
    """Six digits are more than a picture shows."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in np.asarray(values, dtype=np.float64).tolist()]
