"""SECURITY.md names a test for every attack, and the tests are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    """The cells of the table, without its head."""
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_every_attack_has_its_tests() -> None:
    assert len(rows()) >= 20
    for row in rows():
        assert len(row) == 4, row
        assert all(row), row
        assert NAMED.search(row[3]), row
        assert not NAMED.sub("", row[3]).strip(" ,|"), row  # nothing but names of tests


def test_every_named_test_exists() -> None:
    found = NAMED.findall(TEXT)
    assert len(found) > 30
    for file, name in found:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (
            f"{file}::{name}"
        )


def test_the_promises_and_the_readme_lead_here() -> None:
    for page in ("README.md", "docs/promises.md"):
        assert "SECURITY.md" in (ROOT / page).read_text(encoding="utf-8"), page
