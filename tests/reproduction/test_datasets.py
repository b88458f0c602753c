"""The data sets and queries of Table 1."""

from pathlib import Path

import numpy as np
import pytest

from leastnoise.reproduction.datasets import (
    MissingDataError,
    datasets,
    find_heart,
    heart,
    mean_of,
    rescaled,
)

pytest.importorskip("sklearn")

LINE = "{age},{sex},1.0,{pressure},233.0,1.0,2.0,{rate},{angina},2.3,3.0,?,6.0,0\n"


@pytest.fixture
def heart_file(tmp_path):
    path = tmp_path / "processed.cleveland.data"
    people = [
        {
            "age": 40.0 + i,
            "sex": float(i % 2),
            "pressure": 120.0 + i,
            "rate": 150.0 - i,
            "angina": float(i % 3 == 0),
        }
        for i in range(40)
    ]
    path.write_text("".join(LINE.format(**person) for person in people), encoding="utf-8")
    return path


def test_rescaling_clips_at_the_percentiles():
    values = np.arange(101.0)
    scaled = rescaled(values)
    assert scaled[:6] == pytest.approx(0.0)
    assert scaled[95:] == pytest.approx(1.0)
    assert scaled[50] == pytest.approx(0.5)
    assert rescaled(np.ones(4)) == pytest.approx(0.0)


def test_sensitivity_is_one_over_the_records():
    values = np.arange(10.0)
    assert mean_of("all", values).sensitivity == 0.1
    assert mean_of("some", values, values < 4).sensitivity == 0.25


def test_ten_queries_each(heart_file):
    found, missing = datasets(heart_file)
    assert missing is None
    assert [len(queries) for queries in found.values()] == [10, 10, 10]
    assert {round(1 / query.sensitivity) for query in found["Breast Cancer"]} == {569}
    assert {round(1 / query.sensitivity) for query in found["Diabetes"]} == {442}
    assert all(0.0 <= query.answer <= 1.0 for queries in found.values() for query in queries)


def test_heart_subgroups(heart_file):
    queries = {query.name: query for query in heart(heart_file)}
    assert round(1 / queries["mean of age, women"].sensitivity) == 20
    assert round(1 / queries["mean of thalach, angina on exercise"].sensitivity) == 14
    assert round(1 / queries["mean of chol, older than 55"].sensitivity) == 24


def test_missing_heart_data_leave_the_other_two(tmp_path):
    absent = tmp_path / "nowhere.data"
    with pytest.raises(MissingDataError, match="--heart"):
        find_heart(absent)
    found, missing = datasets(absent)
    assert list(found) == ["Breast Cancer", "Diabetes"]
    assert missing is not None
    assert "archive.ics.uci.edu" in missing


def test_heart_is_found_in_the_current_folder(heart_file, monkeypatch):
    monkeypatch.chdir(heart_file.parent)
    assert find_heart(None) == Path("processed.cleveland.data")
