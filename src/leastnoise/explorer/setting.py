"""What the page asks for. Every field is checked here, on the server; what is wrong is said for
each field by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leastnoise.changes import BOX, Box, Changes, Euclidean, OneSided
from leastnoise.designer.request import LARGEST_RATIO, smallest_ratio
from leastnoise.errors import LeastNoiseError
from leastnoise.laws.base import Domain, Noise

# what one person can change, as a query says it
ANY_WAY, ONE_WAY, OF_A_LENGTH = Box.kind, OneSided.kind, Euclidean.kind
MOST_TEXT = 40
# Answers: beyond 100 in one draw a design takes longer than a page can wait.
MOST_APART, MOST_TOGETHER = 1_000, 100
FIELDS = (
    *("by", "epsilon", "sigma", "delta", "answers", "asked", "sensitivity", "domain", "changes"),
    *("touched", "length", "advantage"),
)
# Of every number: what it is called, the least, the largest, and an example.
_NUMBERS = {
    "epsilon": ("ε", 1e-3, 50.0, "1"),
    "sigma": ("The standard deviation", 1e-6, 1e9, "8"),
    "delta": ("δ", 1e-15, 0.1, "1e-6"),
    "sensitivity": ("The sensitivity", 1e-4, 1e5, "1"),
    "length": ("The length", 1e-3, 1e3, "1"),
    "advantage": ("The advantage", 1e-3, 0.999, "0.2"),
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
    answers are one batch; `one_way`: one person moves all of them up, or all of them down;
    `touched`: at most so many of them, where not all; `length`: in the place of both, how long the
    vector of all changes is at most, in sensitivities; `advantage`: a cap on the attacker's beside
    ε."""

    epsilon: float | None
    sigma: float | None
    delta: float
    answers: int
    together: bool
    sensitivity: float
    domain: Domain
    one_way: bool = False
    touched: int | None = None
    length: float | None = None
    advantage: float | None = None

    @property
    def space(self) -> Changes:
        """What one person can change of the answers of the whole batch."""
        if self.length is not None:
            return Euclidean(self.length)
        return OneSided(self.touched) if self.one_way else Box(self.touched)

    @property
    def moved(self) -> int:
        """How many answers of the batch one person can move."""
        return self.space.touched_of(self.batch)

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
        return self.space if noise.dimension > 1 or self.length is not None else BOX

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
            "changes": self.space.kind,
            **({} if self.touched is None else {"touched": self.touched}),
            **({} if self.length is None else {"length": self.length}),
            **({} if self.advantage is None else {"advantage": self.advantage}),
        }

    def request(self) -> dict[str, Any]:
        """The arguments of `leastnoise.design`."""
        target = {"epsilon": self.epsilon} if self.sigma is None else {"sigma": self.sigma}
        return {
            "delta": self.delta,
            **target,
            **({} if self.advantage is None else {"advantage": self.advantage}),
            "sensitivity": self.sensitivity,
            "compositions": self.compositions,
            "batch": self.batch,
            "domain": self.domain,
            **({} if self.space == BOX else {"changes": self.space}),
        }


def setting_from(query: Mapping[str, str]) -> PageSetting:
    """The setting in a query string; an InvalidSettingError has one sentence for each field that is
    wrong."""
    errors = _unknown(query)
    epsilon, sigma = _target(query, errors)
    asked = _word(query, "asked", ("together", "apart"), errors)
    domain, changes = _domain(query, errors), _changes(query, errors)
    delta = _number(query, "delta", errors)
    sensitivity = _number(query, "sensitivity", errors)
    answers = _whole(query, "answers", MOST_TOGETHER if asked == "together" else MOST_APART, errors)
    if sensitivity is not None:
        errors |= _wrong_together(sigma, sensitivity, domain)
    together = asked == "together" and answers != 1
    space = _space(query, changes, answers or 1, domain, errors) if together else {}
    cap = _cap(query, errors)
    if errors or answers is None or sensitivity is None or delta is None:
        raise InvalidSettingError(errors)
    asked_for = epsilon, sigma, delta, answers, together, sensitivity, domain
    return PageSetting(*asked_for, **space, advantage=cap)


def _unknown(query: Mapping[str, str]) -> dict[str, str]:
    unknown = [name for name in query if name not in FIELDS]
    return {name: f"There is no field {name[:MOST_TEXT]!r}." for name in unknown}


def _space(
    query: Mapping[str, str], changes: str, answers: int, domain: Domain, errors: dict[str, str]
) -> dict[str, Any]:
    """What one person can change of a batch. A field that does not belong to it is not looked at;
    an empty `touched` is all of them."""
    if changes == OF_A_LENGTH:
        if domain == "integer":
            errors["domain"] = (
                "Noise for changes of a length is of real numbers: rounding each answer would make "
                "the changes longer. Choose real numbers."
            )
        return {"length": _number({"length": "1", **query}, "length", errors)}
    touched = None
    if query.get("touched", "").strip():
        touched = _whole(query, "touched", MOST_APART, errors)
        if "touched" in errors:
            errors["touched"] = (
                f"Enter a whole number below {answers}, or nothing where one person can change all "
                "of them."
            )
    part = None if touched is None or touched >= answers else touched
    return {"one_way": changes == ONE_WAY, "touched": part}


def _cap(query: Mapping[str, str], errors: dict[str, str]) -> float | None:
    """The cap on the attacker's advantage; none where the field is empty, or σ is fixed, with which
    it is what it is."""
    if query.get("by") != "epsilon" or not query.get("advantage", "").strip():
        return None
    return _number(query, "advantage", errors)


def _domain(query: Mapping[str, str], errors: dict[str, str]) -> Domain:
    is_whole = _word(query, "domain", ("integer", "real"), errors) == "integer"
    return "integer" if is_whole else "real"


def _changes(query: Mapping[str, str], errors: dict[str, str]) -> str:
    """The kind of what one person can change; what does not say has the larger space."""
    said = {"changes": ANY_WAY, **query}
    return _word(said, "changes", (ANY_WAY, ONE_WAY, OF_A_LENGTH), errors)


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
