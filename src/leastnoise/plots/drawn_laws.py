"""The laws of a picture: a design with its rivals, one law, or laws by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.changes import BOX, Changes
from leastnoise.designer.result import OPTIMISED_PRODUCT, Design
from leastnoise.errors import InvalidParameterError
from leastnoise.laws.base import Noise
from leastnoise.plots import style

Laws: TypeAlias = Design | Noise | Mapping[str, Noise]


@dataclass(frozen=True, eq=False)
class DrawnLaw:
    """One law of a picture; one release takes `draws` draws of it that a person can influence."""

    name: str
    noise: Noise
    draws: int
    sensitivity: float
    changes: Changes = BOX

    def loss(self, releases: int) -> PrivacyLoss:
        one = PrivacyLoss.of(self.noise, self.sensitivity, self.changes)
        return one.compose(self.draws * releases)


def drawn_laws(
    laws: Laws, sensitivity: float | None = None, changes: Changes | None = None
) -> list[DrawnLaw]:
    """A design and every known law at the same cost, or the laws given; ours comes last, to be
    drawn on top.

    A design states its own sensitivity and changes; for laws they are 1 and the box unless given.
    """
    if isinstance(laws, Design):
        if changes is not None:
            expected = "to be left out: the design has its own"
            raise InvalidParameterError("changes", changes, expected)
        return _of_design(laws, sensitivity)
    s = 1.0 if sensitivity is None else sensitivity
    named = dict(laws) if isinstance(laws, Mapping) else {"noise": laws}
    if not named or not all(isinstance(noise, Noise) for noise in named.values()):
        raise InvalidParameterError(
            "laws", laws, "to be a Design, a Noise, or a table of names and Noise"
        )
    space = BOX if changes is None else changes
    return [DrawnLaw(name, noise, 1, s, space) for name, noise in named.items()]


def releases(laws: Laws, compositions: int | None) -> int:
    """How many releases are meant: as given, or the design's, or one."""
    if compositions is not None:
        return compositions
    return laws.compositions if isinstance(laws, Design) else 1


def _of_design(best: Design, sensitivity: float | None) -> list[DrawnLaw]:
    """The known laws that the design was compared with, and its own. What the design was also
    compared with, our own noise on each answer alone, is no known law."""
    s = best.sensitivity
    if sensitivity not in (None, s):
        expected = f"to be left out: the design has its own, {s:g}"
        raise InvalidParameterError("sensitivity", sensitivity, expected)
    rivals = [
        DrawnLaw(name, noise, 1 if noise.dimension > 1 else best.touched, s, best.changes_of(noise))
        for name, noise in best.rival_laws.items()
        if name not in (best.origin, OPTIMISED_PRODUCT)
    ]
    rivals.sort(key=lambda law: style.place_in_legend(law.name))
    own = best.uses // best.compositions, s, best.changes_of(best.noise)
    return [*rivals, DrawnLaw(best.origin, best.noise, *own)]
