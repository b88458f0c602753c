"""The three data sets of Table 1 and ten mean queries on each (Appendix D of the paper;
where it only describes them, ours).

Features are rescaled by their 5th and 95th percentiles and clipped to [0, 1], as in the
paper, which takes the percentiles as released privately beforehand and does not charge
for them. A mean over n records of such a feature has sensitivity 1/n. Subgroups (heart
disease) are taken as public in size.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leastnoise.errors import UnsupportedError
from leastnoise.lattice.shells import Floats
from leastnoise.optional import required

HEART_FILE = "processed.cleveland.data"
HEART_SOURCE = (
    f"https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/{HEART_FILE}"
)
_HEART_COLUMNS = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
    *("thalach", "exang", "oldpeak", "slope", "ca", "thal", "num"),
)


@dataclass(frozen=True, eq=False)
class Query:
    """A mean: its name, its true value on the rescaled feature, and its sensitivity 1/n."""

    name: str
    answer: float
    sensitivity: float

    def __str__(self) -> str:
        return f"{self.name} ({round(1.0 / self.sensitivity)} records)"


class MissingDataError(UnsupportedError):
    """The heart-disease file was not found; the message says where it was looked for
    and where it comes from."""


def rescaled(values: Floats) -> Floats:
    """The feature mapped by its 5th and 95th percentiles to [0, 1], clipped."""
    low, high = np.percentile(values, [5.0, 95.0])
    width = high - low if high > low else 1.0
    return np.asarray(np.clip((values - low) / width, 0.0, 1.0), dtype=np.float64)


def mean_of(name: str, values: Floats, chosen: Any = None) -> Query:
    """The mean of a feature, over all records or over a subgroup."""
    scaled = rescaled(values)
    group = scaled if chosen is None else scaled[chosen]
    return Query(name, float(np.mean(group)), 1.0 / group.size)


def breast_cancer() -> list[Query]:
    """569 records; the ten "mean" features."""
    names, table = _sklearn("load_breast_cancer")
    return [mean_of(f"mean of {name}", table[name]) for name in names if name.startswith("mean ")]


def diabetes() -> list[Query]:
    """442 records, ten features, the mean of each."""
    names, table = _sklearn("load_diabetes")
    return [mean_of(f"mean of {name}", table[name]) for name in names]


def heart(path: Path) -> list[Query]:
    """303 patients (Cleveland): ages, heart rates, blood pressure and cholesterol in subgroups."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    column = {
        name: np.array([np.nan if line[i] == "?" else float(line[i]) for line in lines])
        for i, name in enumerate(_HEART_COLUMNS)
    }
    age, sex, pressure, angina = column["age"], column["sex"], column["trestbps"], column["exang"]
    groups = (
        ("age", "men", sex == 1),
        ("age", "women", sex == 0),
        ("thalach", "men", sex == 1),
        ("thalach", "women", sex == 0),
        ("age", "angina on exercise", angina == 1),
        ("thalach", "angina on exercise", angina == 1),
        ("thalach", "no angina on exercise", angina == 0),
        ("trestbps", "older than 55", age > 55),
        ("chol", "older than 55", age > 55),
        ("chol", "resting blood pressure of 140 or more", pressure >= 140),
    )
    return [mean_of(f"mean of {name}, {group}", column[name], at) for name, group, at in groups]


def find_heart(given: Path | None) -> Path:
    """The file as given, or beside the repository or the current folder, or a
    MissingDataError that says what to do."""
    if given is not None:
        places, where = [given], str(given)
    else:
        bases = (Path(), Path(__file__).resolve().parents[3])
        shared = [base / ".." / "shared" / "data" / HEART_FILE for base in bases]
        places = [Path(HEART_FILE), *shared]
        where = f"{HEART_FILE} or ../shared/data/{HEART_FILE}"
    for place in places:
        if place.is_file():
            return place
    raise MissingDataError(
        f"Expected the heart-disease data at {where}; get them from {HEART_SOURCE} and pass "
        "--heart FILE."
    )


def datasets(heart_file: Path | None) -> tuple[dict[str, list[Query]], str | None]:
    """The data sets that can be had, and the message about the one that cannot."""
    queries = {"Breast Cancer": breast_cancer(), "Diabetes": diabetes()}
    try:
        queries["UCI Heart Disease"] = heart(find_heart(heart_file))
    except MissingDataError as error:
        return queries, str(error)
    return queries, None


def _sklearn(loader: str) -> tuple[list[str], Mapping[str, Floats]]:
    datasets = required("sklearn.datasets", "paper", "Table 1 needs scikit-learn")
    bunch = getattr(datasets, loader)()
    names = [str(name) for name in bunch.feature_names]
    columns = np.asarray(bunch.data, dtype=np.float64).T
    return names, dict(zip(names, columns, strict=True))
