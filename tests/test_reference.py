"""The reference says what every public name takes, gives back and refuses, with an example.

Public are the names of `leastnoise.__all__` and what docs/api.md lists beside them. Docstrings have
sections in Google's style: a function describes every parameter under Args and what it returns
under Returns and names every error that it raises itself, a dataclass has every field under
Attributes.
"""

import ast
import dataclasses
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

import leastnoise

API = Path(__file__).resolve().parents[1] / "docs" / "api.md"
SECTIONS = ("Args", "Returns", "Raises", "Attributes", "Example", "Yields")


def sections(docstring):
    """The text under each heading, by heading."""
    found = {}
    heading = None
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            heading = line.rstrip(":")
            found[heading] = []
        elif line and not line.startswith(" "):
            heading = None
        elif heading is not None:
            found[heading].append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def described(text):
    """The names that a section of Args or Attributes describes."""
    return set(re.findall(r"^ {4}\*{0,2}(\w+)(?: \([^)]*\))?: \S", text, re.MULTILINE))


def resolved(path):
    """The object that a dotted name stands for."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return found
    raise LookupError(path)


def listed():
    """Every function and class that docs/api.md names: its path, the object, the members shown."""
    text = API.read_text(encoding="utf-8")
    directive, members = r"^\.\. auto(?:function|class):: (\S+)\n", r"(?:   :members:(.*)\n)?"
    entry = directive + members + r"(?:   :exclude-members: (.*)\n)?"
    for path, members, excluded in re.findall(entry, text, re.MULTILINE):
        thing = resolved(path)
        shown = members.replace(",", " ").split()
        if not shown and f":: {path}\n   :members:" in text:
            shown = [name for name in dir(thing) if not name.startswith("_")]
        yield path, thing, set(shown) - set(excluded.replace(",", " ").split())


def functions_of(cls, name):
    """The functions of this name, from the class that overrides to the one that declares."""
    for base in cls.__mro__:
        found = vars(base).get(name)
        if isinstance(found, (classmethod, staticmethod)):
            found = found.__func__
        if inspect.isfunction(found) and found.__module__.startswith("leastnoise"):
            yield found


def gaps_of_function(*functions):
    """What the docstring of a function leaves out; an override may leave it to what it overrides.

    Without parameters the first sentence says what comes back.
    """
    found = {}
    for function in reversed(functions):
        found.update(sections(function.__doc__))
    named = described(found.get("Args", ""))
    parameters = set(inspect.signature(functions[0]).parameters) - {"self", "cls"}
    missing = sorted(parameters - named)
    # Annotations are strings here: every module has `from __future__ import annotations`.
    returns = functions[0].__annotations__.get("return") not in (None, "None", "NoReturn")
    if parameters and returns and not {"Returns", "Yields"} & set(found):
        missing.append("Returns")
    docstrings = " ".join(function.__doc__ or "" for function in functions)
    return missing + sorted(raised_by(functions[0]) - set(re.findall(r"\w+", docstrings)))


def raised_by(function):
    """The errors that a function raises in its own lines; those of functions within it are not its
    own, and what it calls may raise others."""
    (whole,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    left, found = [*ast.iter_child_nodes(whole)], set()
    while left:
        one = left.pop()
        if isinstance(one, (ast.FunctionDef, ast.Lambda)):
            continue
        if isinstance(one, ast.Raise) and isinstance(one.exc, ast.Call):
            name = ast.unparse(one.exc.func)
            found |= {name} if name.endswith("Error") else set()
        left += ast.iter_child_nodes(one)
    return found


def gaps_of_class(cls):
    """What the docstring of a class leaves out: fields of a dataclass."""
    if not dataclasses.is_dataclass(cls):
        return []
    found = sections(cls.__doc__)
    named = described(found.get("Attributes", "")) | described(found.get("Args", ""))
    names = [field.name for field in dataclasses.fields(cls)]
    return [name for name in names if not name.startswith("_") and name not in named]


def has_example(found):
    return ">>>" in sections(found.__doc__).get("Example", "")


def all_gaps():
    """Every gap, by the path of what has it."""
    found = {}
    for path, thing, members in listed():
        if inspect.isclass(thing):
            found[path] = gaps_of_class(thing)
            for name in sorted(members):
                if functions := list(functions_of(thing, name)):
                    found[f"{path}.{name}"] = gaps_of_function(*functions)
        else:
            found[path] = gaps_of_function(thing)
        if path.removeprefix("leastnoise.") in leastnoise.__all__ and not has_example(thing):
            found[path].append("Example")
    return {path: missing for path, missing in found.items() if missing}


def test_sections_are_read_as_they_are_written():
    text = """What it does.

    Args:
        one: The first,
            on two lines: still the first.
        *more: Others.
    Returns:
        A number.

    Guarantees: everything.

    Example:
        >>> 1
        1
    """
    found = sections(text)
    assert set(found) == {"Args", "Returns", "Example"}
    assert described(found["Args"]) == {"one", "more"}


def test_what_a_function_raises_must_be_in_its_docstring():
    def silent(number):
        """A number.

        Args:
            number: Any.
        """
        if number:
            raise ValueError(number)

    assert gaps_of_function(silent) == ["ValueError"]


def test_every_public_name_is_listed():
    paths = {path.removeprefix("leastnoise.") for path, _, _ in listed()}
    errors = {name for name in leastnoise.__all__ if name.endswith("Error")}
    assert set(leastnoise.__all__) - errors <= paths


def test_every_parameter_field_and_result_is_described():
    gaps = all_gaps()
    told = "\n".join(f"{path}: {', '.join(missing)}" for path, missing in gaps.items())
    assert not gaps, f"not described in the docstring of\n{told}"


@pytest.mark.parametrize("name", [n for n in leastnoise.__all__ if n.endswith("Error")])
def test_every_error_says_when_it_is_raised(name):
    assert len(getattr(leastnoise, name).__doc__.split()) >= 5
