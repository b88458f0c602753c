"""Texts that people read. Nothing in them may move a cursor, hide, reorder or look like nothing.

Names come with plans, tables, files and ledgers from others, and end up on terminals
and pages, beside the numbers that are decided by. An escape sequence in a name paints
another epsilon over the right one; a letter without width makes two names of one look.

The one rule: every letter is assigned and visible, or is a space. What enters and
breaks it is refused (`fault`); what must be quoted all the same, such as the name of a
file, is written with escapes (`shown`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

# Controls, formats (bidirectional ones too), surrogates, private use, unassigned, line separators.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Marks and letters that Unicode says are not drawn (Default_Ignorable_Code_Point), and
# a blank pattern.
_BLANK = frozenset(
    {
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F),
        *(0x2800, 0x3164, 0xFFA0),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    }
)


def is_plain(letter: str) -> bool:
    """Whether a letter may stand in a text that people read."""
    return unicodedata.category(letter) not in _REFUSED and ord(letter) not in _BLANK


def fault(text: str, *, lines: bool = False) -> str | None:
    """The first letter that may not stand in a text, as U+0041; with `lines` it may
    have lines and tabs."""
    if text.isascii() and text.isprintable():
        return None
    for letter in text:
        if not (is_plain(letter) or (lines and letter in "\n\t")):
            return f"U+{ord(letter):04X}"
    return None


def fault_within(content: Any) -> str | None:
    """The first letter that may not stand in one of the texts of plain JSON data."""
    for one in leaves(content):
        if isinstance(one, str) and (found := fault(one)):
            return found
    return None


def leaves(content: Any) -> Iterator[Any]:
    """The keys and values of plain JSON data, at any depth: what is no list and no object."""
    left = [content]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += (*one, *one.values())
        elif isinstance(one, list):
            left += one
        else:
            yield one


def shown(text: str) -> str:
    """The text with escapes for whatever may not stand in it; on one line."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if is_plain(letter) else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
