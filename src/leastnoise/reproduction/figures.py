"""Every figure and table of the paper: its name, its title, the module that makes it
and the numbers that tell it from others made by the same module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leastnoise.errors import InvalidParameterError


@dataclass(frozen=True)
class Figure:
    """`compute` of `leastnoise.reproduction.<module>` makes the record, with `settings`
    as further arguments; `draw` there draws it."""

    title: str
    module: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def _heatmap(name: str, number: str, shown: str, delta: float) -> Figure:
    title = f"{number}: the winner over σ and compositions, δ = {shown}"
    return Figure(title, "heatmap", {"name": name, "delta": delta})


def _pointwise(name: str, number: str, sigma: float, printed: tuple[float, float]) -> Figure:
    title = f"{number}: pointwise minimum of the privacy curves, σ = {sigma:g}"
    return Figure(title, "pointwise", {"name": name, "sigma": sigma, "printed": printed})


FIGURES = {
    "fig1": Figure(
        "Fig. 1: privacy curves, σ = 8, s = 1, N_c = 10, optimised for δ = 10⁻⁶", "fig1"
    ),
    "fig2": Figure("Fig. 2: Cactus and Staircase recovered", "fig2"),
    "fig3": Figure("Fig. 3: optimised laws at the published order and at the true optima", "fig3"),
    "fig4": _heatmap("fig4", "Fig. 4", "10⁻⁶", 1e-6),
    "fig5": _pointwise("fig5", "Fig. 5", 8.0, (1.2, 1.8)),
    "fig6": _heatmap("fig6", "Fig. 6", "10⁻⁹", 1e-9),
    "fig7": _pointwise("fig7", "Fig. 7", 5.0, (2.0, 2.8)),
    "table1": Figure(
        "Table 1: MSE improvement over Gaussian noise, δ = 10⁻⁶, ten queries", "table1"
    ),
    "beyond": Figure("Beyond the paper: the order, the stall, the ripples, the batches", "beyond"),
}
NAMES = tuple(FIGURES)


def figure(name: str) -> Figure:
    """The figure of this name, or an InvalidParameterError that lists the names."""
    if name not in FIGURES:
        raise InvalidParameterError("name", name, f"to be one of {', '.join(NAMES)}")
    return FIGURES[name]
