"""The JSON formats as JSON Schemas (draft 2020-12), so that programs in any language
can read and check them.

noise      a law written by `Noise.save`
artefact   an exact law with its guarantee, written by `leastnoise design --out`
design     what `leastnoise design --json` prints
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from leastnoise.errors import one_of

NAMES = ("artefact", "design", "noise")


def schema(name: str) -> dict[str, Any]:
    """The schema of one format.

    Args:
        name: "artefact", "design" or "noise".

    Returns:
        The JSON Schema, as plain data.

    Raises:
        InvalidParameterError: There is no schema of this name.

    Example:
        >>> schema("artefact")["title"]
        'A law with its guarantee'
    """
    file = f"{one_of('name', name, NAMES)}.schema.json"
    text = resources.files("leastnoise").joinpath("files", "schemas", file)
    found: dict[str, Any] = json.loads(text.read_text(encoding="utf-8"))
    return found
