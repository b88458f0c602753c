"""What worker processes compute: calls of the public functions, put into plain JSON data. `prepare`
runs once in each worker."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from leastnoise.accountant.attacker import promised
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.artefact import artefact_text
from leastnoise.changes import BOX
from leastnoise.designer.calibrate import least_sigma
from leastnoise.designer.design import design
from leastnoise.designer.request import Request
from leastnoise.designer.result import OPTIMISED_PRODUCT, Design, FoundLaw, artefact_of
from leastnoise.designer.rivals import known_laws, rivals
from leastnoise.errors import AccountingError, DesignError, InvalidParameterError, LeastNoiseError
from leastnoise.explorer import snippets
from leastnoise.explorer.game import attack
from leastnoise.explorer.kept import kept_beside
from leastnoise.explorer.known_laws import (
    JOINT,
    best_known,
    coarse_cube,
    coarse_lifted,
    first_laws,
    gaussian_needed,
    is_quick,
)
from leastnoise.explorer.picture_numbers import OURS, chances, digits_up, one_a_law
from leastnoise.explorer.privacy_curve import upper_line
from leastnoise.explorer.sentences import (
    accuracy_sentence,
    claims,
    guarantee_sentences,
    moves,
    worst_shift,
)
from leastnoise.explorer.setting import FIELDS, InvalidSettingError, OutOfReachError, PageSetting
from leastnoise.files.infinity import finite_or_none
from leastnoise.laws.base import Noise
from leastnoise.laws.classic import gaussian
from leastnoise.laws.correlated import correlated, normal
from leastnoise.text.numbers import rounded_up

MEMORY = 2 << 30  # bytes of address space of one worker
_CURVE_ROWS = 17  # of the privacy curve's table
_CURVE_DEPTH = 1000.0  # the privacy curve is drawn from 1 down to δ divided by this
_LEAST_END = 0.01  # ε up to which it is drawn where the guarantee has ε = 0
_MOST_NOISE = 20.0  # of the design's, up to which the Gaussian law is looked for
_DESIGNED_NUMBERS = (1, 2, 5, 12, 20)  # of answers, at which a joint design takes a moment
_FINE_ENOUGH = 2.0  # of the sensitivity of whole numbers: with more a design takes longer
_NUMBERS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, eq=False)
class Study:
    """A design with the known laws at its standard deviation: what later questions start from.

    `is_known`: no law was designed; the design is a known law that was found in a moment.
    """

    setting: PageSetting
    design: Design
    is_known: bool = False

    @property
    def rivals(self) -> list[FoundLaw]:
        """The known laws beside it, but for itself."""
        best = self.design
        hidden = {OPTIMISED_PRODUCT, best.origin if self.is_known else ""}
        shown = [name for name in best.rival_laws if name not in hidden]
        return [self._rival(name, best.rival_laws[name]) for name in shown]

    def _rival(self, name: str, noise: Noise) -> FoundLaw:
        draws = 1 if noise.dimension > 1 else self.setting.moved
        return FoundLaw(name, noise, draws, self.design.rivals[name])


def prepare() -> None:
    """An interrupt is the server's business; no request may take all memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def known(setting: PageSetting) -> dict[str, Any]:
    """The first answer: what the known laws need, before the design is there; and the command,
    should it never be."""
    rows: list[tuple[str, Noise, float | None]] = []
    if setting.sigma is not None:
        found = _sensible(setting, lambda: _rivals_at_sigma(setting, setting.sigma or 0.0))
        rows = [(law.name, law.noise, finite_or_none(law.epsilon)) for law in found]
    else:
        laws = first_laws(setting, setting.epsilon or 0.0)
        laws.sort(key=lambda law: law[1].std)
        rows = [(name, noise, setting.epsilon) for name, noise in laws]

    def as_json(name: str, noise: Noise, epsilon: float | None) -> dict[str, Any]:
        sigma = noise.std if setting.sigma is None else setting.sigma
        width = noise.interval(0.95)
        return {"name": name, "epsilon": epsilon, "sigma": sigma, "half_width": width}

    return {
        "setting": setting.fields(),
        "laws": [as_json(*row) for row in rows],
        "command": snippets.command(setting),
    }


