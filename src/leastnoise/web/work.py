"""What worker processes compute: calls of the public functions, put into plain JSON data. `prepare` runs once in each worker."""

from __future__ import annotations

import math
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.artefact import write_artefact
from leastnoise.classic import gaussian
from leastnoise.cost import quadratic
from leastnoise.designer.artefacts import artefact_of
from leastnoise.designer.compare import least_sigma
from leastnoise.designer.design import Design, design
from leastnoise.designer.rivals import Rival, known_laws, rivals
from leastnoise.errors import AccountingError, DesignError, InvalidParameterError, LeastNoiseError
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss
from leastnoise.shells import Floats
from leastnoise.web import words
from leastnoise.web.curve import upper_line
from leastnoise.web.known import best_known, coarse_cube, first_laws, known_at, needed
from leastnoise.web.setting import FIELDS, InvalidSettingError, OutOfReachError, Setting

MEMORY = 2 << 30  # bytes of address space of one worker
_REACH = 6.0  # standard deviations that the picture of the laws shows on each side
_POINTS = 240
_CURVE_ROWS = 17  # of the privacy curve's table
_CURVE_DEPTH = 1000.0  # the privacy curve is drawn from 1 down to δ divided by this
_LEAST_END = 0.01  # ε up to which it is drawn where the guarantee has ε = 0
_OURS = "this design"
_NUMBERS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, eq=False)
class Study:
    """A design and, once they are built, the known laws at its standard deviation: what later questions start from.

    `is_known`: no law was designed; the design is a known law that was found in a moment.
    """

    setting: Setting
    design: Design
    rivals: tuple[Rival, ...] = ()
    is_known: bool = False


def prepare() -> None:
    """An interrupt is the server's business; no request may take all memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def known(setting: Setting) -> dict[str, Any]:
    """The first answer: what the known laws need, before the design is there; and the command, should it never be."""
    rows: list[dict[str, Any]] = []
    if setting.sigma is not None:
        for rival in _sensible(setting, lambda: _rivals(setting, setting.sigma or 0.0)):
            rows.append(
                {
                    "name": rival.name,
                    "epsilon": _finite(rival.epsilon),
                    "sigma": setting.sigma,
                    "half_width": _width(rival),
                }
            )
    else:
        for name, noise in first_laws(setting, setting.epsilon or 0.0):
            rows.append(
                {
                    "name": name,
                    "epsilon": setting.epsilon,
                    "sigma": noise.std,
                    "half_width": noise.interval(0.95),
                }
            )
        rows.sort(key=lambda row: row["sigma"])
    return {"setting": setting.fields(), "laws": rows, "command": words.command(setting)}


def study(setting: Setting) -> tuple[dict[str, Any], Study]:
    """The design with its proof, its law as a curve, and the words."""
    best = _sensible(setting, lambda: design(**setting.request()))
    # Beside whole-number noise too: the discrete Gaussian needs the same σ to three digits, and up to 1.4 s to find it.
    gaussian_sigma = least_sigma(
        gaussian, best.epsilon, best.sigma, best.sensitivity, best.delta, setting.answers
    )
    return _answer(Study(setting, best), gaussian_sigma)


def known_study(setting: Setting, reason: str, is_designable: bool) -> tuple[dict[str, Any], Study]:
    """The same of the best known law that is found in a moment, where for some `reason` there is no design; `is_designable`: it
    would be found without the page's time limit."""
    best = best_known(setting)
    answer, found = _answer(
        Study(setting, best, is_known=True), needed(gaussian, best.epsilon, setting)
    )
    return answer | words.instead(best, setting, reason, is_designable), found


