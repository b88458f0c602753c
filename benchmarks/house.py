"""How the source reads, in numbers: `python -m benchmarks house [--tree PATH]
[--against PATH]`.

A tree is a checkout of this repository, or of an older one. What is counted:

lines            of every Python file under src; those of code, without comments and docstrings; the
                 share of those wider than 88 and 100 columns
statements       the same however a tree is formatted
isinstance       calls of `isinstance` and `case` patterns that name a law (`Noise` and its
                 subclasses, `*Noise`) or the loss of one release (`*Loss`, `WorstOf`;
                 not `PrivacyLoss`, which is what the accountant makes of them)
cycles           modules that import each other, directly or through others; imports inside
                 functions and under TYPE_CHECKING count, parents of a package do not
shared names     names that two classes have, `_X` and `X` being one name
complexity       functions and methods above 12 by radon
duplicated       pairs of places in functions that share six lines or more, names and constants
                 aside and one statement a line, however it is formatted; docstrings, comments,
                 imports and signatures do not count
"""

from __future__ import annotations

import argparse
import ast
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

MOST_COMPLEX = 12
SHARED_LINES = 6
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, eq=False)
class SourceFile:
    """One Python file: its name as a module, its lines, its syntax."""

    module: str
    lines: list[str]
    syntax: ast.Module


def main(arguments: list[str] | None = None) -> None:
    """Print the table, one column a tree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks house")
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="PATH")
    parser.add_argument("--against", type=Path, metavar="PATH", help="an older tree beside it")
    given = parser.parse_args(arguments or [])
    columns = {"now": measured(given.tree)}
    if given.against is not None:
        columns = {"before": measured(given.against), **columns}
    rows = list(columns["now"])
    wide = max(map(len, rows))
    print(" " * wide + "".join(f"{head:>10}" for head in columns))
    for row in rows:
        print(f"{row:{wide}}" + "".join(f"{column[row]:>10}" for column in columns.values()))


def measured(tree: Path) -> dict[str, str]:
    """Every number of a tree, as text, by what it is called in the table."""
    files = source_files(tree)
    sizes = [len(file.lines) for file in files]
    widths = [len(line) for file in files for line in file.lines]
    laws, losses = law_names(files), loss_names(files)
    return {
        "files": f"{len(files):,}",
        "median file, lines": f"{statistics.median(sizes):.0f}",
        "largest file, lines": f"{max(sizes):,}",
        "lines": f"{sum(sizes):,}",
        "lines of code": f"{sum(map(code_lines, files)):,}",
        "statements": f"{sum(map(statements, files)):,}",
        "lines beyond 88 columns": _share(widths, 88),
        "lines beyond 100 columns": _share(widths, 100),
        "isinstance on laws": str(type_tests(files, laws)),
        "isinstance on losses": str(type_tests(files, losses)),
        "modules in import cycles": str(len(in_cycles(files))),
        "class names shared": str(len(shared_names(files))),
        f"functions above complexity {MOST_COMPLEX}": str(len(complex_functions(tree))),
        "duplicated places": str(len(duplicated(files))),
    }


def source_files(tree: Path) -> list[SourceFile]:
    """The files of `tree`/src."""
    source = tree / "src"
    found = []
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(source).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(SourceFile(module, text.splitlines(), ast.parse(text)))
    return found


def docstrings(file: SourceFile) -> Iterator[ast.Expr]:
    """The docstrings of a file."""
    for node in ast.walk(file.syntax):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first


def code_lines(file: SourceFile) -> int:
    """Lines that are neither empty nor a comment nor part of a docstring."""
    prose: set[int] = set()
    for node in docstrings(file):
        prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    numbered = enumerate(map(str.strip, file.lines), start=1)
    return sum(bool(line) and line[0] != "#" and number not in prose for number, line in numbered)


def statements(file: SourceFile) -> int:
    """Statements, docstrings left out: the same however the file is formatted."""
    every = sum(isinstance(node, ast.stmt) for node in ast.walk(file.syntax))
    return every - sum(1 for _ in docstrings(file))


def _share(widths: list[int], columns: int) -> str:
    return f"{100.0 * sum(width > columns for width in widths) / len(widths):.1f} %"


# Laws, losses, and who asks for their class


def classes(files: list[SourceFile]) -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class with its module."""
    for file in files:
        for node in ast.walk(file.syntax):
            if isinstance(node, ast.ClassDef):
                yield file.module, node


