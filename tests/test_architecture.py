"""Imports point one way, a name means one thing, a function and a line fit in a head.

Every import counts, also those inside functions and below TYPE_CHECKING: a module that needs
another one only later, or only for its types, still cannot be understood without it.

`python tests/test_architecture.py [word …]` prints everything that the rules find, or what has the
given words in it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "leastnoise"

# A module may import from its own folder and from earlier layers: neither from a later one nor from
# a neighbour in its layer.
LAYERS = [
    {"text"},
    {"errors"},
    {"optional"},
    {"files"},
    {"proof"},
    {"changes"},
    {"lattice"},
    {"cost"},
    {"losses", "sampling"},
    {"laws"},
    {"accountant"},
    {"floors"},
    {"artefact"},
    {"solver"},
    {"designer"},
    {"ledger"},
    {"releases"},
    {"series"},
    {"interop", "plots"},
    {"explorer", "reproduction"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}

MOST_COLUMNS = 100
MOST_COMPLEX = 12

# Where the class of a law or a loss is asked for outside of laws/ and losses/, and why.
CLASS_ASKED = {
    "accountant.privacy_loss: Noise": "`compose` says that a law is no loss",
    "designer.result: LatticeNoise": "`lattice_noise` gives this one class of laws",
    "interop.distance: Noise": "a use is of a design, an artefact or a law",
    "interop.dp_accounting: Noise": "an event is made from a law or from a design",
    "ledger.records: Noise": "a spend is of a law or of a loss",
    "plots.drawn_laws: Noise": "an argument is checked",
}


@cache
def sources() -> dict[str, Path]:
    """All modules by name, `ledger.event_log`; a package is the name of its folder. The public
    names at the top, which lead everywhere, are left out."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(sources()[module].read_text(encoding="utf-8"))


def folder(module: str) -> str:
    return re.split("[.:]", module)[0]


def inside(module: str, *folders: str) -> bool:
    return folder(module) in folders


