"""A law with its guarantee as one file, `noise.json`, that anyone can check: the guarantee follows from the law in it alone.

{"format": "leastnoise.artefact", "version": 1, "sha256": "…", "content": {
  "law":        {"domain", "batch", "step", "pitch", "bits", "first", "weights": ["hex", …]},    of the shells first, first+1, …
                or {"body": "sphere", "batch", "step", "pitch", "scale"},    density ∝ e^(−‖z‖₂/scale), rounded to the pitch;
                    for whole numbers with "domain": "integer" and the pitch 1
  "guarantee":  {"epsilon", "delta", "compositions", "sensitivity"},
  "charges":    {"unbounded", "deviation"},       probability a release charged to δ: a shift leaves the support; empty inner shells
  "accountant": {"name", "version", "accuracy", "most_points"},
  "variance":   …,                                of the noise on one answer
  "problem":    {…},                              what was asked for, as the designer states it
  "rivals":     {name: epsilon, …}}}              as the designer states them; not part of the guarantee

The SHA-256 is over the canonical form of `content`: JSON with sorted keys, no spaces, ASCII only.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from importlib import metadata
from os import PathLike
from typing import Any

from leastnoise.ball import BallNoise
from leastnoise.errors import (
    AccountingError,
    InvalidFileError,
    InvalidParameterError,
    LeastNoiseError,
    UnsupportedError,
    at_least,
    open_unit,
    positive_integer,
    real_number,
)
from leastnoise.lattice import LatticeNoise
from leastnoise.noise import Noise
from leastnoise.privacy.compose import Settings
from leastnoise.privacy.loss import DEFAULT, PrivacyLoss
from leastnoise.privacy.tables import single_loss
from leastnoise.sampling.weights import BITS, IntegerWeights, integer_weights, lattice_form
from leastnoise.steps import public_pitch
from leastnoise.storage import answers_of_a_draw, json_float, json_integer, read_text, write_whole
from leastnoise.texts import fault_within

FORMAT = "leastnoise.artefact"
VERSION = 1
ACCOUNTANT = "connect-the-dots, tilted FFT"
_SAME = 1e-9  # stated and recomputed numbers may differ by this share of themselves: another machine's rounding
# What a file may ask for. Its author does not pay for the work: 591 bytes took 25 s and 1.7 GB to judge.
_MOST_SHELLS = 1 << 22
_MOST_EMPTY = 64  # shells without weight for one with, at most: a million answers at once need 38
_FEW_SHELLS = 1 << 10  # so many may be empty anyhow
_FINEST = 1e-9  # accuracy
_SPHERE = "sphere"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of `compositions` releases when one person moves each answer by ≤ sensitivity."""

    epsilon: float
    delta: float
    compositions: int
    sensitivity: float


@dataclass(frozen=True)
class Charges:
    """What a release costs in δ because the law ends (`unbounded`) and because inner shells are empty (`deviation`)."""

    unbounded: float
    deviation: float


@dataclass(frozen=True)
class Artefact:
    """An exact law, its guarantee, and what they were made for."""

    noise: LatticeNoise | BallNoise
    guarantee: Guarantee
    charges: Charges
    settings: Settings = DEFAULT
    problem: Mapping[str, Any] = field(default_factory=dict)
    rivals: Mapping[str, float] = field(default_factory=dict)

    def guarantee_for(self, compositions: int, *, delta: float | None = None) -> Guarantee:
        """The guarantee of another use of the same law, judged anew: more compositions are never covered by the stated epsilon."""
        asked = self.guarantee.delta if delta is None else delta
        if (compositions, asked) == (self.guarantee.compositions, self.guarantee.delta):
            return self.guarantee
        return judged(self.noise, asked, compositions, self.guarantee.sensitivity, self.settings)


@dataclass(frozen=True)
class Verification:
    """What a file states, what its weights give, and every disagreement. `ok` only if there is none."""

    stated: Guarantee
    recomputed: Guarantee | None
    charges: Charges | None
    mismatches: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.mismatches


