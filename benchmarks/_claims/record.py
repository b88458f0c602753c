"""The two kinds of rows: a number that is measured against others, and a limit that is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A number that earns its place: each of the others in its stead loses something.

    Attributes:
        module: Module below `leastnoise`, such as "solver.newton".
        constant: Name of the number in that module.
        value: What it is there.
        buys: What it buys, in a line.
        others: What is tried in its place; "off" values first (0 or infinity, which take the branch
            away), for `--quick` tries the first alone.
        on: The settings it is measured on, names of `settings.SETTINGS`.
        epsilon: The least relative rise of ε (or of the divergence) that counts as a loss.
        time: The least ratio of CPU times that counts as a loss.
    """

    module: str
    constant: str
    value: object
    buys: str
    others: tuple[object, ...]
    on: tuple[str, ...]
    epsilon: float = 1e-4
    time: float = 1.25


@dataclass(frozen=True)
class Limit:
    """A number that is no choice between better and worse: a bound on memory or on the range, or a
    margin for rounding. Only that it is what the table says is checked."""

    module: str
    constant: str
    value: object
    buys: str
