"""What is claimed of all noise, and the numbers that prove it, as plain data.

Everything is in sensitivities: a lattice has `cells` points in one sensitivity. Numbers are read as
the fractions that their floats are, so a certificate is exact however it was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leastnoise.files.reading import number, only_fields
from leastnoise.text.numbers import below

MOST_NUMBERS = 3_000_000  # in a certificate from a file: its author does not pay for the check


@dataclass(frozen=True)
class Tests:
    """What an adversary does who is after one change: accept with weight λ(x) at each point x.

    Attributes:
        change: The change of the answers, in lattice points, one for each answer.
        weight: The largest λ, at least 0.
        first: The first point of the list, for several answers the corner of a box of points.
        values: λ from there on, in [0, weight]; 0 everywhere else. For several answers nested
            lists, one level for each.
    """

    change: tuple[int, ...]
    weight: float
    first: int
    values: Any

    def describe(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "change": list(self.change),
            "weight": self.weight,
            "first": self.first,
            "values": self.values,
        }


@dataclass(frozen=True)
class VarianceFloor:
    """No additive noise of any shape that is (`epsilon`, `delta`)-private for one release has a
    smaller variance on one answer than `variance`, for several answers in the mean.

    Attributes:
        variance: The bound, in squared sensitivities.
        epsilon: Of the guarantee that the noise is to have.
        delta: Of the guarantee that the noise is to have.
        answers: How many answers one draw serves.
        is_integer: Whether it holds for noise on the lattice alone: integers, `cells` being the
            sensitivity. Else it holds for all real noise.
        cells: Lattice points in one sensitivity.
        factor: A number that is at least e^ε.
        tests: What the adversary does.
    """

    variance: float
    epsilon: float
    delta: float
    answers: int
    is_integer: bool
    cells: int
    factor: float
    tests: tuple[Tests, ...]

    def describe(self) -> dict[str, Any]:
        """As plain JSON data."""
        told = {name: getattr(self, name) for name in _VARIANCE_FIELDS if name != "tests"}
        return {"kind": "variance", **told, "tests": [one.describe() for one in self.tests]}

    def claim(self, sensitivity: float) -> str:
        """What is proven, in a sentence."""
        least = math.sqrt(self.variance) * sensitivity
        of = "integer noise" if self.is_integer else "additive noise of any shape"
        several = f" (one draw for {self.answers} answers)" if self.answers > 1 else ""
        return (
            f"no {of}{several} has this guarantee with a standard deviation below {below(least, 6)}"
        )


@dataclass(frozen=True)
class Stage:
    """What is claimed of some releases together, on the nodes 0, 1, … of a grid of e^ε.

    Attributes:
        values: δ is at least so much at node 0, 1, …, whatever the noise; 0 from there on.
        prices: Of the variance at each of these nodes: the multiplier that proves it.
        first: The node of the first value; not 0 for the last stage alone.
    """

    values: tuple[float, ...]
    prices: tuple[float, ...]
    first: int = 0

    def describe(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {"values": list(self.values), "prices": list(self.prices), "first": self.first}


@dataclass(frozen=True)
class EpsilonFloor:
    """No noise drawn independently for each release, alike or not, of at most this standard
    deviation, has a smaller ε at `delta` over all releases than `epsilon`.

    Attributes:
        epsilon: The bound.
        delta: At which ε is stated, over all releases.
        sigma: The standard deviation, in sensitivities.
        releases: How many releases there are.
        is_integer: Whether it holds for noise on the lattice alone: integers, `cells` being the
            sensitivity. Else it holds for all real noise.
        cells: Lattice points in one sensitivity.
        ratio: Of neighbouring nodes of the grid of e^ε, above 1.
        window: Farthest point at which the adversary's tests differ, in sensitivities.
        node: The node of the last stage that gives the bound.
        slack: How far ε is taken down for what rounding losses to the grid may have raised.
        stages: For 1, 2, … releases.
    """

    epsilon: float
    delta: float
    sigma: float
    releases: int
    is_integer: bool
    cells: int
    ratio: float
    window: int
    node: int
    slack: float
    stages: tuple[Stage, ...]

    def describe(self) -> dict[str, Any]:
        """As plain JSON data."""
        told = {name: getattr(self, name) for name in _EPSILON_FIELDS if name != "stages"}
        return {"kind": "epsilon", **told, "stages": [one.describe() for one in self.stages]}

    def claim(self, sensitivity: float) -> str:
        """What is proven, in a sentence."""
        of = "integer noise" if self.is_integer else "noise"
        return (
            f"no {of} drawn independently for each release, of standard deviation "
            f"{below(self.sigma * sensitivity, 6)} or less, has epsilon below "
            f"{below(self.epsilon, 6)}; draws that serve several answers may"
        )


Floor = VarianceFloor | EpsilonFloor

_VARIANCE_FIELDS = tuple(VarianceFloor.__dataclass_fields__)
_EPSILON_FIELDS = tuple(EpsilonFloor.__dataclass_fields__)


def floor_from(content: Mapping[str, Any]) -> Floor:
    """The inverse of `describe`; a ValueError, TypeError or KeyError for what is none."""
    kind = content["kind"]
    if kind == "variance":
        only_fields("floor", content, {"kind", *_VARIANCE_FIELDS})
        return VarianceFloor(
            number(content["variance"]),
            number(content["epsilon"]),
            number(content["delta"]),
            _whole(content["answers"]),
            _flag(content["is_integer"]),
            _whole(content["cells"]),
            number(content["factor"]),
            tuple(_tests(one) for one in _few(content["tests"])),
        )
    if kind == "epsilon":
        only_fields("floor", content, {"kind", *_EPSILON_FIELDS})
        return EpsilonFloor(
            number(content["epsilon"]),
            number(content["delta"]),
            number(content["sigma"]),
            _whole(content["releases"]),
            _flag(content["is_integer"]),
            _whole(content["cells"]),
            number(content["ratio"]),
            _whole(content["window"]),
            _whole(content["node"]),
            number(content["slack"]),
            tuple(_stage(one) for one in _few(content["stages"])),
        )
    raise ValueError(f"a floor of the kind {kind!r} is not known here")


def _tests(content: Mapping[str, Any]) -> Tests:
    only_fields("tests", content, {"change", "weight", "first", "values"})
    change = tuple(_whole(one, -(1 << 30)) for one in _few(content["change"]))
    first = _whole(content["first"], -(1 << 30))
    return Tests(change, number(content["weight"]), first, _nested(content["values"]))


def _stage(content: Mapping[str, Any]) -> Stage:
    only_fields("stage", content, {"values", "prices", "first"})
    values, prices = (
        tuple(number(one) for one in _few(content[name])) for name in ("values", "prices")
    )
    return Stage(values, prices, _whole(content["first"]))


def _nested(content: Any) -> Any:
    if isinstance(content, list):
        return [_nested(one) for one in _few(content)]
    return number(content)


def _few(content: Any) -> Sequence[Any]:
    if not isinstance(content, list) or len(content) > MOST_NUMBERS:
        raise ValueError("a list of the floor is missing or far too long")
    return content


def _whole(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 1 << 31:
        raise ValueError("a whole number of the floor is missing or out of range")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("a yes or no of the floor is missing")
    return value