def certify(
    noise: Noise,
    *,
    delta: float,
    compositions: int = 1,
    sensitivity: float = 1.0,
    rivals: Mapping[str, float] | None = None,
    problem: Mapping[str, Any] | None = None,
) -> Artefact:
    """Judge an exact law and state its guarantee; `problem` and `rivals` are kept beside it as they are given."""
    law = _exact_law(noise)
    try:
        stated = json.loads(json.dumps(dict(problem or {}), allow_nan=False))
    except (TypeError, ValueError):
        raise InvalidParameterError("problem", problem, "to be plain JSON data") from None
    guarantee = judged(law, delta, compositions, sensitivity, DEFAULT)
    if not math.isfinite(guarantee.epsilon):
        raise AccountingError(
            f"The law has no finite epsilon at delta={delta!r} for {compositions} releases; end it farther out."
        )
    plain = {
        str(name): real_number(f"rivals[{name!r}]", epsilon)
        for name, epsilon in (rivals or {}).items()
    }
    return Artefact(law, guarantee, _charges(law, guarantee.sensitivity), DEFAULT, stated, plain)


def judged(
    noise: LatticeNoise | BallNoise,
    delta: float,
    compositions: int,
    sensitivity: float,
    settings: Settings,
) -> Guarantee:
    """The guarantee that the judge gives."""
    delta, n, s = (
        open_unit("delta", delta),
        positive_integer("compositions", compositions),
        at_least("sensitivity", sensitivity),
    )
    loss = replace(PrivacyLoss.of(noise, s), settings=settings).compose(n)
    return Guarantee(loss.epsilon(delta), delta, n, s)


def write_artefact(artefact: Artefact, path: str | PathLike[str]) -> None:
    """Write the file, whole or not at all."""
    write_whole(path, artefact_text(artefact))


def artefact_text(artefact: Artefact) -> str:
    """What the file holds."""
    content = _content(artefact)
    file = {"format": FORMAT, "version": VERSION, "sha256": _digest(content), "content": content}
    return json.dumps(file, indent=1, allow_nan=False) + "\n"


def read_artefact(path: str | PathLike[str]) -> Artefact:
    """The artefact in a file that is whole and unedited; otherwise an InvalidFileError. `verify` also judges it anew."""
    content, digest = _parsed(path)
    if digest != _digest(content):
        raise InvalidFileError(
            f"{os.fspath(path)!r} is damaged: its content does not match its SHA-256."
        )
    return _artefact(content, os.fspath(path))


def verify(path: str | PathLike[str]) -> Verification:
    """Recompute the guarantee from the weights alone and compare it with what the file states.

    A file that cannot be read as an artefact, a truncated one for instance, is an InvalidFileError.
    """
    content, digest = _parsed(path)
    mismatches = []
    if digest != _digest(content):
        mismatches.append("The content does not match its SHA-256.")
    try:
        artefact = _artefact(content, os.fspath(path))
    except InvalidFileError as error:
        if not mismatches:
            raise
        raise InvalidFileError(f"{error} Its content does not match its SHA-256 either.") from None
    stated = artefact.guarantee
    try:
        found = judged(
            artefact.noise, stated.delta, stated.compositions, stated.sensitivity, artefact.settings
        )
        charges = _charges(artefact.noise, stated.sensitivity)
        variance = artefact.noise.variance
    except LeastNoiseError as error:
        return Verification(
            stated, None, None, (*mismatches, f"The weights could not be judged: {error}")
        )
    except (TypeError, ValueError, ArithmeticError, MemoryError):
        return Verification(
            stated,
            None,
            None,
            (*mismatches, "The stated numbers are out of all range: nothing can be judged."),
        )
    comparisons = [
        ("epsilon", stated.epsilon, found.epsilon),
        ("charge for unbounded loss", artefact.charges.unbounded, charges.unbounded),
        ("charge for deviation", artefact.charges.deviation, charges.deviation),
        ("variance", content["variance"], variance),
    ]
    mismatches += [
        f"The stated {name} is {ours!r}; the weights give {theirs!r}."
        for name, ours, theirs in comparisons
        if not math.isclose(ours, theirs, rel_tol=_SAME, abs_tol=0.0)
    ]
    stated_pitch, lattice_pitch = (
        content["law"]["pitch"],
        str(public_pitch(artefact.noise.step, artefact.noise.domain)),
    )
    if stated_pitch != lattice_pitch:
        mismatches.append(
            f"The stated pitch is {stated_pitch!r}; the step gives {lattice_pitch!r}."
        )
    return Verification(stated, found, charges, tuple(mismatches))