def _answer(study: Study, gaussian_sigma: float | None) -> tuple[dict[str, Any], Study]:
    best, setting = study.design, study.setting
    if setting.epsilon is not None and best.epsilon > setting.epsilon:
        raise AccountingError(
            f"Expected the law for epsilon={setting.epsilon!r} to be certified there, not at {best.epsilon!r}."
        )
    loss = PrivacyLoss.of(best.noise, best.sensitivity).compose(best.uses)
    certainty = loss.delta(0.0)
    rival: dict[str, Any] = {"sigma": gaussian_sigma, "variance_ratio": None, "half_width": None}
    if gaussian_sigma is not None:
        rival |= {
            "variance_ratio": (gaussian_sigma / best.noise.std) ** 2,
            "half_width": gaussian(gaussian_sigma).interval(0.95),
        }
    answer = {
        "setting": setting.fields(),
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
        "is_known": study.is_known,
        "reason": best.reason,
        "status": best.status,
        "renyi_order": _order(best.renyi_order),
        "gap": best.gap,
        "residual": best.residual,
        "discretisation": best.discretisation,
        "worst_shift": words.worst_shift(best),
        "guess": 0.5 * (1.0 + certainty),
        "gaussian": rival,
        "rivals": [
            {"name": name, "epsilon": _finite(epsilon)} for name, epsilon in best.rivals.items()
        ],
        "law": _law(best, [(_OURS, best.noise, 1)]),
        "accuracy": words.accuracy_sentence(best, gaussian_sigma),
        "sentences": words.sentences(best, certainty),
        "python": words.python_snippet(best, setting),
        "command": words.command(setting),
        "plan": words.plan(best, setting),
    }
    # A plain dict: a read-only view of one cannot be sent to another process.
    return answer, replace(study, design=replace(best, rivals=dict(best.rivals)))


def laws(study: Study) -> tuple[dict[str, Any], Study]:
    """The known laws at the design's standard deviation, as curves."""
    sigma = study.design.sigma
    # Where the design took too long the others may too: then those alone that are found in a moment.
    others = known_at(study.setting, sigma) if study.is_known else _rivals(study.setting, sigma)
    others = [
        rival for rival in others if not (study.is_known and rival.name == study.design.origin)
    ]
    drawn = _law(study.design, [(rival.name, rival.noise, 1) for rival in others])
    return {"setting": study.setting.fields(), **drawn}, replace(study, rivals=tuple(others))


def curve(study: Study) -> dict[str, Any]:
    """δ against ε over the whole use, of the design and of the known laws at the same standard deviation: a table of a few round ε
    with the judge's bounds there, and for the picture a line that is nowhere below the truth."""
    best = study.design
    rival = max(
        (rival.epsilon for rival in study.rivals if rival.name.endswith("Gaussian")),
        default=best.epsilon,
    )
    end = 1.25 * max(best.epsilon, min(rival, 4.0 * best.epsilon)) or _LEAST_END
    low = best.delta / _CURVE_DEPTH
    # Numbers that are shown as they are, since δ belongs to them and not to others nearby; and the guarantee's own ε, rounded up.
    rows = sorted(
        {_three_digits(epsilon) for epsilon in np.linspace(0.0, end, _CURVE_ROWS)}
        | {words.rounded_up(best.epsilon, 6)}
    )

    def drawn(noise: Noise, uses: int) -> dict[str, Any]:
        delta = cache(PrivacyLoss.of(noise, best.sensitivity).compose(uses).delta)
        line = upper_line(delta, rows, low)
        return {
            "y": _digits_up([delta(epsilon) for epsilon in rows]),
            "line": {
                "x": [epsilon for epsilon, _ in line],
                "y": _digits_up([above for _, above in line]),
            },
        }

    laws = [
        (_OURS, best.noise, best.uses),
        *((r.name, r.noise, r.uses * best.compositions) for r in study.rivals),
    ]
    return {
        "setting": study.setting.fields(),
        "epsilon": rows,
        "low": low,
        "series": _each(laws, drawn),
    }


