"""Every number of the solver and of the search has its row in the table of claims."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "leastnoise"
FOLDERS = ("solver", "designer")


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.claims")


def constants(path: Path) -> Iterator[str]:
    """Names that a module gives to numbers, or to what is made of numbers."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        has_number = any(
            isinstance(part, ast.Constant) and type(part.value) in (int, float)
            for part in ast.walk(node.value)
        )
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for name in ast.walk(target):
                if has_number and isinstance(name, ast.Name):
                    yield name.id


def held(row) -> object:
    """What the module holds, as the table writes it."""
    value = getattr(importlib.import_module(f"leastnoise.{row.module}"), row.constant)
    return dataclasses.astuple(value) if dataclasses.is_dataclass(value) else value


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_number_has_a_row(claims, folder):
    rows = {(row.module, row.constant) for row in claims.CLAIMS}
    numbers = {
        (f"{folder}.{path.stem}", name)
        for path in (SOURCE / folder).glob("*.py")
        for name in constants(path)
    }
    assert numbers - rows == set(), "what do they buy?"
    assert {row for row in rows if row[0].startswith(folder)} - numbers == set()
    assert len(rows) == len(claims.CLAIMS)


def test_the_table_states_what_the_code_has(claims):
    for row in claims.CLAIMS:
        assert held(row) == row.value, f"{row.module}.{row.constant}"
        assert row.buys


def test_a_claim_tries_other_values_on_known_settings(claims):
    from benchmarks._claims.settings import SETTINGS

    for row in claims.CLAIMS:
        if isinstance(row, claims.Claim):
            assert row.others
            assert row.value not in row.others
            assert set(row.on) <= set(SETTINGS)


def test_a_number_that_buys_nothing_is_marked(claims, capsys):
    idle = claims.Claim(
        *("solver.newton", "__doc__", None, "nothing", ("other",), ("programs",)), time=math.inf
    )
    assert not claims.measured(idle, quick=True)
    assert "LOSES NOTHING" in capsys.readouterr().out