def _exact_law(noise: Noise) -> LatticeNoise | BallNoise:
    if isinstance(noise, BallNoise):
        return noise  # drawn exactly as it is
    law = lattice_form(noise)
    if integer_weights(law) is None:
        raise UnsupportedError(
            "Only a law with integer weights has a guarantee to verify; make it exact(noise, delta=..., ...)."
        )
    return law


def _charges(noise: LatticeNoise | BallNoise, sensitivity: float) -> Charges:
    loss = single_loss(noise, sensitivity)
    return Charges(loss.infinite, loss.deviation)


def _content(artefact: Artefact) -> dict[str, Any]:
    noise, guarantee = artefact.noise, artefact.guarantee
    return {
        "law": _law(noise),
        "guarantee": {
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "compositions": guarantee.compositions,
            "sensitivity": guarantee.sensitivity,
        },
        "charges": {
            "unbounded": artefact.charges.unbounded,
            "deviation": artefact.charges.deviation,
        },
        "accountant": {
            "name": ACCOUNTANT,
            "version": metadata.version("leastnoise"),
            **asdict(artefact.settings),
        },
        "variance": noise.variance,
        "problem": dict(artefact.problem),
        "rivals": dict(artefact.rivals),
    }


def _law(noise: LatticeNoise | BallNoise) -> dict[str, Any]:
    if isinstance(noise, BallNoise):
        law = {
            "body": _SPHERE,
            "batch": noise.dimension,
            "step": noise.step,
            "pitch": str(public_pitch(noise.step, noise.domain)),
            "scale": noise.scale,
        }
        return law if noise.domain == "real" else {**law, "domain": noise.domain}
    whole = integer_weights(noise)
    if whole is None:
        raise UnsupportedError("Only a law with integer weights can be written as an artefact.")
    first = next(k for k, weight in enumerate(whole.weights) if weight)
    _check_shells(first, len(whole.weights) - first)
    return {
        "domain": noise.domain,
        "batch": noise.dimension,
        "step": noise.step,
        "pitch": str(public_pitch(noise.step, noise.domain)),
        "bits": whole.bits,
        "first": first,
        "weights": [f"{weight:x}" for weight in whole.weights[first:]],
    }


def _parsed(path: str | PathLike[str]) -> tuple[dict[str, Any], str]:
    """Content and stated digest of a file in our format."""
    where = repr(os.fspath(path))
    try:
        file = json.loads(
            read_text(path),
            object_pairs_hook=_without_repeats,
            parse_constant=_no_constant,
            parse_int=json_integer,
            parse_float=json_float,
        )
    except OSError as error:
        raise InvalidFileError(f"Cannot read {where}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(
            f"{where} is not complete JSON (truncated or damaged?): {error}."
        ) from None
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise InvalidFileError(f"{where} is not an artefact: its format is not {FORMAT!r}.")
    if file.get("version") != VERSION or isinstance(file["version"], bool):
        raise InvalidFileError(
            f"{where} has version {file.get('version')!r}; this release reads version {VERSION}."
        )
    if set(file) != {"format", "version", "sha256", "content"} or not isinstance(
        file["content"], dict
    ):
        raise InvalidFileError(f"{where} does not have the fields of an artefact.")
    return file["content"], file["sha256"]


