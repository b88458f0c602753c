"""Anyone can check an artefact: the guarantee follows from the law in it alone."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from leastnoise.artefact.artefact import Artefact, Charges, Guarantee, charges, judged
from leastnoise.artefact.format import ARTEFACT_FILE, artefact_from
from leastnoise.artefact.rigorous import proofs_of_content
from leastnoise.changes import BOX
from leastnoise.errors import InvalidFileError, LeastNoiseError
from leastnoise.floors.certificates import EpsilonFloor, Floor
from leastnoise.floors.checking import fault_of

if TYPE_CHECKING:
    from leastnoise.proof.theorem import Proof

# stated and recomputed numbers may differ by this share of themselves: another machine's rounding
_SAME = 1e-9


@dataclass(frozen=True)
class Verification:
    """What a file states, what its weights give, and every disagreement. `ok` only if
    there is none.

    Attributes:
        stated: The guarantee in the file.
        recomputed: The guarantee that the law in the file gives; None where it cannot be judged.
        charges: What one release charges to δ, recomputed; None where it cannot be judged.
        mismatches: Every disagreement, a sentence each.
        answers: How many answers one draw of the law serves.
        proofs: Of ε and of each constraint, by the second judge; none where it was not asked.
        floor: What the file claims of all other noise, in a sentence; None where it claims nothing.
    """

    stated: Guarantee
    recomputed: Guarantee | None
    charges: Charges | None
    mismatches: tuple[str, ...]
    answers: int = 1
    proofs: tuple[Proof, ...] = ()
    floor: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the file holds what it states."""
        return not self.mismatches


def verify(path: str | PathLike[str], *, rigorous: bool = False) -> Verification:
    """Recompute the guarantee from the weights alone and compare it with what the file states.

    Args:
        path: A file written by `write_artefact`.
        rigorous: Prove the stated ε, and every constraint, by a second judge in ball arithmetic as
            well; the extra `proof` is needed.

    Returns:
        The stated and the recomputed guarantee, and every disagreement.

    Raises:
        InvalidFileError: The file cannot be read as an artefact, a truncated one for instance.
        UnsupportedError: A proof is asked for and this kind of law is not covered by it, or
            python-flint is not installed.

    Example:
        >>> from leastnoise import discrete_laplace, exact
        >>> from leastnoise.artefact import certify, write_artefact
        >>> artefact = certify(exact(discrete_laplace(3.0), delta=1e-6), delta=1e-6)
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_artefact(artefact, pathlib.Path(folder) / "noise.json")
        ...     verify(pathlib.Path(folder) / "noise.json").ok
        True
    """
    content, is_sealed = ARTEFACT_FILE.opened(path)
    mismatches = [] if is_sealed else ["The content does not match its SHA-256."]
    try:
        artefact = artefact_from(content, os.fspath(path))
    except InvalidFileError as error:
        if is_sealed:
            raise
        raise InvalidFileError(f"{error} Its content does not match its SHA-256 either.") from None
    stated, answers = artefact.guarantee, artefact.noise.dimension
    proofs = proofs_of_content(content) if rigorous else ()
    mismatches += [f"{proof.sentence()}." for proof in proofs if not proof.ok]
    try:
        use = (stated.delta, stated.compositions, stated.sensitivity)
        limits = [(one.epsilon, one.delta) for one in stated.constraints]
        found = judged(artefact.noise, *use, artefact.settings, stated.changes, limits)
        charged = charges(artefact.noise, stated)
        variance = artefact.noise.variance
    except LeastNoiseError as error:
        mismatches.append(f"The weights could not be judged: {error}")
        return Verification(stated, None, None, tuple(mismatches), answers, proofs)
    except (TypeError, ValueError, ArithmeticError, MemoryError):
        mismatches.append("The stated numbers are out of all range: nothing can be judged.")
        return Verification(stated, None, None, tuple(mismatches), answers, proofs)
    mismatches += _disagreements(artefact, content, found, charged, variance)
    claim = None if artefact.floor is None else artefact.floor.claim(stated.sensitivity)
    return Verification(stated, found, charged, tuple(mismatches), answers, proofs, claim)


def _disagreements(
    artefact: Artefact, content: dict[str, Any], found: Guarantee, charged: Charges, variance: float
) -> Iterator[str]:
    """What the file states and the law in it does not give."""
    for name, ours, theirs in (
        ("epsilon", artefact.guarantee.epsilon, found.epsilon),
        ("charge for unbounded loss", artefact.charges.unbounded, charged.unbounded),
        ("charge for deviation", artefact.charges.deviation, charged.deviation),
        ("variance", content["variance"], variance),
    ):
        if not math.isclose(ours, theirs, rel_tol=_SAME, abs_tol=0.0):
            yield f"The stated {name} is {ours!r}; the weights give {theirs!r}."
    for one, ours in zip(artefact.guarantee.constraints, found.constraints, strict=True):
        where = f"delta at epsilon {one.epsilon!r}"
        if not math.isclose(one.certified, ours.certified, rel_tol=_SAME, abs_tol=0.0):
            yield f"The stated {where} is {one.certified!r}; the weights give {ours.certified!r}."
        if not ours.holds:
            yield f"The {where} is promised to be at most {one.delta!r}; it is {ours.certified!r}."
    if artefact.floor is not None and (fault := _floor_fault(artefact, artefact.floor)):
        yield fault
    stated_pitch, pitch = content["law"]["pitch"], str(artefact.noise.sampler().pitch)
    if stated_pitch != pitch:
        yield f"The stated pitch is {stated_pitch!r}; the step gives {pitch!r}."


def _floor_fault(artefact: Artefact, floor: Floor) -> str | None:
    """Why the floor in the file is not proven, or is not about this use of the law."""
    stated, noise = artefact.guarantee, artefact.noise
    spread = noise.std / stated.sensitivity
    if isinstance(floor, EpsilonFloor):
        is_about = (
            (floor.releases, floor.delta) == (stated.compositions, stated.delta)
            and noise.dimension == 1
            and floor.sigma >= spread * (1.0 - _SAME)
        )
    else:
        is_about = (
            (stated.compositions, floor.delta) == (1, stated.delta)
            and floor.answers == noise.dimension
            and floor.epsilon >= stated.epsilon * (1.0 - _SAME)
        )
    is_whole = noise.domain == "integer" and floor.cells == stated.sensitivity
    if not is_about or stated.changes != BOX or (floor.is_integer and not is_whole):
        return "The floor is about another use than the guarantee."
    return fault_of(floor)