def imported_names(module: str) -> Iterator[tuple[str, str | None]]:
    """(module, name taken from it) of every import statement, with dots resolved."""
    is_package = sources()[module].name == "__init__.py"
    home = f"leastnoise.{module}".split(".")[: None if is_package else -1]
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - node.level + 1] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            yield from ((origin, alias.name) for alias in node.names)


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of this package that a module imports, anywhere in it."""
    found = set()
    for origin, name in imported_names(module):
        if origin.split(".")[0] != "leastnoise":
            continue
        inner = origin.removeprefix("leastnoise").removeprefix(".")
        below = ".".join(filter(None, [inner, name]))
        found.add(below if below in sources() else inner or "__init__")
    return frozenset(found - {module})


def wrong_ways() -> dict[str, str]:
    found = {}
    for module in sources():
        own = folder(module)
        for other in {folder(target) for target in imports(module)} - {own}:
            if LEVEL.get(other, len(LAYERS)) >= LEVEL.get(own, -1):
                found[f"{module}: {other}"] = "imported, and does not come before it"
    return found


def cycles() -> dict[str, str]:
    """Modules that lead back to themselves, each with a shortest way."""
    found = {}
    for module in sources():
        way = _way_back(module)
        if way:
            found[module] = " → ".join([module, *way])
    return found


def _way_back(module: str) -> list[str] | None:
    ways: dict[str, list[str]] = {module: []}
    at = [module]
    for here in at:
        for target in sorted(imports(here) & sources().keys()):
            if target == module:
                return [*ways[here], target]
            if target not in ways:
                ways[target] = [*ways[here], target]
                at.append(target)
    return None


def shared_names() -> dict[str, str]:
    """Names that more than one class has; `_Name` and `Name` are one."""
    homes = defaultdict(list)
    for module in sources():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(f"{module}.{node.name}")
    return {", ".join(here): name for name, here in homes.items() if len(here) > 1}


def tangled_functions() -> dict[str, str]:
    """Functions of more than `MOST_COMPLEX` ways through them."""
    visitors = pytest.importorskip("radon.visitors")
    found = {}
    for module in sources():
        visitor = visitors.ComplexityVisitor.from_ast(tree(module))
        blocks = [*visitor.functions, *(m for one in visitor.classes for m in one.methods)]
        for block in blocks:
            if block.complexity > MOST_COMPLEX:
                owner = f"{block.classname}." if block.classname else ""
                found[f"{module}.{owner}{block.name}"] = f"complexity {block.complexity}"
    return found


def asked_classes() -> dict[str, str]:
    """Tests for the class of a law or a loss where the law or the loss could be asked itself."""
    kinds = {
        node.name
        for module in sources()
        if inside(module, "laws", "losses")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef)
    }
    found = {}
    for module in sources():
        if inside(module, "laws", "losses"):
            continue
        for node in ast.walk(tree(module)):
            for name in _tested_classes(node) & kinds:
                found[f"{module}: {name}"] = f"line {getattr(node, 'lineno', 0)}"
    return found


def without_reason() -> dict[str, str]:
    return {what: where for what, where in asked_classes().items() if what not in CLASS_ASKED}


def _tested_classes(node: ast.AST) -> set[str]:
    """Names of the classes that an isinstance, a comparison of types or a match asks for."""
    if isinstance(node, ast.MatchClass):
        return _names([node.cls])
    if isinstance(node, ast.Call) and _names([node.func]) & {"isinstance", "issubclass"}:
        return _names(node.args[1:])
    if isinstance(node, ast.Compare) and "type" in _names([node.left]):
        return _names(node.comparators)
    return set()


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    every = [inner for node in nodes for inner in ast.walk(node)]
    plain = {inner.id for inner in every if isinstance(inner, ast.Name)}
    return plain | {inner.attr for inner in every if isinstance(inner, ast.Attribute)}


def wide_modules() -> dict[str, str]:
    """Modules with lines of more than `MOST_COLUMNS` columns."""
    found = {}
    for module, path in sources().items():
        lines = path.read_text(encoding="utf-8").splitlines()
        wide = [str(n) for n, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS]
        if wide:
            found[module] = f"line {', '.join(wide)}"
    return found


def unlisted_modules() -> dict[str, str]:
    """Modules that the docstring of their folder leaves out, where it lists them line by line."""
    found = {}
    for init in SOURCE.rglob("__init__.py"):
        told = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
        there = {path.stem for path in init.parent.glob("[!_]*.py")}
        listed = set(re.findall(r"^ *(\w+)  +\S", told, re.MULTILINE)) & there
        missing = there - set(re.findall(r"\w+", told))
        if listed and missing:
            found[init.parent.relative_to(SOURCE).as_posix()] = ", ".join(sorted(missing))
    return found


RULES = {
    "layers": wrong_ways,
    "cycles": cycles,
    "class names": shared_names,
    "complexity": tangled_functions,
    "classes asked": without_reason,
    "columns": wide_modules,
    "listings": unlisted_modules,
}


@pytest.mark.parametrize("rule", RULES)
def test_the_house_keeps_its_rules(rule):
    faults = RULES[rule]()
    assert not faults, "\n".join(f"{what}: {why}" for what, why in faults.items())


def test_every_module_has_a_place():
    assert {folder(module) for module in sources()} == LEVEL.keys()


def test_no_reason_is_left_over():
    assert CLASS_ASKED.keys() <= asked_classes().keys()


def test_privacy_never_speaks_of_the_designer():
    for path in (SOURCE / "accountant").glob("*.py"):
        assert "designer" not in path.read_text(encoding="utf-8")


def test_core_depends_on_numpy_and_scipy_only():
    allowed = {"leastnoise", "numpy", "scipy", "__future__", *sys.stdlib_module_names}
    for module in sources():
        if LEVEL[folder(module)] <= LEVEL["designer"]:
            origins = {origin.split(".")[0] for origin, _ in imported_names(module)}
            assert origins <= allowed, f"{module} imports {origins - allowed}"


if __name__ == "__main__":
    for rule, find in RULES.items():
        lines = [f"    {what}: {why}" for what, why in find().items()]
        lines = [line for line in lines if all(word in line for word in sys.argv[1:])]
        print("\n".join([f"{rule}: {len(lines)}", *lines]))