def law_names(files: list[SourceFile]) -> set[str]:
    """`Noise`, what is called after it, and what inherits from one of these."""
    bases = {node.name: [_last_name(base) for base in node.bases] for _, node in classes(files)}
    known = {name for name in bases if name.endswith("Noise")}
    while more := {name for name in bases if known.intersection(bases[name])} - known:
        known |= more
    return known


def loss_names(files: list[SourceFile]) -> set[str]:
    """The losses of one release."""
    names = {node.name for _, node in classes(files)}
    losses = {name for name in names if name.endswith("Loss") and name != "PrivacyLoss"}
    return losses | names.intersection({"WorstOf", "Loss"})


def type_tests(files: list[SourceFile], names: set[str]) -> int:
    """How often the class of something is compared with one of `names`."""
    count = 0
    for file in files:
        for node in ast.walk(file.syntax):
            if isinstance(node, ast.Call) and _last_name(node.func) == "isinstance":
                count += any(_last_name(part) in names for part in ast.walk(node.args[1]))
            elif isinstance(node, ast.MatchClass):
                count += _last_name(node.cls) in names
    return count


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# Imports


def imports(files: list[SourceFile]) -> dict[str, set[str]]:
    """The modules that each module names in its imports, wherever these stand."""
    modules = {file.module for file in files}
    found: dict[str, set[str]] = {}
    for file in files:
        named: set[str] = set()
        for node in ast.walk(file.syntax):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                below = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= below & modules
                if below - modules:
                    named.add(node.module)
        found[file.module] = named & modules - {file.module}
    return found


def in_cycles(files: list[SourceFile]) -> set[str]:
    """The modules from which imports lead back to where they started."""
    graph = imports(files)
    return {module for module in graph if module in _reached(graph, module)}


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    return reached


# Names and complexity


def shared_names(files: list[SourceFile]) -> set[str]:
    """Names of more than one class; `_X` and `X` are one."""
    counts = Counter(node.name.lstrip("_") for _, node in classes(files))
    return {name for name, count in counts.items() if count > 1}


def complex_functions(tree: Path) -> list[str]:
    """Functions and methods that radon finds above `MOST_COMPLEX`."""
    from radon.complexity import cc_visit

    found = []
    for path in sorted((tree / "src").rglob("*.py")):
        for block in cc_visit(path.read_text(encoding="utf-8")):
            if block.letter in "FM" and block.complexity > MOST_COMPLEX:
                found.append(f"{path.relative_to(tree)}: {block.fullname} {block.complexity}")
    return found


# The same twice


class _WithoutNames(ast.NodeTransformer):
    """Variables and constants become one; what is called, and attributes, keep their names."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        called = node.func
        self.generic_visit(node)
        if isinstance(called, ast.Name):
            node.func = called
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("v", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(0)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant(0)


def duplicated(files: list[SourceFile]) -> list[tuple[str, str]]:
    """Pairs of functions that share `SHARED_LINES` lines or more, once for every run of them."""
    starts: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, lines in bodies(files):
        for index in range(len(lines) - SHARED_LINES + 1):
            starts[tuple(lines[index : index + SHARED_LINES])].append((name, index))
    pairs = {
        (one, other)
        for places in starts.values()
        for one, other in combinations(places, 2)
        if one[0] != other[0] or other[1] - one[1] >= SHARED_LINES
    }
    # A longer run has one beginning.
    return sorted(
        (one[0], other[0])
        for one, other in pairs
        if ((one[0], one[1] - 1), (other[0], other[1] - 1)) not in pairs
    )


def bodies(files: list[SourceFile]) -> Iterator[tuple[str, list[str]]]:
    """What every function does, a line a statement, those inside it included."""
    for file in files:
        outermost: list[ast.AST] = [ast.parse("\n".join(file.lines))]
        while outermost:
            node = outermost.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = [line for part in node.body for line in _bare_lines(part)]
                yield f"{file.module}:{node.lineno} {node.name}", lines
            else:
                outermost += ast.iter_child_nodes(node)


def _bare_lines(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return []
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return []
    bare = ast.fix_missing_locations(_WithoutNames().visit(statement))
    return [line.strip() for line in ast.unparse(bare).splitlines()]
