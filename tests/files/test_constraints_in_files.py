"""An artefact that promises more of the privacy curve: each point is stated and checked."""

from __future__ import annotations

import json

import pytest

from leastnoise import AccountingError, InvalidFileError, discrete_laplace, exact
from leastnoise.accountant.constraints import Constraint
from leastnoise.artefact import certify, read_artefact, verify, write_artefact
from leastnoise.artefact.format import ARTEFACT_FILE

LIMITS = [(1.0, 1e-6), (0.0, 0.3), (0.2, 0.2)]


@pytest.fixture(scope="module")
def artefact():
    law = exact(discrete_laplace(3.0), delta=1e-6)
    return certify(law, delta=1e-6, constraints=LIMITS)


def rewritten(path, change):
    """The file with its content changed and sealed anew, as its author could."""
    content = json.loads(path.read_text())["content"]
    change(content["guarantee"])
    path.write_text(ARTEFACT_FILE.text(content))


def test_constraints_come_back_and_are_verified(artefact, tmp_path):
    stated = artefact.guarantee.constraints
    assert [(one.epsilon, one.delta) for one in stated] == LIMITS
    assert all(one.holds for one in stated)
    write_artefact(artefact, tmp_path / "noise.json")
    assert read_artefact(tmp_path / "noise.json").guarantee == artefact.guarantee
    found = verify(tmp_path / "noise.json")
    assert found.ok
    assert found.recomputed.constraints == stated


def test_a_file_without_constraints_says_nothing_of_them(tmp_path):
    plain = certify(exact(discrete_laplace(3.0), delta=1e-6), delta=1e-6)
    write_artefact(plain, tmp_path / "noise.json")
    assert (
        "constraints"
        not in json.loads((tmp_path / "noise.json").read_text())["content"]["guarantee"]
    )
    assert verify(tmp_path / "noise.json").recomputed.constraints == ()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_number_that_the_law_does_not_give_is_a_mismatch_at_every_place(
    artefact, tmp_path, place
):
    path = tmp_path / "noise.json"
    write_artefact(artefact, path)

    def change(guarantee):
        one = guarantee["constraints"][place]
        one["certified"] = 0.5 * one["certified"] + 1e-9

    rewritten(path, change)
    found = verify(path)
    assert not found.ok
    assert any("The stated delta at epsilon" in line for line in found.mismatches)


def test_a_promise_that_the_law_does_not_keep_is_a_mismatch(artefact, tmp_path):
    path = tmp_path / "noise.json"
    write_artefact(artefact, path)

    def change(guarantee):
        guarantee["constraints"][1]["delta"] = 0.1

    rewritten(path, change)
    found = verify(path)
    assert not found.ok
    (line,) = found.mismatches
    assert line.startswith("The delta at epsilon 0.0 is promised to be at most 0.1; it is 0.2")


def test_a_law_that_misses_one_is_not_certified():
    law = exact(discrete_laplace(3.0), delta=1e-6)
    for wrong in ([(0.0, 0.2)], [(1.0, 1e-6), (0.0, 0.2)], [(0.0, 0.3), (0.4, 1e-6)]):
        with pytest.raises(AccountingError, match="misses a constraint"):
            certify(law, delta=1e-6, constraints=wrong)


def test_another_use_does_not_inherit_them(artefact):
    assert artefact.guarantee_for(5).constraints == ()
    assert artefact.guarantee_for(1).constraints == artefact.guarantee.constraints


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {},
        "all",
        [{"epsilon": 1.0, "delta": 1e-6}],
        [{"epsilon": 1.0, "delta": 1e-6, "certified": 0.0, "more": 1}],
        [{"epsilon": -1.0, "delta": 1e-6, "certified": 0.0}],
        [{"epsilon": 1.0, "delta": 2.0, "certified": 0.0}],
        [{"epsilon": "1", "delta": 1e-6, "certified": 0.0}],
        [{"epsilon": 1.0, "delta": 1e-6, "certified": 0.0}] * 2,
        [{"epsilon": 1.0 + k, "delta": 1e-6, "certified": 0.0} for k in range(21)],
        [5],
        None,
    ],
    ids=str,
)
def test_what_is_no_list_of_constraints_is_refused(artefact, tmp_path, wrong):
    path = tmp_path / "noise.json"
    write_artefact(artefact, path)
    rewritten(path, lambda guarantee: guarantee.update(constraints=wrong))
    with pytest.raises(InvalidFileError):
        read_artefact(path)


def test_a_constraint_is_told_in_words():
    assert "advantage" in Constraint(0.0, 0.3, 0.29).sentence()
