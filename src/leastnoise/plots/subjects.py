"""What a picture is of: a design with its rivals, one law, or laws by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from leastnoise.designer.design import Design
from leastnoise.designer.rivals import known_laws
from leastnoise.errors import InvalidParameterError, LeastNoiseError
from leastnoise.noise import Noise
from leastnoise.privacy.loss import PrivacyLoss

Laws: TypeAlias = Design | Noise | Mapping[str, Noise]


@dataclass(frozen=True, eq=False)
class Subject:
    """One law of a picture; one release takes `draws` draws of it that a person can influence."""

    name: str
    noise: Noise
    draws: int
    sensitivity: float

    def loss(self, releases: int) -> PrivacyLoss:
        return PrivacyLoss.of(self.noise, self.sensitivity).compose(self.draws * releases)


def subjects(laws: Laws, sensitivity: float | None = None) -> list[Subject]:
    """A design and every known law of the same standard deviation, or the laws given; ours comes last, to be drawn on top.

    A design states its own sensitivity; for laws it is 1 unless given.
    """
    if isinstance(laws, Design):
        if sensitivity not in (None, laws.sensitivity):
            raise InvalidParameterError(
                "sensitivity",
                sensitivity,
                f"to be left out: the design has its own, {laws.sensitivity:g}",
            )
        own = Subject(laws.origin, laws.noise, laws.uses // laws.compositions, laws.sensitivity)
        return [*_rivals(laws), own]
    s = 1.0 if sensitivity is None else sensitivity
    named = (
        {"noise": laws}
        if isinstance(laws, Noise)
        else dict(laws)
        if isinstance(laws, Mapping)
        else {}
    )
    if not named or not all(isinstance(noise, Noise) for noise in named.values()):
        raise InvalidParameterError(
            "laws", laws, "to be a Design, a Noise, or a table of names and Noise"
        )
    return [Subject(name, noise, 1, s) for name, noise in named.items()]


def own(laws: Laws) -> Noise:
    """The law that the picture is about: the design's, or the last one given."""
    return subjects(laws)[-1].noise


def releases(laws: Laws, compositions: int | None) -> int:
    """How many releases are meant: as given, or the design's, or one."""
    if compositions is not None:
        return compositions
    return laws.compositions if isinstance(laws, Design) else 1


def _rivals(best: Design) -> list[Subject]:
    found = []
    for name, build, draws in known_laws(
        best.sensitivity, best.batch, best.noise.domain, best.touched
    ):
        if name not in best.rivals or name == best.origin:
            continue
        try:
            found.append(Subject(name, build(best.noise.std), draws, best.sensitivity))
        except LeastNoiseError:  # a law that cannot be built so narrow is no rival
            continue
    return found
