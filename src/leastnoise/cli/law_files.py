"""Laws that commands are given as files: artefacts, which state a guarantee, and bare laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastnoise.artefact import Guarantee
    from leastnoise.laws.base import Noise


def law_and_guarantee(path: str) -> tuple[Noise, Guarantee | None]:
    """The law of a file and, where it is an artefact, what it is stated for."""
    from leastnoise.artefact import FORMAT, read_artefact
    from leastnoise.files.sealed import file_format
    from leastnoise.laws.base import Noise

    if file_format(path) != FORMAT:
        return Noise.load(path), None
    artefact = read_artefact(path)
    return artefact.noise, artefact.guarantee