def _artefact(content: dict[str, Any], where: str) -> Artefact:
    try:
        unseen = fault_within(content)
        if unseen:
            raise ValueError(f"a text has the unseen character {unseen}")
        _only_known_fields(content)
        law, guarantee, charges, accountant = (
            content["law"],
            content["guarantee"],
            content["charges"],
            content["accountant"],
        )
        if accountant["name"] != ACCOUNTANT:
            raise ValueError(f"the accountant {accountant['name']!r} is not known here")
        return Artefact(
            _noise(law),
            Guarantee(
                _number(guarantee["epsilon"]),
                open_unit("delta", guarantee["delta"]),
                positive_integer("compositions", guarantee["compositions"]),
                at_least("sensitivity", guarantee["sensitivity"]),
            ),
            Charges(_number(charges["unbounded"]), _number(charges["deviation"])),
            _settings(accountant),
            dict(content["problem"]),
            {name: _number(epsilon) for name, epsilon in content["rivals"].items()},
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


_FIELDS: Mapping[str, set[str] | None] = {
    "law": {"domain", "batch", "step", "pitch", "bits", "first", "weights"},
    "guarantee": {"epsilon", "delta", "compositions", "sensitivity"},
    "charges": {"unbounded", "deviation"},
    "accountant": {"name", "version", *(field.name for field in fields(Settings))},
    "variance": None,
    "problem": None,
    "rivals": None,
}


_SPHERE_FIELDS = {"body", "batch", "step", "pitch", "scale"}


def _only_known_fields(content: dict[str, Any]) -> None:
    sphere = _SPHERE_FIELDS | ({"domain"} if content["law"].get("domain") == "integer" else set())
    known_fields = {**_FIELDS, "law": sphere} if "body" in content["law"] else _FIELDS
    for name, found, expected in [
        ("content", set(content), set(_FIELDS)),
        *(
            (part, set(content[part]), known)
            for part, known in known_fields.items()
            if known is not None and part in content
        ),
    ]:
        if found != expected:
            raise ValueError(
                f"the fields of {name!r} are not those of version {VERSION}: {sorted(found ^ expected)}"
            )
    _number(content["variance"])


def _settings(accountant: dict[str, Any]) -> Settings:
    accuracy, points = (
        _number(accountant["accuracy"]),
        positive_integer("most_points", accountant["most_points"]),
    )
    if not (_FINEST <= accuracy < 1.0 and points <= DEFAULT.most_points):
        raise ValueError(
            f"the accuracy is not in [{_FINEST:g}, 1) or most_points is above {DEFAULT.most_points}"
        )
    return Settings(accuracy, points)


def _check_shells(first: int, weights: int) -> None:
    if first > max(_FEW_SHELLS, _MOST_EMPTY * weights) or first + weights > _MOST_SHELLS:
        raise InvalidParameterError(
            "shells",
            first + weights,
            f"to be at most {_MOST_SHELLS}, and for one with weight at most {_MOST_EMPTY} without",
        )


def _noise(law: dict[str, Any]) -> LatticeNoise | BallNoise:
    if "body" in law:
        if law["body"] != _SPHERE:
            raise ValueError(f"the body {law['body']!r} is not known here")
        answers, domain = answers_of_a_draw(law["batch"]), law.get("domain", "real")
        return BallNoise(_number(law["scale"]), answers, _number(law["step"]), domain)
    bits, first = law["bits"], law["first"]
    if (
        bits not in BITS
        or type(first) is not int
        or first < 0
        or not isinstance(law["weights"], list)
    ):
        raise ValueError("bits must be 64 or 128, first the number of a shell and weights a list")
    _check_shells(first, len(law["weights"]))
    weights = [0] * first + [_weight(text) for text in law["weights"]]
    if sum(weights) != 1 << bits:
        raise ValueError(f"the weights sum to {Fraction(sum(weights), 1 << bits)!s} of 2^{bits}")
    shape = LatticeNoise(
        [1.0], None, _number(law["step"]), law["domain"], answers_of_a_draw(law["batch"])
    )  # type: ignore[arg-type]
    noise = IntegerWeights(bits, tuple(weights)).noise(shape)
    read = integer_weights(noise)
    if read is None or [weight << (bits - read.bits) for weight in read.weights] != weights:
        raise ValueError("a weight has more digits than a floating-point number")
    return noise


def _weight(text: Any) -> int:
    if not isinstance(text, str) or text != f"{int(text, 16):x}" or text.startswith("-"):
        raise ValueError("a weight is not a whole number in lower-case hexadecimal")
    return int(text, 16)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number is missing or not a number")
    return float(value)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a field is repeated")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