def numbers(study: Study) -> dict[str, Any]:
    """ε against the number of answers at the same standard deviation and δ: noise drawn for each answer by itself, used n times;
    and the known joint laws, made for n answers at once."""
    best, setting = study.design, study.setting
    most = max(20, 2 * setting.answers)
    counts = sorted({n for n in _NUMBERS if n <= most} | {setting.answers})

    def repeated(noise: Noise, _: int) -> dict[str, Any]:
        loss = PrivacyLoss.of(noise, best.sensitivity)
        return {"y": _digits_up([loss.compose(n).epsilon(best.delta) for n in counts])}

    alone = [] if best.noise.dimension > 1 else [(_OURS, best.noise, 1)]
    alone += [(r.name, r.noise, 1) for r in study.rivals if r.noise.dimension == 1]
    series = _each(alone, repeated)
    if setting.together and not study.is_known:
        series.append(
            {"name": "best known joint law", "y": _digits_up([_joint(study, n) for n in counts])}
        )
    here = {"answers": setting.answers, "epsilon": _finite(best.epsilon)}
    return {"setting": setting.fields(), "answers": counts, "series": series, "here": here}


def artefact(study: Study) -> str:
    """The text of `noise.json`; an AccountingError rather than a law whose guarantee is not the one asked for."""
    made, asked = artefact_of(study.design), study.setting.epsilon
    if asked is not None and made.guarantee.epsilon > asked:
        raise AccountingError(
            f"As it is sampled, this law is certified at epsilon={made.guarantee.epsilon!r}, above the {asked!r} asked for, so no "
            "file is given. Ask for a slightly smaller epsilon."
        )
    with tempfile.TemporaryDirectory(prefix="leastnoise-") as folder:
        path = Path(folder) / "noise.json"
        write_artefact(made, path)
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


def _joint(study: Study, n: int) -> float:
    """ε of the best known joint law for n answers at once; +inf where there is none."""
    best, found = study.design, math.inf
    for name, build, uses in known_laws(best.sensitivity, n, study.setting.domain):
        if (name in ("cube", "sphere")) if n > 1 else name.endswith("Laplace"):
            is_cube = name == "cube" and study.setting.domain == "real"
            try:
                law = (
                    coarse_cube(best.sigma, n, best.sensitivity)() if is_cube else build(best.sigma)
                )
                found = min(
                    found, PrivacyLoss.of(law, best.sensitivity).compose(uses).epsilon(best.delta)
                )
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

    def chances(noise: Noise, _: int) -> dict[str, Any]:
        if noise.domain == "real":
            return {"y": _digits(noise.pdf(x))}
        return {
            "y": _digits(
                noise.pmf(x) if noise.dimension == 1 else noise.ccdf(x - 1.0) - noise.ccdf(x)
            )
        }

    return {
        "x": _digits(x),
        "series": _each(laws, chances),
        "is_density": best.noise.domain == "real",
    }


def _each(
    laws: Sequence[tuple[str, Noise, int]], values: Callable[[Noise, int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """One series a law; a known law that cannot be judged is left out, ours never."""
    series = []
    for name, noise, uses in laws:
        try:
            series.append({"name": name, **values(noise, uses)})
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
        raise InvalidSettingError(
            {setting.target: f"This setting is beyond what can be computed here. {error}"}
        ) from None
    except DesignError as error:
        raise OutOfReachError({setting.target: str(error)}) from None


def _width(rival: Rival) -> float:
    return rival.noise.interval(0.95)


def _order(order: float | None) -> float | str | None:
    return "∞" if order == math.inf else order


def _finite(number: float) -> float | None:
    """JSON has no infinity: None says that there is no finite number."""
    return float(number) if math.isfinite(number) else None


def _digits(values: Sequence[float] | Floats) -> list[float | None]:
    """Six digits are more than a picture shows."""
    return [
        float(f"{value:.6g}") if math.isfinite(value) else None
        for value in np.asarray(values, dtype=np.float64).tolist()
    ]


def _digits_up(values: Sequence[float]) -> list[float | None]:
    """The same of upper bounds, which must stay ones."""
    return [words.rounded_up(value, 6) if math.isfinite(value) else None for value in values]


def _three_digits(number: float) -> float:
    return float(f"{number:.3g}")
