"""Speed is not bought with accuracy: no design of `benchmarks/speed.py` is worse than its table."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORSE = 1e-5  # of ε or sigma


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import speed

    return speed


def test_the_table_has_every_setting_once(speed):
    requests = [*speed.settings(), *speed.several()]
    assert (len(speed.settings()), len(speed.several())) == (74, 40)
    assert set(speed.kept()) == {speed.name_of(request) for request in requests}
    assert len(speed.kept()) == len(requests)


def check(speed, requests) -> None:
    table = speed.kept()
    worse = {
        speed.name_of(request): (found, table[speed.name_of(request)])
        for request in requests
        if (found := speed.found_for(request)) > table[speed.name_of(request)] * (1.0 + WORSE)
    }
    assert not worse


def test_some_designs_are_no_worse_than_the_table(speed):
    check(speed, [*speed.settings()[2::9], *speed.several()[1::11]])


@pytest.mark.long
def test_no_design_is_worse_than_the_table(speed):
    check(speed, [*speed.settings(), *speed.several()])