def study(setting: PageSetting) -> tuple[dict[str, Any], Study]:
    """The design with its proof, its law as a curve, and the words."""
    best = _sensible(setting, lambda: design(**setting.request()))
    # Beside whole-number noise too: the discrete Gaussian needs the same σ to three digits, and up
    # to 1.4 s to find it.
    gaussian_sigma = least_sigma(
        gaussian if setting.length is None else partial(_normal, setting),
        best.epsilon,
        (best.sigma, _MOST_NOISE * best.sigma),
        sensitivity=best.sensitivity,
        delta=best.delta,
        draws=setting.compositions * (setting.moved if setting.length is None else 1),
        start=best.sigma,
        changes=BOX if setting.length is None else setting.space,
    )
    return _answer(Study(setting, best), gaussian_sigma)


def _normal(setting: PageSetting, sigma: float) -> Noise:
    """Normal noise as one draw, which is judged by the length of the changes."""
    return normal(sigma, setting.batch, sensitivity=setting.sensitivity)


def _correlated_gaussian(setting: PageSetting, best: Design) -> float | None:
    """The standard deviation that correlated Gaussian noise needs, which is the best Gaussian noise
    for answers that all move the same way; None where they do not, or it is not found."""
    if not setting.one_way:
        return None
    return least_sigma(
        lambda sigma: correlated(
            sigma,
            best.batch,
            core="gaussian",
            changes=best.changes,
            sensitivity=best.sensitivity,
        ),
        best.epsilon,
        (0.5 * best.sigma, _MOST_NOISE * best.sigma),
        sensitivity=best.sensitivity,
        delta=best.delta,
        draws=best.compositions,
        start=best.sigma,
        changes=best.changes,
    )


def known_study(
    setting: PageSetting, reason: str, is_designable: bool
) -> tuple[dict[str, Any], Study]:
    """The same of the best known law that is found in a moment, where for some `reason` there is no
    design; `is_designable`: it would be found without the page's time limit."""
    best = best_known(setting)
    gaussian_sigma = gaussian_needed(best.epsilon, setting)
    answer, found = _answer(Study(setting, best, is_known=True), gaussian_sigma)
    return answer | snippets.instead(best, setting, reason, is_designable), found


def _answer(study: Study, gaussian_sigma: float | None) -> tuple[dict[str, Any], Study]:
    best, setting = study.design, study.setting
    if setting.epsilon is not None and best.epsilon > setting.epsilon:
        raise AccountingError(
            f"Expected the law for epsilon={setting.epsilon!r} to be certified there, not at "
            f"{best.epsilon!r}."
        )
    one = PrivacyLoss.of(best.noise, best.sensitivity, best.changes_of(best.noise))
    loss = one.compose(best.uses)
    certainty = loss.delta(0.0)
    if setting.advantage is not None and certainty > setting.advantage:
        raise AccountingError(
            f"Expected the law for advantage={setting.advantage!r} to be certified there, not at "
            f"{certainty!r}."
        )
    rival: dict[str, Any] = {"sigma": gaussian_sigma, "variance_ratio": None, "half_width": None}
    if gaussian_sigma is not None:
        rival |= {
            "variance_ratio": (gaussian_sigma / best.noise.std) ** 2,
            "half_width": gaussian(gaussian_sigma).interval(0.95),
        }
    epsilons = [(name, finite_or_none(epsilon)) for name, epsilon in best.rivals.items()]
    answer = {
        "setting": setting.fields(),
        "epsilon": finite_or_none(best.epsilon),
        "epsilon_lower": finite_or_none(best.epsilon_lower),
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
        "renyi_order": "∞" if best.renyi_order == math.inf else best.renyi_order,
        "gap": best.gap,
        "residual": best.residual,
        "discretisation": best.discretisation,
        "worst_shift": worst_shift(best),
        "one_way": setting.one_way,
        "moves": moves(setting),
        "condition": best.changes.condition(best.batch),
        **_guesses(best, certainty),
        "gaussian": rival,
        "rivals": [{"name": name, "epsilon": epsilon} for name, epsilon in epsilons],
        "law": chances(best.noise, [(OURS, best.noise)]),
        "accuracy": accuracy_sentence(best, gaussian_sigma, _correlated_gaussian(setting, best)),
        "sentences": guarantee_sentences(best, certainty),
        "claims": claims(best, setting, gaussian_sigma),
        "python": snippets.python_snippet(best, setting),
        "command": snippets.command(setting),
        "plan": snippets.plan(best, setting),
    }
    # Plain dicts: a read-only view of one cannot be sent to another process.
    sent = replace(best, rivals=dict(best.rivals), rival_laws=dict(best.rival_laws))
    return answer, replace(study, design=sent)


