"""The second judge asked about files and draws: what it is told is what is drawn, as JSON data.

`leastnoise.proof` needs the extra `proof` and is imported where it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leastnoise.changes import Changes
from leastnoise.errors import LeastNoiseError, UnsupportedError
from leastnoise.laws.base import Noise

if TYPE_CHECKING:
    from leastnoise.proof.theorem import Proof

JudgedDraws = tuple[Noise, float, int, Changes]  # a law, its sensitivity, draws, and the changes


def proofs_of_content(content: Mapping[str, Any]) -> tuple[Proof, ...]:
    """What is proven of the guarantee in a file, and of each of its constraints.

    Args:
        content: Of an artefact that `read_artefact` accepts.

    Returns:
        A proof of the stated (ε, δ), and one of each constraint; whether it holds is in each.

    Raises:
        UnsupportedError: This kind of law is not covered, or python-flint is not installed.
    """
    from leastnoise.proof.theorem import DrawnUse, prove

    stated = content["guarantee"]
    points = [(float(stated["epsilon"]), float(stated["delta"]))]
    points += [
        (float(one["epsilon"]), float(one["delta"])) for one in stated.get("constraints", ())
    ]
    use = stated["compositions"], stated["sensitivity"], stated.get("changes")
    return prove([DrawnUse(content["law"], *use)], points)


def proof_of_draws(draws: Sequence[JudgedDraws], epsilon: float, delta: float) -> Proof:
    """What is proven of all these draws together.

    Args:
        draws: Laws that are drawn exactly, each with its sensitivity, how often and which changes.
        epsilon: The ε that is stated of them.
        delta: The δ at which it is stated.

    Returns:
        The proof, or by how much it falls short.

    Raises:
        UnsupportedError: A law is not covered or not drawn exactly, or python-flint is missing.
    """
    from leastnoise.proof.theorem import DrawnUse, prove

    uses = [
        DrawnUse(noise.describe_drawn(), count, sensitivity, changes.describe())
        for noise, sensitivity, count, changes in draws
    ]
    return prove(uses, [(epsilon, delta)])[0]


def check_proven(draws: Sequence[JudgedDraws], epsilon: float, delta: float) -> None:
    """Refuse draws of which ε is not proven.

    Raises:
        UnsupportedError: It is not proven, or not covered; the message says why.
    """
    try:
        found = proof_of_draws(draws, epsilon, delta)
    except LeastNoiseError as error:
        raise UnsupportedError(f"The noise has no rigorous proof: {error}") from None
    if not found.ok:
        raise UnsupportedError(f"The noise has no rigorous proof: {found.sentence()}.")
