"""Two judges that share no line: what one states the other must prove, and wrong versions of the
first one must be caught."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("flint")

from leastnoise import (
    LatticeNoise,
    PrivacyLoss,
    cube,
    discrete_gaussian,
    discrete_laplace,
    exact,
    sphere,
)
from leastnoise.accountant import grid, upper, window
from leastnoise.accountant.composition import Composition
from leastnoise.artefact.rigorous import proof_of_draws
from leastnoise.changes import BOX
from leastnoise.losses import lattice
from leastnoise.losses import sphere as sphere_losses
from leastnoise.sampling.weights import IntegerWeights
from proof.random_laws import random_artefact
from test_architecture import folder, imports, sources

FIRST_JUDGE = {"accountant", "losses", "laws", "lattice", "sampling", "changes", "artefact"}


def _proof(noise, epsilon, delta, releases, sensitivity=1.0):
    return proof_of_draws([(noise, sensitivity, releases, BOX)], epsilon, delta)


def test_the_second_judge_imports_nothing_of_the_first():
    reached, at = set(), [module for module in sources() if folder(module) == "proof"]
    assert len(at) == 9
    while at:
        module = at.pop()
        if module not in reached and module in sources():
            reached.add(module)
            at += imports(module)
    assert not {folder(module) for module in reached} & FIRST_JUDGE


def _agree(seeds):
    """Every ε that the first judge states is above the second one's lower bound, and proven, but
    for kinks that no grid resolves: there the second one proves an ε just above it."""
    unproven = 0
    for seed in seeds:
        stated = random_artefact(seed)
        use = stated.guarantee
        found = _proof(stated.noise, use.epsilon, use.delta, use.compositions, use.sensitivity)
        distance = f"{found.lower / use.delta - 1.0:+.1e} to {found.upper / use.delta - 1.0:+.1e}"
        print(f"{seed}: delta of {use.compositions} releases is off by {distance}, {found.how}")
        assert found.lower <= use.delta
        assert found.proven_epsilon <= use.epsilon * (1.0 + 1e-6)
        unproven += not found.ok
    return unproven


def test_they_agree_on_random_laws():
    assert _agree(range(24)) == 0


@pytest.mark.long
def test_they_agree_on_three_hundred_random_laws():
    assert _agree(range(300)) <= 6


# Wrong versions of the first judge, each of which states an ε that is too small.


def _no_infinite_loss(monkeypatch):
    monkeypatch.setattr(Composition, "infinite", 0.0)
    monkeypatch.setattr(lattice, "rounded_up", lambda *_: 0.0)


def _half_the_shift(monkeypatch):
    true = lattice.lattice_loss
    monkeypatch.setattr(
        "leastnoise.laws.lattice.lattice_loss", lambda n, m: true(n, max(m // 2, 1))
    )


def _one_release_less(monkeypatch):
    true = PrivacyLoss.compose
    monkeypatch.setattr(PrivacyLoss, "compose", lambda self, n: true(self, max(n - 1, 1)))


def _smaller_losses(monkeypatch):
    true = lattice.log_ratio
    monkeypatch.setattr(lattice, "log_ratio", lambda p, q: true(p, q) * 0.9999)


def _losses_rounded_down(monkeypatch):
    """Not split over two neighbours on the grid: put on the lower one."""
    true = grid.Grid.of

    def of(table, pitch, theta):
        return true(replace(table, loss=np.floor(table.loss / pitch) * pitch), pitch, theta)

    monkeypatch.setattr(grid.Grid, "of", staticmethod(of))


def _lost_mass(monkeypatch):
    """Everything above the window is forgotten, and the window ends early."""
    true = window._reach

    def reach(*arguments):
        below, above = true(*arguments)
        return below, 0.02 * above

    monkeypatch.setattr(window, "_reach", reach)
    monkeypatch.setattr(window, "_outside", lambda *_: 0.0)


def _twice_delta(monkeypatch):
    true = upper.epsilon_of_window
    monkeypatch.setattr(upper, "epsilon_of_window", lambda w, allowed: true(w, 2.0 * allowed))


def _no_discount(monkeypatch):
    """Weights of δ one grid point too low."""
    true = window.Window._above

    def above(self, epsilon, index):
        moved = min(index + 8, self.tilted.size - 1)
        return true(self, epsilon + 8.0 * self.pitch, moved)

    monkeypatch.setattr(window.Window, "_above", above)


def _short_sphere(monkeypatch):
    true = sphere_losses.ball_loss
    monkeypatch.setattr("leastnoise.laws.sphere.ball_loss", lambda b, d, v: true(b, d, v * 0.999))


def _other_sphere(monkeypatch):
    """The loss of the sphere of one answer more, whose length is as long."""
    true = sphere_losses.ball_loss
    monkeypatch.setattr("leastnoise.laws.sphere.ball_loss", lambda b, d, v: true(b, d + 1, v))


def _corner_of_fewer(monkeypatch):
    true = lattice.overlap.corner_pairs
    fewer = lambda d, m, last: true(d, m - 1 if d > 1 else m, last)  # noqa: E731
    monkeypatch.setattr(lattice.overlap, "corner_pairs", fewer)


def _line(delta, releases):
    return exact(discrete_gaussian(4.0), delta=delta, compositions=releases), delta, releases


WRONG = {
    _no_infinite_loss: lambda: (_ended(), 0.01, 1),
    _half_the_shift: lambda: _line(1e-6, 10),
    _one_release_less: lambda: _line(1e-6, 10),
    _smaller_losses: lambda: _line(1e-6, 1),
    _losses_rounded_down: lambda: (_uneven(1e-6, 8), 1e-6, 8),
    _lost_mass: lambda: _line(1e-6, 10),
    _twice_delta: lambda: _line(1e-6, 10),
    _no_discount: lambda: _line(1e-6, 10),
    _short_sphere: lambda: (sphere(8.0, 20), 1e-6, 1),
    _other_sphere: lambda: (sphere(8.0, 20), 1e-6, 1),
    _corner_of_fewer: lambda: (exact(cube(6.0, 4), delta=1e-6), 1e-6, 1),
}


def _uneven(delta, releases):
    """Losses that no grid is aligned to."""
    falls = np.cumsum(np.modf(np.arange(40) * math.sqrt(2.0))[0] * 0.2)
    noise = LatticeNoise.from_log_weights(-falls, 0.8, domain="integer")
    return exact(noise, delta=delta, compositions=releases)


def _ended():
    """A law that ends where 1 % of its mass is left."""
    weights = [1 << 63, 1 << 62, (1 << 62) - (1 << 58), 1 << 58]
    return LatticeNoise(IntegerWeights(64, tuple(weights)).masses(), None, domain="integer")


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__.strip("_"))
def test_a_wrong_first_judge_is_caught(wrong, monkeypatch):
    noise, delta, releases = WRONG[wrong]()
    sensitivity = 2.0 if wrong is _half_the_shift else 1.0
    true = PrivacyLoss.of(noise, sensitivity).compose(releases).epsilon(delta)
    getattr(noise, "_judged", {}).clear()
    wrong(monkeypatch)
    stated = PrivacyLoss.of(noise, sensitivity).compose(releases).epsilon(delta)
    monkeypatch.undo()
    getattr(noise, "_judged", {}).clear()
    if math.isfinite(true):
        assert stated < true
        assert _proof(noise, true, delta, releases, sensitivity).ok
    assert not _proof(noise, stated, delta, releases, sensitivity).ok


def test_there_are_ten_of_them():
    assert len(WRONG) >= 10


@pytest.mark.parametrize("releases", [1, 2, 10])
@pytest.mark.parametrize("noise", [discrete_laplace(3.0), discrete_gaussian(6.0)], ids=repr)
def test_dp_accounting_is_enclosed(noise, releases):
    """Its optimistic number is not above the second judge's upper bound, its pessimistic one not
    below the lower bound, for the same weights."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = exact(noise, delta=1e-6, compositions=releases)
    masses = {k * s: float(law.pmf(abs(k))) for k in range(law.last + 1) for s in (1, -1)}
    moved = {k + 1: p for k, p in masses.items()}
    epsilon = PrivacyLoss.of(law, 1.0).compose(releases).epsilon(1e-6)

    def delta(pessimistic):
        logs = [{k: math.log(p) for k, p in one.items()} for one in (masses, moved)]
        made = pld.from_two_probability_mass_functions(
            *logs,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-4,
            log_mass_truncation_bound=-math.inf if releases == 1 else -60.0,
        )
        return made.self_compose(releases).get_delta_for_epsilon(epsilon)

    found = _proof(law, epsilon, 1e-6, releases)
    assert found.ok
    # its sums are rounded to nearest
    assert delta(False) * (1.0 - 1e-6) <= found.upper
    assert delta(True) * (1.0 + 1e-6) >= found.lower
