"""Imports point one way."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "leastnoise"

# A layer may import from itself and from the layers before it, never from a later one.
LAYERS = [
    {"texts"},
    {"errors", "digits"},
    {"shells", "steps", "extras"},
    {"overlap", "cost"},
    {"noise"},
    {"closed_form", "lattice"},
    {"classic"},
    {"ball"},
    {"storage"},
    {"privacy", "sampling"},
    {"artefact"},
    {"designer"},
    {"releases"},
    {"interop", "plots", "cli", "web"},
    {"paper"},
    {"__main__"},
]
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def top_level_imports(path: Path) -> set[str]:
    """First component below `leastnoise` of every import at module level (imports inside functions are lazy on purpose)."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "leastnoise"
        ):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("leastnoise.")
            }
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in top_level_imports(path):
        assert other in LEVEL, f"{other} has no place in the layers"
        assert LEVEL[other] <= LEVEL[own], f"{own} imports {other}, which comes later"


def test_every_module_has_a_place():
    for path in modules():
        assert path.relative_to(SOURCE).parts[0].removesuffix(".py") in LEVEL


def test_privacy_never_imports_the_designer():
    for path in (SOURCE / "privacy").glob("*.py"):
        assert "designer" not in path.read_text(encoding="utf-8")


def test_core_depends_on_numpy_and_scipy_only():
    allowed = {"leastnoise", "numpy", "scipy", "__future__"}
    core = [
        path
        for path in modules()
        if LEVEL[path.relative_to(SOURCE).parts[0].removesuffix(".py")] <= LEVEL["designer"]
    ]
    for path in core:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = {(node.module or "").split(".")[0]}
            elif isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            else:
                continue
            assert names <= allowed | set(sys.stdlib_module_names), f"{path.name} imports {names}"