def _guesses(best: Design, certainty: float) -> dict[str, float | None]:
    """The right guesses of somebody who starts from even odds: with this noise, with Gaussian noise
    of the same ε and δ, and as the promise allows."""
    found = {"guess": 0.5 * (1.0 + certainty), "gaussian_guess": None, "allowed_guess": None}
    if not math.isfinite(best.epsilon):
        return found
    told = promised(best.epsilon, best.delta)
    return found | {"gaussian_guess": told.gaussian_guess, "allowed_guess": told.allowed}


def laws(study: Study) -> dict[str, Any]:
    """The known laws at the design's standard deviation, as curves."""
    drawn = chances(study.design.noise, [(rival.name, rival.noise) for rival in study.rivals])
    return {"setting": study.setting.fields(), **drawn}


def curve(study: Study) -> dict[str, Any]:
    """δ against ε over the whole use, of the design and of the known laws at the same standard
    deviation: a table of a few round ε with the judge's bounds there, and for the picture a line
    that is nowhere below the truth."""
    best, rivals = study.design, study.rivals
    gaussians = [rival.epsilon for rival in rivals if rival.name.endswith("Gaussian")]
    widest = min(max(gaussians, default=best.epsilon), 4.0 * best.epsilon)
    end = 1.25 * max(best.epsilon, widest) or _LEAST_END
    low = best.delta / _CURVE_DEPTH
    # Numbers that are shown as they are, since δ belongs to them and not to others nearby; and the
    # guarantee's own ε, rounded up.
    round_numbers = {float(f"{epsilon:.3g}") for epsilon in np.linspace(0.0, end, _CURVE_ROWS)}
    rows = sorted(round_numbers | {rounded_up(best.epsilon, 6)})

    def drawn(noise: Noise, draws: int) -> dict[str, Any]:
        one = PrivacyLoss.of(noise, best.sensitivity, best.changes_of(noise))
        delta = cache(one.compose(draws).delta)
        line = upper_line(delta, rows, low)
        return {
            "y": digits_up([delta(epsilon) for epsilon in rows]),
            "line": {
                "x": [epsilon for epsilon, _ in line],
                "y": digits_up([above for _, above in line]),
            },
        }

    others = [(rival.name, rival.noise, rival.uses * best.compositions) for rival in rivals]
    return {
        "setting": study.setting.fields(),
        "epsilon": rows,
        "low": low,
        "series": one_a_law([(OURS, best.noise, best.uses), *others], drawn),
    }


def numbers(study: Study) -> dict[str, Any]:
    """ε against the number of answers at the same standard deviation and δ: noise drawn for each
    answer by itself, used n times; and the known joint laws, made for n answers at once."""
    best, setting = study.design, study.setting
    most = max(20, 2 * setting.answers)
    counts = sorted({n for n in _NUMBERS if n <= most} | {setting.answers})

    def repeated(noise: Noise, _: int) -> dict[str, Any]:
        loss = PrivacyLoss.of(noise, best.sensitivity)
        seen = [min(n, setting.touched or n) for n in counts]
        return {"y": digits_up([loss.compose(n).epsilon(best.delta) for n in seen])}

    laws = [(OURS, best.noise), *((rival.name, rival.noise) for rival in study.rivals)]
    # one answer moves up or down, whatever the others do
    alone = [(name, noise, 1) for name, noise in laws if noise.dimension == 1]
    series = one_a_law(alone, repeated)
    if setting.together:
        series = _with_joint(study, counts, series)
    here = {"answers": setting.answers, "epsilon": finite_or_none(best.epsilon)}
    return {"setting": setting.fields(), "answers": counts, "series": series, "here": here}


