"""Least squares on a hierarchy with any number of children: country, regions, districts.

Every node v is the sum of its children; y_v is measured with the weight w_v = 1/σ_v², 0 where it is
not measured (leaves must be). Two passes give the best linear unbiased estimate of all nodes:

    up      P_v = w_v + 1/S_v,  S_v = Σ_c 1/P_c,  z_v = (w_v y_v + Σ_c z_c/S_v)/P_v;
            of a leaf P = w, z = y. z_v is the best estimate from what is below, with variance 1/P_v
    down    x_root = z_root;  x_c = z_c + (x_v − Σ z)/(P_c S_v)
            Var x_c = a − a²/S_v + (a/S_v)² Var x_v,  a = 1/P_c

Up: the sum of the children's independent estimates has variance S_v, and is combined with y_v by
their precisions. Down: given x_v, the children's z are moved to its sum in proportion to their
variances, which is least squares with one linear constraint. What x_v has beyond Σ z does not
depend on how the children differ, so the two parts of the variance add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """A hierarchy: the parent of each node, before it in the list; −1 for the root, the first."""

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for node, parent in enumerate(self.parents):
            if not (-1 <= parent < node and (parent == -1) == (node == 0)):
                raise InvalidParameterError(
                    f"parents[{node}]", parent, "to come before its child; -1 of the first alone"
                )

    def children(self) -> list[list[int]]:
        """The children of each node."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], start=1):
            found[parent].append(node)
        return found


def tree_estimate(
    tree: Tree, weights: Sequence[float], answers: Sequence[float]
) -> tuple[Floats, Floats]:
    """The estimates of all nodes, and their variances."""
    children = tree.children()
    count = len(tree.parents)
    up, below = np.zeros(count), np.zeros(count)  # P and z
    spread, total = np.zeros(count), np.zeros(count)  # S and Σ z
    for node in reversed(range(count)):
        if not children[node]:
            if not weights[node] > 0.0:
                raise InvalidParameterError(
                    f"weights[{node}]", weights[node], "to be positive: it is a leaf"
                )
            up[node], below[node] = weights[node], answers[node]
            continue
        spread[node] = sum(1.0 / up[child] for child in children[node])
        total[node] = sum(below[child] for child in children[node])
        up[node] = weights[node] + 1.0 / spread[node]
        below[node] = (weights[node] * answers[node] + total[node] / spread[node]) / up[node]
    values, variances = below.copy(), 1.0 / up
    for node, parent in enumerate(tree.parents[1:], start=1):
        own = 1.0 / up[node]
        share = own / spread[parent]
        values[node] = below[node] + share * (values[parent] - total[parent])
        variances[node] = own - own * share + share**2 * variances[parent]
    return values, variances
