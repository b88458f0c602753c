"""What `design` writes, and every other kind of law that a file can hold: proven, or refused with
the reason; on the command line, in releases and in ledgers."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("flint")

from leastnoise import (
    Box,
    Euclidean,
    Ledger,
    OneSided,
    Spend,
    correlated,
    cube,
    design,
    discrete_gaussian,
    exact,
    gaussian,
    sphere,
)
from leastnoise.artefact import certify, verify, write_artefact
from leastnoise.cli import main
from leastnoise.laws.bent_sphere import BentSphereNoise
from leastnoise.laws.correlated import normal
from leastnoise.laws.cut_cube import CutCubeNoise
from leastnoise.laws.exponential import count_law, range_law, touched_law
from leastnoise.laws.lifted import LiftedNoise
from leastnoise.laws.part_of_sphere import PartOfSphereNoise

D = 1e-6


def _lifted():
    return LiftedNoise(exact(cube(7.3, 6), delta=D))


KINDS = {
    "design, one answer": lambda: (design(delta=D, sigma=4.0), 1, None),
    "design, ten releases": lambda: (design(delta=D, sigma=4.0, compositions=10), 10, None),
    "design, integers": lambda: (design(delta=D, sigma=4.0, domain="integer"), 1, None),
    "design, batch": lambda: (design(delta=D, sigma=4.0, batch=4), 1, None),
    "sphere": lambda: (sphere(8.0, 60), 1, None),
    "sphere, whole numbers": lambda: (sphere(8.0, 60, domain="integer"), 1, None),
    "sphere, few move": lambda: (sphere(8.0, 20), 2, Box(touched=5)),
    "sphere, a length": lambda: (sphere(8.0, 20), 1, Euclidean(2.0)),
    "line, a length": lambda: (exact(discrete_gaussian(8.0), delta=D), 1, Euclidean(1.0)),
    "part of sphere": lambda: (PartOfSphereNoise(2.0, 14, 10), 1, None),
    "bent, normal": lambda: (BentSphereNoise(20.0, 10, 10), 1, None),
    "bent, sphere": lambda: (BentSphereNoise(2.0, 20, 10), 1, None),
    "hidden count": lambda: (_lifted(), 1, OneSided()),
    "correlated": lambda: (correlated(8.0, 10), 1, OneSided()),
    "correlated, few move": lambda: (correlated(8.0, 10), 1, OneSided(touched=3)),
    "normal, whole numbers": lambda: (normal(20.0, 10, domain="integer"), 3, None),
}


def _certified(case):
    law, releases, changes = KINDS[case]()
    noise = law.lattice_noise() if hasattr(law, "lattice_noise") else law
    use = {"delta": D, "compositions": releases}
    if not noise.sampler().is_exact:
        noise = exact(noise, **use)
    return certify(noise, **use, **({} if changes is None else {"changes": changes}))


@pytest.mark.parametrize("case", KINDS)
def test_every_kind_is_proven(case, tmp_path):
    write_artefact(_certified(case), tmp_path / "noise.json")
    found = verify(tmp_path / "noise.json", rigorous=True)
    assert found.ok
    assert len(found.proofs) == 1
    assert found.proofs[0].upper <= D


@pytest.mark.parametrize(("kind", "touched"), [("range", 3), ("count", 2), ("touched", 2)])
def test_every_norm_is_proven(kind, touched):
    changes = Box(touched=2) if kind == "touched" else OneSided(touched=touched)
    made = {"range": range_law, "count": count_law, "touched": touched_law}[kind]
    law = exact(made(6.0, 3, **({} if kind == "range" else {"touched": touched})), delta=D)
    assert law.body.name == kind
    found = certify(law, delta=D, changes=changes)
    from leastnoise.artefact.rigorous import proof_of_draws

    assert proof_of_draws([(law, 1.0, 1, changes)], found.guarantee.epsilon, D).ok


def test_constraints_are_proven_too(tmp_path):
    noise = exact(discrete_gaussian(8.0), delta=D, compositions=3)
    made = certify(noise, delta=D, compositions=3, constraints=[(0.3, 0.05)])
    write_artefact(made, tmp_path / "noise.json")
    assert [proof.ok for proof in verify(tmp_path / "noise.json", rigorous=True).proofs] == [
        True
    ] * 2


def test_what_is_not_covered_is_refused_with_the_reason(tmp_path):
    law = CutCubeNoise(0.5, 12.943, 30)
    path = tmp_path / "noise.json"
    write_artefact(certify(law, delta=D), path)
    answer = CliRunner().invoke(main, ["verify", str(path), "--rigorous"])
    assert answer.exit_code == 2
    assert "Laws of the body 'cut cube' are not covered" in answer.output


def test_the_command_line_proves_and_says_by_how_much_it_falls_short(tmp_path):
    path = tmp_path / "noise.json"
    made = certify(exact(discrete_gaussian(8.0), delta=D), delta=D)
    write_artefact(made, path)
    answer = CliRunner().invoke(main, ["verify", str(path), "--rigorous", "--json"])
    assert answer.exit_code == 0
    told = json.loads(answer.output)["proofs"][0]
    assert told["ok"]
    assert told["upper"] <= D
    text = path.read_text().replace(
        repr(made.guarantee.epsilon), repr(0.99 * made.guarantee.epsilon)
    )
    path.write_text(text)
    answer = CliRunner().invoke(main, ["verify", str(path), "--rigorous"])
    assert answer.exit_code == 1
    assert "NOT proven: delta is between" in answer.output


def test_a_ledger_is_proven_entry_by_entry(tmp_path):
    noise = exact(discrete_gaussian(20.0), delta=D, compositions=3)
    with Ledger(tmp_path / "budget.ledger") as ledger:
        ledger.open_dataset("people", epsilon=4.0, delta=D)
        ledger.spend("people", [Spend(noise, uses=2)], plan_hash="one")
        ledger.spend("people", [Spend(sphere(60.0, 5))], plan_hash="two")
        assert ledger.check(rigorous=True).ok
        ledger.spend("people", [Spend(gaussian(60.0))], plan_hash="three")
        assert ledger.check().ok
        found = ledger.check(rigorous=True)
    assert [problem.split(" is not covered")[0] for problem in found.problems] == [
        "Event 5 by itself",
        "Event 5 with all before it",
    ]


PLAN = """name = "p"
epsilon = 1.0
delta = 1e-8
relation = "add/remove"
one_row_per_person = true
[source]
csv = "rows.csv"
[[statistic]]
kind = "count"
"""


def test_a_release_without_a_proof_is_refused_before_anything_is_spent(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("age\n1\n2\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    CliRunner().invoke(
        main, ["ledger", "open", "b.ledger", "p", "--epsilon", "3", "--delta", "1e-7"]
    )
    asked = ["release", "plan.toml", "--ledger", "b.ledger", "--rigorous"]
    assert CliRunner().invoke(main, [*asked, "--preview"]).exit_code != 0
    from leastnoise.proof import laws

    with monkeypatch.context() as without:
        without.setattr(laws, "_BODIES", {})
        refused = CliRunner().invoke(main, asked)
        assert refused.exit_code == 2
        assert "no rigorous proof" in refused.output
    with Ledger(tmp_path / "b.ledger") as ledger:
        assert ledger.entries() == ()
    assert CliRunner().invoke(main, asked).exit_code == 0
    with Ledger(tmp_path / "b.ledger") as ledger:
        assert len(ledger.entries()) == 1
