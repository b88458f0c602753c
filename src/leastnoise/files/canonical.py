"""Plain data as JSON with one spelling only, and its SHA-256: what every hash of the package is of.

Keys sorted, no spaces, ASCII only. Saved laws, artefacts, plans, releases and the events of a
ledger are hashed in this form, so that a program in any language can check them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(data: Any, *, finite: bool = True) -> str:
    """Plain data as JSON with one spelling only.

    Args:
        data: Dictionaries with text keys, lists, texts, numbers, truth values and None.
        finite: Whether infinities and NaN, which JSON does not know, are refused;
            otherwise they are spelled as Python spells them, Infinity and NaN.

    Raises:
        ValueError: `data` holds a number that is not finite.
        TypeError: `data` is not plain.

    Example:
        >>> canonical({"b": 0.5, "a": [1, None]})
        '{"a":[1,null],"b":0.5}'
    """
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=not finite
    )


def digest(data: Any, *, finite: bool = True) -> str:
    """SHA-256 of the canonical form of plain data, in hexadecimal."""
    return text_digest(canonical(data, finite=finite))


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