def _with_joint(
    study: Study, counts: list[int], alone: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Our design and the best known joint law, each made for n answers at once."""
    ours = digits_up([_our_epsilon(study, n) for n in counts])
    found = [{"name": OURS, "y": ours}, *(one for one in alone if one["name"] != OURS)]
    if not study.is_known:
        joint = digits_up([_joint_epsilon(study, n) for n in counts])
        found.append({"name": "best known joint law", "y": joint})
    return found


def kept(study: Study) -> dict[str, Any]:
    """One kept draw for answers asked one by one, beside the design, which is drawn anew for each,
    and Gaussian noise."""
    setting = study.setting
    return {"setting": setting.fields(), **kept_beside(setting, study.design, study.is_known)}


def game(study: Study) -> dict[str, Any]:
    """What the guarantee means, played: two laws to tell apart, and how well anybody can."""
    return {"setting": study.setting.fields(), **attack(study.setting, study.design)}


def artefact(study: Study) -> str:
    """The text of `noise.json`; an AccountingError rather than a law whose guarantee is not the one
    asked for."""
    made, asked = artefact_of(study.design), study.setting.epsilon
    if asked is not None and made.guarantee.epsilon > asked:
        raise AccountingError(
            f"As it is sampled, this law is certified at epsilon={made.guarantee.epsilon!r}, "
            f"above the {asked!r} asked for, so no file is given. Ask for a slightly smaller "
            "epsilon."
        )
    return artefact_text(made)


def _rivals_at_sigma(setting: PageSetting, sigma: float) -> list[FoundLaw]:
    request = Request.of(
        delta=setting.delta,
        sensitivity=setting.sensitivity,
        compositions=setting.compositions,
        batch=setting.batch,
        domain=setting.domain,
        changes=setting.space if setting.together else None,
    )
    return rivals(request, sigma)


def _our_epsilon(study: Study, n: int) -> float:
    """ε of the design for n answers at once at the same standard deviation; +inf where it was not
    looked for, since it takes long."""
    best, setting = study.design, study.setting
    if n == setting.answers:
        return best.epsilon
    is_slow = setting.domain == "integer" and setting.sensitivity > _FINE_ENOUGH
    if n not in _DESIGNED_NUMBERS or is_slow or setting.space != BOX or study.is_known:
        return math.inf
    asked = replace(setting, answers=n, epsilon=None, sigma=best.sigma, advantage=None)
    try:
        return design(**asked.request()).epsilon
    except LeastNoiseError:
        return math.inf


def _joint_epsilon(study: Study, n: int) -> float:
    """ε of the best known joint law for n answers at once; +inf where there is none."""
    best, setting, found = study.design, study.setting, math.inf
    known = known_laws(best.sensitivity, n, setting.domain, best.changes.fitted(n))
    use = n, best.sigma, best.sensitivity, setting.domain
    joint = [law for law in known if _is_joint(law[0], n) and is_quick(law[0], *use)]
    for name, build, uses in joint:
        try:
            law = _coarse(name, n, study) or build(best.sigma)
            is_whole = law.dimension > 1 or setting.length is not None
            space = setting.space.fitted(n) if is_whole else BOX
            one = PrivacyLoss.of(law, best.sensitivity, space)
            found = min(found, one.compose(uses).epsilon(best.delta))
        except LeastNoiseError:
            continue
    return found


def _is_joint(name: str, answers: int) -> bool:
    return name in JOINT if answers > 1 else name.endswith("Laplace")


def _coarse(name: str, answers: int, study: Study) -> Noise | None:
    """The law on a lattice that is judged in a moment, where the usual one is not."""
    best = study.design
    if study.setting.domain == "integer" or name not in ("cube", "lifted cube"):
        return None
    build = coarse_cube if name == "cube" else coarse_lifted
    return build(best.sigma, answers, best.sensitivity)


def _sensible(setting: PageSetting, make: Callable[[], Any]) -> Any:
    """What the designer refuses is said beside the field it is about."""
    try:
        return make()
    except InvalidParameterError as error:
        if error.name in FIELDS:
            raise InvalidSettingError({error.name: str(error)}) from None
        said = f"This setting is beyond what can be computed here. {error}"
        raise InvalidSettingError({setting.target: said}) from None
    except DesignError as error:
        raise OutOfReachError({setting.target: str(error)}) from None
