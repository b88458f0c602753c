"""A ledger that the first version wrote is read, checked and spent from, with the same numbers.

`first_version.json` holds the tables of such a ledger, with every kind of event, law and loss it
can have. The releases it records are also made again: laws are stored byte for byte as then, and
the numbers of an event differ by the rounding of another processor at most.
"""

import itertools
import json
import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from leastnoise import (
    LatticeNoise,
    PrivacyLoss,
    discrete_gaussian,
    exact,
    gaussian,
    laplace,
    sphere,
)
from leastnoise.ledger import event_log
from leastnoise.ledger.ledger import Ledger, Spend, Unit
from leastnoise.losses.gaussian import GaussianLoss
from leastnoise.losses.laplace import LaplaceLoss
from leastnoise.losses.table import TableLoss
from leastnoise.losses.worst import WorstOf

pytestmark = pytest.mark.portable

WRITTEN = json.loads((Path(__file__).parent / "first_version.json").read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    """The file as it was written then."""
    path = tmp_path / "written.ledger"
    connection = sqlite3.connect(path)
    connection.executescript(
        "PRAGMA application_id = 0x6C6E4C47; PRAGMA user_version = 1;"
        + "".join(f"{definition};" for definition in WRITTEN["definitions"])
    )
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", WRITTEN["events"])
    connection.executemany("INSERT INTO laws VALUES (?, ?)", WRITTEN["laws"])
    number, *_, digest = WRITTEN["events"][-1]
    connection.execute("INSERT INTO head VALUES (1, ?, ?)", (number, digest))
    connection.commit()
    connection.close()
    return path


def test_it_is_read_and_checked(path):
    with Ledger(path) as ledger:
        check = ledger.check(every_entry=True)
        assert check.ok, check.problems
        assert check.entries == 7
        assert ledger.head == WRITTEN["events"][-1][-1]
        for dataset in ledger.datasets():
            stated = WRITTEN["datasets"][dataset.name]
            for name, number in stated.items():
                assert getattr(dataset, name) == float.fromhex(number)
        assert ledger.dataset("clinic").unit == Unit(
            "add/remove", "person = 'patient'", "a patient"
        )
        assert ledger.entries("clinic")[0].result_hash == "result"
        laws = [ledger.law(law_hash) for law_hash, _ in WRITTEN["laws"]]
        assert sum(isinstance(law, PrivacyLoss) for law in laws) == 4


def test_it_is_spent_from(path):
    with Ledger(path) as ledger:
        law = ledger.law(ledger.entries("clinic")[0].law_hash)
        preview = ledger.preview("clinic", [Spend(law)])
        assert math.isclose(preview.epsilon_after, 4.83536584919577, rel_tol=1e-9)
        entry = ledger.spend("clinic", [Spend(law)], plan_hash="next")
        assert entry.epsilon_after == preview.epsilon_after
        assert ledger.check().ok


def as_then(law):
    """The law as the file has it: masses come from exp and log, whose last digit is the
    processor's own."""
    ours = law.describe()
    plain = [name for name in ours if name not in ("shell_masses", "tail_ratio")]
    for _, text in WRITTEN["laws"]:
        theirs = json.loads(text)
        if all(theirs.get(name) == ours[name] for name in plain):
            found = LatticeNoise.from_description(theirs)
            if found.last == law.last:
                np.testing.assert_allclose(found.shell_masses, law.shell_masses, rtol=1e-12)
                assert found.tail_ratio == law.tail_ratio
                return found
    raise AssertionError(f"{law} is not in the file")


def releases():
    """(data set, what was spent, what was said), as the file records it."""
    law = as_then(exact(discrete_gaussian(2.0), delta=1e-6, compositions=2))
    falling = [2.0 ** (-k / 8) for k in range(4)]
    joint = as_then(LatticeNoise.from_weights(falling, 2.0 ** (-1 / 8), step=0.5, dimension=2))
    comb = as_then(LatticeNoise.from_weights([0.3, 0.29, 0.31, 0.3], 0.95, domain="integer"))
    up = TableLoss(np.array([-0.2, 0.1]), np.log(np.array([0.4, 0.6 - 1e-9])), 1e-9)
    down = TableLoss(np.array([-0.1, 0.2]), np.log(np.array([0.6, 0.4 - 1e-9])), 1e-9)
    either = PrivacyLoss(((WorstOf((up, down), chosen_anew=False), 2),))
    mixed = PrivacyLoss(((up, 3), (GaussianLoss(0.05), 1), (LaplaceLoss(0.01), 2)))
    patients = {"person": "person = 'patient'", "person_is": "a patient"}
    return [
        ("clinic", [Spend(law, uses=2)], {"note": "first", "relation": "add/remove", **patients}),
        ("clinic", [Spend(gaussian(20.0), 1.5, 3), Spend(laplace(30.0))], {"stamp": "seeded"}),
        ("clinic", [Spend(either)], {}),
        ("school", [Spend(law), Spend(sphere(40.0, 3), uses=2)], {}),
        ("school", [Spend(mixed)], {}),
        ("plain", [Spend(joint), Spend(comb, 2.0)], {}),
        ("plain", [Spend(mixed, uses=2)], {}),
    ]


@pytest.fixture
def again(tmp_path, monkeypatch):
    """The same ledger, written now: its path."""
    seconds = itertools.count()
    monkeypatch.setattr(event_log, "now", lambda: f"2026-01-01T00:00:{next(seconds):02d}+00:00")
    monkeypatch.setattr("secrets.token_hex", lambda size: "5a" * size)
    with Ledger(tmp_path / "again.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=6.0, delta=1e-6, releases=4)
        ledger.open_dataset("school", epsilon=5.0, delta=1e-5, rule="fixed in advance")
        ledger.open_dataset("plain", epsilon=3.0, delta=1e-6, orders=[8.0])
        for (dataset, spends, said), plan in zip(releases(), "abcdefg", strict=True):
            ledger.spend(dataset, spends, plan_hash=plan, **said)
            if plan == "c":
                ledger.release_done(5, "result")
    return tmp_path / "again.ledger"


def test_it_would_be_written_so_again(again):
    connection = sqlite3.connect(again)
    laws = connection.execute("SELECT hash, law FROM laws ORDER BY hash").fetchall()
    events = connection.execute("SELECT kind, content FROM events ORDER BY id").fetchall()
    connection.close()
    assert [list(law) for law in laws] == WRITTEN["laws"]
    for (kind, content), (_, kind_then, content_then, *_) in zip(
        events, WRITTEN["events"], strict=True
    ):
        assert kind == kind_then
        now, then = json.loads(content), json.loads(content_then)
        assert list(now) == list(then)
        for name, value in now.items():
            assert same(value, then[name]), (kind, name)


def same(value, then):
    """Equal, or floats in hexadecimal that are almost equal."""
    if isinstance(value, list):
        return len(value) == len(then) and all(map(same, value, then))
    if isinstance(value, str) and "0x" in value:
        return math.isclose(float.fromhex(value), float.fromhex(then), rel_tol=1e-12)
    return value == then
