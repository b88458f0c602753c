"""A law with its guarantee as one file, `noise.json`, that anyone can check: the
guarantee follows from the law in it alone.

{"format": "leastnoise.artefact", "version": 1, "sha256": "…", "content": {
  "law":        of the shells first, first+1, …
                {"domain", "batch", "step", "pitch", "bits", "first", "weights": ["hex", …]}
                or density ∝ e^(−‖z‖₂/scale), rounded to the pitch
                {"body": "sphere", "batch", "step", "pitch", "scale"},
                for whole numbers with "domain": "integer" and the pitch 1; or other bodies,
                "correlated", "cut cube", "lifted" and those of norms: see docs/formats.md
  "guarantee":  {"epsilon", "delta", "compositions", "sensitivity"}, and "changes" where what one
                person can change is not the whole box: {"kind", …}; and "constraints" where more
                points of the privacy curve are promised: [{"epsilon", "delta", "certified"}, …]
  "charges":    {"unbounded", "deviation"},   probability a release charged to δ: a shift leaves
                                              the support; empty inner shells
  "accountant": {"name", "version", "accuracy", "most_points"},
  "variance":   …,             of the noise on one answer
  "problem":    {…},           what was asked for, as the designer states it
  "rivals":     {name: epsilon, …}}}   as the designer states them; not part of the guarantee
  and "floor" where it was asked for: what no noise can do better, with its proof
                (`leastnoise.floors.certificates`)

The SHA-256 is over the canonical form of `content`: JSON with sorted keys, no spaces, ASCII only.
"""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from importlib import metadata
from os import PathLike
from typing import Any

from leastnoise.accountant.composition import DEFAULT
from leastnoise.accountant.constraints import Constraint, limits_of
from leastnoise.accountant.saddle import GridSettings
from leastnoise.artefact.artefact import Artefact, Charges, Guarantee
from leastnoise.changes import BOX, changes_from
from leastnoise.errors import (
    InvalidFileError,
    LeastNoiseError,
    at_least,
    open_unit,
    positive_integer,
)
from leastnoise.files.reading import number, only_fields
from leastnoise.files.sealed import SealedFormat
from leastnoise.files.writing import write_whole
from leastnoise.floors.certificates import floor_from
from leastnoise.laws.base import Noise
from leastnoise.text.characters import fault_within

ARTEFACT_FILE = SealedFormat("leastnoise.artefact", "content", "an artefact", is_strict=True)
FORMAT = ARTEFACT_FILE.name
ACCOUNTANT = "connect-the-dots, tilted FFT"
_FINEST = 1e-9  # accuracy that a file may ask for: its author does not pay for the work
_FIELDS = {"law", "guarantee", "charges", "accountant", "variance", "problem", "rivals"}


def write_artefact(artefact: Artefact, path: str | PathLike[str]) -> None:
    """Write the file, whole or not at all.

    Args:
        artefact: What `certify` gives.
        path: Where the file is written; what is there is replaced.

    Raises:
        OSError: The file cannot be written; what was there is left as it was.
    """
    write_whole(path, artefact_text(artefact))


def artefact_text(artefact: Artefact) -> str:
    """What the file holds."""
    content = {
        "law": artefact.noise.describe_drawn(),
        "guarantee": _guarantee_as_json(artefact.guarantee),
        "charges": asdict(artefact.charges),
        "accountant": {
            "name": ACCOUNTANT,
            "version": metadata.version("leastnoise"),
            **asdict(artefact.settings),
        },
        "variance": artefact.noise.variance,
        "problem": dict(artefact.problem),
        "rivals": dict(artefact.rivals),
    }
    if artefact.floor is not None:
        content["floor"] = artefact.floor.describe()
    return ARTEFACT_FILE.text(content)


def read_artefact(path: str | PathLike[str]) -> Artefact:
    """The artefact in a file that is whole and unedited. `verify` also judges it anew.

    Args:
        path: A file written by `write_artefact`.

    Returns:
        The law with the guarantee that the file states.

    Raises:
        InvalidFileError: The file cannot be read, is damaged, or is no artefact.
    """
    return artefact_from(ARTEFACT_FILE.content(path), os.fspath(path))


def artefact_from(content: dict[str, Any], where: str) -> Artefact:
    """The artefact with this content of a file, or an InvalidFileError."""
    try:
        unseen = fault_within(content)
        if unseen:
            raise ValueError(f"a text has the unseen character {unseen}")
        only_fields("content", content, _FIELDS | ({"floor"} & set(content)))
        number(content["variance"])
        return Artefact(
            Noise.from_drawn(content["law"]),
            _guarantee(content["guarantee"]),
            _charges(content["charges"]),
            _settings(content["accountant"]),
            dict(content["problem"]),
            {name: number(epsilon) for name, epsilon in content["rivals"].items()},
            floor_from(content["floor"]) if "floor" in content else None,
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        LeastNoiseError,
    ) as error:
        raise InvalidFileError(
            f"{where!r} does not describe a law with a guarantee: {error}"
        ) from None


def _guarantee_as_json(guarantee: Guarantee) -> dict[str, Any]:
    """The box of all changes, which older files know alone, is not named, nor are constraints
    where there are none."""
    told = {field.name: getattr(guarantee, field.name) for field in fields(Guarantee)}
    del told["changes"], told["constraints"]
    if guarantee.changes != BOX:
        told["changes"] = guarantee.changes.describe()
    if guarantee.constraints:
        told["constraints"] = [asdict(one) for one in guarantee.constraints]
    return told


def _guarantee(content: dict[str, Any]) -> Guarantee:
    known = {field.name for field in fields(Guarantee)}
    left_out = {name for name in ("changes", "constraints") if name not in content}
    only_fields("guarantee", content, known - left_out)
    return Guarantee(
        number(content["epsilon"]),
        open_unit("delta", content["delta"]),
        positive_integer("compositions", content["compositions"]),
        at_least("sensitivity", content["sensitivity"]),
        changes_from(content.get("changes")),
        _constraints(content["constraints"]) if "constraints" in content else (),
    )


def _constraints(content: list[dict[str, Any]]) -> tuple[Constraint, ...]:
    if not isinstance(content, list) or not content:
        raise ValueError("constraints are not a list of some")
    for one in content:
        only_fields("constraint", one, {field.name for field in fields(Constraint)})
    pairs = [(number(one["epsilon"]), number(one["delta"])) for one in content]
    if len(limits_of(None, pairs)) < len(pairs):
        raise ValueError("a constraint is stated twice")
    return tuple(
        Constraint(*pair, number(one["certified"]))
        for pair, one in zip(pairs, content, strict=True)
    )


def _charges(content: dict[str, Any]) -> Charges:
    only_fields("charges", content, {field.name for field in fields(Charges)})
    return Charges(number(content["unbounded"]), number(content["deviation"]))


def _settings(content: dict[str, Any]) -> GridSettings:
    known = {"name", "version", *(field.name for field in fields(GridSettings))}
    only_fields("accountant", content, known)
    if content["name"] != ACCOUNTANT:
        raise ValueError(f"the accountant {content['name']!r} is not known here")
    accuracy = number(content["accuracy"])
    points = positive_integer("most_points", content["most_points"])
    if not (_FINEST <= accuracy < 1.0 and points <= DEFAULT.most_points):
        raise ValueError(
            f"the accuracy is not in [{_FINEST:g}, 1) or most_points is above {DEFAULT.most_points}"
        )
    return GridSettings(accuracy, points)
