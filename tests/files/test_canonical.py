"""One spelling for hashes, one way to say infinity, one guard for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

from leastnoise.errors import InvalidFileError
from leastnoise.files.canonical import canonical, digest, text_digest
from leastnoise.files.infinity import finite_or_none, infinity_as_text
from leastnoise.files.sealed import SealedFormat, file_format
from leastnoise.files.spreadsheet import csv_text, guarded


def test_equal_data_have_one_spelling_and_one_digest() -> None:
    assert canonical({"b": "ü", "a": [1, 0.1, None, True]}) == (
        '{"a":[1,0.1,null,true],"b":"\\u00fc"}'
    )
    assert canonical({"b": 1, "a": 2}) == canonical({"a": 2, "b": 1})
    assert digest({"b": 1, "a": 2}) == text_digest('{"a":2,"b":1}')
    # what files written by earlier releases carry
    known = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest({}) == known


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_json_does_not_know_is_refused_unless_asked_for(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical([number])
    assert canonical([number], finite=False) == json.dumps([number])


def test_infinity_is_text_or_nothing() -> None:
    data = {"a": math.inf, "b": [-math.inf, np.float64(math.inf), 1.5], "c": (1, "inf", None)}
    assert infinity_as_text(data) == {"a": "inf", "b": ["-inf", "inf", 1.5], "c": [1, "inf", None]}
    assert math.isnan(infinity_as_text(math.nan))
    assert [finite_or_none(x) for x in (1, 2.5, math.inf, math.nan)] == [1.0, 2.5, None, None]


def test_no_cell_is_run_by_a_spreadsheet() -> None:
    rows = [["=1", "+1", "-1", "@x", "\tx", "＝1"], ["plain", "", 'a "quote"', "a,b", -1, 2.5]]
    text = csv_text([guarded(cell) for cell in row] for row in rows)
    back = list(csv.reader(io.StringIO(text)))
    assert back[0] == ["'" + cell for cell in rows[0]]
    assert back[1] == [str(cell) for cell in rows[1]]
    assert csv_text([["a", "b"]], "\t") == "a\tb\n"


def test_a_sealed_file_comes_back_and_an_edited_one_does_not(tmp_path: Path) -> None:
    loose = SealedFormat("leastnoise.test", "content", "a test")
    strict = SealedFormat("leastnoise.test", "content", "a test", is_strict=True)
    path = tmp_path / "file.json"
    path.write_text(loose.text({"x": 1}), encoding="utf-8")
    assert loose.content(path) == strict.content(path) == {"x": 1}
    assert file_format(path) == "leastnoise.test"
    file = json.loads(path.read_text())
    path.write_text(json.dumps({**file, "note": "mine"}))
    assert loose.content(path) == {"x": 1}
    with pytest.raises(InvalidFileError, match="does not have the fields of a test"):
        strict.content(path)
    path.write_text(json.dumps({**file, "content": {"x": 2}}))
    assert strict.opened(path) == ({"x": 2}, False)
    with pytest.raises(InvalidFileError, match="does not match its SHA-256"):
        loose.content(path)
    for text in ('{"format": "leastnoise.test", "format": "leastnoise.test"}', '{"format": NaN}'):
        path.write_text(text)
        with pytest.raises(InvalidFileError, match="not complete JSON"):
            loose.content(path)
