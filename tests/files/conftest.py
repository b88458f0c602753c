"""Every law that a test of files certifies is proven by the second judge as well."""

from __future__ import annotations

import pytest

from leastnoise.artefact import artefact
from leastnoise.artefact.rigorous import proof_of_draws
from leastnoise.errors import MissingExtraError, UnsupportedError

MOST_RELEASES = 10  # a proof of more takes seconds
_proven: set[object] = set()


@pytest.fixture(autouse=True)
def certified_laws_are_proven(monkeypatch):
    """What was certified during a test is proven after it; each law once."""
    certified = []
    true = artefact.judged

    def judged(noise, *use):
        certified.append((noise, true(noise, *use)))
        return certified[-1][1]

    monkeypatch.setattr(artefact, "judged", judged)
    yield
    for noise, stated in certified:
        key = noise, stated.epsilon, stated.delta
        if key in _proven or stated.compositions > MOST_RELEASES or stated.epsilon == float("inf"):
            continue
        _proven.add(key)
        use = stated.sensitivity, stated.compositions, stated.changes
        try:
            found = proof_of_draws([(noise, *use)], stated.epsilon, stated.delta)
        except MissingExtraError:
            return
        except UnsupportedError:
            continue
        assert found.ok, found.sentence()
