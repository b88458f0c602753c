"""Known laws that are found in a moment: the page's first answer, and its last one where the best
law takes too long."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.designer.calibrate import least_scale
from leastnoise.designer.result import Design, FoundLaw
from leastnoise.designer.rivals import FITTED
from leastnoise.errors import DesignError, LeastNoiseError
from leastnoise.explorer.setting import PageSetting
from leastnoise.laws.base import Domain, Noise
from leastnoise.laws.classic import cube, discrete_gaussian, discrete_laplace, gaussian, laplace
from leastnoise.laws.correlated import correlated, normal
from leastnoise.laws.exponential import range_law
from leastnoise.laws.lattice import LatticeNoise
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.sphere import sphere

# Sensitivities: where the standard deviation of a law is looked for, on the line and on the
# integers, on which the law for ε = 50 is 0 but for one draw in 1e21.
_LEAST, _LEAST_WHOLE, _MOST = 0.05, 1e-9, 1e6
_CLOSE = 1e-6  # of ε, how closely
# The same of joint laws, in standard deviations of the Gaussian law: mostly they need half of one.
_JOINT_LEAST, _JOINT_USUAL = 1e-6, 0.5
_JOINT_CLOSE, _JOINT_ROUGH = 1e-3, 0.02
JOINT = ("cube", "sphere", "cut cube", "range", "touched", "count", *FITTED)
# The range law, as those of touched answers, is judged in 0.04 s for ten answers at σ = 5, in 0.15
# at 50 and for whole numbers in 40 at a sensitivity of 20; beyond so many answers the correlated
# sphere is better.
_MOST_OF_RANGE, _WIDEST_RANGE = 25, 50.0
# sensitivities: below, the bins of the real cube are so fine that a judgement takes 0.3 s and more
_NARROWEST_CUBE = 0.25
# of ε: the lattice form of a law, as it is sampled, may need so much more than its closed form
_SPARED = 1e-4
# from this standard deviation on the discrete Gaussian needs that of the continuous one, to 5e-4
_FINE = 3.0
_WIDE = 5_000.0  # the discrete Gaussian is not judged beyond: 0.5 s at 10,000, 2.3 s at 40,000


@dataclass(frozen=True)
class Family:
    """Laws of one kind, by their standard deviation; one release takes `draws` draws. Narrower and
    wider ones than these take longer than a moment."""

    name: str
    build: Callable[[float], Noise]
    draws: int
    narrowest: float = 0.0
    widest: float = math.inf

    @property
    def is_joint(self) -> bool:
        """Whether one draw serves all answers of a batch."""
        return self.name in JOINT

    def judged(self, sigma: float, setting: PageSetting) -> FoundLaw | None:
        """The law at one standard deviation; None where it cannot be built or judged."""
        if not self.narrowest * (1.0 - 1e-9) <= sigma <= self.widest:
            return None
        try:
            law = self.build(sigma)
            loss = PrivacyLoss.of(law, setting.sensitivity, setting.changes_of(law))
            epsilon = loss.compose(self.draws * setting.compositions).epsilon(setting.delta)
            return FoundLaw(self.name, law, self.draws, epsilon)
        except LeastNoiseError:
            return None

    def share_of_cap(self, sigma: float, setting: PageSetting) -> float:
        """What the law uses of a cap on the attacker's advantage; 0 where there is none."""
        if setting.advantage is None:
            return 0.0
        try:
            law = self.build(sigma)
            loss = PrivacyLoss.of(law, setting.sensitivity, setting.changes_of(law))
            return loss.compose(self.draws * setting.compositions).delta(0.0) / setting.advantage
        except LeastNoiseError:
            return math.inf

    def needed(
        self,
        epsilon: float,
        setting: PageSetting,
        bracket: tuple[float, float],
        start: float | None = None,
        tolerance: float = _CLOSE,
    ) -> float | None:
        """The least standard deviation in the bracket at which the law is certified."""

        def epsilon_of(sigma: float) -> float:
            law = self.judged(sigma, setting)
            if law is None:
                return math.inf
            return max(law.epsilon, epsilon * self.share_of_cap(sigma, setting))

        low, high = max(bracket[0], self.narrowest), min(bracket[1], self.widest)
        if low >= high:
            return None
        return least_scale(epsilon_of, epsilon, (low, high), start=start, tolerance=tolerance)


