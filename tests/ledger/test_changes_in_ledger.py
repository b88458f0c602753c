"""A ledger keeps what one person can change, and does not mix relations."""

import json
import sqlite3

import pytest

from leastnoise import Box, Euclidean, LedgerError, OneSided, Spend, correlated, laplace, sphere
from leastnoise.accountant.privacy_loss import PrivacyLoss
from leastnoise.errors import InvalidParameterError, UnsupportedError
from leastnoise.laws.classic import cube
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.listing import _changes


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("clinic", epsilon=5.0, delta=1e-6, rule="fixed in advance")
        yield ledger


def test_the_same_law_for_other_changes_is_another_cost(ledger):
    law = sphere(8.0, 10)
    costs = {}
    for space in (Box(), Box(touched=2)):
        costs[space] = ledger.preview("clinic", [Spend(law, changes=space)]).epsilon_after
        wanted = PrivacyLoss.of(law, 1.0, space).epsilon(1e-6)
        assert costs[space] == pytest.approx(wanted, rel=1e-9)
    assert costs[Box(touched=2)] < costs[Box()]
    both = [Spend(law, changes=space) for space in costs]
    together = PrivacyLoss.of(law).compose(PrivacyLoss.of(law, 1.0, Box(touched=2)))
    entry = ledger.spend("clinic", both, plan_hash="both")
    assert entry.epsilon_after == pytest.approx(together.epsilon(1e-6), rel=1e-9)
    assert {item.changes for item in entry.draws} == set(costs)
    assert ledger.check(every_entry=True).ok


@pytest.mark.parametrize(
    ("spaces", "words"),
    [
        ([Box()], ""),
        ([Box(touched=2)], "changes of at most 2 answers"),
        ([Box(touched=1)], "changes of at most 1 answer"),
        ([OneSided()], "one-sided changes"),
        ([OneSided(touched=3)], "one-sided changes of at most 3 answers"),
        ([Euclidean(2.0), Box(), OneSided()], "euclidean changes and one-sided changes"),
    ],
)
def test_the_list_says_what_a_release_is_for(ledger, spaces, words):
    law = sphere(80.0, 10)
    ledger.spend("clinic", [Spend(law, changes=space) for space in spaces], plan_hash="x")
    (entry,) = ledger.entries("clinic")
    assert _changes(entry) == words


def test_a_law_for_one_sided_changes_is_not_spent_for_others(ledger):
    law = LiftedNoise(cube(8.0, 5))
    with pytest.raises(UnsupportedError, match="all up or all down"):
        ledger.spend("clinic", [Spend(law)], plan_hash="x")
    assert ledger.spend("clinic", [Spend(law, changes=OneSided())], plan_hash="x").epsilon_after > 0
    assert ledger.dataset("clinic").unit.relation == "add/remove"
    with pytest.raises(LedgerError, match="replace"):
        ledger.spend("clinic", [Spend(laplace(9.0))], plan_hash="y", relation="replace")


def test_one_sided_changes_are_not_for_replaced_persons(ledger):
    spends = [Spend(correlated(20.0, 5), changes=OneSided())]
    with pytest.raises(LedgerError, match="moves some answers up and others down"):
        ledger.spend("clinic", spends, plan_hash="x", relation="replace")
    ledger.spend("clinic", [Spend(laplace(20.0))], plan_hash="a", relation="replace")
    with pytest.raises(LedgerError, match="add/remove"):
        ledger.spend("clinic", spends, plan_hash="b")
    preview = ledger.preview("clinic", spends)
    assert not preview.allowed
    assert "add/remove" in preview.reason


def test_a_loss_has_its_changes_already():
    with pytest.raises(InvalidParameterError, match="has them already"):
        Spend(PrivacyLoss.of(laplace(3.0)), changes=OneSided())
    with pytest.raises(InvalidParameterError, match="such as Box"):
        Spend(laplace(3.0), changes="all")


@pytest.mark.parametrize("edit", ["touched", "left out", "relation"])
def test_an_edited_space_is_found(tmp_path, edit):
    """The chain of hashes made anew: the costs and the relation still tell."""
    path = tmp_path / "budget.ledger"
    with Ledger(path) as ledger:
        ledger.open_dataset("clinic", epsilon=5.0, delta=1e-6)
        ledger.spend(
            "clinic", [Spend(correlated(20.0, 8), changes=OneSided())], plan_hash="x", note="n"
        )
    rewrite(path, edit)
    with Ledger(path) as ledger:
        check = ledger.check(every_entry=True)
    assert not check.ok


def rewrite(path, edit):
    import hashlib

    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'")
    kept = triggers.fetchall()
    for name, _ in kept:
        connection.execute(f'DROP TRIGGER "{name}"')
    events = connection.execute("SELECT * FROM events ORDER BY 1").fetchall()
    columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    number, kind, text, previous, _ = events[-1]
    assert columns[:3] == ["id", "kind", "content"], columns
    data = json.loads(text)
    if edit == "touched":
        data["draws"][0]["changes"]["touched"] = 1
    elif edit == "left out":
        del data["draws"][0]["changes"]
    else:
        data["relation"] = "replace"
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(f"{previous}\n{number}\n{kind}\n{text}".encode()).hexdigest()
    connection.execute(
        "UPDATE events SET content = ?, hash = ? WHERE id = ?", (text, digest, number)
    )
    connection.execute("UPDATE head SET hash = ?", (digest,))
    for _, sql in kept:
        connection.execute(sql)
    connection.commit()
    connection.close()
