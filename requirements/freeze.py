"""`python requirements/freeze.py`: writes requirements/tested.txt, the versions installed here of
everything that the package and its extras ask for, and of what those ask for."""

from __future__ import annotations

import platform
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
# The versions that the tests last passed with, all extras together (Python {python}, {system}).
# The bounds that must hold are in pyproject.toml. To repeat a run:
#     pip install -r requirements/tested.txt && pip install --no-deps -e .
# Written by requirements/freeze.py.
"""


def wanted() -> list[Requirement]:
    """What pyproject.toml asks for, the package's own extras left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    asked = [Requirement(one) for one in (*project["dependencies"], *extras)]
    return [one for one in asked if one.name != "leastnoise"]


def closure() -> dict[str, str]:
    """Name and version of all that is asked for, directly or not."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = wanted()
    while waiting:
        one = waiting.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        found[key[0]] = metadata.version(one.name)
        for text in metadata.requires(one.name) or ():
            below = Requirement(text)
            settings = [{"extra": extra} for extra in ("", *one.extras)]
            if below.marker is None or any(map(below.marker.evaluate, settings)):
                waiting.append(below)
    return found


if __name__ == "__main__":
    python = ".".join(platform.python_version_tuple()[:2])
    head = HEAD.format(python=python, system=platform.system())
    lines = [f"{name}=={version}\n" for name, version in sorted(closure().items())]
    (ROOT / "requirements" / "tested.txt").write_text(head + "".join(lines), encoding="utf-8")