def first_laws(setting: PageSetting, epsilon: float) -> list[tuple[str, Noise]]:
    """Laws on the real line that are certified at `epsilon` and found in milliseconds: Gaussian and
    Laplace at their least standard deviation; for answers together also joint ones, roughly at
    their least."""
    found: list[tuple[str, Noise]] = []
    for family in _line(setting):
        sigma = _needed_on_the_line(family, epsilon, setting)
        if sigma is not None:
            found.append((family.name, family.build(sigma)))
    if setting.together and found and found[0][0] == "Gaussian":
        for joint in _real_joint(setting):
            sigma = _joint_needed(joint, epsilon, found[0][1].std, setting, _JOINT_ROUGH)
            if sigma is not None:
                found.append((joint.name, joint.build(sigma)))
    return found


def gaussian_needed(epsilon: float, setting: PageSetting) -> float | None:
    """The standard deviation that Gaussian noise needs."""
    return _needed_on_the_line(_line(setting)[0], epsilon, setting)


def best_known(setting: PageSetting) -> Design:
    """The best of the laws that are found in a moment, in the domain of the answers and at the
    target asked for.

    Guarantees: the law is certified at the setting's ε or below, or has the setting's σ. A
    DesignError says that there is none.
    """
    if setting.epsilon is not None:
        kept = _at_epsilon(setting, setting.epsilon)
        best = min(kept, key=lambda law: law.noise.std, default=None)
    else:
        kept = known_at(setting, setting.sigma or 0.0)
        best = min(kept, key=lambda law: law.epsilon, default=None)
    if best is None:
        raise DesignError("No known law is found in a moment for this setting.")
    one = PrivacyLoss.of(best.noise, setting.sensitivity, setting.changes_of(best.noise))
    loss = one.compose(best.uses * setting.compositions)
    bounds = loss.epsilon_bounds(setting.delta)
    rivals = sorted(known_at(setting, best.noise.std), key=lambda law: law.epsilon)
    radial = best.noise.radial
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
        touched=setting.moved,
        changes=setting.space,
        objective="tight",
        origin=best.name,
        renyi_order=None,
        gap=None,
        status="A known law; no better one was looked for.",
        residual=0.0 if radial is None else abs(radial.total - 1.0),
        discretisation=None,
        moments_epsilon=None,
        rivals={law.name: law.epsilon for law in rivals},
        rival_laws={law.name: law.noise for law in rivals},
    )


def known_at(setting: PageSetting, sigma: float) -> list[FoundLaw]:
    """The laws of this module at one standard deviation; what cannot be built or judged is left
    out."""
    laws = (family.judged(sigma, setting) for family in _families(setting))
    return [law for law in laws if law is not None]


def coarse_cube(sigma: float, batch: int, sensitivity: float) -> LatticeNoise:
    """The cube law on the real line: from two sensitivities on with one bin a sensitivity, which
    gives the same ε to four digits and takes 4 ms where the default takes 13 (ten answers, σ = 7
    s), 28 where it takes 520 (eighty, 640 s)."""
    step = sensitivity if sigma >= 2.0 * sensitivity else None
    return cube(sigma, batch, sensitivity=sensitivity, step=step)


def coarse_lifted(sigma: float, batch: int, sensitivity: float) -> Noise:
    """The cube of one answer more, so coarse too, for answers that all move the same way."""
    return LiftedNoise(coarse_cube(math.sqrt(2.0) * sigma, batch + 1, sensitivity))


def _at_epsilon(setting: PageSetting, epsilon: float) -> list[FoundLaw]:
    """Each law at the least standard deviation at which it is certified for the setting."""
    found = []
    for family in _families(setting):
        for sigma in _tried(family, epsilon * (1.0 - _SPARED), setting):
            law = family.judged(sigma, setting)
            if law is None or law.epsilon > epsilon:
                continue
            if family.share_of_cap(sigma, setting) <= 1.0:
                found.append(law)
                break
    return found


def _families(setting: PageSetting) -> list[Family]:
    """In the domain of the answers."""
    batch, s, moved = setting.batch, setting.sensitivity, setting.moved
    if setting.domain == "real":
        return _line(setting) + (_real_joint(setting) if setting.together else [])
    found = [
        Family("discrete Gaussian", discrete_gaussian, moved, widest=_WIDE),
        Family("discrete Laplace", discrete_laplace, moved),
    ]
    # Beyond a sensitivity of 1 the integer cube takes up to 24 s to judge (three answers, s = 200,
    # σ = 10 s).
    if setting.together and s == 1.0:
        found.append(Family("cube", lambda sigma: cube(sigma, batch, domain="integer"), 1))
    return found + (_whole_one_way(setting) if setting.one_way else [])


