"""The mutants of `benchmarks/_mutants.py` still apply to the code as it is, and the runner tells
survivors from the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def mutants(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import mutants

    return mutants


def test_every_mutant_changes_one_place_and_names_tests_that_exist(mutants):
    assert len(mutants.MUTANTS) >= 40
    for mutant in mutants.MUTANTS:
        text = (ROOT / "src" / "leastnoise" / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.original) == 1, (
            f"Anchor the mutant of {mutant.file} anew: {mutant.original!r}"
        )
        assert mutant.mutated != mutant.original
        assert all((ROOT / "tests" / name).is_file() for name in mutant.tests)


def test_a_wrong_count_of_shells_is_noticed_and_a_comment_is_not(mutants):
    wrong = next(mutant for mutant in mutants.MUTANTS if mutant.file == "lattice/shells.py")
    wrong = replace(wrong, tests=("lattice/test_shells.py::test_counts_and_faces_by_enumeration",))
    outcome = mutants.judged(wrong)
    assert outcome.killed
    assert outcome.by.startswith("test_")
    harmless = replace(
        wrong, original="Shells of the integer lattice", mutated="Shells, of the integer lattice"
    )
    assert not mutants.judged(harmless).killed


def test_what_cannot_be_judged_is_an_error(mutants, tmp_path):
    mutant = mutants.MUTANTS[0]
    with pytest.raises(LookupError, match="0 times, not once"):
        mutants.applied(replace(mutant, original="nowhere to be found"), tmp_path)
    broken = replace(
        mutant,
        original="from __future__ import annotations",
        mutated="from __future__ import nothing",
    )
    with pytest.raises(RuntimeError, match="cannot be imported"):
        mutants.judged(broken)
