"""What the page asks for. Every field is checked here, on the server; what is wrong is said for
each field by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leastnoise.changes import BOX, Box, Changes, OneSided
from leastnoise.designer.request import LARGEST_RATIO, smallest_ratio
from leastnoise.errors import LeastNoiseError
from leastnoise.laws.base import Domain, Noise

ANY_WAY, ONE_WAY = Box.kind, OneSided.kind  # what one person can change, as a query says it
MOST_TEXT = 40
# Answers: beyond 100 in one draw a design takes longer than a page can wait.
MOST_APART, MOST_TOGETHER = 1_000, 100
FIELDS = ("by", "epsilon", "sigma", "delta", "answers", "asked", "sensitivity", "domain", "changes")
# Of every number: what it is called, the least, the largest, and an example.
_NUMBERS = {
    "epsilon": ("ε", 1e-3, 50.0, "1"),
    "sigma": ("The standard deviation", 1e-6, 1e9, "8"),
    "delta": ("δ", 1e-15, 0.1, "1e-6"),
    "sensitivity": ("The sensitivity", 1e-4, 1e5, "1"),
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


class InvalidSettingError(LeastNoiseError, ValueError):
    """Fields that cannot be used, with a sentence for each."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = dict(errors)

    def __reduce__(self) -> tuple[type[InvalidSettingError], tuple[dict[str, str]]]:
        return type(self), (self.errors,)


class OutOfReachError(InvalidSettingError):
    """The designer has no law for a setting whose fields are all in order; a known law may still
    serve it."""


@dataclass(frozen=True)
class PageSetting:
    """One request to the designer: exactly one of `epsilon` and `sigma` is given; `together`: the
    answers are one batch; `one_way`: one person moves all of them up, or all of them down."""

    epsilon: float | None
    sigma: float | None
    delta: float
    answers: int
    together: bool
    sensitivity: float
    domain: Domain
    one_way: bool = False

    @property
    def target(self) -> str:
        """The field that was fixed."""
        return "sigma" if self.epsilon is None else "epsilon"

    @property
    def batch(self) -> int:
        return self.answers if self.together else 1

    @property
    def compositions(self) -> int:
        return 1 if self.together else self.answers

    def changes_of(self, noise: Noise) -> Changes:
        """What one person can change of the answers of one draw."""
        return OneSided() if self.one_way and noise.dimension > 1 else BOX

    def fields(self) -> dict[str, Any]:
        """The setting as the page asks for it. Every answer carries it, so that none is taken for
        the answer to another."""
        return {
            "by": self.target,
            self.target: self.sigma if self.epsilon is None else self.epsilon,
            "delta": self.delta,
            "answers": self.answers,
            "asked": "together" if self.together else "apart",
            "sensitivity": self.sensitivity,
            "domain": self.domain,
            "changes": ONE_WAY if self.one_way else ANY_WAY,
        }

    def request(self) -> dict[str, Any]:
        """The arguments of `leastnoise.design`."""
        target = {"epsilon": self.epsilon} if self.sigma is None else {"sigma": self.sigma}
        return {
            "delta": self.delta,
            **target,
            "sensitivity": self.sensitivity,
            "compositions": self.compositions,
            "batch": self.batch,
            "domain": self.domain,
            **({"changes": OneSided()} if self.one_way else {}),
        }


def setting_from(query: Mapping[str, str]) -> PageSetting:
    """The setting in a query string; an InvalidSettingError has one sentence for each field that is
    wrong."""
    unknown = [name for name in query if name not in FIELDS]
    errors = {name: f"There is no field {name[:MOST_TEXT]!r}." for name in unknown}
    epsilon, sigma = _target(query, errors)
    asked = _word(query, "asked", ("together", "apart"), errors)
    domain, is_one_way = _domain(query, errors), _is_one_way(query, errors)
    delta = _number(query, "delta", errors)
    sensitivity = _number(query, "sensitivity", errors)
    answers = _whole(query, "answers", MOST_TOGETHER if asked == "together" else MOST_APART, errors)
    if sensitivity is not None:
        errors |= _wrong_together(sigma, sensitivity, domain)
    if errors or answers is None or sensitivity is None or delta is None:
        raise InvalidSettingError(errors)
    together = asked == "together" and answers != 1
    fields = epsilon, sigma, delta, answers, together, sensitivity, domain
    return PageSetting(*fields, one_way=together and is_one_way)


def _domain(query: Mapping[str, str], errors: dict[str, str]) -> Domain:
    is_whole = _word(query, "domain", ("integer", "real"), errors) == "integer"
    return "integer" if is_whole else "real"


def _is_one_way(query: Mapping[str, str], errors: dict[str, str]) -> bool:
    """Whether all answers move the same way; what does not say has the larger space."""
    said = {"changes": ANY_WAY, **query}
    return _word(said, "changes", (ANY_WAY, ONE_WAY), errors) == ONE_WAY


def _target(query: Mapping[str, str], errors: dict[str, str]) -> tuple[float | None, float | None]:
    """(ε, σ), of which one is given."""
    by = _word(query, "by", ("epsilon", "sigma"), errors)
    if by == "sigma":
        return None, _number(query, by, errors)
    return _number(query, by, errors) if by == "epsilon" else None, None


def _wrong_together(sigma: float | None, sensitivity: float, domain: Domain) -> dict[str, str]:
    """What is wrong with fields that are each in order."""
    errors = {}
    if domain == "integer" and sensitivity != int(sensitivity):
        errors["sensitivity"] = (
            "Whole-number answers move by whole numbers: the sensitivity must be 1, 2, 3, …"
        )
    smallest = smallest_ratio(domain)
    if sigma is not None and not smallest <= sigma / sensitivity <= LARGEST_RATIO:
        ends = f"{smallest * sensitivity:,.10g} and {LARGEST_RATIO * sensitivity:,.10g}"
        errors["sigma"] = f"With this sensitivity the standard deviation must be between {ends}."
    return errors


def _word(
    query: Mapping[str, str], name: str, choices: tuple[str, ...], errors: dict[str, str]
) -> str:
    value = query.get(name, "")
    if value not in choices:
        errors[name] = f"Choose {' or '.join(choices)}."
    return value


def _number(query: Mapping[str, str], name: str, errors: dict[str, str]) -> float | None:
    text = query.get(name, "").strip()
    called, low, high, example = _NUMBERS[name]
    if _COMMA.fullmatch(text):
        errors[name] = f"Write the decimal sign as a point: {text[:MOST_TEXT].replace(',', '.')}"
    elif not text:
        errors[name] = f"Enter a number, such as {example}."
    elif len(text) > MOST_TEXT or not _NUMBER.fullmatch(text):
        errors[name] = f"This is not a number; enter one such as {example}."
    elif not low <= float(text) <= high:
        errors[name] = f"{called} must be between {low:,.10g} and {high:,.10g}."
    else:
        return float(text)
    return None


def _whole(query: Mapping[str, str], name: str, most: int, errors: dict[str, str]) -> int | None:
    text = query.get(name, "").strip()
    if not text or len(text) > MOST_TEXT or not re.fullmatch(r"\d+(\.0*)?", text, re.ASCII):
        errors[name] = "Enter a whole number, such as 10."
    elif not 1 <= float(text) <= most:
        together = " asked together" if most == MOST_TOGETHER else ""
        errors[name] = f"The page takes 1 to {most:,} answers{together}."
    else:
        return int(float(text))
    return None