def _line(setting: PageSetting) -> list[Family]:
    """Noise of its own for each answer; one person is seen in as many draws as they move answers.
    For changes of a length only normal noise, one draw for all."""
    if setting.length is None:
        moved = setting.moved
        return [Family("Gaussian", gaussian, moved), Family("Laplace", laplace, moved)]
    batch, s = setting.batch, setting.sensitivity
    return [Family("Gaussian", lambda sigma: normal(sigma, batch, sensitivity=s), 1)]


def _real_cube(batch: int, s: float) -> Family:
    return Family("cube", lambda sigma: coarse_cube(sigma, batch, s), 1, _NARROWEST_CUBE * s)


def _real_joint(setting: PageSetting) -> list[Family]:
    """Joint laws on the real line: where all answers move the same way, those that are fitted to
    it, of which the best is always one. The lifted cube is none for whole numbers."""
    batch, s = setting.batch, setting.sensitivity
    if setting.length is not None:
        return [Family("sphere", lambda sigma: sphere(sigma, batch, sensitivity=s), 1)]
    if not setting.one_way:
        return [_real_cube(batch, s)]
    if setting.domain == "integer":
        return _whole_one_way(setting)

    def lifted(sigma: float) -> Noise:
        return coarse_lifted(sigma, batch, s)

    found = [_correlated(setting), Family("lifted cube", lifted, 1, _NARROWEST_CUBE * s)]
    return [*found, *_range(setting)]


def _whole_one_way(setting: PageSetting) -> list[Family]:
    """Joint laws of whole numbers for answers that all move the same way."""
    return [_correlated(setting), *_range(setting)]


def _range(setting: PageSetting) -> list[Family]:
    """The range law, where it is judged in a moment."""
    batch, s, domain = setting.batch, setting.sensitivity, setting.domain

    def build(sigma: float) -> Noise:
        return range_law(sigma, batch, sensitivity=s, domain=domain)

    if not is_quick("range", batch, 0.0, s, domain):
        return []
    return [Family("range", build, 1, widest=_WIDEST_RANGE * s)]


def is_quick(name: str, answers: int, sigma: float, sensitivity: float, domain: Domain) -> bool:
    """Whether a joint law is judged in a moment."""
    if name not in ("range", "touched", "count"):
        return True
    is_coarse = domain == "real" or sensitivity == 1.0
    return is_coarse and answers <= _MOST_OF_RANGE and sigma <= _WIDEST_RANGE * sensitivity


def _correlated(setting: PageSetting) -> Family:
    batch, s, domain = setting.batch, setting.sensitivity, setting.domain

    def build(sigma: float) -> Noise:
        return correlated(sigma, batch, changes=setting.space, sensitivity=s, domain=domain)

    return Family("correlated sphere", build, 1)


def _needed_on_the_line(family: Family, epsilon: float, setting: PageSetting) -> float | None:
    s = setting.sensitivity
    usual = s * setting.answers / epsilon  # of Laplace noise, but for a factor of √2
    return family.needed(epsilon, setting, (_LEAST * s, _MOST * s), start=usual)


def _tried(family: Family, epsilon: float, setting: PageSetting) -> list[float]:
    """Standard deviations to try, the least first; one that is judged to be enough ends
    the search."""
    twins = _line(setting)
    twin = twins[-1] if family.name.endswith("Laplace") else twins[0]
    line = _needed_on_the_line(twin, epsilon, setting)
    if line is None:
        return []
    if family.is_joint:
        found = _joint_needed(family, epsilon, line, setting, _JOINT_CLOSE)
    elif setting.domain == "real":
        found = line
    elif family.name == "discrete Gaussian" and line >= _FINE:
        return [line, line * (1.0 + 5e-4), line * (1.0 + 5e-3)]
    else:
        s = setting.sensitivity
        found = family.needed(epsilon, setting, (_LEAST_WHOLE * s, _MOST * s), start=line)
    return [] if found is None else [found]


def _joint_needed(
    family: Family, epsilon: float, gauss: float, setting: PageSetting, tolerance: float
) -> float | None:
    """Looked for below the standard deviation of the Gaussian law."""
    bracket, start = (_JOINT_LEAST * gauss, gauss), _JOINT_USUAL * gauss
    return family.needed(epsilon, setting, bracket, start=start, tolerance=tolerance)
