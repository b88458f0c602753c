"""Tables of answers as text: what is read as exact numbers, and what is written in their place.

A table is CSV in UTF-8, or one answer a line, which is the same with one column. Answers are read
from their digits, never through floating point: 0.1 is one tenth. No message shows anything of a
table but the numbers of its lines and columns.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leastnoise.errors import InvalidFileError, InvalidParameterError
from leastnoise.files.spreadsheet import csv_text, guarded

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,3}))?")
# Characters of an answer, and the size of its exponent: more than any floating-point number has.
_MOST_DIGITS = 400


@dataclass(frozen=True)
class Answers:
    """A table with exact numbers in the cells that are answers: `values[i][j]` stands in row i,
    column `columns[j]`."""

    header: tuple[str, ...] | None
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[int, ...]
    values: tuple[tuple[Fraction, ...], ...]

    @property
    def count(self) -> int:
        return len(self.rows) * len(self.columns)

    def text(self, noisy: Sequence[Sequence[str]], delimiter: str) -> str:
        """The table with other texts in the place of its answers; its other cells are safe in a
        spreadsheet."""
        lines = [] if self.header is None else [[_plain(cell) for cell in self.header]]
        for row, numbers in zip(self.rows, noisy, strict=True):
            cells = [_plain(cell) for cell in row]
            for column, number in zip(self.columns, numbers, strict=True):
                cells[column] = number
            lines.append(cells)
        return csv_text(lines, delimiter)


def standard_input() -> bytes:
    """All of it."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def read_answers(
    content: bytes, *, has_header: bool, chosen: Sequence[str], delimiter: str, whole_numbers: bool
) -> Answers:
    """The answers of a table: all its columns, or those `chosen` by name (with a header) or by
    number, from 1."""
    lines = list(_lines(content, delimiter))
    header = tuple(lines.pop(0)[1]) if has_header and lines else None
    if not lines:
        raise InvalidFileError("There are no answers: expected at least one line with a number.")
    width = len(lines[0][1]) if header is None else len(header)
    _check_width(lines, width)
    columns = _columns(chosen, header, width)
    if header is not None and not chosen:
        _check_header(header)
    values = tuple(
        tuple(_value(cells[column], number, column, whole_numbers) for column in columns)
        for number, cells in lines
    )
    return Answers(header, tuple(tuple(cells) for _, cells in lines), columns, values)


def _lines(content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, cells) of every row."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidFileError(f"Line {line}: expected text in UTF-8.") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            message = (
                "expected CSV: every quote closed, a doubled quote inside quotes, and "
                "cells of at most 131,072 characters"
            )
            raise InvalidFileError(f"Line {reader.line_num}: {message}.") from None
        if not cells:
            raise InvalidFileError(f"Line {reader.line_num}: expected a number; the line is empty.")
        yield reader.line_num, cells


def _check_width(lines: Sequence[tuple[int, list[str]]], width: int) -> None:
    for number, cells in lines:
        if len(cells) != width:
            raise InvalidFileError(
                f"Line {number}: expected {width} column(s), as in the first line; there are "
                f"{len(cells)}."
            )


def _check_header(header: Sequence[str]) -> None:
    if any(_NUMBER.fullmatch(cell.strip(" \t")) for cell in header):
        raise InvalidFileError(
            "The first line, by --header a header, has numbers in it, and would be shown without "
            "noise. Leave --header out, or, where columns are called by numbers, name them with "
            "--column."
        )


def _columns(chosen: Sequence[str], header: tuple[str, ...] | None, width: int) -> tuple[int, ...]:
    if not chosen:
        return tuple(range(width))
    if header is None:
        found = [_column_by_number(name, width) for name in chosen]
    else:
        found = [_column_by_name(name, header) for name in chosen]
    if len(set(found)) != len(found):
        raise InvalidParameterError("--column", chosen[-1], "to be given once for each column")
    return tuple(sorted(found))


def _column_by_name(name: str, header: Sequence[str]) -> int:
    places = [place for place, cell in enumerate(header) if cell == name]
    if len(places) != 1:
        expected = f"to be the name of one column in the first line, not of {len(places)}"
        raise InvalidParameterError("--column", name, expected)
    return places[0]


def _column_by_number(name: str, width: int) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", name) or not 1 <= int(name) <= width:
        expected = f"to be the number of a column, 1 to {width}; for a name the table needs"
        raise InvalidParameterError("--column", name, f"{expected} --header")
    return int(name) - 1


def _value(cell: str, line: int, column: int, whole_numbers: bool) -> Fraction:
    """The exact number in a cell; the refusal says where it stands and not what."""
    text = cell.strip(" \t")
    match = _NUMBER.fullmatch(text)
    where = f"Line {line}, column {column + 1}"
    if match is None or len(text) > _MOST_DIGITS or abs(int(match.group(1) or 0)) > _MOST_DIGITS:
        raise InvalidFileError(
            f"{where}: expected a finite number in digits, such as 12, -0.5 or 1e6."
        )
    value = Fraction(text)
    if whole_numbers and value.denominator != 1:
        raise InvalidFileError(f"{where}: expected a whole number: the law is one on the integers.")
    return value


def _plain(cell: str) -> str:
    """A cell that is no answer: numbers as they are, texts so that no spreadsheet runs them."""
    return cell if _NUMBER.fullmatch(cell) else str(guarded(cell))


def exact_decimals(integers: Sequence[int], unit: Fraction) -> list[str]:
    """integer·unit in digits, every one of them where they end; else rounded to more places than
    tell two lattice points apart."""
    places = _decimal_places(unit)
    return [_decimal(integer * unit, places) for integer in integers]


def _decimal_places(unit: Fraction) -> int:
    """How many decimals every multiple of `unit` needs; where they never end, three more than one
    unit has zeros."""
    rest, twos, fives = unit.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else len(str(unit.denominator // unit.numerator)) + 3


def _decimal(value: Fraction, places: int) -> str:
    scaled = round(abs(value) * 10**places)  # exact, or half to even where the digits never end
    digits = str(scaled).rjust(places + 1, "0")
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
