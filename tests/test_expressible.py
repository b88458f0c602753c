"""The page of what can be asked: every yes of ours names a test that is there."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "expressible.md"


def rows(head):
    """The rows of the table whose first line begins so, as lists of cells."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_every_yes_of_ours_has_a_test():
    claims = {cells[0]: cells[1] for cells in rows("| | leastnoise")}
    shown = {cells[0]: cells[1].strip("`") for cells in rows("| what shows it")}
    assert {what for what, ours in claims.items() if ours.startswith("yes")} == set(shown)
    for test in shown.values():
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert name in names if name else any(each.startswith("test_") for each in names), test


def test_every_row_speaks_of_every_system():
    head = next(
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| | leastnoise")
    )
    systems = len(head.strip("|").split("|"))
    assert systems == 8
    assert all(len(cells) == systems for cells in rows("| | leastnoise"))
